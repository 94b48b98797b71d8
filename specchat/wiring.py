"""Chooses the adapters: settings in, a connected session or a running app out. The only module that knows both ends."""

import asyncio
import gc
import os
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, replace
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

DEMO_TEMPERATURE = 0.0
DEMO_MAX_TOKENS = 400
DEMO_PROMPT = "Explain step by step what a compiler does, then write a Python function that checks for primes."
"""What the demo asks for, unless it is said otherwise."""
_FIRST_FRAME_SECONDS = 1.0
"""Until then the processor belongs to the screen."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Where to connect and how, from all sources of settings."""

    settings: Settings
    stop: tuple[str, ...] = ()
    openai_key_confirmed: bool = False
    is_remembered: bool = False
    """Is the address that of the last time, and no one named it now?"""

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
    typed: dict[str, Any],
    *,
    stop: tuple[str, ...] = (),
    openai_key_confirmed: bool = False,
    may_choose: bool = False,
) -> Connection:
    """The connection that the command line, environment and settings file describe.

    Args:
        typed: Options of the command line.
        stop: Texts that end a reply.
        openai_key_confirmed: May OPENAI_API_KEY go to whatever server is named?
        may_choose: Is a connection without an address good enough, since a server can be chosen later?

    Raises:
        ConfigurationError: If they hold something wrong, or nothing names a server and none is remembered.
    """
    settings = load(typed, paths.config_file())
    remembered = False
    if settings.url is None:
        last = recall(paths.last_server_file())
        if last is None:
            if may_choose:
                return Connection(settings, stop, openai_key_confirmed)
            raise ConfigurationError(
                "No server is named and none is remembered.",
                "Connect with `specchat --url URL`, or run `specchat demo` for a real one on this machine.",
            )
        settings = settings.model_copy(update={"url": last[0], "model": settings.model or last[1]})
        remembered = True
    return Connection(settings, stop, openai_key_confirmed, remembered)


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

    Without an address, or where a remembered server does not answer, the servers of this machine are offered.

    Returns:
        The exit code: 0 if the user left, 143 after SIGTERM, 129 after SIGHUP, 1 if the app broke.

    Raises:
        SpecchatError: If a server that was named cannot be talked to.
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
        sessions = Sessions(connection, remember_server=remember_server)
        opened.push_async_callback(sessions.close)

        async def connect() -> "ChatSession":
            # Here, after the first frame, since it is used by nothing before.
            _let_choose(app, sessions, opened, stays=connection.is_remembered)
            return await sessions.first()

        app = ChatApp(
            connect if settings.url is not None else None,
            destination=connection.shown_url if settings.url is not None else "",
            theme=settings.theme,
            theme_directories=theme_directories(),
            export_directory=settings.export_dir or paths.default_export_directory(),
            opening_prompt=opening_prompt,
        )
        if settings.url is None:
            _let_choose(app, sessions, opened, stays=False)
            _keep_what_is_loaded()
        secrets = partial(_secrets, settings, app)
        code = await run_to_the_end(app, Reporter(paths.crash_directory(), secrets, os.environ))
        if app.refusal is not None:
            raise app.refusal
        return code


class Sessions:
    """The sessions of a running app: one that is shown, and for a moment the one that takes its place."""

    def __init__(self, connection: Connection, *, remember_server: bool) -> None:
        """Open none yet.

        Args:
            connection: Where to connect first, and how.
            remember_server: Is the server that is talked to opened by itself next time?
        """
        self._connection = connection
        self._remembers = remember_server
        self._opened: list[tuple[ChatSession, AsyncExitStack]] = []

    async def first(self) -> "ChatSession":
        """The session that the connection describes.

        Raises:
            SpecchatError: If the server cannot be talked to.
        """
        return await self._open(self._connection, remembers=self._remembers)

    async def other(self, url: str, model: str | None, demo: bool) -> "ChatSession":
        """A session with another server, beside the one that there is.

        Keys and the second server that were named with the first one's address stay with that address.

        Args:
            url: Its address.
            model: None for the only one.
            demo: Is it the demo, which samples greedily and answers briefly unless that was said otherwise?

        Raises:
            SpecchatError: If the server cannot be talked to.
        """
        from specchat.backends.address import Address

        settings = self._connection.settings
        changes: dict[str, Any] = {"url": url, "model": model}
        if settings.url is None or Address.parse(settings.url) != Address.parse(url):
            changes["baseline_url"] = None
            if settings.url is not None:
                changes |= {"api_key": None, "api_key_file": None}
        if demo:
            changes["temperature"] = DEMO_TEMPERATURE if settings.temperature is None else settings.temperature
            changes["max_tokens"] = DEMO_MAX_TOKENS if settings.max_tokens is None else settings.max_tokens
        connection = replace(self._connection, settings=settings.model_copy(update=changes))
        # The demo's address ends with the app.
        return await self._open(connection, remembers=not demo)

    async def keep_only(self, session: "ChatSession") -> None:
        """Close every other session."""
        for opened in [one for one in self._opened if one[0] is not session]:
            self._opened.remove(opened)
            await opened[1].aclose()

    async def close(self) -> None:
        """Close all."""
        while self._opened:
            await self._opened.pop()[1].aclose()

    async def _open(self, connection: Connection, *, remembers: bool) -> "ChatSession":
        try:
            async with AsyncExitStack() as stack:
                session = await stack.enter_async_context(open_session(connection, warm_up=True))
                self._opened.append((session, stack.pop_all()))
        finally:
            _keep_what_is_loaded()
        if remembers:
            remember(paths.last_server_file(), session.server.url, session.server.model)
        return session


def _keep_what_is_loaded() -> None:
    """What start-up made lives as long as the app: full collections would pause a streaming reply for it."""
    gc.freeze()
    gc.enable()


def _let_choose(app: "ChatApp", sessions: Sessions, opened: AsyncExitStack, *, stays: bool) -> None:
    """Give an app the servers of this machine; those that belong to it end when `opened` does."""
    from specchat.backends.local_servers import LauncherGpus, LauncherServers
    from specchat.ui.choosing import Chooser, Surroundings
    from specchat.ui.panels.server_rows import SavedServer

    last = recall(paths.last_server_file())
    saved = None if last is None else SavedServer(*last)
    local = LauncherServers(data_directory(), profile_directory())
    opened.push_async_callback(local.close)
    around = Surroundings(local, LauncherGpus(), sessions.other, sessions.keep_only, saved, DEMO_PROMPT)
    app.chooser = Chooser(app, around, stays=stays)


def profile_directory() -> Path:
    """Where the user's own server profiles are: in `profiles` beside the settings file."""
    return paths.config_file().parent / "profiles"


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
