"""The figures of one reply, each with its evidence. A figure that nothing backs is None."""

from dataclasses import dataclass

from specchat.core.counters import Verdict
from specchat.core.events import SpeculationReported
from specchat.core.figures import SpeculationCounts, decode_rate, emitted_per_step
from specchat.core.reply import Reply
from specchat.core.speculation import Evidence
from specchat.core.switching import Way

MEASURED = "measured"
"""Evidence of counts and times that the client took itself: ids that arrived, on its own clock."""


@dataclass(frozen=True, slots=True)
class ReplyFigures:
    """What the panels show and the exports hold for one reply."""

    acceptance_length: float | None
    emitted_per_step: float | None
    acceptance_rate: float | None
    per_position_rate: tuple[float, ...] | None
    tokens_per_second: float | None
    """Decode rate: (n - 1) tokens over the seconds from the first to the last."""
    time_to_first_token_s: float | None
    output_tokens: int | None
    live_guess_accuracy: float | None
    """Share of tokens whose origin shown live was the final one; None where nothing better arrived."""
    steps: int | None
    drafted: int | None
    accepted: int | None
    cut: int | None
    """Proposals accepted past the end of the reply."""
    evidence: dict[str, str]
    """For each figure above, where it comes from."""


def figures_of(reply: Reply) -> ReplyFigures:
    """The figures of a reply as it stands."""
    counts, evidence = speculation_of(reply)
    emitted = reply.tally.emitted
    laid = evidence is not Evidence.NONE and bool(reply.steps)
    tokens = reply.output_tokens
    rate = decode_rate(tokens or 0, reply.clock.first_at, reply.clock.last_at)
    first = reply.clock.first_token_seconds
    values: dict[str, tuple[object, str]] = {
        "acceptance_length": (counts and counts.acceptance_length, evidence),
        "emitted_per_step": (emitted_per_step(emitted, len(reply.steps)) if laid else None, evidence),
        "acceptance_rate": (counts and counts.acceptance_rate, evidence),
        "per_position_rate": (counts and counts.per_position_rate, evidence),
        "tokens_per_second": (rate, MEASURED),
        "time_to_first_token_s": (first, MEASURED),
        "output_tokens": (tokens, MEASURED if reply.has_ids else Evidence.REPORTED),
        "live_guess_accuracy": (reply.live_guess_accuracy, reply.sources.evidence),
        "steps": (counts and counts.steps, evidence),
        "drafted": (counts and counts.drafted, evidence),
        "accepted": (counts and counts.accepted, evidence),
        "cut": (cut_at_end(reply), evidence),
    }
    evidences = {name: str(Evidence.NONE if value is None else source) for name, (value, source) in values.items()}
    return ReplyFigures(**{name: value for name, (value, _) in values.items()}, evidence=evidences)  # type: ignore[arg-type]


def speculation_of(reply: Reply) -> tuple[SpeculationCounts | None, Evidence]:
    """The pooled counts of a reply, from the best source there is."""
    if reply.steps_are_exact:
        return reply.tally.counts(_draft_length(reply)), reply.sources.evidence
    if reply.reported is not None and not reply.reported.contradiction:
        return _of_report(reply.reported), Evidence.REPORTED
    merged = reply.live.merges_proven > 0 or (reply.check is not None and reply.check.verdict is Verdict.DIFFERS)
    if merged or not reply.tally.steps:
        return None, Evidence.NONE
    return reply.tally.counts(_draft_length(reply)), Evidence.INFERRED


def tokens_per_step(reply: Reply, figures: ReplyFigures) -> tuple[int, ...] | None:
    """How many steps yielded 1, 2, … tokens: entry i is the number of steps that yielded i + 1.

    Counted over what the reply holds of steps for which something was drafted; None where nothing backs it. Without
    the steps themselves the server's histogram stands in, in which the last step is not clipped to the reply's end.

    Args:
        reply: As it stands.
        figures: Its figures.
    """
    if not figures.steps:
        return None
    if figures.evidence["steps"] == Evidence.REPORTED and not reply.steps_are_reported:
        histogram = None if reply.reported is None else reply.reported.acceptance_histogram
        return None if histogram is None else tuple(histogram)
    yields = reply.tally.yields
    longest = max(1 + len(figures.per_position_rate or ()), *yields)
    return tuple(yields[tokens] for tokens in range(1, longest + 1))


def cut_at_end(reply: Reply) -> int | None:
    """Proposals accepted past the end, from the server's own steps or its counters; None where neither says."""
    checked = reply.check is not None and reply.check.verdict is Verdict.AGREES
    if not reply.steps or not (reply.steps_are_exact or checked):
        return None
    return max(0, reply.steps[-1].accepted - reply.steps[-1].emitted)


def _draft_length(reply: Reply) -> int | None:
    if reply.speculation.way is Way.HOOK:
        return reply.draft_length  # the report tells the server's own
    reported = None if reply.reported is None else reply.reported.draft_length
    return reported if reported is not None else reply.draft_length


def _of_report(report: SpeculationReported) -> SpeculationCounts:
    if report.acceptance_histogram is not None:
        return SpeculationCounts.of_histogram(report.acceptance_histogram, report.drafted)
    return SpeculationCounts(report.steps, report.drafted, report.accepted)
