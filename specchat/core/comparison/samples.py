"""What is measured of one reply, and of one prompt answered once on one side. Computes figures, measures nothing.

A prompt with several turns is one sample with several replies: its figures are those of all its replies together.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from specchat.core.figures import SpeculationCounts
from specchat.core.speculation import Evidence

_Number = TypeVar("_Number", int, float)

LEAST_SECONDS_A_TOKEN = 5e-5
"""Tokens that came faster than 20,000 a second were made before and arrived at once: something between the engine and
this program, or this program itself, stood still meanwhile."""
COUNTED = "counted"
"""Evidence: the movement of the server's counters over a reply during which it served nobody else. As exact as a
report, but it says nothing of single steps."""
_EVIDENCE = (Evidence.TRACED, Evidence.REPORTED, COUNTED, Evidence.INFERRED, Evidence.NONE)
"""The strongest first."""

AL_POOLED = "pooled over steps"
"""Every step of all replies counts the same, as for the server's own counters."""
AL_OF_REQUESTS = "mean of requests"
"""Every reply counts the same, however many steps it took."""


class Side(StrEnum):
    """The two that are compared."""

    ON = "on"
    """With what the server does by itself: speculation."""
    OFF = "off"
    """Without: the baseline."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no whole reply."""

    kind: str
    """Name of the error's class."""
    message: str
    hint: str = ""
    is_refusal: bool = False
    """Would the server refuse the same again? Else the reply is asked for once more when the run goes on."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One reply. Times are seconds on the client's clock."""

    first_token_s: float | None = None
    """From sending the request to the first token: queue, prefill and network."""
    decode_s: float | None = None
    """From the first token to the last."""
    total_s: float | None = None
    """From sending the request to the last token."""
    tokens: int | None = None
    """Ids that arrived, else the server's own count."""
    prompt_tokens: int | None = None
    steps: int | None = None
    """Steps for which something was drafted; the server's name for them is drafts."""
    drafted: int | None = None
    accepted: int | None = None
    per_position: tuple[int, ...] | None = None
    """Entry i: steps whose proposal i + 1 was accepted."""
    evidence: str = Evidence.NONE
    """Where the four counts above come from."""
    finish_reason: str | None = None
    ids: tuple[int, ...] | None = None
    """None where the server sends none."""
    text: str = ""
    """Thinking and answer, as they came."""
    obeyed: bool | None = None
    """Did the server keep to `off`? None where nothing shows it, or nothing was switched."""
    was_alone: bool | None = None
    """Did the server serve nobody else meanwhile? None where its counters do not tell."""
    failure: Failure | None = None
    notes: tuple[str, ...] = ()
    energy_j: float | None = None
    """Joules of all GPUs of the machine meanwhile; None where nothing was read."""

    @property
    def counts(self) -> SpeculationCounts | None:
        """The counts of its steps; None where they are not known."""
        if self.steps is None or self.accepted is None:
            return None
        return SpeculationCounts(self.steps, self.drafted, self.accepted, self.per_position)


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt, answered once on one side."""

    prompt: int
    """Number of the prompt in its file, counted from 0."""
    repeat: int
    """Which time the prompt was asked, counted from 0."""
    side: Side
    replies: tuple[Measured, ...]
    """One for each turn; the last one may have failed, and then the turns after it are missing."""
    started_at: float = 0.0
    """Seconds since the epoch."""
    block: int = 0
    """Which block of the run it is of: within one, the requests of a side run beside each other."""

    @property
    def failure(self) -> Failure | None:
        """Why it is not whole."""
        return next((reply.failure for reply in self.replies if reply.failure is not None), None)

    @property
    def is_final(self) -> bool:
        """Would asking again bring the same? A broken reply may be whole the next time."""
        return self.failure is None or self.failure.is_refusal

    @property
    def tokens(self) -> int | None:
        """Tokens of all replies; None unless known of each."""
        return _sum_of_known([reply.tokens for reply in self.replies])

    @property
    def decode_rate(self) -> float | None:
        """Decode tokens per second: all tokens but the first of each reply, over the seconds they took.

        The first token of a reply comes from the prefill, which speculation does not touch. None for a failed sample,
        and where a reply shows nothing of its decoding: a single token, or all of them at once.
        """
        seconds = _sum_of_known([reply.decode_s for reply in self.replies])
        if self.failure is not None or self.tokens is None or not seconds:
            return None
        decoded = self.tokens - len(self.replies)
        return decoded / seconds if decoded > 0 and seconds >= decoded * LEAST_SECONDS_A_TOKEN else None

    @property
    def end_to_end_rate(self) -> float | None:
        """Tokens per second from sending the requests on, prefill and waiting included."""
        seconds = _sum_of_known([reply.total_s for reply in self.replies])
        return None if self.failure is not None or not self.tokens or not seconds else self.tokens / seconds

    @property
    def first_token_s(self) -> float | None:
        """Of its first reply."""
        return self.replies[0].first_token_s if self.replies and self.failure is None else None

    @property
    def total_s(self) -> float | None:
        """Seconds of all replies."""
        return _sum_of_known([reply.total_s for reply in self.replies])

    @property
    def energy_j(self) -> float | None:
        """Joules of all replies; None for a failed sample, and unless known of each."""
        return None if self.failure is not None else _sum_of_known([reply.energy_j for reply in self.replies])


def pooled_counts(replies: list[Measured]) -> tuple[SpeculationCounts | None, str]:
    """The counts of all steps of these replies, and the weakest evidence among them.

    Replies without counts are left out; None where none has any.
    """
    known = [(one, reply.evidence) for reply in replies if (one := reply.counts) is not None]
    if not known:
        return None, str(Evidence.NONE)
    every = [one for one, _ in known]
    weakest = max((evidence for _, evidence in known), key=lambda one: _EVIDENCE.index(one) if one in _EVIDENCE else 9)
    width = max(len(one.per_position or ()) for one in every)
    positions = None
    if all(one.per_position is not None for one in every):
        rows = [(*(one.per_position or ()), *(0,) * width)[:width] for one in every]
        positions = tuple(map(sum, zip(*rows, strict=True)))
    drafted = _sum_of_known([one.drafted for one in every])
    steps, accepted = sum(one.steps for one in every), sum(one.accepted for one in every)
    return SpeculationCounts(steps, drafted, accepted, positions), str(weakest)


def mean_of_requests(replies: list[Measured]) -> float | None:
    """Acceptance length as the mean of that of each reply; None where none has one."""
    lengths = [counts.acceptance_length for reply in replies if (counts := reply.counts) is not None]
    known = [length for length in lengths if length is not None]
    return sum(known) / len(known) if known else None


def _sum_of_known(values: Sequence[_Number | None]) -> _Number | None:
    known = [value for value in values if value is not None]
    return sum(known[1:], known[0]) if known and len(known) == len(values) else None
