"""Every name and every key of the table of commands occurs in a test that drives the chat."""

from pathlib import Path

import pytest

from specchat.ui.commands.table import COMMANDS

_TESTS = "\n".join(path.read_text(encoding="utf-8") for path in (Path(__file__).parents[1] / "ui").glob("test_*.py"))
_NAMES = [command.name for command in COMMANDS if command.slash]
_KEYS = [key for command in COMMANDS for key in command.binding.split(",") if key]


@pytest.mark.parametrize("name", _NAMES)
def test_every_command_is_typed_in_a_test(name: str) -> None:
    assert any(f'"/{name}{end}' in _TESTS for end in '" ')


@pytest.mark.parametrize("key", _KEYS)
def test_every_key_is_pressed_in_a_test(key: str) -> None:
    assert f'"{key}"' in _TESTS
