"""Shows every key and command, from the tables that define them."""

from collections.abc import Sequence
from typing import ClassVar

from rich.console import RenderableType
from rich.table import Table
from rich.text import Text
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.widgets import Static

from specchat.ui.commands.command import GROUPS, Command
from specchat.ui.keys import OTHER_KEYS
from specchat.ui.screens.over import ScreenOver


class HelpScreen(ScreenOver):
    """Every key and command; any of the closing keys leaves it."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,f1,q,enter", "dismiss", "Close"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]
    DEFAULT_CSS = """
    HelpScreen { align: center middle; }
    HelpScreen > VerticalScroll {
        width: 100;
        max-width: 96%;
        height: auto;
        max-height: 90%;
        border: round $border;
        border-title-color: $primary;
        border-subtitle-color: $text-muted;
        background: $surface;
        padding: 1 2;
    }
    """

    def __init__(self, commands: Sequence[Command]) -> None:
        """Show some commands.

        Args:
            commands: Those of the screen below.
        """
        super().__init__()
        self._commands = commands

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll() as page:
            page.border_title = "Keys and commands"
            page.border_subtitle = "Esc closes"
            yield Static(_table(self._commands), markup=False)


def _table(commands: Sequence[Command]) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_column(no_wrap=True)
    table.add_column(ratio=1)
    for number, group in enumerate(GROUPS):
        if number:
            table.add_row("", "")
        table.add_row(Text.assemble((group, "bold underline")), "")
        for key in OTHER_KEYS:
            if key.group == group:
                table.add_row(Text(key.keys, "bold"), Text(key.what))
        for command in commands:
            if command.group == group:
                table.add_row(Text(how_to(command), "bold"), Text(command.what))
    return table


def how_to(command: Command) -> str:
    """The key of a command and what can be typed for it."""
    typed = f"/{command.name} {command.argument}".rstrip() if command.slash else ""
    return "  ".join(filter(None, (command.keys, typed)))
