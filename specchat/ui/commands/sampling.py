"""Commands that set what the next prompts ask of the sampler."""

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from specchat.core.errors import SpecchatError
from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def longest(chat: "ChatScreen", text: str) -> None:
    """Set how long replies may be."""
    number = _number("max", text, 1, math.inf, whole=True)
    limit = None if number is None else int(number)
    chat.session.sampling = replace(chat.session.sampling, max_tokens=limit)
    chat.tell("The server decides how long replies are." if limit is None else f"At most {limit} tokens a reply.")


def temperature(chat: "ChatScreen", text: str) -> None:
    """Set the sampling temperature."""
    number = _number("temp", text, 0, 2)
    chat.session.sampling = replace(chat.session.sampling, temperature=number)
    chat.tell("The server decides the temperature." if number is None else f"Temperature {number:g}.")


def _number(name: str, text: str, low: float, high: float, *, whole: bool = False) -> float | None:
    """The number in an argument; None where there is none, which gives the choice back to the server.

    Raises:
        SpecchatError: If it is no number, or none of those that make sense.
    """
    if not text:
        return None
    try:
        number = int(text) if whole else float(text)
    except ValueError:
        number = math.nan
    if not (low <= number <= high and math.isfinite(number)):
        wanted = f"a whole number from {low:g}" if whole else f"a number from {low:g} to {high:g}"
        raise SpecchatError(f"/{name} needs {wanted}.", f"For example: /{name} {256 if whole else 0.7}")
    return number


COMMANDS = (
    Command(
        "max", "answer in at most N tokens; without N the server decides", "The next prompts", longest, argument="N"
    ),
    Command(
        "temp", "sampling temperature, 0 to 2; without X the server decides", "The next prompts", temperature,
        argument="X",
    ),
)  # fmt: skip
