"""Chooses the adapters: settings in, a connected session or a running app out. The only module that knows both ends."""

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specchat.config import paths
from specchat.config.keys import choose_key
from specchat.config.last_server import recall, remember
from specchat.config.settings import Settings, load
from specchat.core.errors import ConfigurationError, ModelChoiceNeeded

if TYPE_CHECKING:
    # What connects is imported when somebody does: the first frame comes before.
    from specchat.backends.openai_compatible import OpenAICompatibleBackend
    from specchat.core.server import ServerInfo
    from specchat.session.chat import ChatSession
    from specchat.session.ports import ChatBackend, Sampling
    from specchat.ui.app import ChatApp

_FIRST_FRAME_SECONDS = 1.0
"""Until then the processor belongs to the screen."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to connect and how, from all sources of settings."""

    settings: Settings
    stop: tuple[str, ...] = ()
    openai_key_confirmed: bool = False

    @property
    def shown_url(self) -> str:
        """The address for a message, without user name or password."""
        from specchat.backends.address import Address

        try:
            return str(Address.parse(self.settings.url or ""))
        except ConfigurationError:
            return "the server"

    @property
    def sampling(self) -> "Sampling":
        """Parameters for every request."""
        from specchat.session.ports import Sampling

        s = self.settings
        return Sampling(s.max_tokens, s.temperature, s.top_p, s.seed, self.stop)


def connection_from(
    typed: dict[str, Any], *, stop: tuple[str, ...] = (), openai_key_confirmed: bool = False
) -> Connection:
    """The connection that the command line, environment and settings file describe.

    Raises:
        ConfigurationError: If they hold something wrong, or nothing names a server and none is remembered.
    """
    settings = load(typed, paths.config_file())
    if settings.url is None:
        last = recall(paths.last_server_file())
        if last is None:
            raise ConfigurationError(
                "No server is named and none is remembered.",
                "Connect with `specchat --url URL`, or run `specchat demo` for a real one on this machine.",
            )
        settings = settings.model_copy(update={"url": last[0], "model": settings.model or last[1]})
    return Connection(settings, stop, openai_key_confirmed)


@asynccontextmanager
async def open_session(connection: Connection, *, warm_up: bool = False) -> "AsyncIterator[ChatSession]":
    """A session with the connected server, and with the baseline if there is one.

    Args:
        connection: Where to connect and how.
        warm_up: Load what the first request needs a moment later, while the user reads and types.

    Raises:
        SpecchatError: If a server cannot be talked to.
    """
    from specchat.session.chat import ChatSession

    settings = connection.settings
    opened: list[ChatBackend] = []
    warming: asyncio.Task[None] | None = None
    try:
        backend = make_backend(connection, settings.url or "", settings.model)
        opened.append(backend)
        server = await backend.connect()
        baseline = None
        if settings.baseline_url is not None:
            baseline = await _baseline(connection, settings.baseline_url, server.model)
            opened.append(baseline[0])
        if warm_up:
            warming = asyncio.create_task(_warm_up(backend))
        yield ChatSession(
            backend,
            server,
            time.monotonic,
            baseline=baseline,
            sampling=connection.sampling,
            system=settings.system,
        )
    finally:
        if warming is not None:
            warming.cancel()
        for other in opened:
            await other.close()


async def _baseline(connection: Connection, url: str, model: str | None) -> "tuple[ChatBackend, ServerInfo]":
    """The server without speculation: its only model, or the one that goes by the same name.

    Raises:
        ConfigurationError: If the server is known to speculate: it would be compared with its like.
    """
    backend = make_backend(connection, url, None)
    try:
        try:
            server = await backend.connect()
        except ModelChoiceNeeded:
            await backend.close()
            backend = make_backend(connection, url, model)
            server = await backend.connect()
        _refuse_speculation(server)
    except BaseException:
        await backend.close()
        raise
    return backend, server


async def _warm_up(backend: "OpenAICompatibleBackend") -> None:
    await asyncio.sleep(_FIRST_FRAME_SECONDS)
    await backend.warm_up()


def _refuse_speculation(server: "ServerInfo") -> None:
    if server.speculates:
        raise ConfigurationError(
            f"The baseline at {server.url} speculates too (k = {server.draft_length}).",
            "Start it without --speculative-config.",
        )


def make_backend(connection: Connection, url: str, model: str | None) -> "OpenAICompatibleBackend":
    """The adapter for a server's address; `model` None takes the only one that is served.

    Raises:
        ConfigurationError: If the address makes no sense.
    """
    from specchat.backends.address import Address
    from specchat.backends.openai_compatible import OpenAICompatibleBackend

    settings = connection.settings
    address = Address.parse(url)
    choice = choose_key(settings, address.host, openai_key_confirmed=connection.openai_key_confirmed)
    return OpenAICompatibleBackend(
        address,
        clock=time.monotonic,
        model=model,
        key=choice.key,
        ca_file=settings.ca_file,
        insecure=settings.insecure,
        unsent_openai_key=choice.unsent_openai_key,
    )


async def run_app(connection: Connection, *, opening_prompt: str | None = None, remember_server: bool = True) -> int:
    """Open the chat, connect, and wait until the user leaves, or a signal asks to.

    Returns:
        The exit code: 0 if the user left, 143 after SIGTERM, 129 after SIGHUP, 1 if the app broke.

    Raises:
        SpecchatError: If a server cannot be talked to.
    """
    _require_capable_terminal(os.environ)
    # To look for garbage among what is being imported takes a fifth of the time to the first frame.
    gc.disable()
    from specchat.ui.app import ChatApp
    from specchat.ui.crash import Reporter
    from specchat.ui.running import run_to_the_end

    settings = connection.settings
    _check_before_drawing(connection)
    async with AsyncExitStack() as opened:

        async def connect() -> "ChatSession":
            session = await opened.enter_async_context(open_session(connection, warm_up=True))
            if remember_server:
                remember(paths.last_server_file(), session.server.url, session.server.model)
            # What start-up made lives as long as the app: full collections would pause a streaming reply for it.
            gc.freeze()
            gc.enable()
            return session

        app = ChatApp(
            connect,
            destination=connection.shown_url,
            theme=settings.theme,
            theme_directories=theme_directories(),
            export_directory=settings.export_dir or paths.default_export_directory(),
            opening_prompt=opening_prompt,
        )
        secrets = partial(_secrets, settings, app)
        code = await run_to_the_end(app, Reporter(paths.crash_directory(), secrets, os.environ))
        if app.refusal is not None:
            raise app.refusal
        return code


def _check_before_drawing(connection: Connection) -> None:
    """What can be refused without asking a server, so that no screen comes and goes for it.

    Raises:
        ConfigurationError: If the address makes no sense, or the key cannot be read or sent.
    """
    from specchat.backends.address import Address

    settings = connection.settings
    for url in filter(None, (settings.url, settings.baseline_url)):
        choose_key(settings, Address.parse(url).host, openai_key_confirmed=connection.openai_key_confirmed)


def _require_capable_terminal(environment: Mapping[str, str]) -> None:
    """The chat moves the cursor about.

    Raises:
        ConfigurationError: If the terminal says that it cannot do that.
    """
    if environment.get("TERM", "").lower() in {"dumb", "unknown"}:
        raise ConfigurationError(
            f"This terminal (TERM={environment['TERM']}) cannot show the chat.",
            "Use another one, or `specchat ask`, which only prints.",
        )


def _secrets(settings: Settings, app: "ChatApp") -> list[str]:
    """What no report of an error may hold: keys and what was said."""
    keys = [value for name, value in os.environ.items() if name.endswith(("_KEY", "_TOKEN", "_PASSWORD"))]
    with suppress(ConfigurationError):
        keys.append(choose_key(settings, "").key or "")
    if app.session is None:
        return keys
    conversation = app.session.conversation
    said = [part for turn in conversation.turns for part in (turn.prompt, turn.reply.text, turn.reply.reasoning)]
    return [*keys, *said, conversation.system]


def theme_directories() -> tuple[Path, ...]:
    """Where the user's own theme files are: in `themes` beside the settings file."""
    return (paths.config_file().parent / "themes",)


def data_directory() -> Path:
    """Where engines and models live."""
    from specchat_launcher import data_directory as launcher_data_directory

    return launcher_data_directory(os.environ, Path.home())
