"""A complete text as Markdown: the parts that a transcript shows of it, and where in the text each of them stands.

Owns which Markdown is understood: CommonMark, tables, struck-through text and single line ends as they were written.
HTML is text, pictures are their description, and an address stands behind its link, never in an escape sequence.
"""

from bisect import bisect_right
from itertools import takewhile
from typing import TYPE_CHECKING

from rich.cells import cell_len

from specchat.ui.layout.led import Lead, LedPart
from specchat.ui.layout.parts import GapPart, Part, Row, Span, TextPart
from specchat.ui.layout.spoken import GROUND, code_of, spoken_of
from specchat.ui.layout.table import TablePart

if TYPE_CHECKING:
    from markdown_it.token import Token

MARKDOWN_STYLES = (
    "md-text", "md-title", "md-heading", "md-strong", "md-emphasis", "md-strong-emphasis", "md-struck",
    "md-link", "md-address", "md-quote", "md-rule", "md-bullet",
)  # fmt: skip
"""Names of the looks of Markdown; those of code are "code-" and a name in `specchat.theming.looks.CODE`."""
_BULLETS = "•◦▪"
_NARROWEST = 8
"""Cells that a block keeps, however deep it stands. Where there is less room than that, the right edge cuts."""


class MarkdownLayout:
    """A text as Markdown for one width.

    It knows no transcript, so that a long one can be laid out in a thread.

    Attributes:
        source: The text.
        block: Number of its first block; the others follow.
        width: Cells of the transcript.
        parts: From the top; empty until `lay_out` was called.
    """

    def __init__(self, source: str, block: int, width: int, *, indent: int) -> None:
        """Remember what to lay out.

        Args:
            source: Harmless text.
            block: The first number for its blocks.
            width: Cells of the transcript.
            indent: Cells left free at the left of each row.
        """
        self.source = source
        self.block = block
        self.width = width
        self.parts: list[Part] = []
        self._indent = indent
        self._starts: list[int] = []

    @property
    def height(self) -> int:
        """Rows."""
        return sum(part.height for part in self.parts)

    def lay_out(self) -> None:
        """Find the blocks and wrap them. Takes about 3 ms for each 1,000 characters."""
        builder = _Builder(self.source, self.block, self.width, self._indent)
        builder.build()
        self.parts, self._starts = builder.parts, builder.starts

    def source_of(self, block: int, offset: int) -> int:
        """About which character of the source a place shows."""
        at = block - self.block
        if not 0 <= at < len(self._starts):
            return 0
        end = self._starts[at + 1] if at + 1 < len(self._starts) else len(self.source)
        return max(self._starts[at], min(self._starts[at] + offset, end - 1))

    def place_of(self, source: int) -> tuple[int, int]:
        """(block, offset) of about what shows a character of the source."""
        at = max(0, bisect_right(self._starts, source) - 1)
        if not self.parts:
            return self.block, 0
        return self.parts[at].block, max(0, min(source - self._starts[at], len(self.parts[at].text)))


class _CodePart(TextPart):
    """Code on a ground of its own, which reaches to the right edge."""

    def row(self, index: int) -> Row:
        """One line, and the ground behind it."""
        row = super().row(index)
        free = self.flow.width - sum(cell_len(span.text) for span in row.spans)
        return row._replace(spans=(*row.spans, Span(" " * max(0, free), GROUND, row.end, whole=True)))


class _Builder:
    """Walks through the tokens of the parser and makes parts."""

    def __init__(self, source: str, block: int, width: int, indent: int) -> None:
        self._source = source
        self._block = block
        self._width = width
        self._indent = indent
        self.parts: list[Part] = []
        self.starts: list[int] = []
        self._line_starts = [0]
        for line in source.split("\n"):
            self._line_starts.append(self._line_starts[-1] + len(line) + 1)
        self._leads: list[Lead] = []
        """What stands at the left of each row: bars of quotes and bullets of items, the outermost first."""
        self._shown_leads: list[Lead] = []
        """Those of the part before."""
        self._numbers: list[int | None] = []
        """The next number of each list that is open; None for one with bullets."""
        self._gap = False
        """Does a block that follows stand apart from the one before?"""
        self._start = 0
        """Where in the source the block stands that is being made."""

    def build(self) -> None:
        # Only who reads Markdown pays for the import.
        from markdown_it import MarkdownIt

        parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
        tokens = parser.parse(self._source)
        at = 0
        while at < len(tokens):
            at = self._take(tokens, at)

    def _take(self, tokens: list["Token"], at: int) -> int:
        """Make what begins with one token; returns the index of the token behind it."""
        token = tokens[at]
        if token.map is not None:
            self._start = self._line_starts[min(token.map[0], len(self._line_starts) - 1)]
        if token.type == "inline":
            self._add_spoken(token, tokens[at - 1])
        elif token.type in {"fence", "code_block"}:
            self._add_code(token)
        elif token.type == "html_block":
            self._add(self._text([token.content.rstrip("\n")], ["md-text"]))
        elif token.type == "hr":
            self._add(self._text(["─" * max(3, self._room)], ["md-rule"]))
        elif token.type == "table_open":
            return self._add_table(tokens, at)
        else:
            self._enter_or_leave(token)
        return at + 1

    def _enter_or_leave(self, token: "Token") -> None:
        if token.type == "blockquote_open":
            self._leads.append(Lead("▌ ", "md-rule", repeated=True))
        elif token.type in {"bullet_list_open", "ordered_list_open"}:
            start = int(token.attrs.get("start", 1))
            self._numbers.append(start if token.type == "ordered_list_open" else None)
        elif token.type == "list_item_open":
            self._leads.append(Lead(self._bullet(), "md-bullet"))
        elif token.type in {"blockquote_close", "list_item_close"}:
            self._leads.pop()
            self._gap = self._gap or token.type == "blockquote_close"
        elif token.type in {"bullet_list_close", "ordered_list_close"}:
            self._numbers.pop()
            self._gap = self._gap or not self._numbers

    def _bullet(self) -> str:
        number = self._numbers[-1]
        if number is None:
            return f"{_BULLETS[(len(self._numbers) - 1) % len(_BULLETS)]} "
        self._numbers[-1] = number + 1
        return f"{number}. "

    @property
    def _room(self) -> int:
        """Cells beside what stands at the left."""
        return max(_NARROWEST, self._width - self._indent - sum(lead.cells for lead in self._leads))

    def _text(self, pieces: list[str], styles: list[str]) -> TextPart:
        part = TextPart(self._block + len(self.parts), self._room, indent=0)
        part.replace(0, pieces, styles)
        return part

    def _add_spoken(self, token: "Token", opened: "Token") -> None:
        style = "md-quote" if any(lead.repeated for lead in self._leads) else "md-text"
        if opened.type == "heading_open":
            style = "md-title" if opened.tag == "h1" else "md-heading"
        spoken = spoken_of(token.children or [], style)
        self._separate()
        self._add(self._text(spoken.pieces, spoken.styles), apart=not opened.hidden)

    def _add_code(self, token: "Token") -> None:
        language = token.info.split()[0] if token.info.split() else ""
        self._separate()
        self._leads.append(Lead("▎ ", "md-rule", repeated=True))
        pieces, styles = code_of(token.content.removesuffix("\n"), language)
        if token.type == "fence":
            line = bisect_right(self._line_starts, self._start)
            self._start = self._line_starts[min(line, len(self._line_starts) - 1)]
        part = _CodePart(self._block + len(self.parts), self._room, indent=0)
        part.replace(0, pieces, styles)
        self._add(part)
        self._leads.pop()

    def _add_table(self, tokens: list["Token"], at: int) -> int:
        rows: list[list[tuple[list[str], list[str]]]] = []
        while tokens[at].type != "table_close":
            if tokens[at].type == "tr_open":
                rows.append([])
            elif tokens[at].type == "inline":
                style = "md-strong" if tokens[at - 1].type == "th_open" else "md-text"
                spoken = spoken_of(tokens[at].children or [], style)
                rows[-1].append((spoken.pieces, spoken.styles))
            at += 1
        self._separate()
        self._add(TablePart(self._block + len(self.parts), self._room, rows))
        return at + 1

    def _separate(self) -> None:
        """Leave a row free before a block that stands apart from the one before."""
        if self._gap and self.parts:
            shared = takewhile(lambda pair: pair[0] is pair[1], zip(self._shown_leads, self._leads, strict=False))
            leads = [lead if lead.repeated else Lead(" " * lead.cells, lead.style, repeated=True) for lead, _ in shared]
            self._put(LedPart(GapPart(self._block + len(self.parts)), leads, self._indent))
        self._gap = False

    def _add(self, part: TextPart | TablePart, *, apart: bool = True) -> None:
        self._separate()
        part.block = self._block + len(self.parts)
        self._put(LedPart(part, self._leads, self._indent))
        self._leads = [lead.spend() for lead in self._leads]
        self._shown_leads = self._leads[:]
        self._gap = apart

    def _put(self, part: Part) -> None:
        self.parts.append(part)
        self.starts.append(self._start)
