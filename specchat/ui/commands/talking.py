"""Commands about what is asked, and of whom."""

from typing import TYPE_CHECKING

from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def stop(chat: "ChatScreen", _: str) -> None:
    """Close what is open, else drop the selection, else stop the reply."""
    chat.escape()


def system(chat: "ChatScreen", text: str) -> None:
    """Set the system prompt, or remove it."""
    chat.session.conversation.system = text
    chat.tell("System prompt set." if text else "System prompt removed.")


COMMANDS = (
    Command(
        "stop", "drop a selection, else stop the reply; what came stays", "Talking", stop,
        keys="Esc", binding="escape", label="Stop", priority=True, slash=False,
    ),
    Command("system", "set the system prompt, or remove it", "Talking", system, argument="TEXT"),
)  # fmt: skip
