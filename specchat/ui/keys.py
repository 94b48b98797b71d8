"""Every key of the chat screen, in one table: the bindings, the foot of the screen and the help all come from it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyHelp:
    """One key, or several for the same thing."""

    keys: str
    """As people write them."""
    what: str


@dataclass(frozen=True, slots=True)
class ScreenKey(KeyHelp):
    """A key that the chat screen itself answers to."""

    binding: str = ""
    """As Textual writes them."""
    action: str = ""
    label: str = ""
    """At the foot of the screen; "" for none."""
    priority: bool = False
    """Asked before whatever has the focus."""


SCREEN_KEYS = (
    ScreenKey("F1", "this help", "f1", "help", "Help"),
    ScreenKey("Esc", "drop a selection, else stop the reply; what came stays", "escape", "stop", "Stop", priority=True),
    ScreenKey("Ctrl+Q", "quit", "ctrl+q", "quit", "Quit", priority=True),
    ScreenKey("F2, Ctrl+T", "speculation on or off, for the next prompt", "f2,ctrl+t", "switch", "On/off"),
    ScreenKey("Ctrl+S", "export the conversation as JSON and CSV", "ctrl+s", "export", "Export"),
    ScreenKey("F3", "the dark or the light theme", "f3", "app.toggle_theme", "Theme"),
    ScreenKey("Ctrl+L", "clear: start the conversation anew", "ctrl+l", "clear", "Clear"),
    ScreenKey("Ctrl+C", "copy a selection, else stop the reply; twice: quit", "ctrl+c", "interrupt", priority=True),
)
OTHER_KEYS = (
    KeyHelp("Enter", "send the prompt"),
    KeyHelp("Ctrl+J", "a new line; Alt+Enter and Shift+Enter too, where the terminal tells them apart"),
    KeyHelp("↑ ↓", "earlier and later prompts, from the first and the last line"),
    KeyHelp("PgUp PgDn, wheel", "scroll the transcript"),
    KeyHelp("Ctrl+Home Ctrl+End", "to the beginning and the end of the transcript"),
    KeyHelp("End", "at the end of the prompt: back to the end of the transcript, and follow it"),
    KeyHelp("mouse drag", "select text; Ctrl+C copies it"),
)
