"""Formulas of speculative decoding, as vLLM and SPEED-Bench define them. `None` is unknown; 0 is a measurement."""

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.core.speculation import Step


def acceptance_length(steps: int, accepted: int) -> float | None:
    """Mean tokens that a step yields: 1 + accepted / steps, the target's own token included (vLLM's definition).

    `accepted` is the server's raw count, proposals kept past the end of the reply included. None without a step.
    """
    return 1 + accepted / steps if steps else None


def acceptance_rate(accepted: int, drafted: int) -> float | None:
    """Share of proposed tokens that were kept; None when nothing was proposed."""
    return accepted / drafted if drafted else None


def emitted_per_step(emitted: int, steps: int) -> float | None:
    """Tokens after the first over steps: below the acceptance length where the reply ended inside a step."""
    return emitted / steps if steps else None


def decode_rate(tokens: int, first_at: float | None, last_at: float | None) -> float | None:
    """Tokens per second after the first: (n - 1) over the seconds from the first token to the last."""
    if first_at is None or last_at is None or tokens < 2 or last_at <= first_at:
        return None
    return (tokens - 1) / (last_at - first_at)


@dataclass(frozen=True, slots=True)
class SpeculationCounts:
    """Pooled counts over steps for which something was drafted."""

    steps: int
    drafted: int | None
    accepted: int
    per_position: tuple[int, ...] | None = None
    """Entry i: steps whose proposal i + 1 was accepted."""

    @classmethod
    def of_steps(cls, steps: Sequence[Step], draft_length: int | None = None) -> "SpeculationCounts":
        """Count steps; `draft_length` widens the positions to k, if the steps themselves show fewer."""
        drafted_steps = [step for step in steps if step.is_drafted]
        width = max([draft_length or 0, *(step.drafted or step.accepted for step in drafted_steps)], default=0)
        drafted = [step.drafted for step in drafted_steps if step.drafted is not None]
        return cls(
            steps=len(drafted_steps),
            drafted=sum(drafted) if len(drafted) == len(drafted_steps) else None,
            accepted=sum(step.accepted for step in drafted_steps),
            per_position=tuple(sum(step.accepted > i for step in drafted_steps) for i in range(width)),
        )

    @classmethod
    def of_histogram(cls, histogram: Sequence[int], drafted: int | None) -> "SpeculationCounts":
        """Count from vLLM's acceptance histogram: entry j is the number of steps that accepted exactly j."""
        return cls(
            steps=sum(histogram),
            drafted=drafted,
            accepted=sum(j * n for j, n in enumerate(histogram)),
            per_position=tuple(sum(histogram[i + 1 :]) for i in range(max(0, len(histogram) - 1))),
        )

    @classmethod
    def of_totals(cls, *, drafted: int, accepted: int, draft_length: int) -> "SpeculationCounts":
        """Count from a log line, which leaves the steps out: every step of a fixed-length draft proposes k tokens."""
        return cls(steps=round(drafted / draft_length), drafted=drafted, accepted=accepted)

    @property
    def acceptance_length(self) -> float | None:
        """Mean tokens a step yields, pooled over these steps."""
        return acceptance_length(self.steps, self.accepted)

    @property
    def acceptance_rate(self) -> float | None:
        """Share of proposals kept; None when nothing was proposed or it is not known how many were."""
        return None if self.drafted is None else acceptance_rate(self.accepted, self.drafted)

    @property
    def per_position_rate(self) -> tuple[float, ...] | None:
        """Share of all steps in which position i + 1 was accepted (unconditional)."""
        if self.per_position is None or not self.steps:
            return None
        return tuple(count / self.steps for count in self.per_position)
