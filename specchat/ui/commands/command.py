"""One entry of the table of commands. Knows no command and no widget."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen

GROUPS = (
    "Talking",
    "Speculation",
    "Reading",
    "Tokens",
    "With the token cursor",
    "In the steps view",
    "On the servers screen",
    "Copying",
    "The next prompts",
    "Program",
)
"""Under which heads commands and keys are listed, in this order."""


@dataclass(frozen=True, slots=True)
class Command:
    """Something that a user can have done, by its name after a slash, by a key, or from the palette."""

    name: str
    """What stands behind the slash."""
    what: str
    """What it does, in a phrase without a capital or a full stop."""
    group: str
    """One of GROUPS."""
    run: Callable[["ChatScreen", str], None]
    """Does it; gets what stands behind the name. Raises SpecchatError with a sentence where that makes no sense."""
    argument: str = ""
    """What may stand behind the name, for the help; "" where nothing may."""
    keys: str = ""
    """As people write them."""
    binding: str = ""
    """As Textual writes them."""
    label: str = ""
    """At the foot of the screen; "" for none."""
    priority: bool = False
    """Does its key come before whatever has the focus?"""
    slash: bool = True
    """Can it be typed? False for what makes sense as a key alone."""
