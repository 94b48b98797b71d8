"""The keys of the token cursor: the transcript's bindings, the help and the inspector's last line come from here."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TokenKey:
    """One move of the token cursor, or a pair of opposite ones."""

    keys: str
    """As people write them."""
    what: str
    """For the help."""
    short: str
    """For the inspector's last line; "" for none."""
    moves: tuple[tuple[str, str], ...]
    """(binding as Textual writes it, name of the move); see `TokenMode.move`."""
    extends: bool = False
    """With Shift, does it select from where the cursor was?"""


MOVES = (
    TokenKey("← →", "the token before, the next token", "token", (("left", "previous-token"), ("right", "next-token")),
             extends=True),
    TokenKey("↑ ↓", "the row above, the row below", "", (("up", "row-up"), ("down", "row-down")), extends=True),
    TokenKey("s S", "the next step, the step before", "step", (("s", "next-step"), ("S", "previous-step"))),
    TokenKey("r R", "the next place where the target rejected a proposal, the one before", "rejection",
             (("r", "next-rejection"), ("R", "previous-rejection"))),
    TokenKey("n N", "the next reply, the reply before", "reply", (("n", "next-reply"), ("N", "previous-reply"))),
    TokenKey("PgUp PgDn", "a page up, a page down", "", (("pageup", "page-up"), ("pagedown", "page-down")),
             extends=True),
    TokenKey("Home End", "the first and the last token of the reply", "",
             (("home", "first-token"), ("end", "last-token")), extends=True),
    TokenKey("Ctrl+Home Ctrl+End", "the first and the last token of all", "",
             (("ctrl+home", "beginning"), ("ctrl+end", "end"))),
)  # fmt: skip
COMMAND_LETTERS = {
    "m": "markdown", "f": "fold", "c": "copy", "b": "copy-code", "e": "edit", "p": "proposals", "v": "steps",
    "w": "errors",
}  # fmt: skip
"""Letters that run a command of the table."""
SELECT_ALL = "ctrl+a"
