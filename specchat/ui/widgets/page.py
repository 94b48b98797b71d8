"""Lines that are laid out anew for every width, in a view that scrolls. Knows nothing of what they say."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from specchat.ui.panels.drawing import Line
from specchat.ui.widgets.lines import LinesWidget

Build = Callable[[int], tuple[Line, ...]]
"""The lines for so many cells."""


class _PageLines(LinesWidget):
    DEFAULT_CSS = "_PageLines { height: auto; }"

    def watch_lines(self, old: tuple[Line, ...], new: tuple[Line, ...]) -> None:
        """Only another number of lines makes the screen lay itself out again."""
        if len(old) != len(new):
            self.refresh(layout=True)


class Page(VerticalScroll):
    """Shows what `show` is given, at any width."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("j", "scroll_down", show=False),
        Binding("k", "scroll_up", show=False),
    ]
    DEFAULT_CSS = """
    Page {
        padding: 0 1;
        scrollbar-size-vertical: 1;
        scrollbar-gutter: stable;
        background: $background;
    }
    """

    def __init__(
        self,
        token_styles: Mapping[str, Style],
        *,
        focusable: bool = True,
        id: str | None = None,  # noqa: A002 - Textual's
    ) -> None:
        """Start empty.

        Args:
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            focusable: Can the keyboard scroll it?
            id: For style sheets and queries.
        """
        super().__init__(id=id, can_focus=focusable)
        self._lines = _PageLines(token_styles)
        self._build: Build = _nothing
        self._width = 0

    def compose(self) -> ComposeResult:
        """One widget, as high as its lines."""
        yield self._lines

    def show(self, build: Build, *, from_top: bool = False) -> None:
        """Show other lines.

        Args:
            build: Makes them for a width.
            from_top: Is it about something else, to be read from its beginning?
        """
        self._build = build
        if from_top:
            self.scroll_home(animate=False)
        self._fill()

    def on_resize(self) -> None:
        """Lay out for the new width."""
        self._fill()

    def _fill(self) -> None:
        width = self.scrollable_content_region.width
        if width > 0:
            self._lines.lines = self._build(width)


def _nothing(_: int) -> tuple[Line, ...]:
    return ()
