"""A table of Markdown as a part: columns as wide as their text, narrower where there is less room."""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from rich.cells import cell_len

from specchat.core.harmless import harmless
from specchat.ui.layout.parts import Row, Span, TextPart

_RULE = "md-rule"
_BETWEEN = " │ "
_NARROWEST = 3
"""Cells that a column keeps. Where there is less room than that, the right edge cuts."""


class TablePart:
    """Rows of cells, each of them wrapped within its column. A selection copies the cells with tabs between them."""

    def __init__(self, block: int, width: int, rows: Sequence[Sequence[tuple[list[str], list[str]]]]) -> None:
        """Lay out a table.

        Args:
            block: Its number.
            width: Cells that there is room for.
            rows: Pieces and styles of each cell; the first row is the head.
        """
        self.block = block
        self._cells = [[_cell(*cell) for cell in row] for row in rows]
        self._natural = [
            max([1, *(cell_len(line) for cell in column for line in cell.text.split("\n"))])
            for column in zip(*self._cells, strict=True)
        ]
        self._widths: list[int] = []
        self._heights: list[int] = []
        self._tops: list[int] = []
        lengths = [len(cell.text) + 1 for row in self._cells for cell in row]
        self._starts = [0, *accumulate(lengths)][:-1]
        self.resize(width)

    @property
    def text(self) -> str:
        """What a selection copies of it."""
        return "\n".join("\t".join(cell.text for cell in row) for row in self._cells)

    @property
    def height(self) -> int:
        """Rows, with the rule beneath the head."""
        return self._tops[-1] + self._heights[-1]

    def resize(self, width: int) -> None:
        """Lay out for another width."""
        self._widths = _shares(self._natural, width - len(_BETWEEN) * (len(self._natural) - 1))
        for row in self._cells:
            for cell, cells in zip(row, self._widths, strict=True):
                cell.resize(cells)
        self._heights = [max([1, *(cell.height for cell in row)]) for row in self._cells]
        self._tops = [0]
        for number, height in enumerate(self._heights[:-1]):
            self._tops.append(self._tops[-1] + height + (number == 0))
        if len(self._heights) == 1:
            self._heights[0] += 1

    def row(self, index: int) -> Row:
        """One of its rows."""
        number = bisect_right(self._tops, index) - 1
        line = index - self._tops[number]
        if number == 0 and index == self._rule:
            end = self._start(0, 0) + sum(len(cell.text) + 1 for cell in self._cells[0]) - 1
            rule = "─┼─".join("─" * cells for cells in self._widths)
            return Row(self.block, end, (Span(rule, _RULE, end, whole=True),))
        spans: list[Span] = []
        end = 0
        for column, (cell, cells) in enumerate(zip(self._cells[number], self._widths, strict=True)):
            start = self._start(number, column)
            drawn = 0
            end = start + (len(cell.text) if line >= cell.height else 0)
            if line < cell.height:
                row = cell.row(line)
                end = start + row.end
                spans += [span._replace(offset=span.offset + start) for span in row.spans]
                drawn = sum(cell_len(span.text) for span in row.spans)
            if column + 1 < len(self._widths):
                spans.append(Span(" " * (cells - drawn) + _BETWEEN, _RULE, end, whole=True))
                # Ends what belongs to the gap: the lines of this cell that follow are in other rows.
                spans.append(Span("", _RULE, end, whole=True))
        return Row(self.block, end, tuple(spans))

    def row_at(self, offset: int) -> int:
        """The row that shows the character at `offset` of its text."""
        number, column = self._at(offset)
        cell = self._cells[number][column]
        return self._tops[number] + (cell.row_at(offset - self._start(number, column)) if cell.height else 0)

    def snap(self, offset: int) -> tuple[int, int]:
        """The grapheme that `offset` lies inside, as (start, end)."""
        number, column = self._at(offset)
        cell, first = self._cells[number][column], self._start(number, column)
        if offset >= first + len(cell.text):
            return offset, offset
        start, end = cell.snap(offset - first)
        return start + first, end + first

    @property
    def _rule(self) -> int:
        """The row beneath the head."""
        return self._tops[1] - 1 if len(self._tops) > 1 else self._heights[0] - 1

    def _start(self, row: int, column: int) -> int:
        """Where a cell begins in the text."""
        return self._starts[row * len(self._natural) + column]

    def _at(self, offset: int) -> tuple[int, int]:
        """(row, column) of the cell that holds a character."""
        return divmod(max(0, bisect_right(self._starts, offset) - 1), len(self._natural))


def _cell(pieces: list[str], styles: list[str]) -> TextPart:
    part = TextPart(0, 1, indent=0)
    part.replace(0, [harmless(piece).replace("\t", " ") for piece in pieces], styles)
    return part


def _shares(natural: Sequence[int], room: int) -> list[int]:
    """Widths of columns: the widest give way first."""
    widths = list(natural)
    while sum(widths) > room:
        widest = max(widths)
        if widest <= _NARROWEST:
            break
        several = [column for column, width in enumerate(widths) if width == widest]
        second = max([_NARROWEST, *(width for width in widths if width < widest)])
        over = sum(widths) - room
        lower = max(second, widest - -(-over // len(several)))
        for column in several:
            widths[column] = lower
    return widths
