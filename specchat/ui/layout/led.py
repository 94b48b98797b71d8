"""A part with something at the left of its rows: a bullet before the first, a bar before each."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len

from specchat.ui.layout.parts import Part, Row, Span


@dataclass(frozen=True, slots=True)
class Lead:
    """One thing at the left of rows."""

    text: str
    style: str
    repeated: bool = False
    """Does it stand before each row? Else before the first one only, where it is part of the text that is copied."""
    spent: bool = False
    """Was it shown already, above this part? Then there are spaces in its place."""

    @property
    def cells(self) -> int:
        """Its width."""
        return cell_len(self.text)

    @property
    def drawn(self) -> str:
        """What stands before the first row."""
        return " " * self.cells if self.spent else self.text

    def spend(self) -> "Lead":
        """The same, for the parts below."""
        return self if self.repeated or self.spent else replace(self, spent=True)


class LedPart:
    """Another part, moved to the right of what leads it. Its text begins with bullets that lead it."""

    def __init__(self, part: Part, leads: Sequence[Lead], indent: int) -> None:
        """Lead a part.

        Args:
            part: Laid out for the room that is left.
            leads: The outermost first.
            indent: Cells left free at the left of each row.
        """
        self.block = part.block
        self._part = part
        self._leads = tuple(leads)
        self._indent = indent
        self._has_bullet = any(not lead.repeated and not lead.spent for lead in self._leads)
        bullets = (lead.drawn for lead in self._leads if not lead.repeated)
        self._bullets = "".join(bullets) if self._has_bullet else ""
        self._cells = sum(lead.cells for lead in self._leads)

    @property
    def text(self) -> str:
        """What a selection copies of it."""
        return self._bullets + self._part.text

    @property
    def height(self) -> int:
        """Rows."""
        return self._part.height

    def resize(self, width: int) -> None:
        """Lay out for another width of the transcript."""
        self._part.resize(width - self._indent - self._cells)

    def row(self, index: int) -> Row:
        """One of its rows."""
        row = self._part.row(index)
        shift = len(self._bullets)
        spans = tuple(span._replace(offset=span.offset + shift) for span in row.spans)
        start = spans[0].offset if spans else row.end + shift
        led = self._first_row() if index == 0 and self._has_bullet else self._next_row(start)
        return row._replace(
            block=self.block, end=row.end + shift, spans=(*led, *spans), indent=self._indent + row.indent
        )

    def row_at(self, offset: int) -> int:
        """The row that shows the character at `offset` of its text."""
        return self._part.row_at(max(0, offset - len(self._bullets)))

    def snap(self, offset: int) -> tuple[int, int]:
        """The grapheme that `offset` lies inside, as (start, end)."""
        shift = len(self._bullets)
        if offset <= shift:
            return offset, offset
        start, end = self._part.snap(offset - shift)
        return start + shift, end + shift

    def _first_row(self) -> list[Span]:
        spans: list[Span] = []
        offset = 0
        for lead in self._leads:
            spans.append(Span(lead.drawn, lead.style, offset, whole=lead.repeated))
            offset += 0 if lead.repeated else len(lead.drawn)
        return spans

    def _next_row(self, offset: int) -> list[Span]:
        return [
            Span(lead.text if lead.repeated else " " * lead.cells, lead.style, offset, whole=True)
            for lead in self._leads
        ]
