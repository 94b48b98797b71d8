"""Draws the conversation, row by row. One widget whatever the length: only rows that changed are drawn again."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.reactive import reactive
from textual.scroll_view import ScrollView
from textual.selection import Selection
from textual.strip import Strip

from specchat.core.conversation import Turn
from specchat.ui.layout.document import Document
from specchat.ui.layout.marks import Mark, Marks
from specchat.ui.layout.parts import Part, Row
from specchat.ui.messages import FollowingChanged
from specchat.ui.styles import ROLES
from specchat.ui.widgets.painting import MARGIN, RowPainter

_SCROLLBAR = 1
"""Cells left free for the scroll bar, whether it is there or not."""
_UNWRAPPED = 1
"""Width before the size is known: nothing is drawn then, or the first frame would be a column of letters."""
_SELECTION = "selection"


class Transcript(ScrollView, can_focus=True):
    """The conversation, each token in the look of its origin.

    It follows its end until the reader scrolls up, and again when the reader comes back to it.
    """

    ALLOW_SELECT = True
    FOCUS_ON_CLICK = False
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"transcript--{role}" for role in ROLES}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,ctrl+home", "home", show=False),
        Binding("end,ctrl+end", "end", show=False),
    ]
    DEFAULT_CSS = """
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

    live: reactive[bool] = reactive(False)
    """Does a reply grow?"""

    def __init__(self, token_styles: Mapping[str, Style], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        """Start empty.

        Args:
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            id: For style sheets and queries.
        """
        super().__init__(id=id)
        self.document = Document(_UNWRAPPED)
        self.following = True
        self._painter = RowPainter(token_styles, self._role_style)
        self._marks = Marks()
        self._base: Style | None = None
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
        self._redraw_from(self.document.update(turns, first))

    def set_facts(self, turn: int, facts: str) -> None:
        """Say something at the right of a reply's heading."""
        row = self.document.set_facts(turn, facts)
        self._strips.pop(row, None)
        self.refresh_lines(row)

    def clear(self) -> None:
        """Drop all turns."""
        self.document.clear()
        self.follow()
        self._redraw_all()

    def follow(self) -> None:
        """Go to the end and stay there."""
        self._set_following(following=True)
        self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)

    # -- scrolling ------------------------------------------------------------------------------------------------

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        """Following ends with a move up, and begins again where a move down reaches the end."""
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and new_value < self.max_scroll_y:
            self._set_following(following=False)
        elif new_value > old_value and new_value >= self.max_scroll_y:
            self._set_following(following=True)

    def watch_live(self) -> None:
        """A reply begins or ends."""
        self._hide_scrollbar()

    def _hide_scrollbar(self) -> None:
        """Leave out the scroll bar while a reply carries the end along: to draw it costs as much as the text does."""
        self.set_class(self.live and self.following, "-hurried")

    def action_move(self, rows: int) -> None:
        """Scroll by some rows."""
        self._scroll_rows(rows)

    def action_page(self, pages: int) -> None:
        """Scroll by pages; one row stays in sight."""
        self._scroll_rows(pages * max(1, self.size.height - 1))

    def action_home(self) -> None:
        """Go to the top."""
        self._scroll_rows(-self.virtual_size.height)

    def action_end(self) -> None:
        """Go to the end and follow it."""
        self.follow()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self._scroll_rows(-3)

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """The wheel."""
        event.stop()
        event.prevent_default()
        self._scroll_rows(3)

    def _scroll_rows(self, rows: int) -> None:
        # Without animation: a reply that grows meanwhile would carry an animated move back to the end.
        self.scroll_to(y=self.scroll_offset.y + rows, animate=False, immediate=True)

    def _set_following(self, *, following: bool) -> None:
        if following is not self.following:
            self.following = following
            self._hide_scrollbar()
            self.post_message(FollowingChanged(following))

    # -- drawing --------------------------------------------------------------------------------------------------

    def on_resize(self) -> None:
        """Wrap for the new width, with the reader's place kept."""
        width = max(1, self.outer_size.width - _SCROLLBAR - 2 * MARGIN)
        if width == self.document.width:
            if self.following:
                self.follow()
            return
        top = min(self.scroll_offset.y, self.document.height - 1)
        place = None if self.following or top < 0 else self.document.place_of(top)
        self.document.resize(width)
        following = self.following
        self._redraw_all()
        if place is not None:
            self.scroll_to(y=self.document.row_of(*place), animate=False, immediate=True)
        self._set_following(following=following)

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

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        row = self.scroll_offset.y + y
        width = self.size.width
        if row >= self.document.height or self.document.width == _UNWRAPPED:
            return Strip.blank(width, self.rich_style)
        strip = self._strips.get(row)
        if strip is None or strip.cell_length != width:
            strip = self._strips[row] = self._paint(self.document.row(row), width)
        return strip

    def _paint(self, row: Row, width: int) -> Strip:
        base = self._base = self._base or self.rich_style
        marks = self._marks.within(row.block, row.spans[0].offset, row.end) if row.spans else []
        selection = self.text_selection
        selected = None if selection is None else selection.get_span(row.block)
        if selected is not None:
            start, end = selected
            marks.append(Mark(start, row.end if end < 0 else end, _SELECTION))
        return self._painter.paint(row, width, base, marks)

    def _role_style(self, name: str) -> Style:
        if name == _SELECTION:
            return self.screen.get_component_rich_style("screen--selection")
        return self.get_component_rich_style(f"transcript--{name}", partial=True)

    def _redraw_from(self, row: int) -> None:
        height = self.document.height
        for drawn in [drawn for drawn in self._strips if drawn >= row]:
            del self._strips[drawn]
        size = Size(self.size.width, height)
        if size != self.virtual_size:
            self.virtual_size = size
        if self.following:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)
        bottom = self.scroll_offset.y + self.size.height
        if row < bottom:
            self.refresh_lines(row, max(1, bottom - row))

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
