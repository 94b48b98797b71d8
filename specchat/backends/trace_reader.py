"""Streams a reply's trace from the specchat hook. Never raises: whatever goes wrong becomes the trace's last event."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import TYPE_CHECKING

from specchat.backends.error_body import read_error_body
from specchat.backends.redaction import redact
from specchat.backends.trace_rows import TraceRows, UnreadableTrace
from specchat.backends.unpacking import DamagedData, Unpacker
from specchat.core.errors import SpecchatError
from specchat.core.events import StepsTraced, TraceEnded
from specchat.core.harmless import one_line

if TYPE_CHECKING:
    import httpx2

_RECONNECTS = 3
_PAUSES_SECONDS = (0.05, 0.2, 0.5)
"""Before each reconnect: the server may not have noticed yet that the connection broke."""
_TAKEN = 409
_REASONS = {
    401: "the server wants an API key for it",
    403: "the server forbids it",
    404: "the server does not know this reply",
    _TAKEN: "somebody else reads it",
}
_QUOTED = 160


class _Broken(Exception):
    """The connection ended before the trace did."""


async def read_trace(
    client: Callable[[], "httpx2.AsyncClient"], url: str, *, key: str | None = None
) -> AsyncGenerator[StepsTraced | TraceEnded, None]:
    """The trace of one reply; the last event is a TraceEnded.

    A connection that breaks is made again three times, and the trace goes on where it was.

    Args:
        client: Gives the HTTP client to use.
        url: Full URL of the trace.
        key: The API key, to keep it out of messages.
    """
    rows = TraceRows()
    reconnects = 0
    while True:
        try:
            async with aclosing(_read_once(client, url, rows, is_first=reconnects == 0)) as events:
                async for event in events:
                    yield event
                    if isinstance(event, TraceEnded):
                        return
        except UnreadableTrace as error:
            yield _missing(f"it cannot be read: {_quoted(error, key)}")
            return
        except _Broken as error:
            if reconnects == _RECONNECTS:
                yield _missing(f"the connection broke: {_quoted(error, key)}")
                return
        await asyncio.sleep(_PAUSES_SECONDS[reconnects])
        reconnects += 1


async def _read_once(
    client: Callable[[], "httpx2.AsyncClient"], url: str, rows: TraceRows, *, is_first: bool
) -> AsyncGenerator[StepsTraced | TraceEnded, None]:
    """One connection's part.

    Raises:
        UnreadableTrace: If what comes is no trace.
        _Broken: If the connection ended before the trace did.
    """
    import httpx2

    rows.begin_connection()
    try:
        async with client().stream("GET", url, params={"from": rows.next_number}) as response:
            if not response.is_success:
                if response.status_code == _TAKEN and not is_first:
                    raise _Broken("the server still holds the connection that broke")
                yield _missing(_refusal(response.status_code, await response.aread()))
                return
            unpacker = Unpacker(response.headers.get("content-encoding", ""))
            async with aclosing(response.aiter_raw()) as pieces:
                async for piece in pieces:
                    for event in rows.feed(unpacker.feed(piece)):
                        yield event
            for event in rows.finish(unpacker.flush()):
                yield event
    except (httpx2.HTTPError, httpx2.InvalidURL, httpx2.StreamError, DamagedData, SpecchatError) as error:
        raise _Broken(str(error) or type(error).__name__) from error
    raise _Broken("it ended too early")


def _refusal(status: int, body: bytes) -> str:
    known = _REASONS.get(status, f"the server answers {status}")
    said = one_line(read_error_body(body).text, _QUOTED)
    return f"{known} (“{said}”)" if said else known


def _missing(why: str) -> TraceEnded:
    return TraceEnded(None, f"the trace of this reply is missing: {why}")


def _quoted(error: Exception, key: str | None) -> str:
    return one_line(redact(str(error), (key,)), _QUOTED)
