"""Chooses the adapters: settings in, a connected session or a running app out. The only module that knows both ends."""

import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from specchat.config import paths
from specchat.config.keys import choose_key
from specchat.config.last_server import recall, remember
from specchat.config.settings import Settings, load
from specchat.core.errors import ConfigurationError
from specchat.core.server import ServerInfo
from specchat.session.chat import ChatSession
from specchat.session.ports import ChatBackend, Sampling


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
    def sampling(self) -> Sampling:
        """Parameters for every request."""
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
async def open_session(connection: Connection) -> AsyncIterator[ChatSession]:
    """A session with the connected server, and with the baseline if there is one.

    Raises:
        SpecchatError: If a server cannot be talked to.
    """
    settings = connection.settings
    opened: list[ChatBackend] = []
    try:
        backend = make_backend(connection, settings.url or "")
        opened.append(backend)
        server = await backend.connect()
        baseline = None
        if settings.baseline_url is not None:
            other = make_backend(connection, settings.baseline_url)
            opened.append(other)
            baseline = (other, _checked_baseline(await other.connect()))
        yield ChatSession(
            backend,
            server,
            time.monotonic,
            baseline=baseline,
            sampling=connection.sampling,
            system=settings.system,
        )
    finally:
        for backend in opened:
            await backend.close()


def make_backend(connection: Connection, url: str) -> ChatBackend:
    """The adapter for a server's address.

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
        model=settings.model,
        key=choice.key,
        ca_file=settings.ca_file,
        insecure=settings.insecure,
        unsent_openai_key=choice.unsent_openai_key,
    )


async def run_app(connection: Connection, *, opening_prompt: str | None = None, remember_server: bool = True) -> None:
    """Connect, open the chat and wait until the user leaves it.

    Raises:
        SpecchatError: If a server cannot be talked to.
    """
    async with open_session(connection) as session:
        from specchat.ui.app import ChatApp

        settings = connection.settings
        if remember_server:
            remember(paths.last_server_file(), session.server.url, session.server.model)
        app = ChatApp(
            session,
            theme=settings.theme,
            export_directory=settings.export_dir or paths.default_export_directory(),
            opening_prompt=opening_prompt,
        )
        await app.run_async()


def data_directory() -> Path:
    """Where engines and models live."""
    from specchat_launcher import data_directory as launcher_data_directory

    return launcher_data_directory(os.environ, Path.home())


def _checked_baseline(server: ServerInfo) -> ServerInfo:
    """A baseline that speculates would sell speculation against itself.

    Raises:
        ConfigurationError: If the server is known to speculate.
    """
    if server.speculates:
        raise ConfigurationError(
            f"The baseline at {server.url} speculates too (k = {server.draft_length}).",
            "Start it without --speculative-config.",
        )
    return server
