"""Lets the body of an error answer be read as far as it came, since a cut or wrongly marked message is still a message.

HTTP libraries raise where a body is shorter than promised or is not packed as its header says, and the reason that the
server gave is lost. Answers that are no errors are left alone.
"""

import asyncio
from typing import TYPE_CHECKING

from specchat.backends.unpacking import DamagedData, Unpacker

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    import httpx2

_FIRST_ERROR = 400
_PATIENCE_SECONDS = 5.0
"""For the whole body: some servers never end it."""
_LONGEST = 4_000_000


async def salvage(response: "httpx2.Response") -> None:
    """A response hook of an HTTP client: makes the body of an error answer readable."""
    import httpx2

    if response.status_code < _FIRST_ERROR or not isinstance(response.stream, httpx2.AsyncByteStream):
        return
    original, coding = response.stream, response.headers.pop("content-encoding", "")

    class Salvaged(httpx2.AsyncByteStream):
        async def __aiter__(self) -> "AsyncIterator[bytes]":
            yield await _what_came(original, coding)

        async def aclose(self) -> None:
            await original.aclose()

    response.stream = Salvaged()


async def _what_came(body: "httpx2.AsyncByteStream", coding: str) -> bytes:
    """The body, unpacked, up to its end or the first byte that cannot be read."""
    import httpx2

    unpacker = Unpacker(coding)
    read = bytearray()
    try:
        async with asyncio.timeout(_PATIENCE_SECONDS):
            async for piece in body:
                read += unpacker.feed(piece)
                if len(read) > _LONGEST:
                    break
    except DamagedData as damage:
        read += f"(its text cannot be read: {damage})".encode()
    except (httpx2.HTTPError, TimeoutError):
        pass  # what came until then is the message
    return bytes(read + unpacker.flush())
