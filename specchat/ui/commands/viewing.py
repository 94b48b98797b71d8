"""Commands about what the screen shows and how."""

from typing import TYPE_CHECKING

from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def markdown(chat: "ChatScreen", _: str) -> None:
    """Show answers as Markdown, or token by token again."""
    wanted = not chat.transcript.document.view_of(None).markdown
    chat.transcript.set_view(None, markdown=wanted)
    if not wanted:
        chat.tell("Answers token by token.")
    elif chat.asker.running:
        chat.tell("Answers as Markdown; this one when it is complete. F5 shows tokens again.")
    else:
        chat.tell("Answers as Markdown. F5 shows tokens again.")


def fold(chat: "ChatScreen", _: str) -> None:
    """Show only a heading of the thinking, or all of it."""
    wanted = not chat.transcript.document.view_of(None).folded
    chat.transcript.set_view(None, folded=wanted)
    chat.tell("Thinking is folded. F6 opens it." if wanted else "Thinking is open.")


def panels(chat: "ChatScreen", _: str) -> None:
    """Hide the panels, or show them again."""
    chat.dashboard.toggle_panels()


def theme(chat: "ChatScreen", name: str) -> None:
    """Change between dark and light, or to a theme by its name."""
    if name:
        chat.app.use_theme(name)
    else:
        chat.app.action_toggle_theme()


def follow(chat: "ChatScreen", _: str) -> None:
    """Go to the end of the transcript and follow it."""
    chat.transcript.follow()


COMMANDS = (
    Command(
        "markdown", "answers as Markdown, or token by token again", "Reading", markdown,
        keys="F5", binding="f5", label="Markdown", priority=True,
    ),
    Command(
        "fold", "only a heading of the thinking, or all of it", "Reading", fold,
        keys="F6", binding="f6", priority=True,
    ),
    Command("panels", "hide the figures, or show them again", "Reading", panels, keys="F4", binding="f4"),
    Command(
        "theme", "the dark or the light theme, or one by its name", "Reading", theme,
        argument="NAME", keys="F3", binding="f3", label="Theme",
    ),
    Command("end", "to the end of the transcript, and follow it", "Reading", follow),
)  # fmt: skip
