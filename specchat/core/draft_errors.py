"""What the draft gets wrong: counts over the places at which the target judged a proposal. Only a trace tells them.

A place is judged where a proposal was kept, or was the first of its step to be refused. What stood behind a refused
proposal was dropped without a judgement, and counts nowhere. Kinds are told from a text alone, by few rules that can be
checked by eye; they are no grammar.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from specchat.core.reply import Reply
from specchat.core.speculation import Step

PARTS = 10
"""Equal parts of a reply for which the mean of accepted proposals is told."""
_OPENING = ".!?:…\n"
"""What stands before the beginning of a sentence, next to the marks that may come between."""
_BETWEEN = " \t\"'“”\u2018\u2019«»([*_#>-•"
_TAIL = 16
"""Characters before a token that decide whether it begins a sentence."""


class Kind(StrEnum):
    """Kinds of tokens, by their text; the first that fits counts."""

    CODE = "code"
    """In a fenced block of code."""
    WHITESPACE = "whitespace"
    """Nothing but spaces, tabs and line ends."""
    NUMBER = "number"
    """Has a digit."""
    PUNCTUATION = "punctuation"
    """Has neither letter nor digit."""
    NAME = "name"
    """Begins with a capital, and no sentence begins there. German nouns are names by this rule."""
    WORD = "word"
    """Anything else: words, and parts of them."""


def kind_of(text: str, before: str = "", *, in_code: bool = False) -> Kind:
    """The kind of a token.

    Args:
        text: Of the token, not "".
        before: What stands before it in the reply, or the end of that.
        in_code: Does it belong to a block of code?
    """
    bare = text.strip()
    if in_code:
        return Kind.CODE
    if not bare:
        return Kind.WHITESPACE
    if any(character.isdigit() for character in bare):
        return Kind.NUMBER
    if not any(character.isalpha() for character in bare):
        return Kind.PUNCTUATION
    letters = bare.lstrip(_BETWEEN)
    lead = before + text[: text.find(letters)]
    continues = text[0] == letters[0] and before[-1:].isalpha()
    if letters[0].isupper() and letters != "I" and not continues and not _opens(lead):
        return Kind.NAME
    return Kind.WORD


def _opens(before: str) -> bool:
    """Does a sentence begin behind this?"""
    bare = before.rstrip(_BETWEEN)
    return not bare or bare[-1] in _OPENING


class Judged(NamedTuple):
    """A place at which the target judged a proposal."""

    wanted: str | None
    """The proposal; None where nobody told its text."""
    got: str
    """The target's word: the proposal itself where it was kept."""
    kind: Kind
    """Of the target's word."""
    kept: bool


@dataclass(frozen=True, slots=True)
class Score:
    """How often the draft missed something."""

    name: str
    """The text of a token, or a kind."""
    judged: int
    missed: int

    @property
    def rate(self) -> float:
        """Share of the judged places at which the draft was wrong."""
        return self.missed / self.judged


@dataclass(frozen=True, slots=True)
class Miss:
    """A proposal and the word that the target said instead."""

    wanted: str | None
    """None where nobody told its text."""
    got: str
    count: int


@dataclass(frozen=True, slots=True)
class DraftErrors:
    """What the draft got wrong in some replies."""

    judged: int
    missed: int
    kinds: tuple[Score, ...]
    """By kind of the target's word, the one that was missed most often first."""
    words: tuple[Score, ...]
    """By text of the target's word; those that were never missed are left out."""
    misses: tuple[Miss, ...]
    """The pairs that came most often."""
    along: tuple[float | None, ...]
    """Mean number of proposals kept in a step, for each of PARTS equal parts of the replies; None where none was."""


InCode = Callable[[int], bool]
"""Does the token at an index belong to a block of code?"""


def errors_of(replies: Iterable[tuple[Reply, InCode]], most: int = 10) -> DraftErrors | None:
    """Count over replies; None where none of them is traced.

    Args:
        replies: Each with what knows its blocks of code.
        most: The longest list of words and of pairs.
    """
    traced = [(reply, in_code) for reply, in_code in replies if reply.is_traced]
    if not traced:
        return None
    kinds, words = defaultdict[str, list[int]](lambda: [0, 0]), defaultdict[str, list[int]](lambda: [0, 0])
    pairs: Counter[tuple[str | None, str]] = Counter()
    judged = missed = 0
    for reply, in_code in traced:
        for place in judged_of(reply, in_code):
            judged, missed = judged + 1, missed + (not place.kept)
            for scores, name in ((kinds, str(place.kind)), (words, place.got)):
                scores[name][0] += 1
                scores[name][1] += not place.kept
            if not place.kept:
                pairs[place.wanted, place.got] += 1
    return DraftErrors(
        judged,
        missed,
        _sorted(kinds),
        tuple(score for score in _sorted(words) if score.missed)[:most],
        tuple(Miss(wanted, got, count) for (wanted, got), count in pairs.most_common(most)),
        along_of([reply.steps for reply, _ in traced]),
    )


def judged_of(reply: Reply, in_code: InCode = lambda _: False) -> Iterator[Judged]:
    """The places of a traced reply at which the target judged a proposal.

    Left out are those whose word has no text: the end of a reply, and the later tokens of one character.
    """
    rows = reply.rows
    indices = [index for index, token_id in enumerate(reply.ids) if token_id is not None]
    trace = reply.trace
    if trace is None or not reply.is_traced:
        return
    at = len(trace.rows[0].emitted)
    for step in trace.steps:
        for offset in range(min(step.emitted, step.accepted + bool(step.rejected))):
            index = indices[at + offset]
            got = rows[index][1]
            if got:
                before = "".join(text for _, text in rows[max(0, index - _TAIL) : index])[-_TAIL:]
                kept = offset < step.accepted
                wanted = got if kept else reply.text_of_proposal(step.rejected[0])
                yield Judged(wanted, got, kind_of(got, before, in_code=in_code(index)), kept)
        at += step.emitted


def along_of(replies: Sequence[Sequence[Step]]) -> tuple[float | None, ...]:
    """Mean number of proposals kept in a step, for each of PARTS equal parts of the replies' steps."""
    kept, steps = [0] * PARTS, [0] * PARTS
    for of_reply in replies:
        drafted = [step for step in of_reply if step.is_drafted]
        for number, step in enumerate(drafted):
            part = number * PARTS // len(drafted)
            kept[part] += step.accepted
            steps[part] += 1
    return tuple(kept[part] / steps[part] if steps[part] else None for part in range(PARTS))


def _sorted(scores: dict[str, list[int]]) -> tuple[Score, ...]:
    """The most missed first; of those missed as often, the ones that were judged less."""
    found = [Score(name, judged, missed) for name, (judged, missed) in scores.items()]
    return tuple(sorted(found, key=lambda score: (-score.missed, score.judged, score.name)))
