"""Small questions over a screen: yes or no, and one of several names. Each is answered once."""

from collections.abc import Sequence
from typing import ClassVar

from rich.text import Text
from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.screen import ModalScreen
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from specchat.core.harmless import one_line

_CSS = """
    & > Vertical {
        width: 64;
        max-width: 100%;
        height: auto;
        max-height: 90%;
        border: round $border;
        border-title-color: $primary;
        border-subtitle-color: $text-muted;
        background: $background;
        padding: 1 2;
    }
"""


class AskScreen(ModalScreen[bool]):
    """Asks whether something is to be done: Enter does it, Esc does not."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter,y", "answer(True)", "Yes"),
        Binding("escape,n,q", "answer(False)", "No"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]
    DEFAULT_CSS = f"AskScreen {{ align: center middle; {_CSS} }}"

    def __init__(self, question: str, *, title: str, verb: str) -> None:
        """Ask.

        Args:
            question: A sentence or two.
            title: Of the box.
            verb: What Enter does.
        """
        super().__init__()
        self._question, self._title, self._verb = question, title, verb

    def compose(self) -> ComposeResult:
        """A box with the question."""
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = f"Enter: {self._verb} · Esc: not"
            yield Static(Text(self._question), markup=False)

    def action_answer(self, answer: bool) -> None:
        """Take the first answer."""
        if self.is_active:
            self.dismiss(answer)


class PickScreen(ModalScreen[str | None]):
    """Lets one of several names be picked; None when it is left without."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q", "leave", "Back"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]
    DEFAULT_CSS = f"""
    PickScreen {{ align: center middle; {_CSS}
        & OptionList {{ height: auto; max-height: 16; background: $background; border: none; }}
    }}
    """

    def __init__(self, names: Sequence[str], *, title: str) -> None:
        """Offer names.

        Args:
            names: At least one.
            title: Of the box.
        """
        super().__init__()
        self._names, self._title = tuple(names), title

    def compose(self) -> ComposeResult:
        """A box with the names."""
        with Vertical() as box:
            box.border_title = self._title
            box.border_subtitle = "Enter: this one · Esc: none"
            yield OptionList(*(Option(Text(one_line(name, 56))) for name in self._names))

    @on(OptionList.OptionSelected)
    def _pick(self, event: OptionList.OptionSelected) -> None:
        if self.is_active:
            self.dismiss(self._names[event.option_index])

    def action_leave(self) -> None:
        """Pick none."""
        if self.is_active:
            self.dismiss(None)
