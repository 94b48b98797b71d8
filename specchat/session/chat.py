"""Asks for one reply after the other and tells how each grows. Owns the order of things, and knows no server."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from uuid import uuid4

from specchat.core.conversation import Conversation, Turn
from specchat.core.counters import CounterReading
from specchat.core.errors import NothingToRepeat, SpecchatError, StreamBroken
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.core.switching import BY_ITSELF, Speculation, Way
from specchat.session.arrivals import Arrivals
from specchat.session.continuing import continuation_error, continuation_notes
from specchat.session.counter_checking import checked_by_counters
from specchat.session.ports import ChatBackend, ChatRequest, Clock, Message, Sampling
from specchat.session.switching import Switchboard


class ChatSession:
    """One conversation with a server, and with a second one that does not speculate, if there is one.

    Attributes:
        conversation: The turns so far; the last one is the one that grows.
        sampling: Parameters of every request.
        servers: Who is asked, and what it told: True the speculating one, False the second one if there is one.
        remarks: What the reader should know of how the servers were chosen, a sentence each.
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
        standing: Speculation = BY_ITSELF,
        can_relaunch: bool = False,
        remarks: tuple[str, ...] = (),
        new_key: Callable[[], str] = lambda: uuid4().hex,
    ) -> None:
        """Start with an empty conversation.

        Args:
            backend: The server to talk to, connected.
            server: What `backend.connect()` told.
            clock: Monotonic seconds; the one that the backend stamps its events with.
            baseline: The server without speculation, connected.
            sampling: Parameters of every request.
            system: System prompt, or "".
            standing: What the server does by itself: with a limit where it was launched anew with one.
            can_relaunch: Can somebody launch the server anew with other speculation, and then say `take_server`?
            remarks: What the reader should know of how the servers were chosen, a sentence each.
            new_key: Makes an unguessable key for the trace of a reply.
        """
        self.servers = {True: (backend, server)}
        if baseline is not None:
            self.servers[False] = baseline
        self._clock = clock
        self.sampling = sampling or Sampling()
        self.conversation = Conversation(system)
        self._switchboard = Switchboard(has_second=baseline is not None, can_relaunch=can_relaunch, standing=standing)
        self.remarks = remarks
        self._new_key = new_key
        self._stop_requested = False
        self._arrivals: Arrivals | None = None
        self._busy = False

    @property
    def speculating_server(self) -> ServerInfo:
        """The server that is no second one, whether it is asked next or not."""
        return self.servers[True][1]

    @property
    def server(self) -> ServerInfo:
        """The server that the next prompt goes to."""
        return self.servers[self.speculation.way is not Way.SERVER][1]

    @property
    def speculation(self) -> Speculation:
        """How much of it the next prompt asks for, and by which way."""
        return self._switchboard.chosen

    @property
    def speculating(self) -> bool:
        """Will the next prompt's reply have any speculation?"""
        return not self.speculation.is_off

    def ways(self) -> tuple[Way, ...]:
        """The ways to switch speculation, the one that is taken first; () where it cannot be switched."""
        return self._switchboard.ways(self.servers[True][1])

    def set_speculation(self, limit: int | None, way: Way | None = None) -> Speculation:
        """Switch speculation for the prompts to come; a reply that runs stays as it is.

        Args:
            limit: At most so many proposals a step: 0 is off, None is what the server does by itself. The second
                server can only be off.
            way: Insist on this one of `ways()`; None takes the first that can.

        Returns:
            What was chosen. A limit that the server's own k does not exceed is no limit.

        Raises:
            RelaunchNeeded: If the server has to be launched anew for it.
            CannotSwitch: If there is no way, with a sentence that says what is possible. Nothing changes then.
        """
        return self._switchboard.choose(limit, self.servers[True][1], way)

    @property
    def toggled(self) -> int | None:
        """The limit that a key chooses which only turns speculation off and on again."""
        return self._switchboard.toggled

    def switch(self) -> bool:
        """Turn speculation off if there is any, else on; returns whether there is any now. No-op without a way.

        Raises:
            RelaunchNeeded: If the server has to be launched anew for it.
        """
        if self.ways():
            self.set_speculation(0 if self.speculating else None)
        return self.speculating

    def take_server(
        self, backend: ChatBackend, server: ServerInfo, standing: Speculation, *, can_relaunch: bool = True
    ) -> None:
        """Go on with another server in the place of the speculating one; the conversation goes to it whole.

        Args:
            backend: The server, connected. Whoever made the one before closes it.
            server: What `backend.connect()` told.
            standing: What it does by itself: with a limit where it was launched anew with one.
            can_relaunch: Can it be launched anew again?

        Raises:
            NothingToRepeat: If a reply is running: it belongs to the server that there is.
        """
        self._refuse_while_busy()
        self.servers[True] = (backend, server)
        self._switchboard.stand(standing, can_relaunch=can_relaunch)

    async def read_counters(self, *, speculating: bool) -> CounterReading | None:
        """The counters of the server that replies so; None where there are none, or no such server. Never raises."""
        second = not speculating and self.speculation.way not in {Way.HOOK, Way.RELAUNCH}
        backend = self.servers.get(not second)
        return None if backend is None else await backend[0].read_counters()

    @property
    def current(self) -> Turn | None:
        """The turn that grows now."""
        turns = self.conversation.turns
        return turns[-1] if turns and turns[-1].reply.is_running else None

    def clear(self) -> None:
        """Start the conversation anew; the system prompt stays."""
        self.conversation = Conversation(self.conversation.system)

    def stop(self) -> None:
        """End the reply that grows now; what came stays."""
        self._stop_requested = True
        if self._arrivals is not None:
            self._arrivals.stop()

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
        _require_text([turn.reply for turn in answer])
        return self._replied("", idle_limit_seconds, continues=True)

    def _last_answer(self) -> list[Turn]:
        self._refuse_while_busy()
        return self.conversation.last_answer()

    def _refuse_while_busy(self) -> None:
        if self._busy:
            raise NothingToRepeat("A reply is running.", "Stop it with Esc first; what came stays.")

    def _replied(
        self, prompt: str, idle_limit: float | None, *, replaces: int | None = None, continues: bool = False
    ) -> AsyncGenerator[int, None]:
        self._stop_requested = False  # from here on: a stop counts before anybody waits for the first change
        return self._reply_to(prompt, idle_limit, replaces, continues=continues)

    async def _reply_to(
        self, prompt: str, idle_limit: float | None, replaces: int | None, *, continues: bool
    ) -> AsyncGenerator[int, None]:
        speculation = self.speculation  # what the user switches meanwhile is for the next prompt
        side = speculation.way is not Way.SERVER
        backend, server = self.servers[side]
        if replaces is not None:
            self.conversation.replace_from(replaces)
        messages = [Message(role, content) for role, content in self.conversation.history()]
        if not continues:
            messages.append(Message("user", prompt))
        traces = server.hook is not None and server.hook.trace
        request = ChatRequest(
            tuple(messages),
            self.sampling,
            continues=continues,
            trace_key=self._new_key() if traces else None,
            limit=speculation.limit if speculation.way is Way.HOOK else None,
        )
        reply = _new_reply(server, speculation, self._clock(), can_switch=bool(self.ways()))
        self.conversation.turns.append(Turn(prompt, reply, server, self.sampling.given(), continues=continues))
        self._busy = True
        arrivals = Arrivals(backend, request)
        try:
            yield 0
            # Before the counters, whose connection the request can then use: the trace delays nothing.
            arrivals.open_trace()
            before = await backend.read_counters()
            reply.clock.sent_at = self._clock()
            async with aclosing(self._grow(arrivals, request, reply, idle_limit)) as growth:
                async for changed in growth:
                    yield changed
            checked = reply.apply_check(await checked_by_counters(backend, before, reply, self._clock))
            if reply.reported is not None and speculation.limit is None:
                self.servers[side] = (backend, server.with_draft_length(reply.reported.draft_length))
            if continues:
                reply.notes += continuation_notes(messages[-1].content, reply.text, server)
            yield 0 if checked is None else checked
        finally:
            self._busy = False
            await arrivals.close()
            if reply.is_running:  # whoever asked went away before the request was sent
                reply.end(Outcome.STOPPED, None)

    async def _grow(
        self, arrivals: Arrivals, request: ChatRequest, reply: Reply, idle_limit: float | None
    ) -> AsyncGenerator[int, None]:
        self._arrivals = arrivals
        outcome: Outcome = Outcome.STOPPED
        error: SpecchatError | None = None
        ended = 0
        try:
            arrivals.open_stream()
            if self._stop_requested:
                arrivals.stop()
            while (item := await arrivals.next(idle_limit)) is not None:
                if isinstance(item, SpecchatError):
                    error = item
                    arrivals.stop()
                    break
                changed = reply.add(item)
                arrivals.fetch_pieces(reply)
                if changed is not None:
                    yield changed
            error = continuation_error(error) if request.continues else error
            outcome, error = _outcome_of(reply, error, was_stopped=self._stop_requested)
            async for event in arrivals.rest(reply, broke=outcome is not Outcome.FINISHED):
                reply.add(event)
        finally:
            self._arrivals = None
            await arrivals.close()
            ended = reply.end(outcome, error)
        yield ended


def _require_text(replies: list[Reply]) -> None:
    """Refuse to continue an answer that has no text to go on from."""
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


def _new_reply(server: ServerInfo, speculation: Speculation, now: float, *, can_switch: bool) -> Reply:
    limit, k = speculation.limit, server.draft_length
    limited = limit is not None and speculation.way is not Way.SERVER
    return Reply(
        now,
        draft_length=limit if limited else k,
        pieces_expected=True,
        # What lies between off and on is no side of a comparison.
        speculating={None: True, 0: False}.get(limit) if can_switch else None,
        speculation=speculation,
        model=server.model,
    )


def _outcome_of(
    reply: Reply, error: SpecchatError | None, *, was_stopped: bool
) -> tuple[Outcome, SpecchatError | None]:
    if error is None and (reply.finish_reason is not None or reply.done_seen):
        return Outcome.FINISHED, None
    if was_stopped:
        return Outcome.STOPPED, None
    return Outcome.FAILED, error or StreamBroken(
        "The stream ended before the reply did.", "What came is kept; ask again, or look at the server's log."
    )
