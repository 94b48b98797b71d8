"""Measures one reply and nothing beside it: texts of tokens are asked for once it has ended, a trace only where wanted.

Counters are read before the clock starts and after it stopped, and only where nobody else is asked meanwhile.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from specchat.core.comparison.samples import COUNTED, Failure, Measured
from specchat.core.counters import CounterReading, Verdict
from specchat.core.errors import SpecchatError, StreamBroken
from specchat.core.figures import SpeculationCounts
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of, speculation_of
from specchat.core.server import ServerInfo
from specchat.core.speculation import Evidence
from specchat.core.switch_meaning import meaning_of
from specchat.core.switching import Speculation, Way
from specchat.session.arrivals import Arrivals
from specchat.session.counter_checking import checked_by_counters
from specchat.session.known_texts import KnownTexts
from specchat.session.ports import ChatBackend, ChatRequest, Clock, Message, Sampling

_REFUSALS = range(400, 500)
_PASSING = {408, 425, 429}
"""Statuses of the 400s that another time may not meet."""


@dataclass(frozen=True, slots=True)
class Party:
    """Who answers for a side, and how speculation is switched there."""

    backend: ChatBackend
    server: ServerInfo
    speculation: Speculation = field(default_factory=Speculation)


@dataclass(frozen=True, slots=True)
class Wish:
    """How a reply is asked for."""

    sampling: Sampling
    idle_limit_seconds: float | None = None
    """Fail after so long a silence."""
    alone: bool = True
    """Is nobody else asked meanwhile, so that the server's counters can tell?"""
    trace_key: str | None = None
    """Ask the hook for a trace under this key."""
    texts: KnownTexts | None = None
    """Texts of its tokens that are known, for somebody who looks on. Those that are missing are asked for when it has
    ended, so that the server has no other work meanwhile, and go in here. None where nobody needs them."""


@dataclass(frozen=True, slots=True)
class Answer:
    """An ended reply."""

    reply: Reply
    was_alone: bool | None
    """Did the server serve nobody else meanwhile? None where its counters do not tell."""
    moved: CounterReading | None = None
    """How its counters moved; None where others moved them too, or there is nothing that they could add."""


async def ask_once(
    party: Party,
    messages: tuple[Message, ...],
    wish: Wish,
    clock: Clock,
    watch: Callable[[Reply], None] = lambda _: None,
) -> Answer:
    """One reply, ended one way or the other: a failure is in `Reply.error`.

    Args:
        party: Whom to ask.
        messages: The conversation.
        wish: How.
        clock: Monotonic seconds, the one that the backend stamps its events with.
        watch: Called with the reply before it is asked for; it grows from then on.
    """
    by_hook = party.speculation.way is Way.HOOK
    limit = party.speculation.limit if by_hook else None
    request = ChatRequest(messages, wish.sampling, trace_key=wish.trace_key, limit=limit)
    reply = Reply(
        clock(),
        draft_length=limit if by_hook else party.server.draft_length,
        pieces_expected=wish.texts is not None,
        speculation=party.speculation,
        model=party.server.model,
    )
    if wish.texts is not None:
        reply.add(wish.texts.known)
    before = await party.backend.read_counters() if wish.alone else None
    arrivals = Arrivals(party.backend, request)
    try:
        arrivals.open_trace()
        reply.clock.sent_at = clock()
        watch(reply)
        arrivals.open_stream()
        outcome, error = await _grown(arrivals, reply, wish)
        async for event in arrivals.rest(reply, broke=outcome is not Outcome.FINISHED):
            reply.add(event)
            if wish.texts is not None:
                wish.texts.note(event)
        reply.end(outcome, error)
    finally:
        await arrivals.close()
        if reply.is_running:
            reply.end(Outcome.STOPPED)
    was_alone = await _checked(party, reply, before, clock)
    return Answer(reply, was_alone, await _movement(party, reply, before) if was_alone else None)


def measured(answer: Answer, party: Party) -> Measured:
    """The figures of an ended reply.

    Args:
        answer: The reply.
        party: Who was asked.
    """
    reply = answer.reply
    figures, (counts, evidence) = figures_of(reply), _counts(answer)
    clock, meaning = reply.clock, meaning_of(reply, party.server)
    first, last = clock.first_at, clock.last_at
    return Measured(
        first_token_s=clock.first_token_seconds,
        decode_s=None if first is None or last is None else last - first,
        total_s=None if last is None else last - clock.sent_at,
        tokens=figures.output_tokens,
        prompt_tokens=None if reply.usage is None else reply.usage.prompt_tokens,
        steps=None if counts is None else counts.steps,
        drafted=None if counts is None else counts.drafted,
        accepted=None if counts is None else counts.accepted,
        per_position=None if counts is None else counts.per_position,
        evidence=evidence,
        finish_reason=reply.finish_reason,
        ids=tuple(one for one in reply.ids if one is not None) if reply.has_ids else None,
        text="".join(text for _, text in reply.rows),
        obeyed=None if meaning is None or reply.speculation.way is not Way.HOOK else meaning.obeyed,
        was_alone=answer.was_alone,
        failure=_failure(reply, party),
        notes=tuple(reply.notes),
    )


def failure_of(error: SpecchatError) -> Failure:
    """What is kept of an error."""
    status = getattr(error, "status", None)
    refused = isinstance(status, int) and status in _REFUSALS and status not in _PASSING
    return Failure(type(error).__name__, error.message, error.hint, is_refusal=refused)


def _failure(reply: Reply, party: Party) -> Failure | None:
    if reply.error is not None:
        return failure_of(reply.error)
    if reply.speculation != party.speculation:
        text = "The server took no wish to switch speculation off, so this reply has it on."
        return Failure("CannotSwitch", text, "Compare with a second server: --baseline-url.", is_refusal=True)
    return None


async def _grown(arrivals: Arrivals, reply: Reply, wish: Wish) -> tuple[Outcome, SpecchatError | None]:
    while (item := await arrivals.next(wish.idle_limit_seconds)) is not None:
        if isinstance(item, SpecchatError):
            arrivals.stop()
            return Outcome.FAILED, item
        reply.add(item)
    if reply.finish_reason is not None or reply.done_seen:
        return Outcome.FINISHED, None
    return Outcome.FAILED, StreamBroken("The stream ended before the reply did.", "Look at the server's log.")


async def _checked(party: Party, reply: Reply, before: CounterReading | None, clock: Clock) -> bool | None:
    """Compare the reply with the movement of the counters; returns whether it was the only one."""
    if before is None or reply.outcome is not Outcome.FINISHED:
        return None
    check = await checked_by_counters(party.backend, before, reply, clock)
    reply.apply_check(check)
    if check.verdict is not Verdict.UNAVAILABLE:
        return check.verdict is not Verdict.NOT_ALONE
    # A server without a draft counts no steps, but requests all the same.
    after = await party.backend.read_counters()
    moved = None if after is None else after.since(before)
    if moved is None or moved.finished is None:
        return None
    return not before.busy and moved.finished <= 1


async def _movement(party: Party, reply: Reply, before: CounterReading | None) -> CounterReading | None:
    """How the counters moved over a reply whose steps the server did not report."""
    if before is None or speculation_of(reply)[1] not in {Evidence.INFERRED, Evidence.NONE}:
        return None
    after = await party.backend.read_counters()
    moved = None if after is None else after.since(before)
    return None if moved is None or (moved.finished or 0) > 1 else moved


def _counts(answer: Answer) -> tuple[SpeculationCounts | None, str]:
    """The reply's counts from the best source: the counters beat what chunks show, since a server may merge chunks."""
    counts, evidence = speculation_of(answer.reply)
    if answer.moved is not None and answer.moved.counts is not None:
        return answer.moved.counts, COUNTED
    return counts, str(evidence)
