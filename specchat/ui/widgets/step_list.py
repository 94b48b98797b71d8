"""The rows of the steps view: only those in sight are worked out, however many steps a reply has."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from specchat.ui.panels.drawing import Line
from specchat.ui.panels.step_rows import Filter, StepRows, row_of
from specchat.ui.styles import MARK
from specchat.ui.widgets.following import FollowingView

_LOOKS = ("strong", "dim", "bad")


class StepList(FollowingView, can_focus=True):
    """Steps of one reply, with a bar over one of them; stays at the end of a reply that grows while it stands there."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1)", show=False),
        Binding("down,j", "go(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("home,ctrl+home", "go_first", show=False),
        Binding("end,ctrl+end", "go_last", show=False),
        Binding("enter", "choose", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"steps--{look}" for look in _LOOKS}
    DEFAULT_CSS = """
    StepList {
        height: 1fr;
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        & .steps--strong { text-style: bold; }
        & .steps--dim { color: $text-muted; }
        & .steps--bad { color: $error; }
    }
    """

    @dataclass
    class Chosen(Message):
        """The reader wants to see a step in the transcript."""

        step: int
        """Counted from 0."""

    class Moved(Message):
        """The bar stands elsewhere, or other steps are listed."""

    def __init__(self, rows: StepRows, token_styles: Mapping[str, Style], *, step: int | None = None) -> None:
        """List steps.

        Args:
            rows: What is listed.
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            step: Where the bar stands, counted from 0; None for the last, where it stays.
        """
        super().__init__(id="steps")
        self.rows = rows
        self._token_styles = token_styles
        self._at = max(0, len(rows.numbers) - 1) if step is None else rows.nearest(step)

    @property
    def step(self) -> int | None:
        """The step under the bar, counted from 0; None where none is listed."""
        numbers = self.rows.numbers
        return numbers[self._at] if self._at < len(numbers) else None

    @property
    def is_at_end(self) -> bool:
        """Does the bar stand at the last row, or is there none?"""
        return self._at >= len(self.rows.numbers) - 1

    def on_mount(self) -> None:
        """Show the bar."""
        self.call_after_refresh(self._show)

    def on_resize(self) -> None:
        """Keep the bar in sight."""
        self._show()

    def look(self) -> None:
        """See whether the reply grew."""
        at_end, before = self.is_at_end, self.rows.total
        if self.rows.grow() or self.rows.total != before:
            last = max(0, len(self.rows.numbers) - 1)
            self._go(last if at_end else min(self._at, last))

    def use(self, wanted: Filter) -> None:
        """List other steps; the bar stays at its step, or at the next one that is listed."""
        step, at_end = self.step, self.is_at_end
        self.rows.use(wanted)
        self._go(max(0, len(self.rows.numbers) - 1) if at_end or step is None else self.rows.nearest(step))

    def action_go(self, rows: int) -> None:
        """Move the bar."""
        self._go(self._at + rows)

    def action_page(self, pages: int) -> None:
        """Move the bar by pages."""
        self._go(self._at + pages * self.page_rows)

    def action_go_first(self) -> None:
        """Go to the first row."""
        self._go(0)

    def action_go_last(self) -> None:
        """Go to the last row, and stay at the end."""
        self._go(len(self.rows.numbers) - 1)

    def action_choose(self) -> None:
        """See the step in the transcript."""
        if self.step is not None:
            self.post_message(self.Chosen(self.step))

    def on_click(self, event: events.Click) -> None:
        """Put the bar at a row; a second click sees the step in the transcript."""
        row = self.scroll_offset.y + event.y
        if row < len(self.rows.numbers):
            self._go(row)
            if event.chain == 2:
                self.action_choose()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, index = self.size.width, self.scroll_offset.y + y
        base = self.rich_style
        if index >= len(self.rows.numbers):
            return Strip.blank(width, base)
        # The scroll bar lies over the last cell.
        line = row_of(self.rows.reply, self.rows.numbers[index], self.scrollable_content_region.width)
        if index == self._at:
            base += self._token_styles[f"{MARK}step"]
        return self._strip(line, base).adjust_cell_length(width, base)

    def _strip(self, line: Line, base: Style) -> Strip:
        return Strip([Segment(text, base + self._style(look)) for text, look in line.runs])

    def _style(self, look: str) -> Style:
        if look in _LOOKS:
            return self.get_component_rich_style(f"steps--{look}", partial=True)
        return self._token_styles.get(look, Style.null())

    def _go(self, row: int) -> None:
        self._at = max(0, min(row, len(self.rows.numbers) - 1))
        self._show()
        self.post_message(self.Moved())

    def _show(self) -> None:
        self.take_rows(Size(self.size.width, len(self.rows.numbers)))
        self.reveal(self._at)
        self.refresh()
