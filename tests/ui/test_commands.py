"""Slash commands: what they mean, and sentences for what they don't."""

import pytest

from specchat.core.errors import SpecchatError
from specchat.ui.commands import Command, parse, question


@pytest.mark.parametrize(
    ("prompt", "command"),
    [
        ("/export", Command("export")),
        ("/EXPORT ", Command("export")),
        ("/system Be brief\nand kind", Command("system", "Be brief\nand kind")),
        ("/system", Command("system")),
        ("/max 64", Command("max", "64", 64)),
        ("/max", Command("max")),
        ("/temp 0.7", Command("temp", "0.7", 0.7)),
        ("/temp 0", Command("temp", "0", 0.0)),
    ],
)
def test_commands(prompt: str, command: Command) -> None:
    assert parse(prompt) == command


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
        ("/xyzzy", "There are /export"),
        ("/clear all of it", "takes nothing"),
        ("/max many", "whole number"),
        ("/max 0", "whole number"),
        ("/max 1.5", "whole number"),
        ("/temp hot", "from 0 to 2"),
        ("/temp 3", "from 0 to 2"),
        ("/temp nan", "from 0 to 2"),
    ],
)
def test_what_makes_no_sense_is_explained(prompt: str, words: str) -> None:
    with pytest.raises(SpecchatError, match=words.replace("?", r"\?")):
        parse(prompt)
