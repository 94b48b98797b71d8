"""Wraps a text that consists of pieces, and re-wraps only the end when a piece changes.

Owns the split into lines; knows neither styles nor widgets. A grapheme that spans several pieces stays whole and
belongs to the piece in which it begins. The lines joined are exactly the harmless text, whatever the width.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len, split_graphemes

from specchat.core.harmless import harmless

TAB_CELLS = 4
_UNIT = re.compile(r"\n|\t|[ ]+|[!-~]+(?![^\x00-\x7f])|[!-~]?[^\x00-\x7f]+")
"""A newline, a tab, spaces, narrow characters that nothing combines with, or a run that must be cut into graphemes."""
_REGIONAL = range(0x1F1E6, 0x1F200)


class Atom(NamedTuple):
    """A part of a line that is never drawn in two colours."""

    piece: int
    """Index of the piece in which it begins."""
    start: int
    """Index of its first character in the flow's text."""
    end: int
    drawn: str
    """What the screen shows for it: a tab is drawn as spaces, a space beyond the edge as nothing."""
    cells: int
    """Width of `drawn`."""


class FlowLine(NamedTuple):
    """One line of the screen."""

    atoms: tuple[Atom, ...]
    start: int
    end: int
    """Index behind its last character; a newline that ends the line is not in it."""
    seen: int
    """Characters of the text that decided where this line ends."""


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
        self.lines: list[FlowLine] = []
        """At least one line, as soon as `replace` was called."""
        self._pieces: list[str] = []
        self._starts: list[int] = []

    def __len__(self) -> int:
        return len(self._pieces)

    def resize(self, width: int) -> None:
        """Wrap anew to another width."""
        if max(1, width) != self.width:
            self.width = max(1, width)
            self._wrap_from(0)

    def replace(self, first: int, pieces: Sequence[str]) -> int:
        """Put `pieces` in place of all from index `first` on; returns the index of the first line that may differ."""
        same = 0
        old = self._pieces[first : first + len(pieces)]
        while same < len(old) and old[same] == pieces[same]:
            same += 1
        if self.lines and same == len(pieces) and first + same == len(self._pieces):
            return len(self.lines)
        first, pieces = first + same, pieces[same:]
        # A carriage return waits for the newline that may follow it in another piece.
        while first and (not self._pieces[first - 1] or self._pieces[first - 1].endswith("\r")):
            first -= 1
            pieces = [self._pieces[first], *pieces]
        start = self._starts[first] if first < len(self._starts) else len(self.text)
        del self._pieces[first:], self._starts[first:]
        parts = [self.text[:start]]
        length = start
        for index, piece in enumerate(pieces):
            clean = harmless(_without_split_return(piece, pieces, index))
            self._pieces.append(piece)
            self._starts.append(length)
            parts.append(clean)
            length += len(clean)
        self.text = "".join(parts)
        return self._wrap_from(start)

    def line_at(self, offset: int) -> int:
        """Index of the line that holds the character at `offset`."""
        return max(0, bisect_right(self.lines, offset, key=lambda line: line.start) - 1)

    def line_of_piece(self, piece: int) -> int:
        """Index of the first line that shows something of a piece."""
        return self.line_at(self._starts[piece]) if piece < len(self._starts) else max(0, len(self.lines) - 1)

    def span_of_piece(self, piece: int) -> tuple[int, int]:
        """Start and end of a piece in the text; (start, start) for one of which nothing is shown."""
        start = self._starts[piece]
        return start, self._starts[piece + 1] if piece + 1 < len(self._starts) else len(self.text)

    def piece_at(self, offset: int) -> int:
        """Index of the piece that the character at `offset` comes from."""
        return max(0, bisect_right(self._starts, offset) - 1)

    def grapheme_at(self, offset: int) -> tuple[int, int]:
        """Start and end of the grapheme that `offset` lies inside; (offset, offset) where it lies between two."""
        for atom in self.lines[self.line_at(offset)].atoms if self.lines else ():
            if atom.start < offset < atom.end and not self.text[atom.start : atom.end].isascii():
                return atom.start, atom.end
        return offset, offset

    def _wrap_from(self, changed: int) -> int:
        """Wrap again whatever the text from `changed` on may have decided."""
        # The last line ends with the text, so it is always open; the others were decided by what is behind them.
        keep = bisect_right(self.lines[:-1], changed - 1, key=lambda line: line.seen)
        at = self.lines[keep].start if keep < len(self.lines) else 0
        del self.lines[keep:]
        wrapper = _Wrapper(self.width, self.lines, at)
        for piece, start, end, cells in self._units(at):
            wrapper.place(self.text, piece, start, end, cells)
        wrapper.close(len(self.text), len(self.text) + 1)
        return keep

    def _units(self, at: int) -> Iterator[tuple[int, int, int, int]]:
        """(piece, start, end, cells) of everything that is placed as a whole; cells is -1 for what measures itself."""
        text, starts = self.text, self._starts
        piece = max(0, bisect_right(starts, at) - 1)
        for match in _UNIT.finditer(text, at):
            start, end = match.span()
            if text[start] <= "\x7f" and (end - start == 1 or text[end - 1] <= "\x7f"):
                while start < end:
                    while piece + 1 < len(starts) and starts[piece + 1] <= start:
                        piece += 1
                    stop = min(end, starts[piece + 1]) if piece + 1 < len(starts) else end
                    yield piece, start, stop, -1
                    start = stop
                continue
            for left, right, cells in _graphemes(match[0]):
                while piece + 1 < len(starts) and starts[piece + 1] <= start + left:
                    piece += 1
                yield piece, start + left, start + right, cells


class _Wrapper:
    """The line that is being filled."""

    def __init__(self, width: int, lines: list[FlowLine], at: int) -> None:
        self._width = width
        self._lines = lines
        self._start = at
        self._atoms: list[Atom] = []
        self._cells = 0
        self._break_at = 0
        """Atoms that may stay on this line if the next word does not fit; 0 for none."""
        self._has_word = False

    def place(self, text: str, piece: int, start: int, end: int, cells: int) -> None:
        """Put a unit behind what is there, after ending as many lines as that takes."""
        first = text[start]
        if first == "\n":
            self.close(start, end)
            self._start = end
        elif first == "\t":
            self._add_space(piece, start, end, TAB_CELLS - self._cells % TAB_CELLS)
        elif first == " ":
            self._add_space(piece, start, end, end - start)
        elif cells < 0:
            self._add_narrow(text, piece, start, end)
        else:
            self._add_grapheme(text, piece, start, end, cells)

    def close(self, end: int, seen: int) -> None:
        """End the line before the character at `end`."""
        self._lines.append(FlowLine(tuple(self._atoms), self._start, end, seen))
        self._start = end
        self._atoms = []
        self._cells = self._break_at = 0
        self._has_word = False

    def _add_space(self, piece: int, start: int, end: int, cells: int) -> None:
        """Spaces never begin a line of their own: those beyond the edge are not drawn."""
        shown = max(0, min(cells, self._width - self._cells))
        self._atoms.append(Atom(piece, start, end, " " * shown, shown))
        self._cells += shown
        if self._has_word:
            self._break_at = len(self._atoms)

    def _add_narrow(self, text: str, piece: int, start: int, end: int) -> None:
        """Characters of one cell each."""
        if self._cells + end - start > self._width:
            self._carry(end)
        while (room := max(0, self._width - self._cells)) < end - start:
            if room:
                self._put(piece, start, start + room, text[start : start + room], room)
                start += room
            self.close(start, end)
        self._put(piece, start, end, text[start:end], end - start)

    def _add_grapheme(self, text: str, piece: int, start: int, end: int, cells: int) -> None:
        """One grapheme, 0 to 2 cells wide. Scripts of wide characters wrap anywhere."""
        wide = cells > 1
        if wide and self._has_word:
            self._break_at = len(self._atoms)
        if self._cells + cells > self._width:
            self._carry(end)
            if self._cells + cells > self._width and self._atoms:
                self.close(start, end)
        self._put(piece, start, end, text[start:end], cells)
        if wide:
            self._break_at = len(self._atoms)

    def _put(self, piece: int, start: int, end: int, drawn: str, cells: int) -> None:
        self._atoms.append(Atom(piece, start, end, drawn, cells))
        self._cells += cells
        self._has_word = True

    def _carry(self, seen: int) -> None:
        """End the line at its last break, and begin the next one with what stands behind that."""
        if not self._break_at:
            return
        carried = self._atoms[self._break_at :]
        del self._atoms[self._break_at :]
        self.close(self._atoms[-1].end, seen)
        self._atoms = carried
        self._cells = sum(atom.cells for atom in carried)
        self._has_word = bool(carried)


def _without_split_return(piece: str, pieces: Sequence[str], index: int) -> str:
    """The piece without a last carriage return whose newline is in a later piece."""
    if piece.endswith("\r"):
        behind = next((later for later in pieces[index + 1 :] if later), "")
        if behind.startswith("\n"):
            return piece[:-1]
    return piece


def _graphemes(run: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, cells) of each grapheme, as Rich measures it; two regional indicators are one flag."""
    flag_start: int | None = None
    for start, end, cells in split_graphemes(run)[0]:
        if ord(run[start]) in _REGIONAL and flag_start is None:
            flag_start = start
            flag_end = end
            continue
        if flag_start is not None:
            if ord(run[start]) in _REGIONAL:
                yield flag_start, end, cell_len(run[flag_start:end])
                flag_start = None
                continue
            yield flag_start, flag_end, cell_len(run[flag_start:flag_end])
            flag_start = None
        yield start, end, cells if end - start == 1 else cell_len(run[start:end])
    if flag_start is not None:
        yield flag_start, flag_end, cell_len(run[flag_start:flag_end])
