"""Keys that are no commands of the table, for the help: what the prompt, the transcript and the mouse answer to."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KeyHelp:
    """One key, or several for the same thing."""

    keys: str
    """As people write them."""
    what: str
    group: str
    """One of `specchat.ui.commands.command.GROUPS`."""


OTHER_KEYS = (
    KeyHelp("Enter", "send the prompt; while a reply runs, queue it", "Talking"),
    KeyHelp("Ctrl+J", "a new line; Alt+Enter and Shift+Enter too, where the terminal tells them apart", "Talking"),
    KeyHelp("↑ ↓", "earlier and later prompts, from the first and the last line", "Talking"),
    KeyHelp("PgUp PgDn, wheel", "scroll the transcript", "Reading"),
    KeyHelp("Ctrl+Home Ctrl+End", "to the beginning and the end of the transcript", "Reading"),
    KeyHelp("End", "at the end of the prompt: back to the end of the transcript, and follow it", "Reading"),
    KeyHelp("mouse drag", "select text; Ctrl+C copies it", "Copying"),
)
