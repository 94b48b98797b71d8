"""The table of all commands, and how a prompt names one."""

import re
from difflib import get_close_matches

from specchat.core.errors import SpecchatError
from specchat.ui.commands import (
    comparing,
    copying,
    finding,
    sampling,
    servers,
    session,
    speculation,
    talking,
    tokens,
    viewing,
)
from specchat.ui.commands.command import Command

COMMANDS: tuple[Command, ...] = (
    *talking.COMMANDS,
    *speculation.COMMANDS,
    *comparing.COMMANDS,
    *viewing.COMMANDS,
    *finding.COMMANDS,
    *tokens.COMMANDS,
    *copying.COMMANDS,
    *sampling.COMMANDS,
    *servers.COMMANDS,
    *session.COMMANDS,
)
_BY_NAME = {command.name: command for command in COMMANDS}
_TYPED = [command.name for command in COMMANDS if command.slash]
_WORD = re.compile(r"/([A-Za-z][A-Za-z-]*)(?:\s+|$)")


FOOT = ("help", "escape", "switch", "tokens", "find", "markdown", "palette", "export", "theme", "quit")
"""What stands at the foot of the screen, in this order; the last give way where there is too little room."""


def bound() -> list[Command]:
    """Commands that have a key: those at the foot of the screen first, in their order."""
    at_foot = [_BY_NAME[name] for name in FOOT]
    return at_foot + [command for command in COMMANDS if command.binding and command not in at_foot]


def named(name: str) -> Command:
    """The command of a name."""
    return _BY_NAME[name]


def parse(prompt: str) -> tuple[Command, str] | None:
    """The command in a prompt and what stands behind its name; None where it is a question.

    `//` begins a question with a slash.

    Raises:
        SpecchatError: If it looks like a command and is none, or has an argument where none may stand.
    """
    match = _WORD.match(prompt)
    if match is None:
        return None
    name, argument = match[1].lower(), prompt[match.end() :].strip()
    if name not in _TYPED:
        near = get_close_matches(name, _TYPED, 1)
        meant = f"Did you mean /{near[0]}?" if near else "Type / alone to see all."
        raise SpecchatError(f"There is no command /{name}.", f"{meant} Begin with // to ask it as a question.")
    command = _BY_NAME[name]
    if argument and not command.argument:
        raise SpecchatError(f"/{name} takes nothing behind it.", "Begin with // to ask it as a question.")
    return command, argument


def question(prompt: str) -> str:
    """What is asked by a prompt that is no command."""
    return prompt[1:] if prompt.startswith("//") else prompt
