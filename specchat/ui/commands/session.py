"""Commands about the session as a whole and the program."""

from typing import TYPE_CHECKING

from specchat.ui.commands.command import Command
from specchat.ui.screens.help import HelpScreen

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def show_help(chat: "ChatScreen", _: str) -> None:
    """Show every key and command."""
    from specchat.ui.commands.table import COMMANDS as ALL

    chat.show_over(HelpScreen(ALL))


def palette(chat: "ChatScreen", _: str) -> None:
    """Find a command by its words."""
    # The palette lists the table that this module is a part of.
    from specchat.ui.palette import open_palette

    chat.show_over(open_palette())


def export(chat: "ChatScreen", _: str) -> None:
    """Write the conversation to files."""
    # Only who exports pays for the import.
    from specchat.exports import write_session

    json_path, csv_path = write_session(chat.session.conversation, chat.export_directory)
    chat.tell(f"Exported to {json_path} and {csv_path}")


def clear(chat: "ChatScreen", _: str) -> None:
    """Start the conversation anew."""
    chat.asker.refuse_while_running()
    chat.session.clear()
    chat.show_anew()


def leave(chat: "ChatScreen", _: str) -> None:
    """Leave."""
    chat.leave()


def suspend(chat: "ChatScreen", _: str) -> None:
    """Give the terminal back to the shell until it says `fg`."""
    chat.app.action_suspend_process()


def interrupt(chat: "ChatScreen", _: str) -> None:
    """Copy a selection, else stop the reply; the second time in a row: leave."""
    chat.interrupt()


COMMANDS = (
    Command("help", "this help", "Program", show_help, keys="F1", binding="f1", label="Help"),
    Command(
        "palette", "find a command by its words", "Program", palette,
        keys="Ctrl+P", binding="ctrl+p", label="Commands", priority=True, slash=False,
    ),
    Command(
        "export", "export the conversation as JSON and CSV", "Program", export,
        keys="Ctrl+S", binding="ctrl+s", label="Export",
    ),
    Command(
        "clear", "start the conversation anew; the system prompt stays", "Talking", clear,
        keys="Ctrl+L", binding="ctrl+l",
    ),
    Command(
        "suspend", "back to the shell; its fg brings the chat back", "Program", suspend,
        keys="Ctrl+Z", binding="ctrl+z", priority=True, slash=False,
    ),
    Command("quit", "leave", "Program", leave, keys="Ctrl+Q", binding="ctrl+q", label="Quit", priority=True),
    Command(
        "interrupt", "copy a selection, else stop the reply; twice: quit", "Program", interrupt,
        keys="Ctrl+C", binding="ctrl+c", priority=True, slash=False,
    ),
)  # fmt: skip
