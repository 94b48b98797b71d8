"""What the panels show, as frozen values. Takes figures from the core and computes none of its own."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from specchat.core.conversation import Turn
from specchat.core.counters import CounterCheck, Verdict
from specchat.core.on_off import decode_span, on_off
from specchat.core.reply import Reply
from specchat.core.reply_figures import ReplyFigures, tokens_per_step
from specchat.core.speculation import Evidence
from specchat.core.switching import Way
from specchat.core.timing import WINDOW_SECONDS
from specchat.session.local_servers import GpuLine
from specchat.session.server_load import ServerLoad
from specchat.ui.panels.drawing import condense
from specchat.ui.panels.edges import made_by

NOW_STEPS = 12
"""The fewest steps that "now" is taken over; a fast reply's are those of the rate's window."""
TREND_BARS = 28
"""The most bars of a trend, which spans the whole reply."""
_STEPS_PER_BAR = 4
"""The fewest; twice as many as often as the bars would become too many."""


@dataclass(frozen=True, slots=True)
class AcceptanceView:
    """Acceptance length of one reply."""

    mean: float | None = None
    now: float | None = None
    """Of the last steps, while the reply runs."""
    trend: tuple[float, ...] = ()
    """Of successive groups of steps, over the whole reply."""
    highest: float | None = None
    """k + 1, where k is known."""
    evidence: str = ""
    """Where it comes from, or why there is none."""


@dataclass(frozen=True, slots=True)
class RateView:
    """Tokens per second."""

    mean: float | None = None
    now: float | None = None
    """Of the last two seconds, while the reply runs."""
    trend: tuple[float, ...] = ()
    """Samples of "now" over the whole reply."""


@dataclass(frozen=True, slots=True)
class YieldsView:
    """How many tokens the steps yielded."""

    steps: tuple[int, ...] | None = None
    """Entry i: steps that yielded i + 1 tokens."""
    positions: int | None = None
    """k, where it is known before any figure is."""


@dataclass(frozen=True, slots=True)
class PositionsView:
    """Share of steps that accepted each draft position."""

    rates: tuple[float, ...] | None = None
    positions: int | None = None
    """k, where it is known before any figure is."""


@dataclass(frozen=True, slots=True)
class ReplyView:
    """Counts and times of one reply."""

    first_token_ms: float | None = None
    step_ms: float | None = None
    """Decode time over steps."""
    steps: int | None = None
    evidence: str = ""
    """Where the counts come from, in a word; "" where there are none."""
    drafted: int | None = None
    kept: int | None = None
    cut: int | None = None
    """Proposals accepted past the end of the reply."""
    live_right: float | None = None
    """Share of tokens whose origin was shown rightly while the reply ran."""
    check: str = ""
    """The counters' verdict as a sentence; "" where there is none to tell."""
    verdict: Verdict | None = None
    check_failed: bool = False


@dataclass(frozen=True, slots=True)
class ComparisonView:
    """Replies of this chat with speculation and without; see `core.on_off`."""

    on: float | None = None
    """Tokens per second, pooled over the replies that can be compared."""
    off: float | None = None
    on_replies: int = 0
    off_replies: int = 0
    off_way: Way | None = None
    """How those were made: by the hook, in the same server, where the draft stays loaded; by a second server; or by the
    same one, launched anew."""
    possible: bool = False
    """Is there a way to switch speculation?"""
    missing: str = ""
    """What is missing for the ratio, in a few words."""

    @property
    def ratio(self) -> float | None:
        """How many times faster with speculation."""
        return self.on / self.off if self.on and self.off else None


@dataclass(frozen=True, slots=True)
class ServerView:
    """What all clients ask of the server."""

    load: ServerLoad = field(default_factory=ServerLoad)
    tells: bool | None = None
    """Does its metrics page speak of load? None before it was first read."""


@dataclass(frozen=True, slots=True)
class PanelsView:
    """Everything beside the transcript."""

    acceptance: AcceptanceView = AcceptanceView()
    rate: RateView = RateView()
    positions: PositionsView = PositionsView()
    yields: YieldsView = YieldsView()
    reply: ReplyView = ReplyView()
    comparison: ComparisonView = ComparisonView()
    server: ServerView = ServerView()
    gpus: tuple[GpuLine, ...] = ()
    """Of this machine, where the server runs on it; empty where none tell of themselves."""


def panels_of(
    turns: Sequence[Turn],
    figures: ReplyFigures | None,
    rates: Sequence[float],
    *,
    draft_length: int | None,
    comparable: bool,
    server: ServerView = ServerView(),
) -> PanelsView:
    """The panels after some turns.

    Args:
        turns: The conversation; the last reply is the one that is shown.
        figures: Those of the last reply.
        rates: Tokens per second of the moment, sampled while that reply came.
        draft_length: k of the server that is asked next.
        comparable: Is there a way to switch speculation?
        server: How busy the server is.
    """
    comparison = comparison_of(turns, possible=comparable)
    if not turns or figures is None:
        return PanelsView(
            positions=PositionsView(positions=draft_length),
            yields=YieldsView(positions=draft_length),
            comparison=comparison,
            server=server,
        )
    reply = turns[-1].reply
    # Of a reply with a limit of its own the server reports the k that it has without.
    own = reply.reported is None or reply.speculation.way is Way.HOOK
    k = reply.draft_length if own or reply.reported is None else reply.reported.draft_length
    return PanelsView(
        acceptance=_acceptance(reply, figures, k),
        rate=RateView(
            mean=figures.tokens_per_second,
            now=reply.clock.rate_now if reply.is_running else None,
            trend=condense(rates, TREND_BARS),
        ),
        positions=PositionsView(figures.per_position_rate, k),
        yields=YieldsView(tokens_per_step(reply, figures), k),
        reply=_counts(reply, figures),
        comparison=comparison,
        server=server,
    )


def comparison_of(turns: Sequence[Turn], *, possible: bool) -> ComparisonView:
    """Speeds with and without speculation, over the replies that can be compared.

    Args:
        turns: The conversation.
        possible: Is there a way to switch speculation?
    """
    both = on_off(turns)
    return ComparisonView(
        both.on, both.off, both.on_replies, both.off_replies, both.way, possible=possible, missing=both.missing
    )


def facts_of(reply: Reply, figures: ReplyFigures) -> str:
    """What stands beside a reply's heading, the most important first, set apart by middle dots."""
    parts = []
    if reply.speculation.limit is not None:
        parts.append(made_by(reply.speculation))
    elif reply.speculating is not None:
        parts.append("● on" if reply.speculating else "○ off")
    if figures.output_tokens is not None:
        parts.append(_counted(figures.output_tokens, "token"))
    if figures.steps:
        parts.append(_counted(figures.steps, "step"))
    if figures.acceptance_length is not None:
        parts.append(f"AL {figures.acceptance_length:.2f} {figures.evidence['acceptance_length']}")
    if figures.tokens_per_second is not None and not reply.is_running:
        parts.append(f"{figures.tokens_per_second:.1f} t/s")
    return " · ".join(parts)


def _acceptance(reply: Reply, figures: ReplyFigures, k: int | None) -> AcceptanceView:
    evidence = figures.evidence["acceptance_length"]
    if figures.acceptance_length is None:
        return AcceptanceView(highest=None if not k else k + 1, evidence=_why_none(reply, k))
    # Groups begin at fixed steps, so that a bar stays what it was while newer ones come.
    size = _STEPS_PER_BAR
    while len(reply.steps) // size > TREND_BARS:
        size *= 2
    complete = len(reply.steps) // size * size
    bars = [reply.tally.mean_yield(start, start + size) for start in range(0, complete, size)]
    # Fewer steps than the rate's window holds would be others at every look.
    within = WINDOW_SECONDS * (reply.clock.rate_now or 0.0) / figures.acceptance_length
    latest = len(reply.steps) - max(NOW_STEPS, round(within))
    return AcceptanceView(
        mean=figures.acceptance_length,
        now=reply.tally.mean_yield(latest, len(reply.steps)) if reply.is_running else None,
        trend=tuple(mean for mean in bars if mean is not None),
        highest=None if not k else k + 1,
        evidence=_WHERE_FROM.get(evidence, evidence),
    )


_WHERE_FROM: dict[str, str] = {
    Evidence.TRACED: "exact · traced in the server",
    Evidence.REPORTED: "exact · reported by server",
    Evidence.INFERRED: "inferred · chunk sizes",
}


def _why_none(reply: Reply, k: int | None) -> str:
    if reply.speculating is False or k == 0:
        return "— no speculation here"
    if reply.live.merges_proven or (reply.check is not None and reply.check.verdict is Verdict.DIFFERS):
        return "— chunks merged"
    if not reply.has_ids and reply.clock.first_at is not None:
        return "— no token ids from server"
    if reply.is_running:
        return "— no step yet"
    return "— nothing came" if reply.clock.first_at is None else "— no step with a draft"


def _counts(reply: Reply, figures: ReplyFigures) -> ReplyView:
    span = decode_span(reply, least=1)
    first = figures.time_to_first_token_s
    steps = len(reply.steps) if figures.steps is not None or reply.draft_length == 0 else 0
    check = reply.check
    told = check is not None and check.verdict is not Verdict.UNAVAILABLE and bool(reply.live.steps)
    evidence = figures.evidence["steps"]
    return ReplyView(
        first_token_ms=None if first is None else first * 1000,
        step_ms=span[1] * 1000 / steps if span and steps else None,
        steps=figures.steps,
        evidence="" if evidence == Evidence.NONE else evidence,
        drafted=figures.drafted,
        kept=figures.accepted,
        cut=figures.cut,
        live_right=figures.live_guess_accuracy,
        check=_check_sentence(check, figures.cut) if check is not None and told else "",
        verdict=check.verdict if check is not None and told else None,
        # Exact figures stand in spite of merged chunks; only inferred ones fall with them.
        check_failed=check is not None and check.verdict is Verdict.DIFFERS and not reply.steps_are_exact,
    )


def _check_sentence(check: CounterCheck, cut: int | None) -> str:
    # How many were accepted past the end has a line of its own.
    return check.sentence.partition(",")[0] if check.verdict is Verdict.AGREES and cut else check.sentence


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"
