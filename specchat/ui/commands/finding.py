"""The command that finds text in the transcript."""

from typing import TYPE_CHECKING

from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def find(chat: "ChatScreen", text: str) -> None:
    """Look for a text, or for the one of last time."""
    chat.find_bar.open(text)


COMMANDS = (
    Command(
        "find", "find text in the conversation; a capital makes case count", "Reading", find,
        argument="TEXT", keys="Ctrl+F", binding="ctrl+f", label="Find", priority=True,
    ),
)  # fmt: skip
