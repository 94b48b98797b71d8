"""What a prompt that begins with a slash asks for, and the commands that only set something in the session."""

import math
import re
from dataclasses import dataclass, replace
from difflib import get_close_matches

from specchat.core.errors import SpecchatError
from specchat.session.chat import ChatSession

_WORD = re.compile(r"/([A-Za-z]+)(?:\s+|$)")


@dataclass(frozen=True, slots=True)
class Command:
    """Something to do instead of a question to ask."""

    name: str
    text: str = ""
    """What stands behind the name."""
    number: float | None = None
    """For commands that take a number; None gives the choice back to the server."""


HELP = {
    "export": ("", "write the conversation as JSON and CSV"),
    "clear": ("", "start anew; the system prompt stays"),
    "system": ("TEXT", "set the system prompt, or remove it"),
    "max": ("N", "answer in at most N tokens; without N the server decides"),
    "temp": ("X", "sampling temperature, 0 to 2; without X the server decides"),
    "help": ("", "show every key and command"),
    "quit": ("", "leave"),
}
"""Name → (argument, what it does)."""
SETTINGS = frozenset({"system", "max", "temp"})
"""Commands that `set_in` obeys."""
_NUMBERS = {"max": (1, math.inf), "temp": (0, 2)}


def parse(prompt: str) -> Command | None:
    """The command in a prompt, or None where it is a question. `//` begins a question with a slash.

    Raises:
        SpecchatError: If it looks like a command and is none, or its argument makes no sense.
    """
    match = _WORD.match(prompt)
    if match is None:
        return None
    name, text = match[1].lower(), prompt[match.end() :].strip()
    if name not in HELP:
        near = get_close_matches(name, HELP, 1)
        meant = f"Did you mean /{near[0]}?" if near else f"There are {', '.join('/' + known for known in HELP)}."
        raise SpecchatError(f"There is no command /{name}.", f"{meant} Begin with // to ask it as a question.")
    if name in _NUMBERS:
        return Command(name, text, _number(name, text))
    if text and not HELP[name][0]:
        raise SpecchatError(f"/{name} takes nothing behind it.", "Begin with // to ask it as a question.")
    return Command(name, text)


def question(prompt: str) -> str:
    """What is asked by a prompt that is no command."""
    return prompt[1:] if prompt.startswith("//") else prompt


def set_in(session: ChatSession, command: Command) -> str:
    """Obey a command that sets something for the prompts to come; returns a sentence that says what now holds."""
    number = command.number
    if command.name == "system":
        session.conversation.system = command.text
        return "System prompt set." if command.text else "System prompt removed."
    if command.name == "max":
        limit = None if number is None else int(number)
        session.sampling = replace(session.sampling, max_tokens=limit)
        return "The server decides how long replies are." if limit is None else f"At most {limit} tokens a reply."
    session.sampling = replace(session.sampling, temperature=number)
    return "The server decides the temperature." if number is None else f"Temperature {number:g}."


def _number(name: str, text: str) -> float | None:
    if not text:
        return None
    low, high = _NUMBERS[name]
    try:
        number = int(text) if name == "max" else float(text)
    except ValueError:
        number = math.nan
    if not (low <= number <= high and math.isfinite(number)):
        wanted = "a whole number from 1" if name == "max" else "a number from 0 to 2"
        raise SpecchatError(f"/{name} needs {wanted}.", f"For example: /{name} {256 if name == 'max' else 0.7}")
    return number
