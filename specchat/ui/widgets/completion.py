"""The popup above the prompt that offers what can be typed. Knows neither commands nor files; takes no focus."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from rich.cells import cell_len, set_cell_size
from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

MOST_ROWS = 8
_MOST_CELLS = 88
"""Wide enough for a sentence, and narrow enough to leave the figures beside the transcript in sight."""
_MOST_NAME_CELLS = 18
_GAP = 2


@dataclass(frozen=True, slots=True)
class Suggestion:
    """One thing that can be typed. All texts are harmless."""

    insert: str
    """The whole prompt, once this is chosen."""
    shown: str
    what: str = ""


class Completion(Widget):
    """Lies over the transcript and moves nothing. Its rows scroll with what is chosen."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"completion--what", "completion--chosen"}
    DEFAULT_CSS = """
    Completion {
        position: absolute;
        overlay: screen;
        display: none;
        background: $panel;
        color: $foreground;
        & .completion--what { color: $text-muted; }
        & .completion--chosen { text-style: reverse; }
    }
    """

    def __init__(self, take: Callable[[Suggestion], None]) -> None:
        """Make a closed popup.

        Args:
            take: Called with what is clicked.
        """
        super().__init__()
        self._take = take
        self.can_focus = False
        self.suggestions: Sequence[Suggestion] = ()
        self.typed = ""
        """The prompt that they are for."""
        self._at = 0
        self._top = 0

    @property
    def is_open(self) -> bool:
        """Is there something to choose?"""
        return bool(self.suggestions)

    @property
    def chosen(self) -> Suggestion | None:
        """What Tab would take."""
        return self.suggestions[self._at] if self.suggestions else None

    def offer(self, suggestions: Sequence[Suggestion], typed: str) -> None:
        """Show suggestions; what is typed already is chosen, else the first. None closes the popup.

        Args:
            suggestions: In the order to show.
            typed: The prompt as it is.
        """
        if not suggestions and not self.suggestions:
            return
        self.suggestions = suggestions
        self.typed = typed
        exact = (i for i, one in enumerate(suggestions) if one.insert.rstrip() == typed.rstrip())
        self._at, self._top = next(exact, 0), 0
        self.display = self.is_open
        self.refresh()

    def place(self, prompt: Region) -> None:
        """Stand above the prompt, as wide as needed and as high as there is room."""
        rows = min(len(self.suggestions), MOST_ROWS, max(1, prompt.y - 1))
        wanted = self._name_cells + _GAP + max((cell_len(one.what) for one in self.suggestions), default=0) + 2
        self.styles.width = min(wanted, prompt.width, _MOST_CELLS)
        self.styles.height = rows
        self.styles.offset = (prompt.x, prompt.y - rows)
        self._follow(rows)

    def move(self, step: int) -> None:
        """Choose the next or the one before; round at the ends."""
        self._at = (self._at + step) % len(self.suggestions)
        self._follow(self.size.height)
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One suggestion."""
        index = self._top + y
        width = self.size.width
        style = self.rich_style
        if index >= len(self.suggestions):
            return Strip.blank(width, style)
        one = self.suggestions[index]
        what = self.get_component_rich_style("completion--what")
        if index == self._at:
            style += self.get_component_rich_style("completion--chosen", partial=True)
            what = style
        names = min(self._name_cells + _GAP, width - 1)
        segments = [
            Segment(" ", style),
            Segment(set_cell_size(_cut(one.shown, names - _GAP), names), style),
            Segment(_cut(one.what, max(0, width - names - 1)), what + Style(bold=False)),
        ]
        return Strip(segments).adjust_cell_length(width, style)

    def on_click(self, event: events.Click) -> None:
        """Take what is clicked."""
        index = self._top + event.y
        if index < len(self.suggestions):
            self._take(self.suggestions[index])

    @property
    def _name_cells(self) -> int:
        longest = max((cell_len(one.shown) for one in self.suggestions), default=0)
        # Names of files stand alone and may be long.
        return min(longest, _MOST_NAME_CELLS) if any(one.what for one in self.suggestions) else longest

    def _follow(self, rows: int) -> None:
        """Scroll so that the chosen row is in sight."""
        rows = max(1, rows)
        self._top = min(max(self._top, self._at - rows + 1), self._at)


def _cut(text: str, cells: int) -> str:
    return text if cell_len(text) <= cells else set_cell_size(text, max(0, cells - 1)) + "…"
