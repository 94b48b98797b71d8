"""Chooses the adapters: settings in, a connected session or a running app out. The only module that knows both ends."""

import gc
import os
from collections.abc import Mapping
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specchat.backends.sessions import Connection, Sessions, keep_what_is_loaded, make_backend, open_session
from specchat.config import paths
from specchat.config.keys import choose_key
from specchat.config.last_server import recall
from specchat.config.settings import Settings, load
from specchat.core.errors import ConfigurationError

if TYPE_CHECKING:
    from specchat.session.chat import ChatSession
    from specchat.ui.app import ChatApp

__all__ = [
    "Connection",
    "Sessions",
    "connection_from",
    "data_directory",
    "make_backend",
    "open_session",
    "profile_directory",
    "run_app",
    "theme_directories",
]

DEMO_PROMPT = "Explain step by step what a compiler does, then write a Python function that checks for primes."
"""What the demo asks for, unless it is said otherwise."""


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
            comparisons_directory=paths.comparisons_directory(),
            opening_prompt=opening_prompt,
        )
        if settings.url is None:
            _let_choose(app, sessions, opened, stays=False)
            keep_what_is_loaded()
        secrets = partial(_secrets, settings, app)
        code = await run_to_the_end(app, Reporter(paths.crash_directory(), secrets, os.environ))
        if app.refusal is not None:
            raise app.refusal
        return code


def _let_choose(app: "ChatApp", sessions: Sessions, opened: AsyncExitStack, *, stays: bool) -> None:
    """Give an app the servers of this machine; those that belong to it end when `opened` does."""
    from specchat.backends.local_servers import LauncherGpus, LauncherServers
    from specchat.ui.choosing import Chooser, Surroundings
    from specchat.ui.panels.server_rows import SavedServer

    last = recall(paths.last_server_file())
    saved = None if last is None else SavedServer(*last)
    local = LauncherServers(data_directory(), profile_directory())
    opened.push_async_callback(local.close)
    sessions.local = local
    around = Surroundings(local, LauncherGpus(), sessions.other, sessions.keep_only, sessions.renew, saved, DEMO_PROMPT)
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
