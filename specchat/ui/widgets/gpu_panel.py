"""The GPUs of this machine on a screen of its own; not there where nothing tells of any."""

from collections.abc import Mapping, Sequence

from rich.style import Style
from textual.reactive import reactive

from specchat.session.local_servers import GpuLine
from specchat.ui.panels.drawing import WIDTH, Line
from specchat.ui.panels.gpu_rows import gpu_rows, gpu_sum
from specchat.ui.panels.launch_lines import heading
from specchat.ui.widgets.lines import LinesWidget

_SHARE = 3
"""Rows of the screen for one of the panel's, before all GPUs share one row."""


class GpuPanel(LinesWidget):
    """As high as there are GPUs; all of them in one line where the screen is low."""

    DEFAULT_CSS = """
    GpuPanel {
        height: auto;
        padding: 0 1;
        display: none;
        &.-shown { display: block; }
    }
    """
    gpus: reactive[tuple[GpuLine, ...]] = reactive((), repaint=False)

    def __init__(self, token_styles: Mapping[str, Style], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        """Start hidden.

        Args:
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            id: For style sheets and queries.
        """
        super().__init__(token_styles, id=id)

    def show(self, gpus: Sequence[GpuLine] | None) -> None:
        """Show what they say; nothing where there are none."""
        self.gpus = tuple(gpus or ())

    def watch_gpus(self) -> None:
        """Draw them."""
        self.set_class(bool(self.gpus), "-shown")
        self._fill()

    def on_resize(self) -> None:
        """Draw them for the new width."""
        self._fill()

    def watch_lines(self, old: tuple[Line, ...], new: tuple[Line, ...]) -> None:
        """Only another number of lines makes the screen lay itself out again."""
        if len(old) != len(new):
            self.refresh(layout=True)

    def _fill(self) -> None:
        # Before it is shown it has no width; it must have lines to get one.
        width = self.content_size.width or WIDTH
        if not self.gpus:
            self.lines = ()
            return
        is_low = len(self.gpus) + 2 > max(3, self.screen.size.height // _SHARE)
        rows = (gpu_sum(self.gpus),) if is_low else gpu_rows(self.gpus, width)
        self.lines = (heading("GPUs", width), *rows)
