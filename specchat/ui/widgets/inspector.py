"""The strip below the transcript that says everything about the token under the cursor."""

from collections.abc import Mapping

from rich.style import Style

from specchat.core.reply import Reply
from specchat.ui.panels.inspection import FEWEST, MOST, inspect
from specchat.ui.widgets.lines import LinesWidget

_SHARE = 4
"""One line for so many rows of the screen, and one fewer."""
_BORDER = 1


class Inspector(LinesWidget):
    """Shown while the token cursor is; as high for every token, so that the transcript stands still."""

    DEFAULT_CSS = """
    Inspector {
        height: auto;
        border-top: solid $border-blurred;
        border-title-color: $text-muted;
        display: none;
        &.-shown { display: block; }
    }
    """

    def __init__(self, token_styles: Mapping[str, Style], *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(token_styles, id=id)
        self._shown: tuple[Reply, int] | None = None

    def show(self, reply: Reply, token: int) -> None:
        """Say what is known of a token, by its index in the reply's tokens."""
        self._shown = reply, token
        self._stand()
        self.add_class("-shown")
        self._inspect()

    def hide(self) -> None:
        """There is no token cursor."""
        self._shown = None
        self.remove_class("-shown")

    def on_resize(self) -> None:
        """Use the new width and height of the screen."""
        if self._shown is not None:
            self._stand()
        self._inspect()

    def _inspect(self) -> None:
        if self._shown is None or not self.size.width:
            return
        reply, token = self._shown
        if token >= len(reply.tokens):
            return
        found = inspect(reply, token, self.size.width, self._rows)
        self.border_title = f" {found.title} "
        self.lines = found.lines

    @property
    def _rows(self) -> int:
        return max(FEWEST, min(MOST, self.screen.size.height // _SHARE - 1))

    def _stand(self) -> None:
        # Told and not measured: what there is to show is known only once there is a width to show it in.
        self.styles.height = self._rows + _BORDER
