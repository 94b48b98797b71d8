"""A server that follows a script and a clock that stands still, for tests without a network."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass

from specchat.core.counters import CounterReading
from specchat.core.errors import SpecchatError
from specchat.core.events import ChunkArrived, Event, StepsTraced, StreamEnded, TraceEnded
from specchat.core.server import ServedModel, ServerInfo
from specchat.core.speculation import Channel
from specchat.session.ports import ChatRequest


class FixedClock:
    """Seconds that pass only when told."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now

    def advance(self, seconds: float) -> None:
        self.now += seconds


@dataclass(frozen=True)
class Pause:
    """The server takes its time; the clock moves on."""

    seconds: float


class Hang:
    """The server says nothing more, until it is let go or the reply is stopped."""

    def __init__(self) -> None:
        self.released = asyncio.Event()


Scripted = Event | Pause | Hang | SpecchatError


class ScriptedBackend:
    """Answers the n-th request with the n-th script, and the requests after that with the last; traces likewise."""

    def __init__(
        self,
        *scripts: Sequence[Scripted],
        clock: FixedClock | None = None,
        pieces: Mapping[int, str] | None = None,
        counters: Callable[[], CounterReading | None] = lambda: None,
        server: ServerInfo | None = None,
        traces: Sequence[Sequence[Scripted]] = (),
    ) -> None:
        self.scripts = list(scripts) or [[]]
        self.clock = clock
        self.pieces = pieces
        self.counters = counters
        self.server = server or server_info()
        self.traces = list(traces)
        self.trace_keys: list[str] = []
        self.requests: list[ChatRequest] = []
        self.closed_streams = 0
        self.is_closed = False

    async def connect(self) -> ServerInfo:
        return self.server

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Event, None]:
        script = self.scripts[min(len(self.requests), len(self.scripts) - 1)]
        self.requests.append(request)
        try:
            for item in script:
                if isinstance(item, Pause):
                    if self.clock is not None:
                        self.clock.advance(item.seconds)
                    await asyncio.sleep(0 if self.clock is not None else item.seconds)
                elif isinstance(item, Hang):
                    await item.released.wait()
                elif isinstance(item, SpecchatError):
                    raise item
                else:
                    yield item
        finally:
            self.closed_streams += 1

    async def trace(self, key: str) -> AsyncGenerator[StepsTraced | TraceEnded, None]:
        script = self.traces[min(len(self.trace_keys), len(self.traces) - 1)] if self.traces else [Hang()]
        self.trace_keys.append(key)
        for item in script:
            if isinstance(item, Pause):
                await asyncio.sleep(item.seconds)
            elif isinstance(item, Hang):
                await item.released.wait()
            elif isinstance(item, StepsTraced | TraceEnded):
                yield item

    async def read_counters(self) -> CounterReading | None:
        return self.counters()

    async def learn_pieces(
        self, ids: Sequence[int], runs: Sequence[tuple[int, ...]]
    ) -> tuple[Mapping[int, str], Mapping[tuple[int, ...], str]] | None:
        if self.pieces is None:
            return None
        return {i: self.pieces[i] for i in ids if i in self.pieces}, dict.fromkeys(runs, "")

    async def close(self) -> None:
        self.is_closed = True


def server_info(**changes: object) -> ServerInfo:
    """A server that speculates with k = 3."""
    given: dict[str, object] = {
        "url": "http://gpu01:8000",
        "version": "0.32.0",
        "models": (ServedModel("tiny/chat", 8192),),
        "model": "tiny/chat",
        "draft_length": 3,
    }
    return ServerInfo(**(given | changes))  # type: ignore[arg-type]


class Script:
    """Writes a script from words: each call of `step` is one chunk of several tokens."""

    def __init__(self, *, start: float = 1.0, step_seconds: float = 0.02) -> None:
        self.events: list[Scripted] = []
        self.pieces: dict[int, str] = {}
        self._at = start
        self._step_seconds = step_seconds

    def step(self, *pieces: str, channel: Channel = Channel.CONTENT) -> "Script":
        ids = tuple(len(self.pieces) + 100 + i for i in range(len(pieces)))
        self.pieces.update(zip(ids, pieces, strict=True))
        self.events.append(ChunkArrived(self._at, ((channel, "".join(pieces)),), token_ids=ids))
        self._at += self._step_seconds
        return self

    def then(self, *items: Scripted) -> "Script":
        self.events += items
        return self

    def end(self, finish_reason: str = "stop") -> "Script":
        self.events.append(ChunkArrived(self._at, finish_reason=finish_reason))
        self.events.append(StreamEnded(self._at, done=True))
        return self
