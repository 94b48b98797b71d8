"""Draws the conversation, row by row. One widget whatever the length: only rows that changed are drawn again.

How it scrolls is `following`'s, and what the token cursor does is `token_mode`'s.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Region, Size
from textual.selection import Selection
from textual.strip import Strip

from specchat.core.conversation import Turn
from specchat.ui.cursor import Spot
from specchat.ui.layout.document import Document
from specchat.ui.layout.marks import Mark, Marks
from specchat.ui.layout.parts import Part, Row
from specchat.ui.proposals import Proposals
from specchat.ui.styles import ROLES
from specchat.ui.token_keys import COMMAND_LETTERS, MOVES, SELECT_ALL
from specchat.ui.widgets.following import FollowingView
from specchat.ui.widgets.markdown_looks import MARKDOWN_CLASSES, MARKDOWN_CSS
from specchat.ui.widgets.markdown_reader import MarkdownReader
from specchat.ui.widgets.painting import MARGIN, RowPainter
from specchat.ui.widgets.token_mode import TokenMode

_SCROLLBAR = 1
"""Cells left free for the scroll bar, whether it is there or not."""
_UNWRAPPED = 1
"""Width before the size is known: nothing is drawn then, or the first frame would be a column of letters."""
_SELECTION = "selection"
_KEPT_ROWS = 512
"""Rows that stay drawn; more than any screen has."""


def _bindings() -> list[BindingType]:
    """The moves of the token cursor, and the letters that run a command of the screen."""
    found: list[BindingType] = []
    for key in MOVES:
        for binding, move in key.moves:
            found.append(Binding(binding, f"cursor('{move}')", show=False))
            if key.extends:
                found.append(Binding(f"shift+{binding}", f"cursor('{move}', True)", show=False))
    found += [Binding(letter, f"screen.command('{name}')", show=False) for letter, name in COMMAND_LETTERS.items()]
    return [*found, Binding(SELECT_ALL, "select_message", show=False)]


class Transcript(FollowingView, can_focus=True):
    """The conversation, each token in the look of its origin.

    While it has the keyboard, a cursor stands at one of its tokens.
    """

    ALLOW_SELECT = True
    FOCUS_ON_CLICK = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{role}" for role in ROLES} | MARKDOWN_CLASSES
    BINDINGS: ClassVar[list[BindingType]] = _bindings()
    DEFAULT_CSS = (
        """
    Transcript {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        &.-hurried { scrollbar-size-vertical: 0; }
        background: $background;
        color: $foreground;
        & .transcript--you { color: $primary; text-style: bold; }
        & .transcript--assistant { color: $accent; text-style: bold; }
        & .transcript--prompt { color: $foreground; }
        & .transcript--channel { color: $text-muted; text-style: italic; }
        & .transcript--facts { color: $text-muted; }
        & .transcript--note { color: $text-muted; }
        & .transcript--stopped { color: $warning; }
        & .transcript--error { color: $error; }
    }
    """
        + MARKDOWN_CSS
    )

    def __init__(self, token_styles: Mapping[str, Style], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        """Start empty.

        Args:
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            id: For style sheets and queries.
        """
        super().__init__(id=id)
        self.document = Document(_UNWRAPPED)
        self.mode = TokenMode(self)
        self._markdown = MarkdownReader(self)
        self._painter = RowPainter(token_styles, self._role_style, self._refined)
        self._marks = Marks()
        self._base: Style | None = None
        self._seen_rows = 0
        self._turns: Sequence[Turn] = ()
        self._strips: dict[int, Strip] = {}

    # -- what comes in --------------------------------------------------------------------------------------------

    def set_token_styles(self, token_styles: Mapping[str, Style]) -> None:
        """Draw tokens in other colours."""
        self._painter.set_token_styles(token_styles)
        self._redraw_all()

    def set_marks(self, layer: str, by_block: Mapping[int, Sequence[Mark]]) -> None:
        """Draw marks over tokens, in place of those that the layer had; see `specchat.ui.layout.marks`."""
        if self._marks.set(layer, by_block):
            self._strips.clear()
            self.refresh()

    def set_intro(self, sentences: Sequence[str]) -> None:
        """Say something above the first turn."""
        self.document.set_intro(sentences)
        self._redraw_all()

    def show_turns(self, turns: Sequence[Turn], first: int) -> None:
        """Take in turns; the tokens of the last one changed from index `first` on."""
        self._turns = turns
        changed = self.document.update(turns, first)
        self.mode.take(turns, first)
        self._redraw_from(changed)
        self._markdown.want()

    def set_view(
        self,
        turn: int | None,
        *,
        folded: bool | None = None,
        markdown: bool | None = None,
        proposals: Proposals | None = None,
    ) -> None:
        """Show a reply, or all, in another way; see `Document.set_view`."""
        self.change_layout(lambda: self.document.set_view(turn, folded=folded, markdown=markdown, proposals=proposals))
        self._markdown.want()

    def change_layout(self, change: Callable[[], object]) -> None:
        """Let rows change, with the reader's place kept."""
        following = self.following
        top = min(self.scroll_offset.y, self.document.height - 1)
        place = None if following or top < 0 else self.document.place_of(top)
        change()
        self.mode.take(self._turns)
        self._redraw_all()
        if place is not None:
            self.scroll_to(y=self.document.row_of(*place), animate=False, immediate=True)
        self.set_following(following=following)

    def set_facts(self, turn: int, facts: str) -> None:
        """Say something at the right of a reply's heading."""
        row = self.document.set_facts(turn, facts)
        self._strips.pop(row, None)
        self.refresh_lines(row)

    def clear(self) -> None:
        """Drop all turns."""
        self._turns = ()
        self.document.clear()
        self.mode.take(())
        self.follow()
        self._redraw_all()

    # -- the token cursor -----------------------------------------------------------------------------------------

    @property
    def spot(self) -> Spot | None:
        """The token under the cursor; None while the keyboard is elsewhere."""
        return self.mode.spot

    def on_focus(self) -> None:
        """The keyboard is here: the token cursor shows."""
        if not self.mode.is_on:
            self.mode.enter()

    def on_blur(self) -> None:
        """The keyboard is elsewhere; a terminal that is only behind another window changes nothing."""
        if self.app.app_focus:
            self.mode.leave()

    def action_cursor(self, move: str, extend: bool = False) -> None:
        """Make a move of the token cursor; without any token, scroll."""
        if self.mode.move(move, extend=extend):
            return
        plain = {"row-up": -1, "row-down": 1, "page-up": -self.page_rows, "page-down": self.page_rows}
        if move in plain:
            self.action_move(plain[move])
        elif move in {"beginning", "first-token"}:
            self.action_home()
        elif move in {"end", "last-token"}:
            self.follow()

    def action_select_message(self) -> None:
        """Select all of the message under the token cursor."""
        self.mode.select_message()

    async def _on_click(self, event: events.Click) -> None:
        """One click moves the token cursor where the mode is on, two select a word, three a message."""
        event.prevent_default()  # Textual's own selects everything
        _, offset = self.screen.get_widget_and_offset_at(event.screen_x, event.screen_y)
        if event.widget is not self or offset is None:
            return
        block, at = offset.y, offset.x
        if event.chain == 1 and self.has_focus and self.text_selection is None:
            named = self.document.token_at(block, at)
            if named is not None:
                self.mode.go_to(Spot(*named))
        elif event.chain == 2:
            self.mode.select_word(block, at)
        elif event.chain >= 3:
            self.mode.select_part(block)

    # -- drawing --------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Wrap for the new width, with the reader's place kept."""
        width = max(1, self.outer_size.width - _SCROLLBAR - 2 * MARGIN)
        keeps_cursor = self.mode.is_within(self._seen_rows)
        self._seen_rows = self.size.height
        if width != self.document.width:
            self.change_layout(lambda: self.document.resize(width))
            self._markdown.want()
        elif self.following:
            self.follow()
        if keeps_cursor:
            self.mode.reveal()

    def notify_style_update(self) -> None:
        """Another theme or a changed style sheet."""
        super().notify_style_update()
        self._painter.forget()
        self._base = None
        self._strips.clear()

    def selection_updated(self, selection: Selection | None) -> None:  # noqa: ARG002 - Textual's signature
        """Draw the selection."""
        self._strips.clear()
        self.refresh()

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The text that is selected, without the line ends that wrapping made."""
        pieces = []
        for part in self.document.parts():
            span = _span_in(part, selection)
            if span is not None and part.height:
                pieces.append(part.text[span[0] : span[1]])
        return ("\n".join(pieces), "\n") if pieces else None

    def render_lines(self, crop: Region) -> list[Strip]:
        """Rows of the screen as they are: without border, padding or tint there is nothing for Textual to add."""
        strips = self._drawn(crop.y, crop.height)
        left, right = crop.column_span
        return strips if (left, right) == (0, self.size.width) else [strip.crop(left, right) for strip in strips]

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        return self._drawn(y, 1)[0]

    def _drawn(self, y: int, count: int) -> list[Strip]:
        """Rows of the screen from `y` on."""
        width, first = self.size.width, self.scroll_offset.y + y
        rows = self.document.height if self.document.width != _UNWRAPPED else 0
        if len(self._strips) > _KEPT_ROWS:
            self._strips.clear()
        strips: list[Strip] = []
        for row in range(first, min(first + count, rows)):
            strip = self._strips.get(row)
            if strip is None or strip.cell_length != width:
                strip = self._strips[row] = self._paint(self.document.row(row), width)
            strips.append(strip)
        if len(strips) < count:
            blank = Strip.blank(width, self._refined(self.rich_style))
            strips += [blank] * (count - len(strips))
        return strips

    def _paint(self, row: Row, width: int) -> Strip:
        base = self._base = self._base or self.rich_style
        start = row.spans[0].offset if row.spans else row.end
        marks = self._marks.within(row.block, start, row.end + row.broken)
        selection = self.text_selection
        selected = None if selection is None else selection.get_span(row.block)
        if selected is not None:
            start, end = selected
            marks.append(Mark(start, row.end if end < 0 else min(end, row.end), _SELECTION))
        return self._painter.paint(row, width, base, marks)

    def _refined(self, style: Style) -> Style:
        """The style in colours that the terminal has."""
        segments = [Segment(" ", style)]
        for line_filter in self.get_line_filters():
            segments = line_filter.apply(segments, self.background_colors[1])
        return segments[0].style or style

    def _role_style(self, name: str) -> Style:
        if name == _SELECTION:
            return self.screen.get_component_rich_style("screen--selection", partial=True)
        return self.get_component_rich_style(f"transcript--{name}", partial=True)

    def _redraw_from(self, row: int) -> None:
        height = self.document.height
        for drawn in [drawn for drawn in self._strips if drawn >= row]:
            del self._strips[drawn]
        self.take_rows(Size(self.size.width, height))
        if self.following:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)
        top, bottom = self.scroll_offset.y, self.scroll_offset.y + self.size.height
        if row < bottom:
            self.refresh_lines(max(top, row), bottom - max(top, row))

    def _redraw_all(self) -> None:
        self._strips.clear()
        self._redraw_from(0)


def _span_in(part: Part, selection: Selection) -> tuple[int, int] | None:
    """The selected range of a part's text, widened to whole graphemes."""
    span = selection.get_span(part.block)
    if span is None:
        return None
    start, end = span
    return part.snap(start)[0], len(part.text) if end < 0 else part.snap(end)[1]
