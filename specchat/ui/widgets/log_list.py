"""Lines of a log: the newest are kept, wrapped or cut at the edge, with marks over what is looked for."""

from bisect import bisect_right
from collections.abc import Sequence
from typing import ClassVar

from rich.cells import chop_cells
from rich.segment import Segment
from rich.style import Style
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.strip import Strip

from specchat.core.harmless import harmless
from specchat.ui.panels.texts import cut_keeping_spaces
from specchat.ui.widgets.following import FollowingView

MOST_LINES = 20_000
"""Older lines go; the file has them all."""
_LONGEST = 4000
"""Characters of a line that are shown."""
_LOOKS = ("found", "here", "bad", "odd")


class LogList(FollowingView, can_focus=True):
    """Follows its end until the reader scrolls up."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "move(-1)", show=False),
        Binding("down,j", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown,space", "page(1)", show=False),
        Binding("home,g", "home", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"log--{look}" for look in _LOOKS}
    DEFAULT_CSS = """
    LogList {
        overflow-x: hidden;
        overflow-y: scroll;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        & .log--found { text-style: underline; color: $accent; }
        & .log--here { text-style: reverse; }
        & .log--bad { color: $error; }
        & .log--odd { color: $warning; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self.needle = ""
        self._lines: list[str] = []
        self._wraps = False
        self._starts: list[int] = []
        """The first row of each line, where lines are wrapped."""
        self._rows: list[str] = []
        self._found: list[int] = []
        """Lines that hold the needle."""
        self._at = -1
        """The current one of them."""

    @property
    def count(self) -> int:
        """Lines that are kept."""
        return len(self._lines)

    @property
    def matches(self) -> int:
        """Lines that hold what is looked for."""
        return len(self._found)

    @property
    def found_at(self) -> int:
        """The number of the current one of them, from 1; 0 without one."""
        return self._at + 1

    def add(self, lines: Sequence[str]) -> None:
        """The log grew."""
        new = [harmless(line)[:_LONGEST].expandtabs(4) for line in lines]
        first = len(self._lines)
        self._lines += new
        if len(self._lines) > MOST_LINES + MOST_LINES // 10:
            del self._lines[:-MOST_LINES]
            self._find()
            self._lay_out()
            return
        if self.needle:
            self._found += [first + index for index, line in enumerate(new) if self._holds(line)]
        self._lay_out(first)

    def clear(self) -> None:
        """Another log begins."""
        self._lines.clear()
        self._find()
        self._lay_out()

    def search(self, needle: str) -> None:
        """Mark a text; the reader goes to its last place, which is the newest."""
        self.needle = needle
        self._find()
        self._at = len(self._found) - 1
        self._show_match()
        self.refresh()

    def step(self, direction: int) -> None:
        """Go to the next match, or the one before, and on from the other end."""
        if self._found:
            self._at = (self._at + direction) % len(self._found)
            self._show_match()
            self.refresh()

    def toggle_wrap(self) -> None:
        """Wrap long lines, or cut them at the edge."""
        self._wraps = not self._wraps
        self._lay_out()

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._lay_out()

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, index, base = self.size.width, self.scroll_offset.y + y, self.rich_style
        if index >= self._height:
            return Strip.blank(width, base)
        number = bisect_right(self._starts, index) - 1 if self._wraps else index
        row = self._rows[index] if self._wraps else cut_keeping_spaces(self._lines[index], self._cells)
        is_here = 0 <= self._at < len(self._found) and self._found[self._at] == number
        return Strip(
            [Segment(" ", base), *self._marked(row, base + self._tone(self._lines[number]), here=is_here)]
        ).adjust_cell_length(width, base)

    def _marked(self, row: str, base: Style, *, here: bool) -> list[Segment]:
        needle = self.needle.lower()
        if not needle:
            return [Segment(row, base)]
        found = base + self._look("here" if here else "found")
        segments: list[Segment] = []
        at, lower = 0, row.lower()
        while (place := lower.find(needle, at)) >= 0:
            segments += [Segment(row[at:place], base), Segment(row[place : place + len(needle)], found)]
            at = place + len(needle)
        return [*segments, Segment(row[at:], base)]

    def _tone(self, line: str) -> Style:
        head = line[:120]
        if "ERROR" in head or "CRITICAL" in head or "Traceback" in head:
            return self._look("bad")
        return self._look("odd") if "WARNING" in head else Style.null()

    def _look(self, name: str) -> Style:
        return self.get_component_rich_style(f"log--{name}", partial=True)

    def _holds(self, line: str) -> bool:
        return self.needle.lower() in line.lower()

    def _find(self) -> None:
        self._found = [index for index, line in enumerate(self._lines) if self.needle and self._holds(line)]
        self._at = min(self._at, len(self._found) - 1)

    def _show_match(self) -> None:
        if 0 <= self._at < len(self._found):
            self.set_following(following=False)
            line = self._found[self._at]
            self.reveal(self._starts[line] if self._wraps else line)

    @property
    def _cells(self) -> int:
        return max(1, self.scrollable_content_region.width - 1)

    @property
    def _height(self) -> int:
        return len(self._rows) if self._wraps else len(self._lines)

    def _lay_out(self, first: int = 0) -> None:
        """Wrap the lines from `first` on, and follow."""
        if self._wraps:
            if first == 0 or first > len(self._starts):
                first = 0
                self._starts, self._rows = [], []
            for line in self._lines[first:]:
                self._starts.append(len(self._rows))
                self._rows += chop_cells(line, self._cells) or [""]
        self.take_rows(Size(self.size.width, self._height))
        if self.following:
            self.scroll_to(y=self.max_scroll_y, animate=False, immediate=True)
        self.refresh()
