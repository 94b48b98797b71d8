"""A server's speculation counters, and what their movement proves about one reply.

The counters describe the whole server. They check a reply only where that reply was the only request; what they can
then show is whether counting chunks missed steps, and how many accepted proposals lie past the end of the reply.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from specchat.core.figures import SpeculationCounts
from specchat.core.speculation import Step


@dataclass(frozen=True, slots=True)
class CounterReading:
    """One reading of a server's metrics page, for one model, summed over engines."""

    drafts: int | None
    """Steps for which something was drafted, since the server started; None where the server has no such counter."""
    drafted: int | None
    accepted: int | None
    per_position: tuple[int, ...]
    """Accepted tokens by draft position; its width is k. Empty where the server does not say."""
    running: int | None = None
    """Requests running now."""
    waiting: int | None = None
    finished: int | None = None
    """Requests finished since the server started."""
    generated: int | None = None
    """Tokens generated since the server started."""
    kv_cache_usage: float | None = None
    """Share of the KV cache in use, from 0 to 1; the mean over engines."""
    tokens_per_second: float | None = None
    """Of all requests, where the server measures it itself because its count of tokens waits for a request's end."""

    @property
    def speculates(self) -> bool:
        """Does this server count drafts at all?"""
        return self.drafts is not None or self.drafted is not None

    @property
    def busy(self) -> bool:
        """Are requests running or waiting?"""
        return (self.running or 0) + (self.waiting or 0) > 0

    @property
    def counts(self) -> SpeculationCounts | None:
        """Since the server started; None without counters."""
        if self.drafts is None or self.drafted is None or self.accepted is None:
            return None
        return SpeculationCounts(self.drafts, self.drafted, self.accepted, self.per_position or None)

    def since(self, before: "CounterReading") -> "CounterReading | None":
        """The movement from `before`; None where a counter fell, since then the server began anew."""
        pairs = [(self.drafts, before.drafts), (self.drafted, before.drafted), (self.accepted, before.accepted)]
        pairs += [(self.finished, before.finished), (self.generated, before.generated)]
        moved = [None if a is None or b is None else a - b for a, b in pairs]
        if any(m is not None and m < 0 for m in moved):
            return None
        positions = tuple(a - b for a, b in zip(self.per_position, before.per_position, strict=False))
        return CounterReading(moved[0], moved[1], moved[2], positions, None, None, moved[3], moved[4])


class Verdict(StrEnum):
    """What the counters say about the steps that the chunks showed."""

    AGREES = "agrees"
    """Drafts and drafted are equal, and accepted exceeds the chunks' by what the end may have cut off."""
    DIFFERS = "differs"
    """The server counted other steps than the chunks showed: it merged chunks."""
    NOT_ALONE = "not alone"
    """Other requests moved the counters too."""
    NOT_COMPARABLE = "not comparable"
    """The reply was ended from outside the engine, which went on for some steps."""
    UNAVAILABLE = "unavailable"
    """There are no counters to read, or they began anew."""


@dataclass(frozen=True, slots=True)
class CounterCheck:
    """The verdict, with the movement it rests on."""

    verdict: Verdict
    drafts: int | None = None
    drafted: int | None = None
    accepted: int | None = None
    excess: int | None = None
    """Accepted proposals beyond what the chunks show, all in the last step: its last emitted token is one of them, the
    others lie past the end of the reply. Only where the verdict is AGREES."""
    sentence: str = ""


def check_steps(
    before: CounterReading | None,
    after: CounterReading | None,
    steps: Sequence[Step],
    *,
    output_tokens: int,
    ended_by_engine: bool,
    merges_proven: int = 0,
    traced: bool = False,
) -> CounterCheck:
    """Compare the steps that the chunks or a trace showed with the movement of the counters.

    Args:
        before: The reading before the request was sent.
        after: The reading after its end.
        steps: The steps counted from chunks, or traced.
        output_tokens: Ids that arrived.
        ended_by_engine: False where the front end or the client ended the reply (a stop string, an abort).
        merges_proven: Chunks that held several steps for certain.
        traced: Do the steps come from the server hook? It counts what lies past the end, so nothing may be in excess.
    """
    moved = None if before is None or after is None else after.since(before)
    if before is None or moved is None or moved.drafts is None or moved.drafted is None or moved.accepted is None:
        return CounterCheck(Verdict.UNAVAILABLE, sentence="the server has no counters to check against")
    seen = CounterCheck(Verdict.NOT_ALONE, moved.drafts, moved.drafted, moved.accepted)
    others = before.busy or (moved.finished is not None and moved.finished > 1)
    too_many = moved.generated is not None and ended_by_engine and moved.generated > output_tokens
    if others or too_many:
        return _says(seen, Verdict.NOT_ALONE, "other requests ran meanwhile, so its counters prove nothing")
    drafted_steps = [step for step in steps if step.is_drafted]
    # Where k is not known, the chunks say nothing of how many were drafted, and the steps alone are compared.
    k = max((step.drafted or 0 for step in drafted_steps), default=0)
    drafted = sum(step.drafted or 0 for step in drafted_steps) if k or not drafted_steps else moved.drafted
    accepted = sum(step.accepted for step in drafted_steps)
    excess = moved.accepted - accepted
    equal = moved.drafts == len(drafted_steps) and moved.drafted == drafted and not merges_proven
    if equal and 0 <= excess <= (0 if traced else k or moved.drafted):
        checked = CounterCheck(Verdict.AGREES, moved.drafts, moved.drafted, moved.accepted, excess)
        behind = f", {excess - 1} accepted past the end" if excess > 1 else ""
        return _says(checked, Verdict.AGREES, f"the server's counters agree: {moved.drafts} steps{behind}")
    if not ended_by_engine:
        text = f"ended from outside the engine, which counted {moved.drafts} steps for {len(drafted_steps)} seen"
        return _says(seen, Verdict.NOT_COMPARABLE, text)
    if traced:
        ours, theirs = (len(drafted_steps), drafted, accepted), (moved.drafts, moved.drafted, moved.accepted)
        text = "the server counted {} steps, {} drafted, {} accepted; its trace has {}, {}, {}".format(*theirs, *ours)
        return _says(seen, Verdict.DIFFERS, text)
    text = f"the server counted {moved.drafts} steps, its chunks showed {len(drafted_steps)}: it merged chunks"
    return _says(seen, Verdict.DIFFERS, text)


def _says(check: CounterCheck, verdict: Verdict, sentence: str) -> CounterCheck:
    return CounterCheck(verdict, check.drafts, check.drafted, check.accepted, check.excess, sentence)
