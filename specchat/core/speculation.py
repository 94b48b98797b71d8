"""The words of speculative decoding: origins, evidence, tokens and steps. Nothing here counts or guesses."""

from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple


class Origin(StrEnum):
    """Who wrote an emitted token."""

    PREFILL = "prefill"
    """The first token of a reply: the target's, from reading the prompt."""
    ACCEPTED = "accepted"
    """Proposed by the draft and kept by the target."""
    CORRECTION = "correction"
    """The target's own word after a rejected proposal."""
    BONUS = "bonus"
    """The target's extra word after all proposals of a step held."""
    PLAIN = "plain"
    """The target's word in a step for which nothing was drafted."""
    UNKNOWN = "unknown"
    """What is known does not say."""


class Evidence(StrEnum):
    """Where a figure or an origin comes from, the strongest first."""

    TRACED = "traced"
    """The server hook: exact, with the rejected proposals."""
    REPORTED = "reported"
    """The server's own per-request report: exact, arrives at the end."""
    INFERRED = "inferred"
    """The sizes of the stream's chunks: right unless the server merged chunks."""
    NONE = "none"
    """Nothing backs a figure, so none is given."""


class Channel(StrEnum):
    """The part of a reply that a token belongs to."""

    CONTENT = "content"
    REASONING = "reasoning"
    TOOL = "tool"


class Label(NamedTuple):
    """What is known of one emitted token's origin."""

    origin: Origin
    position: int | None = None
    """The draft position, 1 … k, of an accepted token; None for every other origin."""
    step: int | None = None
    """Index into the reply's steps; None for prefill and where it cannot be told."""
    evidence: Evidence = Evidence.NONE


UNKNOWN_LABEL = Label(Origin.UNKNOWN)


class Token(NamedTuple):
    """One emitted token with its text and origin."""

    id: int | None
    """The token id, or None where the server does not send ids (then `text` is a whole chunk)."""
    text: str
    """The text that begins in this token; "" for the later tokens of one character and for silent ones."""
    channel: Channel
    label: Label


@dataclass(frozen=True, slots=True)
class Step:
    """One verification, by the target, of what the draft proposed."""

    drafted: int | None
    """Tokens proposed; 0 for a plain step, None where the draft length is not known."""
    accepted: int
    """Leading proposals kept, as the server counts them: some may lie past the end of the reply."""
    emitted: int
    """Tokens that the reply holds from this step: accepted + 1, fewer where the reply ended inside it."""
    evidence: Evidence
    proposed: tuple[int, ...] | None = None
    """Ids of what was proposed, kept ones included; None where no trace says them."""

    def __post_init__(self) -> None:
        """Refuse what cannot happen.

        Raises:
            ValueError: If a count is negative, or more is accepted than was drafted.
        """
        if self.accepted < 0 or self.emitted < 1 or (self.drafted is not None and self.accepted > self.drafted):
            raise ValueError(f"no step can be {self!r}")

    @property
    def is_drafted(self) -> bool:
        """Was anything proposed? Steps with nothing drafted are in no acceptance figure."""
        return self.drafted != 0

    @property
    def rejected(self) -> tuple[int, ...]:
        """Ids of the proposals that were not kept, the one that the target refused first; () where none is known."""
        return () if self.proposed is None else self.proposed[self.accepted :]


def leading_matches(proposed: list[int], emitted: list[int]) -> int:
    """Number of leading proposals that the target emitted too.

    A proposal after the first wrong one was never accepted, even where it happens to equal the target's token.
    """
    count = 0
    for wanted, got in zip(proposed, emitted, strict=False):
        if wanted != got:
            break
        count += 1
    return count


def origins_of_step(drafted: int | None, accepted: int, emitted: int) -> list[tuple[Origin, int | None]]:
    """The origin and position of each of the tokens that a step emitted.

    A step emits its accepted tokens and then the target's own: a bonus where every proposal held, else a correction.
    """
    kept: list[tuple[Origin, int | None]] = [(Origin.ACCEPTED, i) for i in range(1, min(accepted, emitted) + 1)]
    if emitted <= accepted:
        return kept
    if drafted == 0:
        return [*kept, (Origin.PLAIN, None)]
    if drafted is None:
        return [*kept, (Origin.UNKNOWN, None)]
    return [*kept, (Origin.BONUS if accepted == drafted else Origin.CORRECTION, None)]
