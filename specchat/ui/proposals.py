"""What the draft wanted to say and the target refused, as it is drawn before the target's own word.

Owns how it reads in one line, and where in a reply it belongs; draws nothing. What the server hook did not trace is
never shown: a count alone would look as sure as it is not.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from specchat.core.reply import Reply
from specchat.ui.layout.asides import Aside
from specchat.ui.panels.characters import spelled
from specchat.ui.styles import PROPOSAL

LEFT, RIGHT = "\u2039", "\u203a"
"""Set around what was proposed in vain."""
REJECTED, ABANDONED, COUNT = f"{PROPOSAL}rejected", f"{PROPOSAL}abandoned", f"{PROPOSAL}count"


class Proposals(StrEnum):
    """How rejected proposals are shown."""

    HIDDEN = "hidden"
    COUNT = "count"
    """How many there were."""
    SHOWN = "shown"
    """Their text, struck through."""

    @property
    def next(self) -> "Proposals":
        """The one that a key goes to."""
        ways = list(Proposals)
        return ways[(ways.index(self) + 1) % len(ways)]


def asides_of(reply: Reply, proposals: Proposals, first: int = 0) -> list[Aside]:
    """What is drawn before the tokens of a reply from index `first` on: (index of a token, words)."""
    if proposals is Proposals.HIDDEN or not reply.is_traced:
        return []
    steps = reply.steps
    if proposals is Proposals.COUNT:
        refused = [
            (index, (steps[step].drafted or 0) - steps[step].accepted) for index, step in corrected(reply, first)
        ]
        return [(index, bracketed(str(count))) for index, count in refused]
    drawn: dict[tuple[int, ...], str] = {}
    """By the ids: the same few are refused again and again."""
    asides: list[Aside] = []
    for index, step in corrected(reply, first):
        ids = steps[step].rejected
        if ids not in drawn:
            drawn[ids] = _set_apart(in_line(reply, ids))
        asides.append((index, drawn[ids]))
    return asides


def _set_apart(words: str) -> str:
    """In brackets, behind the spaces that the words begin with: a line may end there as it may between words."""
    bare = words.lstrip(" ")
    return " " * (len(words) - len(bare)) + bracketed(bare)


def bracketed(text: str) -> str:
    """A text between the signs that show, without a colour, that it was proposed in vain."""
    return f"{LEFT}{text}{RIGHT}"


def aside_style(proposals: Proposals, drawn: str) -> str:
    """The style of a grapheme of what is drawn: words are struck through; the signs would be disfigured by a line."""
    return COUNT if proposals is Proposals.COUNT or drawn in {LEFT, RIGHT, " "} else REJECTED


def in_line(reply: Reply, ids: Sequence[int]) -> str:
    """The texts of proposals in one line: spelled, but spaces among other characters are themselves."""
    if not ids:
        return "?"
    text = "".join(word_of(reply, token_id) for token_id in ids)
    return " ".join(map(spelled, text.split(" "))) if text.strip(" ") else spelled(text)


def word_of(reply: Reply, token_id: int) -> str:
    """The text of a proposal, or its id where nobody told that."""
    told = reply.text_of_proposal(token_id)
    return f"⟨id {token_id}⟩" if told is None else told


def corrected(reply: Reply, first: int = 0) -> Iterator[tuple[int, int]]:
    """(index of the target's own word, step) of the steps of a traced reply in which a proposal was rejected.

    Args:
        reply: Traced.
        first: Of tokens before this one nothing is needed.
    """
    trace, ids = reply.trace, reply.ids
    if trace is None or first >= len(ids) or not trace.covered:
        return
    at = min(_ordinal_from(reply, first), trace.covered - 1)
    step = trace.labels[at].step
    while at and step is not None and trace.labels[at - 1].step == step:
        at -= 1
    if step is None:
        step, at = 0, len(trace.rows[0].emitted)
    for number in range(step, len(trace.steps)):
        seen = trace.steps[number]
        if seen.accepted < seen.emitted and seen.accepted < (seen.drafted or 0):
            index = reply.index_of(at + seen.accepted)
            if index >= first:
                yield index, number
        at += seen.emitted


def _ordinal_from(reply: Reply, index: int) -> int:
    """Which id belongs to a token, or to the next one that has any."""
    for at in range(index, len(reply.ids)):
        ordinal = reply.ordinal_of(at)
        if ordinal is not None:
            return ordinal
    return max(0, (reply.output_tokens or 0) - 1)
