"""Where the lines of a text end. Knows no pieces and draws nothing: positions in, positions out.

A text is cut into lines as a reader would: between words where possible, anywhere between wide characters, never inside
a grapheme. Most text is stretches of plain characters, of one or two cells each, that nothing combines with, or only
marks without a cell: those are measured by counting, and only what is left is cut into graphemes.
"""

import re
import unicodedata
from array import array
from bisect import bisect_right
from collections.abc import Iterator
from functools import cache

from rich.cells import cell_len, get_character_cell_size, split_graphemes

TAB_CELLS = 4
NARROW = "!-~\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0377\u0384-\u038a\u038e-\u03a1\u03a3-\u0482\u048a-\u052f\u2010-\u2027"
"""Ranges of characters of one cell, for a regular expression: of Latin, Greek, Cyrillic, Hebrew, Arabic and signs."""
NARROW += "\u05d0-\u05ea\u0620-\u064a\u0660-\u066f\u2030-\u205e\u20a0-\u20bf\u2190-\u21ff\u2200-\u22ff\u2500-\u259f"
NARROW += "\u2400-\u2426\u23ce\u27e8\u27e9"  # signs for what cannot be seen, which rejected proposals often hold
WIDE = "\u3001-\u3029\u3041-\u3096\u30a1-\u30fa\u30fc\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uff01-\uff5e"
"""Ranges of characters of two cells: Chinese, Japanese and Korean."""
_MARKED = (
    range(0x0300, 0x0370), range(0x0483, 0x0488),  # marks upon Latin, Greek and Cyrillic
    range(0x0591, 0x05C8), range(0x0606, 0x061C), range(0x061D, 0x06DD), range(0x200C, 0x200D),  # Hebrew and Arabic
    range(0x0900, 0x0F00), range(0x1000, 0x10A0), range(0x1780, 0x1800),  # from India to Thailand and Cambodia
)  # fmt: skip
"""Characters of scripts that set marks without a cell upon characters of one."""
_PLAIN = re.compile(f"[ {NARROW}]*")
# What follows a plain character may combine with it, so the last one before such a character is left to the graphemes.
_UNIT = re.compile(
    rf"\t|[ ]+|(?:(?P<narrow>[{NARROW}]+)|(?P<wide>[{WIDE}]+))(?![^\x00-\x7f{NARROW}{WIDE}])|.[^\x00-\x7f]*", re.DOTALL
)
_NO_SPACE = re.compile("[^ ]")
_REGIONAL = range(0x1F1E6, 0x1F200)


class Lines:
    """Lines of a text by their places; each array has one number for each line."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")
        """Index behind a line's last character; a newline that ends the line is not in it."""
        self.seen = array("q")
        """Characters of the text that decided where a line ends."""

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, offset: int) -> int:
        """Index of the line that holds the character at `offset`."""
        return max(0, bisect_right(self.starts, offset) - 1)

    def wrap(self, text: str, width: int, changed: int = 0) -> int:
        """Bring the lines up to date with a text that is another one from `changed` on.

        Returns:
            Index of the first line that may differ.
        """
        # The last line ends with the text, so it is always open; the others were decided by what is behind them.
        keep = bisect_right(self.seen, changed - 1, 0, max(0, len(self.seen) - 1))
        at = self.starts[keep] if keep < len(self.starts) else 0
        for numbers in (self.starts, self.ends, self.seen):
            del numbers[keep:]
        wrapper = _Wrapper(text, width, self)
        while (newline := text.find("\n", at)) >= 0:
            wrapper.wrap(at, newline, newline + 1)
            at = newline + 1
        wrapper.wrap(at, len(text), len(text) + 1)
        return keep

    def add(self, start: int, end: int, seen: int) -> None:
        """Append a line."""
        self.starts.append(start)
        self.ends.append(end)
        self.seen.append(seen)


class _Wrapper:
    """Fills one line after the other."""

    def __init__(self, text: str, width: int, lines: Lines) -> None:
        self._text = text
        self._width = width
        self._lines = lines
        self._start = 0
        self._cells = 0
        self._break: int | None = None
        """Index that the next line may begin at if the next word does not fit."""
        self._break_cells = 0
        """Cells before the break."""
        self._has_word = False

    def wrap(self, at: int, end: int, seen: int) -> None:
        """Wrap a stretch without a newline."""
        if _PLAIN.fullmatch(self._text, at, end):
            self._wrap_plain(at, end, seen)
            return
        if _marked().fullmatch(self._text, at, end):
            self._wrap_marked(at, end, seen)
            return
        self._begin(at)
        for kind, start, stop, cells in units(self._text, at, end):
            if kind == " ":
                self._add_space(stop, cells)
            elif kind == "n":
                self._add_narrow(start, stop)
            elif kind == "w":
                self._add_wide(start, stop)
            else:
                self._add_grapheme(start, stop, cells)
        self._lines.add(self._start, end, seen)

    def _wrap_plain(self, at: int, end: int, seen: int) -> None:
        """As `wrap` for nothing but spaces and narrow characters."""
        for start, stop, saw in _plain_lines(self._text, at, end, self._width):
            self._lines.add(start, stop, saw)
            at = stop
        self._lines.add(at, end, seen)

    def _wrap_marked(self, at: int, end: int, seen: int) -> None:
        """The same where there are marks too: the text is wrapped without them."""
        bare = _mark().sub("", self._text[at:end])
        marks = array("q", [mark.start() - at for mark in _mark().finditer(self._text, at, end)])
        for number, place in enumerate(marks):
            marks[number] = place - number  # in the bare text
        start = at
        for _, bare_stop, bare_saw in _plain_lines(bare, 0, len(bare), self._width):
            stop = at + bare_stop + bisect_right(marks, bare_stop)
            self._lines.add(start, stop, at + bare_saw + bisect_right(marks, bare_saw))
            start = stop
        self._lines.add(start, end, seen)

    def _begin(self, start: int) -> None:
        self._start = start
        self._cells = 0
        self._break = None
        self._has_word = False

    def _close(self, end: int, seen: int) -> None:
        """End the line before the character at `end`."""
        self._lines.add(self._start, end, seen)
        self._begin(end)

    def _may_break(self, at: int) -> None:
        self._break, self._break_cells = at, self._cells

    def _carry(self, at: int, seen: int) -> None:
        """End the line at its last break, and begin the next one with what stands behind that, up to `at`."""
        if self._break is not None:
            end, cells = self._break, self._cells - self._break_cells
            self._close(end, seen)
            self._cells, self._has_word = cells, end < at

    def _add_space(self, stop: int, cells: int) -> None:
        if cells < 0:
            cells = TAB_CELLS - self._cells % TAB_CELLS
        self._cells += max(0, min(cells, self._width - self._cells))
        if self._has_word:
            self._may_break(stop)

    def _add_narrow(self, start: int, stop: int) -> None:
        room = max(0, self._width - self._cells)
        if room < stop - start:
            self._carry(start, start + room + 1)
        while (room := max(0, self._width - self._cells)) < stop - start:
            start += room
            self._close(start, start + 1)
        self._cells += stop - start
        self._has_word = True

    def _add_wide(self, start: int, stop: int) -> None:
        """Wide characters wrap anywhere."""
        while start < stop:
            if self._cells + 2 > self._width and start > self._start:
                self._close(start, start + 1)
            taken = min(stop - start, max(1, (self._width - self._cells) // 2))
            start += taken
            self._cells += 2 * taken
        self._has_word = True
        self._may_break(stop)

    def _add_grapheme(self, start: int, stop: int, cells: int) -> None:
        wide = cells > 1
        if wide and self._has_word:
            self._may_break(start)
        if self._cells + cells > self._width:
            self._carry(start, stop)
            if self._cells + cells > self._width and start > self._start:
                self._close(start, stop)
        self._cells += cells
        self._has_word = True
        if wide:
            self._may_break(stop)


def _plain_lines(text: str, at: int, end: int, width: int) -> Iterator[tuple[int, int, int]]:
    """(start, end, seen) of all lines but the last of a stretch of nothing but spaces and narrow characters."""
    while end - at > width:
        # Spaces never begin a line of their own: those beyond the edge are not drawn.
        over = at + width
        if text[over] == " ":
            found = _NO_SPACE.search(text, over, end)
            if found is None:
                return
            over = found.start()
        stop = text.rfind(" ", at, over) + 1
        if stop <= at or text[at:stop].isspace():
            stop = over if text[at : at + width].isspace() else at + width
        yield at, stop, over + 1
        at = stop


@cache
def _marked_ranges() -> tuple[str, str]:
    """Narrow characters, and the marks upon them, for a regular expression."""
    found = [chr(code) for codes in _MARKED for code in codes if unicodedata.category(chr(code)) != "Cn"]
    bases, marks = ("".join(char for char in found if get_character_cell_size(char) == cells) for cells in (1, 0))
    return NARROW + bases, marks


@cache
def _marked() -> re.Pattern[str]:
    """Nothing but spaces and narrow characters with or without marks; a mark upon a space is another thing."""
    bases, marks = _marked_ranges()
    return re.compile(f"(?!(?:.* )?[{marks}])[ {bases}{marks}]*", re.DOTALL)


@cache
def _mark() -> re.Pattern[str]:
    return re.compile(f"[{_marked_ranges()[1]}]")


def units(text: str, at: int, end: int) -> Iterator[tuple[str, int, int, int]]:
    """(kind, start, end, cells) of everything in a stretch without newlines.

    Kinds: " " for spaces and for a tab (whose cells are -1: they depend on its place), "n" and "w" for narrow and wide
    characters that nothing combines with, "g" for one grapheme.
    """
    for match in _UNIT.finditer(text, at, end):
        start, stop = match.span()
        first = text[start]
        if first == " ":
            yield " ", start, stop, stop - start
        elif first == "\t":
            yield " ", start, stop, -1
        elif match.lastgroup == "narrow":
            yield "n", start, stop, stop - start
        elif match.lastgroup == "wide":
            yield "w", start, stop, 2 * (stop - start)
        else:
            for left, right, cells in _graphemes(match[0]):
                yield "g", start + left, start + right, cells


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
