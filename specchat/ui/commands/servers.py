"""The command that goes to the servers of this machine."""

from typing import TYPE_CHECKING

from specchat.core.errors import SpecchatError
from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def servers(chat: "ChatScreen", _: str) -> None:
    """Show the servers.

    Raises:
        SpecchatError: If this chat knows of none.
    """
    if chat.app.chooser is None:
        raise SpecchatError("This chat knows no other servers.", "Leave it, and run specchat again.")
    if chat.is_active:  # the key may have been pressed twice before this
        chat.app.clear_notifications()
        chat.app.chooser.open()


COMMANDS = (
    Command(
        "servers", "other servers: connect, start one, stop one, see its log", "Program", servers,
        keys="F10", binding="f10",
    ),
)  # fmt: skip
