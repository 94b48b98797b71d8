"""Widgets of few lines: the head, the status, the legend and the panels. Each draws a frozen value."""

from collections.abc import Mapping
from typing import ClassVar

from rich.style import Style
from rich.text import Text
from textual.app import RenderResult
from textual.reactive import reactive
from textual.widget import Widget

from specchat.ui.panels.drawing import WIDTH, EdgeLine, Line, fit, line

_LOOKS = ("strong", "dim", "good", "bad", "accent", "title", "rule")


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
        & .lines--title { color: $text-muted; text-style: bold; }
        & .lines--rule { color: $border-blurred; }
    }
    """
    lines: reactive[tuple[Line, ...]] = reactive(())

    def __init__(self, token_styles: Mapping[str, Style], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        """Start empty.

        Args:
            token_styles: Rich styles of the origins, by name.
            id: For style sheets and queries.
        """
        super().__init__(id=id)
        self.token_styles = token_styles

    def set_token_styles(self, token_styles: Mapping[str, Style]) -> None:
        """Draw origins in other colours."""
        self.token_styles = token_styles
        self.refresh()

    def render(self) -> RenderResult:
        """The lines, cut at the edge."""
        text = Text(no_wrap=True, overflow="crop", end="")
        for number, drawn in enumerate(self.drawn_lines()):
            if number:
                text.append("\n")
            for run, looks in drawn.runs:
                text.append(run, self._style(looks))
        return text

    def drawn_lines(self) -> tuple[Line, ...]:
        """What is drawn: the lines."""
        return self.lines

    def _style(self, looks: str) -> Style:
        style = Style.null()
        for look in looks.split():
            known = self.token_styles.get(look)
            style += self.get_component_rich_style(f"lines--{look}", partial=True) if known is None else known
        return style


class Panel(LinesWidget):
    """Figures below a title; as high as both."""

    DEFAULT_CSS = """
    Panel {
        height: auto;
        padding: 0 2;
    }
    """

    def __init__(
        self,
        token_styles: Mapping[str, Style],
        *,
        title: str,
        id: str | None = None,  # noqa: A002 - Textual's
    ) -> None:
        """Start empty.

        Args:
            token_styles: Rich styles of the origins, by name.
            title: Set above the figures.
            id: For style sheets and queries.
        """
        super().__init__(token_styles, id=id)
        self._title = line((f"{title} ", "title"), ("─" * max(0, WIDTH - len(title) - 1), "rule"))

    def drawn_lines(self) -> tuple[Line, ...]:
        """The title and the lines."""
        return self._title, *self.lines

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
