"""Commands about what the screen shows and how."""

from typing import TYPE_CHECKING

from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def panels(chat: "ChatScreen", _: str) -> None:
    """Hide the panels, or show them again."""
    chat.toggle_panels()


def theme(chat: "ChatScreen", _: str) -> None:
    """Change between dark and light."""
    chat.run_app_action("toggle_theme")


def follow(chat: "ChatScreen", _: str) -> None:
    """Go to the end of the transcript and follow it."""
    chat.transcript.follow()


COMMANDS = (
    Command("panels", "hide the figures, or show them again", "Reading", panels, keys="F4", binding="f4"),
    Command("theme", "the dark or the light theme", "Reading", theme, keys="F3", binding="f3", label="Theme"),
    Command("end", "to the end of the transcript, and follow it", "Reading", follow),
)
