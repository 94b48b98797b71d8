"""Paints a row of the transcript: looks of tokens, marks over them, and the offsets that Textual's selection needs."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style

from specchat.ui.layout.marks import Mark
from specchat.ui.layout.parts import Row, Span, fits_beside
from specchat.ui.widgets.strips import RowStrip

MARGIN = 1
"""Cells left free at both sides."""


class RowPainter:
    """Turns rows into strips of segments."""

    def __init__(
        self,
        token_styles: Mapping[str, Style],
        role_style: Callable[[str], Style],
        refine: Callable[[Style], Style] = lambda style: style,
    ) -> None:
        """Paint with some looks.

        Args:
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            role_style: The style of everything that `token_styles` does not name.
            refine: Makes of a style what the terminal can show.
        """
        self._token_styles = dict(token_styles)
        self._role_style = role_style
        self._refine = refine
        self._looks: dict[tuple[str, ...], Style] = {}
        """By the names that lie over each other: every segment of a look shares one style, which Rich's caches need."""

    def set_token_styles(self, token_styles: Mapping[str, Style]) -> None:
        """Paint tokens in other looks."""
        self._token_styles = dict(token_styles)
        self._looks.clear()

    def forget(self) -> None:
        """The style sheet changed, or what lies beneath every look."""
        self._looks.clear()

    def paint(self, row: Row, width: int, base: Style, marks: Sequence[Mark]) -> RowStrip:
        """One row.

        Args:
            row: What it shows.
            width: Cells of the strip.
            base: What lies beneath every look.
            marks: Those that touch the row, the lowest first.
        """
        left = MARGIN + row.indent
        plain = self._look((), base)
        segments = [Segment(" " * left, plain)]
        offsets = [row.spans[0].offset if row.spans else 0]
        cells = left
        for number, span in enumerate(row.spans):
            end = row.spans[number + 1].offset if number + 1 < len(row.spans) else row.end
            for text, offset, names in _cut(span, end, marks):
                segments.append(Segment(text, self._look((span.style, *names), base)))
                offsets.append(offset)
                cells += cell_len(text)
        unseen = _unseen(row, marks)
        if unseen and cells < width:
            segments.append(Segment(" ", self._look(tuple(unseen), base)))
            cells += 1
        facts = fits_beside(" " * cells, row.right, width - MARGIN) if row.right else ""
        behind = cell_len(facts) + MARGIN
        segments.append(Segment(" " * max(0, width - cells - behind), plain))
        segments.append(Segment(facts + " " * MARGIN, self._look(("facts",), base)))
        offsets += [row.end] * (len(segments) - len(offsets))
        if cells + behind > width:
            segments = _cropped(segments, width)
        return RowStrip(segments, width, row.block, offsets)

    def _look(self, names: tuple[str, ...], base: Style) -> Style:
        style = self._looks.get(names)
        if style is None:
            style = base
            for name in names:
                style += self._token_styles.get(name) or self._role_style(name)
            style = self._looks[names] = self._refine(style)
        return style


def _cropped(segments: Sequence[Segment], width: int) -> list[Segment]:
    """The segments cut at the right edge; there are as many of them, and some are empty."""
    cropped: list[Segment] = []
    for text, style, _ in segments:
        room = width - sum(segment.cell_length for segment in cropped)
        cropped.append(Segment(text if cell_len(text) <= room else set_cell_size(text, max(0, room)), style))
    return cropped


def _unseen(row: Row, marks: Sequence[Mark]) -> list[str]:
    """The marks over what has no cell of its own: spaces beyond the edge, and the newline behind the row."""
    if not marks:
        return []
    last = row.spans[-1] if row.spans else None
    drawn_to = row.end if last is None or last.whole else min(row.end, last.offset + len(last.text))
    behind = row.end + row.broken
    if drawn_to == behind:
        return []
    return [mark.style for mark in marks if mark.end > drawn_to and mark.start < behind]


def _cut(span: Span, end: int, marks: Sequence[Mark]) -> list[tuple[str, int, list[str]]]:
    """(text, offset, names of the marks over it) of the parts of a span that lies before the character at `end`."""
    over = [mark for mark in marks if mark.start < end and mark.end > span.offset]
    if not over or span.aside:
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
