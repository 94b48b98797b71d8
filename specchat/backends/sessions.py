"""Opens sessions: where to connect and how goes in, connected sessions come out. Owns what closes with each.

Draws nothing, reads no settings and launches no server.
"""

import asyncio
import gc
import time
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from specchat.config import paths
from specchat.config.keys import choose_key
from specchat.config.last_server import remember
from specchat.config.settings import Settings
from specchat.core.errors import ConfigurationError, ModelChoiceNeeded, SpecchatError
from specchat.core.switching import BY_ITSELF, Speculation, Way

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    # What connects is imported when somebody does: the first frame comes before.
    from specchat.backends.openai_compatible import OpenAICompatibleBackend
    from specchat.core.server import ServerInfo
    from specchat.session.chat import ChatSession
    from specchat.session.local_servers import LaunchedServer, LocalServers
    from specchat.session.ports import ChatBackend, Sampling

DEMO_TEMPERATURE = 0.0
DEMO_MAX_TOKENS = 400
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


@asynccontextmanager
async def open_session(
    connection: Connection, *, warm_up: bool = False, launched: "LaunchedServer | None" = None
) -> "AsyncIterator[ChatSession]":
    """A session with the connected server, and with the baseline if there is one.

    Args:
        connection: Where to connect and how.
        warm_up: Load what the first request needs a moment later, while the user reads and types.
        launched: The server, if specchat launched it on this machine: it may be one of a pair.

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
        baseline, remarks = None, tuple[str, ...]()
        if settings.baseline_url is not None:
            baseline = await _baseline(connection, settings.baseline_url, server.model)
        elif launched is not None and launched.baseline_url:
            baseline, remarks = await _other_half(connection, launched.baseline_url, server.model)
        if baseline is not None:
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
            standing=standing_of(launched),
            can_relaunch=launched is not None and not launched.why_not,
            remarks=remarks,
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


async def _other_half(
    connection: Connection, url: str, model: str | None
) -> "tuple[tuple[ChatBackend, ServerInfo] | None, tuple[str, ...]]":
    """The server of a pair that does not speculate, which nobody named, and what the reader should know of it."""
    try:
        baseline = await _baseline(connection, url, model)
    except SpecchatError as error:
        return None, (f"The other server of this pair, at {url}, cannot be asked: {error.message}",)
    return baseline, (f"This server is one of a pair: without speculation the other one can be asked, at {url}.",)


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


async def launched_at(local: "LocalServers | None", url: str) -> "LaunchedServer | None":
    """What this machine's launcher knows of a server; None where it knows nothing, or cannot be asked."""
    if local is None or not url:
        return None
    try:
        return await local.launched(url)
    except SpecchatError:  # it is a help, and whoever only wants to chat need not hear that there is none
        return None


def standing_of(launched: "LaunchedServer | None") -> Speculation:
    """What a server does by itself, for who knows how it was launched."""
    return BY_ITSELF if launched is None or launched.tokens is None else Speculation(launched.tokens, Way.RELAUNCH)


@dataclass(frozen=True, slots=True)
class _Opened:
    """One session, and what closes with it."""

    session: "ChatSession"
    connection: Connection
    stack: AsyncExitStack


class Sessions:
    """The sessions of a running app: one that is shown, and for a moment the one that takes its place.

    Attributes:
        local: The servers of this machine, once they can be asked.
    """

    def __init__(self, connection: Connection, *, remember_server: bool) -> None:
        """Open none yet.

        Args:
            connection: Where to connect first, and how.
            remember_server: Is the server that is talked to opened by itself next time?
        """
        self._connection = connection
        self._remembers = remember_server
        self._opened: list[_Opened] = []
        self.local: LocalServers | None = None

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
        for opened in [one for one in self._opened if one.session is not session]:
            self._opened.remove(opened)
            await opened.stack.aclose()

    async def renew(self, session: "ChatSession") -> None:
        """Let a session go on with its server, which was launched anew at the same address.

        Raises:
            SpecchatError: If the server cannot be talked to. The session is as it was.
        """
        opened = next(one for one in self._opened if one.session is session)
        url = opened.connection.settings.url or ""
        backend = make_backend(opened.connection, url, opened.connection.settings.model)
        opened.stack.push_async_callback(backend.close)
        server = await backend.connect()
        launched = await launched_at(self.local, url)
        can_relaunch = launched is not None and not launched.why_not
        session.take_server(backend, server, standing_of(launched), can_relaunch=can_relaunch)

    async def close(self) -> None:
        """Close all."""
        while self._opened:
            await self._opened.pop().stack.aclose()

    async def _open(self, connection: Connection, *, remembers: bool) -> "ChatSession":
        launched = await launched_at(self.local, connection.settings.url or "")
        try:
            async with AsyncExitStack() as stack:
                session = await stack.enter_async_context(open_session(connection, warm_up=True, launched=launched))
                self._opened.append(_Opened(session, connection, stack.pop_all()))
        finally:
            keep_what_is_loaded()
        if remembers:
            remember(paths.last_server_file(), session.server.url, session.server.model)
        return session


def keep_what_is_loaded() -> None:
    """What start-up made lives as long as the app: full collections would pause a streaming reply for it."""
    gc.freeze()
    gc.enable()
