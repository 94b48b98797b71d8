"""Screens that lie over the chat. They go once, whatever asks for it how often."""

from textual.await_complete import AwaitComplete
from textual.screen import ModalScreen


class ScreenOver(ModalScreen[None]):
    """Goes at the first Esc, Enter or click beside it; Textual's own would take the chat beneath away at a second."""

    def dismiss(self, result: None = None) -> AwaitComplete:
        """Go, unless that is done already.

        Args:
            result: Nothing.
        """
        return super().dismiss(result) if self.is_active else AwaitComplete()
