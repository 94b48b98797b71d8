"""Widgets of few lines: the head, the status, the legend and the panels. Each draws a frozen value."""

from collections.abc import Mapping
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.reactive import reactive
from textual.widget import Widget

from specchat.ui.panels.drawing import EdgeLine, Line, fit

_LOOKS = ("strong", "dim", "good", "bad", "accent")


class LinesWidget(Widget):
    """Draws lines of runs, each run in a look by name."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {f"lines--{look}" for look in _LOOKS}
    DEFAULT_CSS = """
    LinesWidget {
        height: 1;
        color: $foreground;
        & .lines--strong { text-style: bold; }
        & .lines--dim { color: $text-muted; }
        & .lines--good { color: $success; }
        & .lines--bad { color: $error; }
        & .lines--accent { color: $primary; }
    }
    """
    lines: reactive[tuple[Line, ...]] = reactive(())

    def __init__(
        self,
        token_styles: Mapping[str, Style],
        *,
        title: str = "",
        id: str | None = None,  # noqa: A002 - Textual's
    ) -> None:
        """Start empty.

        Args:
            token_styles: Rich styles of the origins, by name.
            title: Set into the border, where the style sheet gives one.
            id: For style sheets and queries.
        """
        super().__init__(id=id)
        self.token_styles = token_styles
        if title:
            self.border_title = title

    def set_token_styles(self, token_styles: Mapping[str, Style]) -> None:
        """Draw origins in other colours."""
        self.token_styles = token_styles
        self.refresh()

    def render(self) -> RenderResult:
        """The lines, cut at the edge."""
        text = Text(no_wrap=True, overflow="crop", end="")
        for number, line in enumerate(self.lines):
            if number:
                text.append("\n")
            for run, looks in line.runs:
                text.append(run, self._style(looks))
        return text

    def _style(self, looks: str) -> Style:
        style = Style.null()
        for look in looks.split():
            known = self.token_styles.get(look)
            style += self.get_component_rich_style(f"lines--{look}", partial=True) if known is None else known
        return style


class Panel(LinesWidget):
    """Figures with a title; as high as what it shows."""

    DEFAULT_CSS = """
    Panel {
        height: auto;
        border: round $border-blurred;
        border-title-color: $text-muted;
        padding: 0 1;
    }
    """

    def watch_lines(self, old: tuple[Line, ...], new: tuple[Line, ...]) -> None:
        """Only another number of lines makes the screen lay itself out again."""
        if len(old) != len(new):
            self.refresh(layout=True)


class EdgesWidget(LinesWidget):
    """One line with something at either edge."""

    edges: reactive[EdgeLine] = reactive(EdgeLine(()))

    def watch_edges(self) -> None:
        """Fit it."""
        self._fit()

    def on_resize(self) -> None:
        """Fit it to the new width."""
        self._fit()

    def _fit(self) -> None:
        if self.size.width:
            self.lines = (fit(self.edges, self.size.width),)
