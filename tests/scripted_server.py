"""An HTTP server on loopback that sends exactly the bytes a test wrote, so that every fault can be made."""

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Self


@dataclass(frozen=True)
class Request:
    """One request as it arrived."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> dict[str, object]:
        value = json.loads(self.body)
        assert isinstance(value, dict)
        return value


@dataclass(frozen=True)
class Pause:
    """Send nothing for a while; without an end, until the client goes."""

    seconds: float | None = None


class Cut:
    """Break the connection without an end, as a killed process does."""


Step = bytes | Pause | Cut
Answer = bytes | Sequence[Step] | Callable[[Request], "bytes | Sequence[Step]"]

TLS_HANDSHAKE = b"\x16"
SSE = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"


def answer(status: str, body: bytes | str, content_type: str = "application/json", **headers: str) -> bytes:
    """A whole answer with its length."""
    data = body.encode() if isinstance(body, str) else body
    extra = "".join(f"{name.replace('_', '-')}: {value}\r\n" for name, value in headers.items())
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(data)}\r\n{extra}\r\n"
    return head.encode() + data


def chunk(
    content: str | None = None, *, ids: list[int] | None = None, finish: str | None = None, **more: object
) -> str:
    """A chunk's JSON."""
    delta = {} if content is None else {"content": content}
    choice: dict[str, object] = {"index": 0, "delta": delta, "finish_reason": finish}
    if ids is not None:
        choice["token_ids"] = ids
    return json.dumps({"id": "c1", "model": "demo-model", "choices": [choice], **more})


def sse(*data: str) -> bytes:
    """Events, with the head of the answer."""
    return (SSE + "".join(f"data: {item}\n\n" for item in data)).encode()


def models(*names: str, **fields: object) -> bytes:
    """A list of models."""
    entries = [{"id": name, "object": "model", **fields} for name in names]
    return answer("200 OK", json.dumps({"object": "list", "data": entries}))


@dataclass
class ScriptedServer:
    """Answers by path; what has no answer is 404. Use as an async context manager."""

    answers: dict[str, Answer] = field(default_factory=dict)
    requests: list[Request] = field(default_factory=list)
    port: int = 0

    def __post_init__(self) -> None:
        self.answers = {"/v1/models": models("demo-model")} | self.answers
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def chat_requests(self) -> list[Request]:
        return [request for request in self.requests if request.path.endswith("/chat/completions")]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._serve(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = await reader.readexactly(1)
        if first == TLS_HANDSHAKE:
            writer.write(answer("400 Bad Request", "Invalid HTTP request received.", "text/plain"))
            return
        request = await _read(first, reader)
        self.requests.append(request)
        script = self.answers.get(request.path, answer("404 Not Found", '{"detail":"Not Found"}'))
        steps = script(request) if callable(script) else script
        for step in [steps] if isinstance(steps, bytes) else steps:
            if isinstance(step, Cut):
                writer.transport.abort()
                return
            if isinstance(step, Pause):
                if step.seconds is None:
                    await reader.read()
                    return
                await asyncio.sleep(step.seconds)
            elif isinstance(step, bytes):
                writer.write(step)
                await writer.drain()


async def _read(first: bytes, reader: asyncio.StreamReader) -> Request:
    head = (first + await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, path, _ = head[0].split(" ", 2)
    pairs = (line.split(":", 1) for line in head[1:] if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)
