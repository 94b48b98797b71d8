"""A text that consists of pieces, in lines; re-wraps only the end when a piece changes.

Owns which piece shows what; knows neither styles nor widgets. A grapheme that spans several pieces stays whole and
belongs to the piece in which it begins. The lines joined are exactly the harmless text, whatever the width, and the
asides that are drawn in it: those take up room, and are none of the text. Of a line only its place is kept: what it
shows is worked out when it is asked for, which a long text hardly ever is.
"""

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import NamedTuple, overload

from specchat.core.harmless import harmless
from specchat.ui.layout.asides import Aside, Asides
from specchat.ui.layout.wrapping import TAB_CELLS, Lines, units


class Atom(NamedTuple):
    """A part of a line that is never drawn in two colours."""

    piece: int
    """Index of the piece in which it begins, or before which it stands."""
    start: int
    """Index of its first character in the flow's text; for one of an aside, of the character behind the aside."""
    end: int
    drawn: str
    """What the screen shows for it: a tab is drawn as spaces, a space beyond the edge as nothing."""
    cells: int
    """Width of `drawn`."""
    aside: bool = False
    """Is it no part of the text?"""


class FlowLine(NamedTuple):
    """One line of the screen."""

    atoms: tuple[Atom, ...]
    start: int
    end: int
    """Index behind its last character; a newline that ends the line is not in it."""


class TextFlow:
    """Pieces of text in lines of at most `width` cells, wrapped between words where possible."""

    def __init__(self, width: int) -> None:
        """Start empty.

        Args:
            width: Cells in a line; a grapheme that is wider than that gets a line of its own.
        """
        self.width = max(1, width)
        self.text = ""
        """The harmless text of all pieces."""
        self._drawn = ""
        """The text and the asides in it: what is wrapped."""
        self._asides = Asides()
        self._lines = Lines()
        self._pieces: list[str] = []
        self._starts = array("q")

    def __len__(self) -> int:
        return len(self._pieces)

    @property
    def lines(self) -> Sequence[FlowLine]:
        """At least one line, as soon as `replace` was called."""
        return _LineView(self)

    @property
    def height(self) -> int:
        """Lines."""
        return len(self._lines)

    def is_blank(self, line: int) -> bool:
        """Is there nothing in a line?"""
        return self._lines.starts[line] == self._lines.ends[line]

    def line(self, index: int) -> FlowLine:
        """One line with all that it shows."""
        start, end = self._lines.starts[index], self._lines.ends[index]
        if not self._asides:
            return FlowLine(tuple(self._atoms(start, end)), start, end)
        return FlowLine(tuple(self._mixed(start, end)), *map(self._asides.offset_at, (start, end)))

    def is_broken(self, index: int) -> bool:
        """Is what follows a line a newline, and not the first character of the next one?"""
        return self._drawn.startswith("\n", self._lines.ends[index])

    def resize(self, width: int) -> None:
        """Wrap anew to another width."""
        if max(1, width) != self.width:
            self.width = max(1, width)
            self._lines.wrap(self._drawn, self.width)

    def replace(self, first: int, pieces: Sequence[str], asides: Sequence[Aside] = ()) -> int:
        """Put `pieces` in place of all from index `first` on.

        Args:
            first: Index of a piece.
            pieces: It and all behind it.
            asides: What is drawn before any of them, in order.

        Returns:
            The index of the first line that may differ.
        """
        same = 0
        old = self._pieces[first : first + len(pieces)]
        if old == pieces:
            same = len(old)
        while same < len(old) and old[same] == pieces[same]:
            same += 1
        if asides or self._asides:
            same = min(same, _first_other(self._asides.since(first), asides) - first)
        if len(self._lines) and same == len(pieces) and first + same == len(self._pieces):
            return len(self._lines)
        first, pieces = first + same, pieces[same:]
        changed = first
        # A carriage return waits for the newline that may follow it in another piece.
        while first and (not self._pieces[first - 1] or self._pieces[first - 1].endswith("\r")):
            first -= 1
            pieces = [self._pieces[first], *pieces]
        start = self._starts[first] if first < len(self._starts) else len(self.text)
        self._pieces[first:] = pieces
        clean = _clean(pieces)
        self._starts[first:] = array("q", list(accumulate(map(len, clean), initial=start))[:-1])
        self.text = self.text[:start] + "".join(clean)
        if asides or self._asides:
            of_changed = [aside for aside in asides if aside[0] >= changed]
            start = self._asides.replace(changed, of_changed, self.text, self._starts, start)
        self._drawn = self._asides.drawn(self.text, self._drawn, start)
        return self._lines.wrap(self._drawn, self.width, start)

    def set_asides(self, asides: Sequence[Aside]) -> int:
        """Draw other asides; returns the index of the first line that may differ."""
        return self.replace(0, self._pieces, asides)

    def line_at(self, offset: int) -> int:
        """Index of the line that holds the character at `offset`."""
        return self._lines.at(self._asides.drawn_at(offset) if self._asides else offset)

    def line_of_piece(self, piece: int) -> int:
        """Index of the first line that shows something of a piece."""
        return self.line_at(self._starts[piece]) if piece < len(self._starts) else max(0, len(self._lines) - 1)

    def span_of_piece(self, piece: int) -> tuple[int, int]:
        """Start and end of a piece in the text; (start, start) for one of which nothing is shown."""
        start = self._starts[piece]
        return start, self._starts[piece + 1] if piece + 1 < len(self._starts) else len(self.text)

    def piece_at(self, offset: int) -> int:
        """Index of the piece that the character at `offset` comes from."""
        return max(0, bisect_right(self._starts, offset) - 1)

    def grapheme_at(self, offset: int) -> tuple[int, int]:
        """Start and end of the grapheme that `offset` lies inside; (offset, offset) where it lies between two."""
        for atom in self.line(self.line_at(offset)).atoms if len(self._lines) else ():
            if atom.start < offset < atom.end and not self.text[atom.start : atom.end].isascii():
                return atom.start, atom.end
        return offset, offset

    def _mixed(self, start: int, end: int) -> Iterator[Atom]:
        """What is drawn of a line in which asides may stand, which is named by its place among all that is drawn."""
        used = 0
        for first, stop, is_aside in self._asides.stretches(start, end):
            at = self._asides.offset_at(first)
            mine = self._aside_atoms(first, stop, at, used) if is_aside else self._atoms(at, at + stop - first, used)
            for atom in mine:
                yield atom
                used += atom.cells

    def _aside_atoms(self, first: int, stop: int, at: int, used: int) -> Iterator[Atom]:
        """What is drawn of an aside, one grapheme after the other: a click finds what each stands before."""
        piece = self.piece_at(at)
        for kind, start, end, cells in units(self._drawn, first, stop):
            size = end - start if kind == "g" else 1
            for index in range(start, end, size):
                if kind == " " and used >= self.width:
                    return  # as spaces of the text, those beyond the edge are not drawn
                shown = cells if kind == "g" else 1 + (kind == "w")
                yield Atom(piece, at, at, self._drawn[index : index + size], shown, aside=True)
                used += shown

    def _atoms(self, at: int, end: int, used: int = 0) -> Iterator[Atom]:
        """What is drawn of a stretch of the text, behind so many cells of its line."""
        text, starts = self.text, self._starts
        piece = self.piece_at(at)
        for kind, first, stop, cells in units(text, at, end):
            start = first
            while start < stop:
                while piece + 1 < len(starts) and starts[piece + 1] <= start:
                    piece += 1
                behind = starts[piece + 1] if piece + 1 < len(starts) else stop
                if kind == " ":
                    part = min(stop, behind)
                    wanted = TAB_CELLS - used % TAB_CELLS if cells < 0 else part - start
                    shown = max(0, min(wanted, self.width - used))
                    drawn = " " * shown
                elif kind == "n" and text[start:stop].isascii():
                    part = min(stop, behind)
                    shown, drawn = part - start, text[start:part]
                else:
                    part = stop if kind == "g" else start + 1
                    shown = cells if kind == "g" else 1 + (kind == "w")
                    drawn = text[start:part]
                yield Atom(piece, start, part, drawn, shown)
                used += shown
                start = part


class _LineView(Sequence[FlowLine]):
    """The lines of a flow as they stand, each worked out when it is asked for."""

    def __init__(self, flow: TextFlow) -> None:
        self._flow = flow

    def __len__(self) -> int:
        return self._flow.height

    @overload
    def __getitem__(self, index: int) -> FlowLine: ...
    @overload
    def __getitem__(self, index: slice) -> list[FlowLine]: ...
    def __getitem__(self, index: int | slice) -> FlowLine | list[FlowLine]:
        if isinstance(index, slice):
            return [self._flow.line(number) for number in range(*index.indices(len(self)))]
        return self._flow.line(range(len(self))[index])

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]


def _first_other(before: Sequence[Aside], after: Sequence[Aside]) -> int:
    """The first piece before which another aside stands; a large number if there is none."""
    at = 0
    shorter = min(len(before), len(after))
    if before[:shorter] == after[:shorter]:
        at = shorter
    while at < shorter and before[at] == after[at]:
        at += 1
    return min((aside[at][0] for aside in (before, after) if at < len(aside)), default=1 << 60)


def _clean(pieces: Sequence[str]) -> Sequence[str]:
    """The harmless texts of the pieces; a newline belongs to the piece that its line feed is in."""
    joined = "".join(pieces)
    if harmless(joined) == joined:
        return pieces
    return [harmless(_without_split_return(piece, pieces, index)) for index, piece in enumerate(pieces)]


def _without_split_return(piece: str, pieces: Sequence[str], index: int) -> str:
    """The piece without a last carriage return whose newline is in a later piece."""
    if piece.endswith("\r"):
        behind = next((later for later in pieces[index + 1 :] if later), "")
        if behind.startswith("\n"):
            return piece[:-1]
    return piece
