"""What the list of sessions shows of a turn, taken from its reply."""

from dataclasses import dataclass

from specchat.core.conversation import Turn
from specchat.core.reply_figures import speculation_of

_LARGEST = 2**63 - 1
"""Of a column; a server may claim more."""


@dataclass(frozen=True, slots=True)
class TurnSummary:
    """A turn as columns. None is unknown."""

    reply: str
    thinking: str
    outcome: str
    tokens: int | None
    steps: int | None
    """Steps for which something was drafted."""
    drafted: int | None
    accepted: int | None
    evidence: str
    """Where steps, drafted and accepted come from."""

    @classmethod
    def of(cls, turn: Turn) -> "TurnSummary":
        """The summary of a turn as it stands."""
        reply = turn.reply
        counts, evidence = speculation_of(reply)
        return cls(
            reply.text,
            reply.reasoning,
            str(reply.outcome),
            _fits(reply.output_tokens),
            None if counts is None else _fits(counts.steps),
            None if counts is None else _fits(counts.drafted),
            None if counts is None else _fits(counts.accepted),
            str(evidence),
        )


def _fits(number: int | None) -> int | None:
    return None if number is None else max(-_LARGEST, min(_LARGEST, number))
