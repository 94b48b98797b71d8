"""Keys that are no commands of the table, for the help: what the prompt, the transcript and the mouse answer to."""

from dataclasses import dataclass

from specchat.ui.token_keys import MOVES


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
    KeyHelp("Tab", "take what the list over the prompt offers; else to the token cursor", "Talking"),
    KeyHelp("Ctrl+O", "unfold a long paste or a file that stands in the prompt under its name", "Talking"),
    KeyHelp("Ctrl+_ Ctrl+Y", "undo and redo in the prompt", "Talking"),
    KeyHelp("PgUp PgDn, wheel", "scroll the transcript", "Reading"),
    KeyHelp("Ctrl+Home Ctrl+End", "to the beginning and the end of the transcript", "Reading"),
    KeyHelp("End", "at the end of the prompt: back to the end of the transcript, and follow it", "Reading"),
    KeyHelp("mouse drag", "select text; Ctrl+C copies it", "Copying"),
    KeyHelp("double click", "select a word; a third click selects the message", "Copying"),
    *(KeyHelp(key.keys, key.what, "With the token cursor") for key in MOVES),
    KeyHelp("Shift with a move", "select; Ctrl+A selects the message", "With the token cursor"),
    KeyHelp("m f c b e", "as F5, F6, F9, Ctrl+B and F8 do, for its message", "With the token cursor"),
    KeyHelp(
        "p v w", "rejected proposals, the steps view at its step, what the draft gets wrong", "With the token cursor"
    ),
    KeyHelp("click", "put it there", "With the token cursor"),
    KeyHelp(
        "f F",
        "only some of the steps: rejected at position 1, any rejection, all kept, nothing drafted",
        "In the steps view",
    ),
    KeyHelp("Enter", "to the step's token in the reply", "In the steps view"),
    KeyHelp("Enter", "connect to the server, or go to the start of the profile; there: start", "On the servers screen"),
    KeyHelp("u", "type the address of another server", "On the servers screen"),
    KeyHelp("l", "the log: / finds, n N go on, w wraps, End follows", "On the servers screen"),
    KeyHelp("s", "stop a server that specchat started", "On the servers screen"),
    KeyHelp("r", "look again", "On the servers screen"),
    KeyHelp("Tab", "before a start: port, engine and further options", "On the servers screen"),
    KeyHelp("y", "copy the command of a start, or why it failed", "On the servers screen"),
    KeyHelp("b", "leave a start to itself; it goes on, and the list shows it", "On the servers screen"),
)
