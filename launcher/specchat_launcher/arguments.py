"""Arguments as profiles have them, a name and a value, and as a command line has them.

Owns how a value is written. Pure.
"""

import json
from collections.abc import Iterable, Mapping
from typing import TypeAlias

Argument: TypeAlias = str | int | float | bool | dict[str, object] | list[object]
"""The value of an argument: True for a flag that takes none, False for one that is left out."""


def rendered(arguments: Iterable[tuple[str, Argument]]) -> tuple[str, ...]:
    """Arguments as a command line has them, in their order."""
    return tuple(token for name, value in arguments for token in _tokens(f"--{name}", value))


def compact_json(value: Mapping[str, object] | list[object]) -> str:
    """JSON without blanks, as model cards write it on a command line."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _tokens(flag: str, value: Argument) -> list[str]:
    if isinstance(value, bool):
        return [flag] if value else []
    if isinstance(value, dict):
        return [flag, compact_json(value)]
    if isinstance(value, list):
        if any(isinstance(item, dict | list) for item in value):
            return [flag, compact_json(value)]
        return [flag, *(str(item) for item in value)]
    text = str(value)
    # A parser would take a value with a dash in front for another flag.
    return [f"{flag}={text}"] if text.startswith("-") else [flag, text]
