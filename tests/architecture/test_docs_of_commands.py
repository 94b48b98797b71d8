"""The guide lists every key and command as the program does."""

from pathlib import Path

from specchat.ui.commands.table import COMMANDS
from specchat.ui.keys import OTHER_KEYS

_PAGE = (Path(__file__).parents[2] / "docs/guide/chat.md").read_text(encoding="utf-8")


def test_the_guide_lists_every_command() -> None:
    for command in COMMANDS:
        row = next((row for row in _PAGE.splitlines() if row.endswith(f"| {command.what} |")), "")
        assert command.keys in row, command.name
        assert not command.slash or f"`/{command.name}" in row, command.name


def test_the_guide_lists_every_other_key() -> None:
    for key in OTHER_KEYS:
        assert f"| {key.keys} | {key.what} |" in _PAGE
