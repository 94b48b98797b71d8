"""Paints a row of the transcript: looks of tokens, marks over them, and the offsets that Textual's selection needs."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from specchat.ui.layout.marks import Mark
from specchat.ui.layout.parts import Row, Span, fits_beside

MARGIN = 1
"""Cells left free at both sides."""


class RowPainter:
    """Turns rows into strips of segments."""

    def __init__(self, token_styles: Mapping[str, Style], role_style: Callable[[str], Style]) -> None:
        """Paint with some looks.

        Args:
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            role_style: The style of everything that `token_styles` does not name.
        """
        self._token_styles = dict(token_styles)
        self._role_style = role_style
        self._role_styles: dict[str, Style] = {}

    def set_token_styles(self, token_styles: Mapping[str, Style]) -> None:
        """Paint tokens in other looks."""
        self._token_styles = dict(token_styles)

    def forget(self) -> None:
        """The style sheet changed."""
        self._role_styles.clear()

    def paint(self, row: Row, width: int, base: Style, marks: Sequence[Mark]) -> Strip:
        """One row.

        Args:
            row: What it shows.
            width: Cells of the strip.
            base: What lies beneath every look.
            marks: Those that touch the row, the lowest first.
        """
        left = MARGIN + row.indent
        start = row.spans[0].offset if row.spans else 0
        segments = [Segment(" " * left, base + _at(start, row.block))]
        cells = left
        for number, span in enumerate(row.spans):
            end = row.spans[number + 1].offset if number + 1 < len(row.spans) else row.end
            style = base + self._style(span.style)
            for text, offset, names in _cut(span, end, marks):
                shown = style
                for name in names:
                    shown += self._style(name)
                segments.append(Segment(text, shown + _at(offset, row.block)))
                cells += cell_len(text)
        facts = fits_beside(" " * cells, row.right, width - MARGIN) if row.right else ""
        gap = max(0, width - cells - cell_len(facts) - MARGIN)
        segments.append(Segment(" " * gap, base + _at(row.end, row.block)))
        segments.append(Segment(facts + " " * MARGIN, base + self._style("facts") + _at(row.end, row.block)))
        return Strip(segments, None).crop_extend(0, width, base)

    def _style(self, name: str) -> Style:
        style = self._token_styles.get(name) or self._role_styles.get(name)
        if style is None:
            style = self._role_styles[name] = self._role_style(name)
        return style


def _at(offset: int, block: int) -> Style:
    """Tells Textual's selection which character a cell shows."""
    return Style.from_meta({"offset": (offset, block)})


def _cut(span: Span, end: int, marks: Sequence[Mark]) -> list[tuple[str, int, list[str]]]:
    """(text, offset, names of the marks over it) of the parts of a span that lies before the character at `end`."""
    over = [mark for mark in marks if mark.start < end and mark.end > span.offset]
    if not over:
        return [(span.text, span.offset, [])]
    if span.whole:
        return [(span.text, span.offset, [mark.style for mark in over])]
    edges = {span.offset, end}
    for mark in over:
        edges |= {max(mark.start, span.offset), min(mark.end, end)}
    cuts = sorted(edges)
    return [
        (
            span.text[start - span.offset : stop - span.offset],
            start,
            [mark.style for mark in over if mark.start <= start and mark.end >= stop],
        )
        for start, stop in pairwise(cuts)
    ]
