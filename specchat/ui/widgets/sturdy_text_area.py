"""Textual's text area where it would end the program: taking changes back, and a terminal without room for it."""

from collections.abc import Callable

from textual.strip import Strip
from textual.widgets import TextArea
from textual.widgets.text_area import Selection


class SturdyTextArea(TextArea):
    """A text area that survives what users do. What its keys mean is the subclass's."""

    def undo(self) -> None:
        """Take the last change back."""
        self._from_the_first_line(super().undo)

    def redo(self) -> None:
        """Do again what was taken back last."""
        self._from_the_first_line(super().redo)

    def _from_the_first_line(self, change: Callable[[], None]) -> None:
        # Textual 8.2 looks for the cursor before it moves it, and fails if its line has gone with the scroll bar.
        selection, before = self.selection, self.text
        self.selection = Selection.cursor((0, 0))
        change()
        if self.text == before:
            self.selection = selection

    def render_line(self, y: int) -> Strip:
        """A row; nothing where there is no room, for which Textual cannot wrap the placeholder."""
        return super().render_line(y) if self.content_size.width else Strip.blank(self.size.width)
