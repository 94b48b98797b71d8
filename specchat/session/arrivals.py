"""What arrives for one reply: its stream, the texts of its tokens and its trace, merged into one order.

The stream alone decides when a reply is over and whether it failed. Texts and trace are waited for briefly, and their
absence is a fact about the reply and no failure.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from specchat.core.errors import SpecchatError, StreamBroken
from specchat.core.events import Event, PiecesLearned, PiecesUnavailable, StepsTraced, TraceEnded
from specchat.core.reply import Reply
from specchat.session.ports import ChatBackend, ChatRequest

_PIECES_PATIENCE_SECONDS = 3.0
"""How long a finished reply waits for the last texts of its tokens."""
_TRACE_PATIENCE_SECONDS = 1.0
"""How long a finished reply waits for the end of its trace."""
_BROKEN_PATIENCE_SECONDS = 0.3
"""The same for a reply that was stopped or broke off."""
_NO_TRACE = TraceEnded(None, "the trace of this reply is missing: the server's hook sent nothing of it")
_LATE_TRACE = TraceEnded(None, "the end of this reply's trace did not come in time")

Item = Event | SpecchatError | None
"""None is the end of the stream."""


class Arrivals:
    """The events of one reply as they come."""

    def __init__(self, backend: ChatBackend, request: ChatRequest) -> None:
        """Ask for nothing yet.

        Args:
            backend: Who is asked.
            request: What for.
        """
        self._backend = backend
        self._request = request
        self._queue: asyncio.Queue[Item] = asyncio.Queue()
        self._stream: asyncio.Task[None] | None = None
        self._trace: asyncio.Task[None] | None = None
        self._pieces = _PieceFetcher(backend, self._queue)
        self._rows_came = False
        self._trace_is_over = request.trace_key is None

    def open_trace(self) -> None:
        """Begin to listen for the trace, if one is asked for."""
        if self._request.trace_key is not None:
            self._trace = asyncio.create_task(self._follow_trace(self._request.trace_key))

    def open_stream(self) -> None:
        """Send the request."""
        self._stream = asyncio.create_task(self._produce())
        # A callback and not a `finally` in the task: a task that is cancelled before it starts runs no code at all.
        self._stream.add_done_callback(lambda _: self._queue.put_nowait(None))

    def stop(self) -> None:
        """End the request; what came until now still comes out."""
        if self._stream is not None:
            self._stream.cancel()

    async def next(self, idle_limit: float | None) -> Item:
        """What comes next; None once the stream is over, an error where it failed or was silent for too long.

        Args:
            idle_limit: Seconds; None waits for ever.
        """
        try:
            async with asyncio.timeout(idle_limit):
                item = await self._queue.get()
        except TimeoutError:
            return StreamBroken(
                f"Nothing came from the server for {idle_limit:.0f} s.",
                "What came before is kept; is the server alive?",
            )
        self._note(item)
        return item

    def fetch_pieces(self, reply: Reply) -> None:
        """Start asking for the texts that the reply lacks, unless a request is under way."""
        self._pieces.fetch(reply)

    async def rest(self, reply: Reply, *, broke: bool) -> AsyncGenerator[Event, None]:
        """What is still to come after the stream: the last texts, and the trace up to its end, in limited time.

        Args:
            reply: As far as it grew; the caller adds what this yields.
            broke: Was it stopped, or did it fail? Then less is waited for.
        """
        patience = _TRACE_PATIENCE_SECONDS
        if broke:
            patience = _BROKEN_PATIENCE_SECONDS if reply.has_ids else 0.0
        deadline = asyncio.get_running_loop().time() + patience
        async for event in self._pieces.rest(reply):
            self._note(event)
            yield event
        while not self._trace_is_over:
            try:
                async with asyncio.timeout_at(deadline):
                    item = await self._queue.get()
            except TimeoutError:
                break
            if item is not None and not isinstance(item, SpecchatError):
                self._note(item)
                yield item
        if not self._trace_is_over and reply.has_ids and not (reply.trace is not None and reply.trace.is_whole):
            yield _LATE_TRACE if self._rows_came else _NO_TRACE

    def _note(self, item: Item) -> None:
        self._rows_came = self._rows_came or isinstance(item, StepsTraced)
        self._trace_is_over = self._trace_is_over or isinstance(item, TraceEnded)

    async def close(self) -> None:
        """End every request that is under way."""
        tasks = [task for task in (self._stream, self._trace) if task is not None]
        for task in tasks:
            task.cancel()
        for task in tasks:
            with suppress(asyncio.CancelledError):
                await task
        await self._pieces.close()

    async def _produce(self) -> None:
        try:
            async with aclosing(self._backend.stream(self._request)) as events:
                async for event in events:
                    self._queue.put_nowait(event)
        except SpecchatError as error:
            self._queue.put_nowait(error)

    async def _follow_trace(self, key: str) -> None:
        async with aclosing(self._backend.trace(key)) as events:
            async for event in events:
                self._queue.put_nowait(event)
                if isinstance(event, TraceEnded):
                    return
        self._queue.put_nowait(_LATE_TRACE if self._rows_came else _NO_TRACE)


class _PieceFetcher:
    """Asks for the texts of tokens, one request at a time, beside the stream."""

    def __init__(self, backend: ChatBackend, queue: asyncio.Queue[Item]) -> None:
        self._backend = backend
        self._queue = queue
        self._task: asyncio.Task[Event] | None = None
        self._available = True

    def fetch(self, reply: Reply) -> None:
        """Start asking for what the reply lacks, unless a request is under way."""
        if not self._available or (self._task is not None and not self._task.done()):
            return
        ids, runs = reply.aligner.wanted_ids(), reply.aligner.wanted_runs()
        if ids or runs:
            self._task = asyncio.create_task(self._ask(sorted(ids), sorted(runs)))
            self._task.add_done_callback(self._deliver)

    async def rest(self, reply: Reply) -> AsyncGenerator[Event, None]:
        """What is still missing at the end, in few rounds and limited time."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_PIECES_PATIENCE_SECONDS):
                if self._task is not None:
                    await self._task
                while not self._queue.empty():
                    late = self._queue.get_nowait()
                    if late is not None and not isinstance(late, SpecchatError):
                        yield late
                asked: tuple[set[int], set[tuple[int, ...]]] = (set(), set())
                while self._available:
                    ids, runs = reply.aligner.wanted_ids(), reply.aligner.wanted_runs()
                    if (ids, runs) == asked or not (ids or runs):
                        return  # nothing is missing, or nobody knows it
                    asked = ids, runs
                    yield await self._ask(sorted(ids), sorted(runs))

    async def close(self) -> None:
        """End a request that is under way."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task

    async def _ask(self, ids: list[int], runs: list[tuple[int, ...]]) -> Event:
        learned = await self._backend.learn_pieces(ids, runs)
        if learned is None:
            self._available = False
            return PiecesUnavailable()
        pieces, whole = learned
        return PiecesLearned(pieces, whole)

    def _deliver(self, task: asyncio.Task[Event]) -> None:
        if not task.cancelled():
            self._queue.put_nowait(task.result())
