"""Commands about what is asked, and of whom."""

from typing import TYPE_CHECKING

from specchat.core.errors import SpecchatError
from specchat.ui.attachments import read_attachment
from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def escape(chat: "ChatScreen", _: str) -> None:
    """Close what is open, else drop the selection, else stop the reply."""
    chat.escape()


def system(chat: "ChatScreen", text: str) -> None:
    """Set the system prompt, or remove it."""
    chat.session.conversation.system = text
    chat.tell("System prompt set." if text else "System prompt removed.")


def regenerate(chat: "ChatScreen", _: str) -> None:
    """Ask the last prompt again; the reply that there is stays, marked as replaced."""
    chat.asker.regenerate()


def go_on(chat: "ChatScreen", _: str) -> None:
    """Let the last reply go on where it ended."""
    chat.asker.go_on()


def edit(chat: "ChatScreen", _: str) -> None:
    """Put an earlier prompt into the prompt, to be asked in another form in its place."""
    conversation = chat.session.conversation
    if not conversation.turns:
        raise SpecchatError("There is no prompt to change yet.", "Ask something first.")
    spot = chat.transcript.spot
    index = conversation.question_of(len(conversation.turns) - 1 if spot is None else spot.turn)
    chat.prompt.change(index, conversation.turns[index].prompt)


def attach(chat: "ChatScreen", path: str) -> None:
    """Put a text file into the prompt."""
    if not path:
        raise SpecchatError("/attach needs the path of a text file.", "For example: /attach ~/notes.txt")
    attachment = read_attachment(path)
    chat.prompt.attach(attachment)
    chat.tell(f"{attachment.name} goes with your next prompt. Delete its name to leave it out.")


COMMANDS = (
    Command(
        "escape", "close what is open, else drop a selection, else stop the reply; what came stays", "Talking", escape,
        keys="Esc", binding="escape", label="Stop", priority=True, slash=False,
    ),
    Command(
        "regenerate", "ask the last prompt again; the old reply stays, marked", "Talking", regenerate,
        keys="Ctrl+R", binding="ctrl+r",
    ),
    Command(
        "continue", "let the last reply go on where it ended", "Talking", go_on, keys="Ctrl+G", binding="ctrl+g"
    ),
    Command(
        "edit", "change the last prompt, or the one at the token cursor", "Talking", edit,
        keys="F8", binding="f8",
    ),
    Command("attach", "put a text file into the prompt", "Talking", attach, argument="PATH"),
    Command("system", "set the system prompt; alone: remove it", "Talking", system, argument="TEXT"),
)  # fmt: skip
