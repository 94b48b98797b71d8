"""Bodies that are compressed although nobody asked for it."""

import gzip
import zlib

import pytest

from chatting import ask_server
from scripted_server import SSE, ScriptedServer, chunk, sse
from specchat.core.errors import StreamBroken
from specchat.core.reply import Outcome

BODY = sse(chunk("Some"), chunk(" text"), chunk(finish="stop"), "[DONE]")[len(SSE) :]
HALF = BODY[: len(BODY) // 2]


def coded(body: bytes, coding: str | None = "gzip") -> bytes:
    head = SSE if coding is None else SSE.replace("connection", f"content-encoding: {coding}\r\nconnection")
    return head.encode() + body


@pytest.mark.parametrize(
    "body",
    [
        coded(gzip.compress(BODY)),
        coded(gzip.compress(BODY), "x-gzip"),
        coded(zlib.compress(BODY), "deflate"),
        coded(gzip.compress(HALF) + gzip.compress(BODY[len(HALF) :])),
        coded(gzip.compress(BODY), None),
        coded(BODY),
    ],
    ids=["gzip", "x-gzip", "deflate", "two members", "without its header", "only by its header"],
)
async def test_a_compressed_stream_is_read(body: bytes) -> None:
    async with ScriptedServer({"/v1/chat/completions": body}) as server:
        reply = await ask_server(server.url)
    assert (reply.outcome, reply.text) == (Outcome.FINISHED, "Some text")


async def test_a_compressed_stream_that_is_cut_keeps_what_can_be_read() -> None:
    packer = zlib.compressobj(wbits=31)
    flushed = packer.compress(HALF) + packer.flush(zlib.Z_SYNC_FLUSH)
    async with ScriptedServer({"/v1/chat/completions": coded(flushed)}) as server:
        reply = await ask_server(server.url)
    assert reply.outcome is Outcome.FAILED
    assert isinstance(reply.error, StreamBroken)
    assert reply.text == "Some"
