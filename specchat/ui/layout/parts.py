"""The parts that a message is made of, and the rows that a screen shows of them. Styles are names, not colours."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from rich.cells import cell_len

from specchat.core.harmless import one_line
from specchat.ui.layout.asides import Aside
from specchat.ui.layout.flow import FlowLine, TextFlow


class Span(NamedTuple):
    """Text of one style within a row."""

    text: str
    style: str
    """A name from `specchat.ui.styles`."""
    offset: int
    """Index, in the text of the row's block, of its first character."""
    whole: bool = False
    """Is it one character to the reader, which is never drawn in two looks: a tab, or a grapheme of several?"""
    aside: bool = False
    """Is it no part of the text, and drawn before the character at `offset`?"""


class Row(NamedTuple):
    """One row of the transcript."""

    block: int
    """Number of the block it belongs to; grows from the top of the transcript to its end."""
    end: int
    """Index in the block's text behind the row's last character."""
    spans: tuple[Span, ...] = ()
    indent: int = 0
    right: str = ""
    """Set against the right edge, where there is room."""
    broken: bool = False
    """Is the character behind it a newline, and not the first one of the next row?"""


class Part(Protocol):
    """A stretch of rows that is laid out by itself."""

    block: int

    @property
    def text(self) -> str:
        """What a selection copies of it."""
        ...

    @property
    def height(self) -> int:
        """Rows."""
        ...

    def resize(self, width: int) -> None:
        """Lay out for another width of the transcript."""
        ...

    def row(self, index: int) -> Row:
        """One of its rows."""
        ...

    def row_at(self, offset: int) -> int:
        """The row that shows the character at `offset` of its text."""
        ...

    def snap(self, offset: int) -> tuple[int, int]:
        """The grapheme that `offset` lies inside, as (start, end)."""
        ...


class GapPart:
    """An empty row."""

    height = 1
    text = ""

    def __init__(self, block: int) -> None:
        self.block = block

    def resize(self, width: int) -> None:
        """Stay one row."""

    def row(self, index: int) -> Row:  # noqa: ARG002 - there is only one
        """The empty row."""
        return Row(self.block, 0)

    def row_at(self, offset: int) -> int:  # noqa: ARG002
        """The only one."""
        return 0

    def snap(self, offset: int) -> tuple[int, int]:
        """Nothing to snap to."""
        return offset, offset


class HeadingPart(GapPart):
    """One row that names what follows, with facts at the right edge."""

    def __init__(self, block: int, title: str, style: str, *, facts: str = "", indent: int = 0) -> None:
        super().__init__(block)
        self.text = title
        self.facts = facts
        self._style = style
        self._indent = indent

    def row(self, index: int) -> Row:  # noqa: ARG002
        """The heading."""
        return Row(self.block, len(self.text), (Span(self.text, self._style, 0),), self._indent, self.facts)


class TextPart:
    """Wrapped text in pieces, each with a style."""

    def __init__(
        self,
        block: int,
        width: int,
        *,
        indent: int,
        style: str | Callable[[int], str] = "",
        aside_style: Callable[[str], str] = lambda _: "",
    ) -> None:
        """Start empty.

        Args:
            block: Its number.
            width: Cells of the transcript.
            indent: Cells left free at the left of each row.
            style: The style of every piece, or what tells it by the piece's index whenever a row is drawn, where
                `replace` is not told one for each.
            aside_style: The style of each grapheme of asides.
        """
        self.block = block
        self.flow = TextFlow(width - indent)
        self._indent = indent
        self._style = style
        self._aside_style = aside_style
        self._styles: list[str] = []
        self._top = 0
        self._height = 0

    @property
    def text(self) -> str:
        """The harmless text."""
        return self.flow.text

    @property
    def height(self) -> int:
        """Rows, without empty ones at the beginning and the end."""
        return self._height

    def replace(
        self, first: int, pieces: Sequence[str], styles: Sequence[str] = (), asides: Sequence[Aside] = ()
    ) -> int:
        """Put pieces in place of those from `first` on, with what is drawn before them.

        Returns:
            The first row that may look different.
        """
        looks_change = bool(styles) or callable(self._style)
        restyled = self.flow.line_of_piece(first) if first < len(self.flow) and looks_change else self.flow.height
        self._styles[first:] = styles
        changed = min(restyled, self.flow.replace(first, pieces, asides))
        top, height = self._top, self._height
        self._trim()
        # Empty lines at the end are not shown: what changes behind the last row changes the row that follows the part.
        return max(0, min(changed - top, height, self._height)) if top == self._top else 0

    def set_asides(self, asides: Sequence[Aside], style: Callable[[str], str]) -> None:
        """Draw other words in the text; the style is told of each of their graphemes."""
        self._aside_style = style
        self.flow.set_asides(asides)
        self._trim()

    def resize(self, width: int) -> None:
        """Wrap for another width of the transcript."""
        self.flow.resize(width - self._indent)
        self._trim()

    def row(self, index: int) -> Row:
        """One line, neighbours of one style joined."""
        line = self.flow.line(self._top + index)
        broken = self.flow.is_broken(self._top + index)
        return Row(self.block, line.end, tuple(self._spans(line)), self._indent, broken=broken)

    def row_at(self, offset: int) -> int:
        """The row that shows the character at `offset`."""
        return max(0, min(self._height - 1, self.flow.line_at(offset) - self._top))

    def snap(self, offset: int) -> tuple[int, int]:
        """The grapheme that `offset` lies inside."""
        return self.flow.grapheme_at(offset)

    def _trim(self) -> None:
        """Models begin and end their parts with empty lines; those are kept in the text and not shown."""
        is_blank = self.flow.is_blank
        top, bottom = 0, self.flow.height
        while top < bottom and is_blank(top):
            top += 1
        while bottom > top and is_blank(bottom - 1):
            bottom -= 1
        self._top, self._height = top, bottom - top

    def _style_of(self, piece: int) -> str:
        if self._styles:
            return self._styles[piece]
        return self._style if isinstance(self._style, str) else self._style(piece)

    def _spans(self, line: FlowLine) -> list[Span]:
        spans: list[Span] = []
        text, style, start, joins = "", "", 0, False
        own, piece = "", -1
        for atom in line.atoms:
            if atom.aside:
                if text:
                    spans.append(Span(text, style, start, not joins))
                    text, joins = "", False
                spans.append(Span(atom.drawn, self._aside_style(atom.drawn), atom.start, whole=True, aside=True))
                continue
            if atom.piece != piece:
                own, piece = self._style_of(atom.piece), atom.piece
            # A grapheme of several characters and a tab stay apart, so that a click finds its character.
            simple = len(atom.drawn) == atom.end - atom.start and (len(atom.drawn) == 1 or atom.drawn.isascii())
            if joins and simple and own == style:
                text += atom.drawn
                continue
            if text:
                spans.append(Span(text, style, start, not joins))
            text, style, start, joins = atom.drawn, own, atom.start, simple
        if text:
            spans.append(Span(text, style, start, not joins))
        return spans


def fits_beside(title: str, facts: str, width: int) -> str:
    """As many of the facts, which are set apart by middle dots, as there is room for beside the title."""
    room = width - cell_len(title) - 2
    parts = one_line(facts).split(" · ")
    while parts and cell_len(" · ".join(parts)) > room:
        parts.pop()
    return " · ".join(parts)
