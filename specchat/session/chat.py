"""Asks for one reply after the other and tells how each grows. Owns the order of things, and knows no server."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from specchat.core.conversation import Conversation, Turn
from specchat.core.counters import CounterReading, check_steps
from specchat.core.errors import NothingToRepeat, SpecchatError, StreamBroken
from specchat.core.events import Event, PiecesLearned, PiecesUnavailable
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.session.continuing import continuation_error, continuation_notes
from specchat.session.ports import ChatBackend, ChatRequest, Clock, Message, Sampling

_PIECES_PATIENCE_SECONDS = 3.0
"""How long a finished reply waits for the last texts of its tokens."""
_COUNTERS_PATIENCE_SECONDS = 1.5
"""How long to wait for a server's counters to take in the request that just ended."""


class ChatSession:
    """One conversation with a server, and with a second one that does not speculate, if there is one.

    Attributes:
        conversation: The turns so far; the last one is the one that grows.
        speculating: Which server the next prompt goes to.
    """

    def __init__(
        self,
        backend: ChatBackend,
        server: ServerInfo,
        clock: Clock,
        *,
        baseline: tuple[ChatBackend, ServerInfo] | None = None,
        sampling: Sampling | None = None,
        system: str = "",
    ) -> None:
        """Start with an empty conversation.

        Args:
            backend: The server to talk to, connected.
            server: What `backend.connect()` told.
            clock: Monotonic seconds; the one that the backend stamps its events with.
            baseline: The server without speculation, connected.
            sampling: Parameters of every request.
            system: System prompt, or "".
        """
        self._servers = {True: (backend, server)}
        if baseline is not None:
            self._servers[False] = baseline
        self._clock = clock
        self.sampling = sampling or Sampling()
        self.conversation = Conversation(system)
        self.speculating = True
        self._stop_requested = False
        self._producer: asyncio.Task[None] | None = None
        self._busy = False

    @property
    def has_baseline(self) -> bool:
        """Can speculation be switched off?"""
        return False in self._servers

    @property
    def server(self) -> ServerInfo:
        """The server that the next prompt goes to."""
        return self._servers[self.speculating][1]

    async def read_counters(self, *, speculating: bool) -> CounterReading | None:
        """The counters of one of the servers; None where there are none to read, or no such server. Never raises."""
        return await self._servers[speculating][0].read_counters() if speculating in self._servers else None

    @property
    def current(self) -> Turn | None:
        """The turn that grows now."""
        turns = self.conversation.turns
        return turns[-1] if turns and turns[-1].reply.is_running else None

    def clear(self) -> None:
        """Start the conversation anew; the system prompt stays."""
        self.conversation = Conversation(self.conversation.system)

    def switch(self) -> bool:
        """Send the next prompt to the other server; returns whether that one speculates. No-op without a baseline."""
        if self.has_baseline:
            self.speculating = not self.speculating
        return self.speculating

    def stop(self) -> None:
        """End the reply that grows now; what came stays."""
        self._stop_requested = True
        if self._producer is not None:
            self._producer.cancel()

    def ask(self, prompt: str, *, idle_limit_seconds: float | None = None) -> AsyncGenerator[int, None]:
        """Ask, and yield the index of the first token that changed, each time something did.

        The turn is the last of `conversation` from the first yield on. The iterator ends when the reply has ended in
        one of FINISHED, STOPPED or FAILED; a failure is not raised but kept in `reply.error`. That holds for
        `regenerate`, `resend` and `go_on` too.

        Args:
            prompt: What the user says.
            idle_limit_seconds: Fail when nothing comes for so long; None waits for ever (the user can stop).
        """
        return self._replied(prompt, idle_limit_seconds)

    def regenerate(self, *, idle_limit_seconds: float | None = None) -> AsyncGenerator[int, None]:
        """Ask the last prompt again, in a new turn; the last reply and what continues it stay, marked as replaced.

        Raises:
            NothingToRepeat: At once, if nothing was asked yet or a reply is running.
        """
        answer = self._last_answer()
        if not answer:
            raise NothingToRepeat("There is no reply to replace yet.", "Ask something first.")
        index = len(self.conversation.turns) - len(answer)
        return self._replied(answer[0].prompt, idle_limit_seconds, replaces=index)

    def resend(self, index: int, prompt: str, *, idle_limit_seconds: float | None = None) -> AsyncGenerator[int, None]:
        """Ask something else in the place of an earlier prompt; its turn and all after it stay, marked as replaced.

        Args:
            index: Of the turn whose prompt is replaced; for one that continues a reply, that reply's.
            prompt: What the user says instead.
            idle_limit_seconds: As for `ask`.

        Raises:
            NothingToRepeat: At once, if there is no such turn or a reply is running.
        """
        self._last_answer()
        if not 0 <= index < len(self.conversation.turns):
            raise NothingToRepeat("There is no such prompt to change.", "Ask something first.")
        return self._replied(prompt, idle_limit_seconds, replaces=self.conversation.question_of(index))

    def go_on(self, *, idle_limit_seconds: float | None = None) -> AsyncGenerator[int, None]:
        """Let the last reply go on where it ended, in a turn that continues it. A finished one may end at once.

        The server is given the answer without its thinking, as it is for every later prompt. A server that refuses to
        continue fails the turn with a sentence: it is never asked for another answer instead.

        Raises:
            NothingToRepeat: At once, if there is no answer to continue, it calls tools, or a reply is running.
        """
        answer = self._last_answer()
        if not answer:
            raise NothingToRepeat("There is no reply to continue yet.", "Ask something first.")
        replies = [turn.reply for turn in answer]
        if any(reply.tool_calls for reply in replies):
            raise NothingToRepeat("A reply that calls a tool cannot be continued.", "Ask again with /regenerate.")
        if not any(reply.text.strip() for reply in replies):
            thought = any(reply.reasoning for reply in replies)
            raise NothingToRepeat(
                "The reply ended while it was thinking, and thinking cannot be continued."
                if thought
                else "The last reply has no text to continue.",
                "Give it more room with /max, then /regenerate." if thought else "Ask again with /regenerate.",
            )
        return self._replied("", idle_limit_seconds, continues=True)

    def _last_answer(self) -> list[Turn]:
        if self._busy:
            raise NothingToRepeat("A reply is running.", "Stop it with Esc first; what came stays.")
        return self.conversation.last_answer()

    def _replied(
        self, prompt: str, idle_limit: float | None, *, replaces: int | None = None, continues: bool = False
    ) -> AsyncGenerator[int, None]:
        self._stop_requested = False  # from here on: a stop counts before anybody waits for the first change
        return self._reply_to(prompt, idle_limit, replaces, continues=continues)

    async def _reply_to(
        self, prompt: str, idle_limit: float | None, replaces: int | None, *, continues: bool
    ) -> AsyncGenerator[int, None]:
        side = self.speculating  # what the user switches meanwhile is for the next prompt
        backend, server = self._servers[side]
        if replaces is not None:
            self.conversation.replace_from(replaces)
        messages = [Message(role, content) for role, content in self.conversation.history()]
        if not continues:
            messages.append(Message("user", prompt))
        request = ChatRequest(tuple(messages), self.sampling, continues=continues)
        reply = Reply(
            self._clock(),
            draft_length=server.draft_length,
            pieces_expected=True,
            speculating=side if self.has_baseline else None,
            model=server.model,
        )
        self.conversation.turns.append(Turn(prompt, reply, server, self.sampling.given(), continues=continues))
        self._busy = True
        try:
            yield 0
            before = await backend.read_counters()
            reply.clock.sent_at = self._clock()
            async with aclosing(self._grow(backend, request, reply, idle_limit)) as growth:
                async for changed in growth:
                    yield changed
            checked = await self._check(backend, before, reply)
            if reply.reported is not None:
                self._servers[side] = (backend, server.with_draft_length(reply.reported.draft_length))
            if continues:
                reply.notes += continuation_notes(messages[-1].content, reply.text, server)
            yield 0 if checked is None else checked
        finally:
            self._busy = False
            if reply.is_running:  # whoever asked went away before the request was sent
                reply.end(Outcome.STOPPED, None)

    async def _grow(
        self, backend: ChatBackend, request: ChatRequest, reply: Reply, idle_limit: float | None
    ) -> AsyncGenerator[int, None]:
        queue: asyncio.Queue[Event | SpecchatError | None] = asyncio.Queue()
        self._producer = asyncio.create_task(_produce(backend, request, queue))
        # A callback and not a `finally` in the task: a task that is cancelled before it starts runs no code at all.
        self._producer.add_done_callback(lambda _: queue.put_nowait(None))
        pieces = _PieceFetcher(backend, queue)
        outcome: Outcome = Outcome.STOPPED
        error: SpecchatError | None = None
        ended = 0
        try:
            if self._stop_requested:
                self._producer.cancel()
            while (item := await _next(queue, idle_limit)) is not None:
                if isinstance(item, SpecchatError):
                    error = item
                    break
                changed = reply.add(item)
                pieces.fetch(reply)
                if changed is not None:
                    yield changed
            async for event in pieces.rest(reply):
                reply.add(event)
            outcome, error = self._outcome(reply, continuation_error(error) if request.continues else error)
        finally:
            self._producer.cancel()
            with suppress(asyncio.CancelledError):
                await self._producer
            self._producer = None
            await pieces.close()
            ended = reply.end(outcome, error)
        yield ended

    def _outcome(self, reply: Reply, error: SpecchatError | None) -> tuple[Outcome, SpecchatError | None]:
        if error is None and (reply.finish_reason is not None or reply.done_seen):
            return Outcome.FINISHED, None
        if self._stop_requested:
            return Outcome.STOPPED, None
        return Outcome.FAILED, error or StreamBroken(
            "The stream ended before the reply did.", "What came is kept; ask again, or look at the server's log."
        )

    async def _check(self, backend: ChatBackend, before: CounterReading | None, reply: Reply) -> int | None:
        """Compare the steps seen with the counters' movement, where the server sent no steps of its own."""
        after = await self._settled_counters(backend, before, reply)
        return reply.apply_check(
            check_steps(
                before,
                after,
                reply.live.steps,
                output_tokens=reply.output_tokens or 0,
                ended_by_engine=reply.ended_by_engine,
                merges_proven=reply.live.merges_proven,
            )
        )

    async def _settled_counters(
        self, backend: ChatBackend, before: CounterReading | None, reply: Reply
    ) -> CounterReading | None:
        """The counters, once they have taken in this reply's tokens or time is up."""
        if before is None:
            return None
        deadline = self._clock() + _COUNTERS_PATIENCE_SECONDS
        while True:
            after = await backend.read_counters()
            moved = None if after is None else after.since(before)
            if moved is None or before.busy or (moved.finished or 0) > 1 or self._clock() >= deadline:
                return after  # nothing to read, or others were served too: waiting would prove nothing
            counted = moved.generated is None or moved.generated >= (reply.output_tokens or 0)
            if counted and (moved.finished is None or moved.finished >= 1) and not (after and after.running):
                return after
            await asyncio.sleep(0.05)


async def _produce(
    backend: ChatBackend, request: ChatRequest, queue: asyncio.Queue[Event | SpecchatError | None]
) -> None:
    try:
        async with aclosing(backend.stream(request)) as events:
            async for event in events:
                queue.put_nowait(event)
    except SpecchatError as error:
        queue.put_nowait(error)


async def _next(
    queue: asyncio.Queue[Event | SpecchatError | None], idle_limit: float | None
) -> Event | SpecchatError | None:
    try:
        async with asyncio.timeout(idle_limit):
            return await queue.get()
    except TimeoutError:
        return StreamBroken(
            f"Nothing came from the server for {idle_limit:.0f} s.", "What came before is kept; is the server alive?"
        )


class _PieceFetcher:
    """Asks for the texts of tokens, one request at a time, beside the stream."""

    def __init__(self, backend: ChatBackend, queue: asyncio.Queue[Event | SpecchatError | None]) -> None:
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
