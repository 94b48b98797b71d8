"""Shows every key and command, from the tables that define them."""

from typing import ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Static

from specchat.ui.commands import HELP
from specchat.ui.keys import OTHER_KEYS, SCREEN_KEYS


class HelpScreen(ModalScreen[None]):
    """Every key and command; any of the closing keys leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss", "Close"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 84;
        max-width: 94%;
        height: auto;
        max-height: 90%;
        border: round $border;
        border-title-color: $primary;
        border-subtitle-color: $text-muted;
        background: $surface;
        padding: 1 2;
    }
    """

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll() as page:
            page.border_title = "Keys and commands"
            page.border_subtitle = "Esc closes"
            yield Static(_table(), markup=False)


def _table() -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for key in (*SCREEN_KEYS, *OTHER_KEYS):
        table.add_row(Text(key.keys, "bold"), Text(key.what))
    table.add_row("", "")
    for name, (argument, what) in HELP.items():
        table.add_row(Text(f"/{name} {argument}".rstrip(), "bold"), Text(what))
    return table
