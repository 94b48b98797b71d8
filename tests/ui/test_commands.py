"""Slash commands: what they mean, and sentences for what they don't."""

import pytest

from specchat.core.errors import SpecchatError
from specchat.ui.commands.command import GROUPS
from specchat.ui.commands.table import COMMANDS, parse, question


@pytest.mark.parametrize(
    ("prompt", "name", "argument"),
    [
        ("/export", "export", ""),
        ("/EXPORT ", "export", ""),
        ("/system Be brief\nand kind", "system", "Be brief\nand kind"),
        ("/system", "system", ""),
        ("/max 64", "max", "64"),
        ("/temp 0.7", "temp", "0.7"),
    ],
)
def test_commands(prompt: str, name: str, argument: str) -> None:
    parsed = parse(prompt)
    assert parsed is not None
    assert (parsed[0].name, parsed[1]) == (name, argument)


@pytest.mark.parametrize("prompt", ["Hello", "/usr/bin is what?", "//export", "/", "/ export", " /export", "/2 = ?"])
def test_questions_are_no_commands(prompt: str) -> None:
    assert parse(prompt) is None


def test_a_doubled_slash_is_asked_as_one() -> None:
    assert question("//clear?") == "/clear?"
    assert question("/usr/bin") == "/usr/bin"


@pytest.mark.parametrize(
    ("prompt", "words"),
    [
        ("/exprot", "Did you mean /export?"),
        ("/xyzzy", "Type / alone"),
        ("/clear all of it", "takes nothing"),
        ("/interrupt", "There is no command"),
    ],
)
def test_what_makes_no_sense_is_explained(prompt: str, words: str) -> None:
    with pytest.raises(SpecchatError, match=words.replace("?", r"\?")):
        parse(prompt)


def test_no_two_commands_share_a_name_or_a_key() -> None:
    names = [command.name for command in COMMANDS]
    keys = [key for command in COMMANDS for key in command.binding.split(",") if key]

    assert len(names) == len(set(names))
    assert len(keys) == len(set(keys))


def test_every_command_can_be_reached_and_is_explained() -> None:
    for command in COMMANDS:
        assert command.slash or command.binding, command.name
        assert command.what, command.name
        assert command.group in GROUPS, command.name
