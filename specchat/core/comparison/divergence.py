"""Where two replies to the same prompt first part: by their ids, and by the characters of their texts."""

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.core.comparison.samples import Measured

EXCERPT = 24
"""Characters shown of each text from the place on where they part, and before it."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first difference."""

    turn: int
    """Of which turn, counted from 0. After it the conversations differ, so nothing later is compared."""
    token: int | None
    """Index of the first id that differs, counted from 0: as many ids are equal. None where ids are not known, or are
    all equal although the texts differ."""
    character: int | None
    """Index of the first character that differs, the same in both texts; None where the texts are equal although the
    ids differ."""
    before: str = ""
    """The end of what both have in common."""
    on: str = ""
    """How the text with speculation goes on."""
    off: str = ""
    """How the text without goes on."""


def divergence_of(on: Sequence[Measured], off: Sequence[Measured]) -> Divergence | None:
    """Where two answers to the same turns first part; None where everything is equal.

    A reply that is the beginning of the other parts from it at its end.
    """
    for turn, (one, other) in enumerate(zip(on, off, strict=False)):
        token = None
        if one.ids is not None and other.ids is not None:
            token = first_difference(one.ids, other.ids)
        character = first_difference(one.text, other.text)
        if token is None and character is None:
            continue
        at = min(len(one.text), len(other.text)) if character is None else character
        return Divergence(
            turn,
            token,
            character,
            one.text[max(0, at - EXCERPT) : at],
            one.text[at : at + EXCERPT],
            other.text[at : at + EXCERPT],
        )
    return None


def first_difference(one: Sequence[object], other: Sequence[object]) -> int | None:
    """Index of the first element in which two sequences differ, or at which one of them ends; None if equal."""
    shorter = min(len(one), len(other))
    for index in range(shorter):
        if one[index] != other[index]:
            return index
    return None if len(one) == len(other) else shorter
