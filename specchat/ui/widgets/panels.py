"""The column of figures beside the transcript."""

from collections.abc import Mapping
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.containers import Vertical
from textual.reactive import reactive

from specchat.ui.panels.column import arrange
from specchat.ui.panels.model import PanelsView
from specchat.ui.widgets.lines import Panel


class PanelColumn(Vertical):
    """One panel below the other, all of them drawn from one value; as many as there is room for."""

    TITLES: ClassVar[dict[str, str]] = {
        "acceptance": "Acceptance length",
        "rate": "Tokens per second",
        "positions": "Accepted by position",
        "yields": "Tokens per step",
        "comparison": "On against off",
        "server": "Server",
        "reply": "This reply",
        "gpus": "GPUs",
    }
    DEFAULT_CSS = "PanelColumn { width: 32; height: 1fr; overflow: hidden hidden; }"
    view: reactive[PanelsView] = reactive(PanelsView(), repaint=False)

    def __init__(self, token_styles: Mapping[str, Style], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        """Start with figures that are unknown.

        Args:
            token_styles: Rich styles of the origins, by name.
            id: For style sheets and queries.
        """
        super().__init__(id=id)
        self._panels = {
            name: Panel(token_styles, title=title, id=f"panel-{name}") for name, title in self.TITLES.items()
        }

    def compose(self) -> ComposeResult:
        """The panels, from the top."""
        yield from self._panels.values()

    def watch_view(self) -> None:
        """Draw what changed."""
        self._arrange()

    def on_resize(self) -> None:
        """Leave out what there is no room for."""
        self._arrange()

    def _arrange(self) -> None:
        drawn = arrange(self.view, self.size.height)
        for name, panel in self._panels.items():
            panel.lines = drawn.get(name, ())
            panel.display = bool(panel.lines)
