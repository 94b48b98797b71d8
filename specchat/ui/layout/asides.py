"""Words that are drawn in a text and are none of it: what the draft wanted to say. Maps places between the two.

Owns where such a word may stand: never inside a grapheme, nor where a character of the text would combine with it.
"""

from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from rich.cells import get_character_cell_size

Aside = tuple[int, str]
"""Index of the piece that it stands before, and what is drawn; neither end of that combines with a character."""
_REGIONAL = range(0x1F1E6, 0x1F200)
_JOINS = ("\u200d", "\ufe0f")


class Asides:
    """Asides in a text, in order. Without any, what is drawn is the text."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._pieces = array("q")
        self._at = array("q")
        """Index, in the text, of the character behind each."""
        self._ends = array("q")
        """Index, in what is drawn, behind each."""

    def __len__(self) -> int:
        return len(self._words)

    def before(self, piece: int) -> list[Aside]:
        """Those that stand before earlier pieces than this."""
        count = bisect_left(self._pieces, piece)
        return list(zip(self._pieces[:count], self._words[:count], strict=True))

    def since(self, piece: int) -> list[Aside]:
        """Those that stand before this piece or later ones."""
        first = bisect_left(self._pieces, piece)
        return list(zip(self._pieces[first:], self._words[first:], strict=True))

    def drawn_at(self, offset: int) -> int:
        """Where the character at `offset` of the text is drawn, behind what stands before it."""
        return offset + self._size(bisect_right(self._at, offset))

    def offset_at(self, drawn: int) -> int:
        """The place in the text of something drawn; for an aside, that of the character behind it."""
        number = bisect_right(self._ends, drawn)
        if number < len(self._ends) and drawn >= self._ends[number] - len(self._words[number]):
            return self._at[number]
        return drawn - self._size(number)

    def stretches(self, start: int, end: int) -> Iterator[tuple[int, int, bool]]:
        """(start, end, is an aside) of the stretches of what is drawn between two places."""
        at = start
        for number in range(bisect_right(self._ends, start), len(self._ends)):
            first = self._ends[number] - len(self._words[number])
            if first >= end:
                break
            if first > at:
                yield at, first, False
            yield max(at, first), min(end, self._ends[number]), True
            at = min(end, self._ends[number])
        if at < end:
            yield at, end, False

    def replace(self, first: int, asides: Sequence[Aside], text: str, starts: Sequence[int], start: int) -> int:
        """Put asides in place of those before pieces from `first` on, in a text that is another one from `start` on.

        Args:
            first: A piece.
            asides: Of it and of later pieces, in order.
            text: The text as it is now.
            starts: Where in it each piece begins.
            start: What is before it stays, and so do the places of asides that it decides.

        Returns:
            The first place, in what is drawn, that may look different.
        """
        own = bisect_left(self._pieces, first)
        # Whether an aside may stand at a place is decided by what is before it and by the character behind it.
        decided = bisect_left(self._pieces, start, 0, own, key=lambda piece: starts[piece])
        kept = min(decided, bisect_left(self._at, start))
        changed = start + self._size(kept)
        if kept < len(self):
            changed = min(changed, self._ends[kept] - len(self._words[kept]))
        again = list(zip(self._pieces[kept:own], self._words[kept:own], strict=True))
        for numbers in (self._pieces, self._at, self._ends):
            del numbers[kept:]
        del self._words[kept:]
        size = self._size(kept)
        for piece, words in (*again, *asides):
            at = place_of(text, starts[piece])
            changed = min(changed, at + size)
            size += len(words)
            self._words.append(words)
            self._pieces.append(piece)
            self._at.append(at)
            self._ends.append(at + size)
        return changed

    def drawn(self, text: str, before: str, changed: int) -> str:
        """The text with the asides in it.

        Args:
            text: As it is now.
            before: As it was drawn.
            changed: What `replace` returned.
        """
        if not self:
            return text
        number = bisect_right(self._ends, changed)
        at = changed - self._size(number)
        drawn = [before[:changed]]
        for place, words in zip(self._at[number:], self._words[number:], strict=True):
            drawn += [text[at:place], words]
            at = place
        return "".join((*drawn, text[at:]))

    def _size(self, count: int) -> int:
        """Characters of the first asides."""
        return self._ends[count - 1] - self._at[count - 1] if count else 0


def place_of(text: str, offset: int) -> int:
    """The nearest place before `offset`, or at it, where something can be drawn between two characters."""
    if text[max(0, offset - 1) : offset + 1].isascii():
        return offset  # of these, nothing combines
    at = offset
    while at > 0 and not _is_between(text, at):
        at -= 1
    while at < len(text) and not _is_between(text, at):
        at += 1
    return at


def _is_between(text: str, at: int) -> bool:
    """Does neither the character at a place nor the one before it combine with what would be drawn there?"""
    before, behind = text[at - 1 : at], text[at : at + 1]
    if before == _JOINS[0] or behind in _JOINS:
        return False
    if behind and not behind.isascii() and not get_character_cell_size(behind):
        return False
    return not behind or not before or ord(behind) not in _REGIONAL or _is_even(text, at)


def _is_even(text: str, at: int) -> bool:
    """Do an even number of regional indicators, which make flags in pairs, stand before a place?"""
    first = at
    while first and ord(text[first - 1]) in _REGIONAL:
        first -= 1
    return not (at - first) % 2
