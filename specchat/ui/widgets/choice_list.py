"""A list with a bar over one of its rows; headings between cannot be chosen. Knows nothing of what it lists."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.binding import Binding, BindingType
from textual.geometry import Size
from textual.message import Message
from textual.strip import Strip

from specchat.ui.panels.server_rows import Choice, ListRow, fit_row
from specchat.ui.styles import MARK
from specchat.ui.widgets.following import FollowingView

_LOOKS = ("strong", "dim", "good", "bad", "accent", "title")
_POINTER = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"
"""At the bar, which no colour alone marks."""


class ChoiceList(FollowingView, can_focus=True):
    """Rows, of which those with a choice can be chosen. The bar stays with its thing while rows come and go."""

    ALLOW_SELECT = False
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "go(-1)", show=False),
        Binding("down,j", "go(1)", show=False),
        Binding("pageup", "go(-8)", show=False),
        Binding("pagedown", "go(8)", show=False),
        Binding("home", "go(-1000)", show=False),
        Binding("end", "go(1000)", show=False),
    ]
    COMPONENT_CLASSES: ClassVar[set[str]] = {f"choices--{look}" for look in _LOOKS}
    DEFAULT_CSS = """
    ChoiceList {
        overflow-x: hidden;
        overflow-y: auto;
        scrollbar-size-vertical: 1;
        background: $background;
        color: $foreground;
        & .choices--strong { text-style: bold; }
        & .choices--dim { color: $text-muted; }
        & .choices--good { color: $success; }
        & .choices--bad { color: $error; }
        & .choices--accent { color: $primary; }
        & .choices--title { color: $text-muted; text-style: bold; }
    }
    """

    class Moved(Message):
        """The bar stands at something else."""

    class Chosen(Message):
        """Enter, or a second click."""

    def __init__(self, token_styles: Mapping[str, Style], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        """Start empty.

        Args:
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            id: For style sheets and queries.
        """
        super().__init__(id=id)
        self.following = False
        self._token_styles = token_styles
        self._rows: tuple[ListRow, ...] = ()
        self._at = -1

    @property
    def choice(self) -> Choice | None:
        """What the bar stands at; None where nothing can be chosen."""
        return self._rows[self._at].choice if 0 <= self._at < len(self._rows) else None

    def set_token_styles(self, token_styles: Mapping[str, Style]) -> None:
        """Draw the bar in another theme's look."""
        self._token_styles = token_styles
        self.refresh()

    def show(self, rows: Sequence[ListRow], *, at: str = "") -> None:
        """List something else.

        Args:
            rows: In their order.
            at: Key of the row for the bar; "" leaves it with its thing, or near where that was.
        """
        wanted = at or (self._rows[self._at].key if 0 <= self._at < len(self._rows) else "")
        before = self.choice
        self._rows = tuple(rows)
        places = self._places
        found = [place for place in places if wanted and self._rows[place].key == wanted]
        self._at = found[0] if found else min(places, key=lambda place: abs(place - self._at), default=-1)
        self._draw()
        if self.choice != before:
            self.post_message(self.Moved())

    def on_resize(self) -> None:
        """Keep the bar in sight."""
        self._draw()

    def action_go(self, rows: int) -> None:
        """Move the bar over so many things that can be chosen."""
        places = self._places
        if places:
            at = places.index(self._at) if self._at in places else 0
            self._go(places[max(0, min(at + rows, len(places) - 1))])

    def on_click(self, event: events.Click) -> None:
        """Put the bar at a row; a second click chooses it."""
        row = self.scroll_offset.y + event.y
        if row in self._places:
            self._go(row)
            if event.chain == 2:
                self.post_message(self.Chosen())

    def render_line(self, y: int) -> Strip:
        """One row of the screen."""
        width, index, base = self.size.width, self.scroll_offset.y + y, self.rich_style
        if index >= len(self._rows):
            return Strip.blank(width, base)
        row = self._rows[index]
        if index == self._at and self.has_focus:
            base += self._token_styles.get(f"{MARK}step", Style.null())
        drawn = fit_row(row, self.scrollable_content_region.width)
        segments = [Segment(text, base + self._style(look)) for text, look in drawn.runs if text]
        if index == self._at and segments:
            first = segments[0]
            segments[0] = Segment(f" {_POINTER}{first.text[2:]}", first.style)
        return Strip(segments).adjust_cell_length(width, base)

    @property
    def _places(self) -> list[int]:
        return [index for index, row in enumerate(self._rows) if row.choice is not None]

    def _go(self, row: int) -> None:
        if row != self._at:
            self._at = row
            self._draw()
            self.post_message(self.Moved())

    def _draw(self) -> None:
        self.take_rows(Size(self.size.width, len(self._rows)))
        if self._at >= 0:
            # A heading belongs to what is below it.
            self.reveal(self._at - 1 if self._at == 1 else self._at)
        self.refresh()

    def _style(self, looks: str) -> Style:
        style = Style.null()
        for look in looks.split():
            style += self.get_component_rich_style(f"choices--{look}", partial=True)
        return style
