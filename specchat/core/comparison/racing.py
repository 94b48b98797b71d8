"""A race of two replies to one prompt, as it is shown: how far each is at a moment, and how the runs of it scatter."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from specchat.core.comparison.divergence import first_difference
from specchat.core.comparison.pairs import Pair
from specchat.core.comparison.samples import LEAST_SECONDS_A_TOKEN
from specchat.core.reply import Outcome, Reply


@dataclass(frozen=True, slots=True)
class Spread:
    """One figure over several runs."""

    median: float
    low: float
    """The least."""
    high: float
    """The greatest."""
    count: int
    """Runs that have the figure."""


def tokens_after(reply: Reply, seconds: float) -> int:
    """Tokens that a reply had so many seconds after it was asked for.

    By the ids that had come; for a server that sends none, all of its tokens once it has ended and none before.
    """
    if not reply.has_ids:
        return 0 if reply.is_running else reply.output_tokens or 0
    came = bisect_right(reply.clock.chunk_times, reply.clock.sent_at + seconds)
    return reply.live.chunk_ends[came - 1] if came else 0


def seconds_of(reply: Reply, now: float) -> float:
    """Seconds from asking for a reply to its last token; to now while it runs.

    Args:
        reply: As far as it has come.
        now: On the clock of the reply.
    """
    last = reply.clock.last_at
    end = now if reply.is_running or last is None else last
    return max(0.0, end - reply.clock.sent_at)


def rate_of(reply: Reply) -> float | None:
    """Decode tokens per second until now; None before there are two tokens, and where they arrived all at once."""
    rate = reply.clock.mean_rate
    return None if rate is None or rate * LEAST_SECONDS_A_TOKEN > 1 else rate


def parting_of(one: Reply, other: Reply) -> int | None:
    """The first token in which two replies differ, counted from 0, however far they have come.

    Where one of them ended and the other goes on, that is the first token behind the end. None where they are equal as
    far as can be told: a reply that was stopped may have gone on in the same way.
    """
    first, second = ([token for token in reply.ids if token is not None] for reply in (one, other))
    where = first_difference(first, second)
    if where is None or where < min(len(first), len(second)):
        return where
    shorter = one if len(first) < len(second) else other
    return where if shorter.has_ids and shorter.outcome is Outcome.FINISHED else None


def spread_of(values: Sequence[float | None]) -> Spread | None:
    """How the known ones of some values scatter; None where none is known."""
    known = [value for value in values if value is not None]
    return Spread(median(known), min(known), max(known), len(known)) if known else None


def speed_spread(pairs: Sequence[Pair]) -> Spread | None:
    """The decode rate ratios of the runs; None without one."""
    return spread_of([pair.speed_ratio for pair in pairs])
