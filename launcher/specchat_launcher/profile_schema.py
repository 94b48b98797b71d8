"""What may stand in a profile: its keys, their types, and the words that say what is wrong with one.

Owns the list of keys. Reads no files, and knows nothing of inheritance.
"""

import difflib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from specchat_launcher.errors import ProfileError
from specchat_launcher.spec import KEY_VARIABLE, RunsIn, ServerKind

ARGUMENT_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OWN_KEYS = {
    "model": "model",
    "model-path": "model",
    "served-model-name": "served_name",
    "host": "host",
    "port": "port",
    "speculative-config": "speculation",
}
"""Arguments that a profile says with a key of its own, and that key."""
PHASES = {
    "starting": "starting",
    "downloading": "downloading",
    "jit": "compiling kernels",
    "loading": "loading weights",
    "draft": "loading the draft",
    "compiling": "compiling",
    "memory": "reserving memory",
    "capturing": "capturing graphs",
    "opening": "opening the API",
}
"""Short names of the phases of a start, and what the phases are called."""

Check = Callable[[Any], str]
"""Takes a value, and returns what it must be; empty when it is that."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        check: What its value must be.
        removable: Whether `false` takes away what the profile inherits.
    """

    check: Check
    removable: bool = True


def _kind(words: str, *kinds: type) -> Check:
    # In Python a bool is an int, and in TOML it is not.
    return lambda value: "" if isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool)) else words


def _list_of(words: str, *kinds: type, least: int = 0) -> Check:
    def check(value: Any) -> str:  # noqa: ANN401 - TOML brings values of any type
        fits = isinstance(value, list) and len(value) >= least
        return "" if fits and all(isinstance(item, kinds) and not isinstance(item, bool) for item in value) else words

    return check


def _one_of(choices: Iterable[str]) -> Check:
    names = tuple(choices)
    return lambda value: "" if value in names else f"one of {', '.join(names)}"


def _number_from(least: int, most: float, words: str) -> Check:
    return lambda value: (
        "" if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most else words
    )


def _band(value: Any) -> str:  # noqa: ANN401 - TOML brings values of any type
    words = "two numbers, the lower one first"
    if _list_of(words, int, float)(value) or len(value) != 2 or value[0] > value[1]:
        return words
    return ""


TEXT = _kind("a text", str)
FLAG = _kind("true or false", bool)
NUMBER = _kind("a number", int, float)
COUNT = _number_from(1, 10_000, "a whole number from 1")
TEXTS = _list_of("a list of texts", str)
PORT = _number_from(1, 65_535, "a port from 1 to 65535")

TABLES: dict[str, dict[str, Key]] = {
    "speculation": {
        "method": Key(TEXT, removable=False),
        "draft": Key(TEXT, removable=False),
        "tokens": Key(COUNT, removable=False),
        "attention_backend": Key(TEXT),
    },
    "gpus": {
        "count": Key(COUNT, removable=False),
        "architecture": Key(TEXT),
        "memory_gib": Key(NUMBER),
        "visible": Key(_list_of("a list of whole numbers", int)),
    },
    "container": {
        "image": Key(TEXT, removable=False),
        "tools": Key(_list_of("a list of texts, at least one", str, least=1)),
        "devices": Key(TEXTS),
        "groups": Key(TEXTS),
        "mounts": Key(TEXTS),
        "options": Key(TEXTS),
    },
    "expected": {
        "moe_backend": Key(TEXT),
        "draft_backend": Key(TEXT),
        "acceptance_length": Key(_band),
    },
}
"""The tables whose keys are fixed."""
FREE_TABLES = ("arguments", "environment", "timeouts")
"""The tables whose keys are the user's."""
SIMPLE: dict[str, Key] = {
    "extends": Key(TEXT, removable=False),
    "title": Key(TEXT, removable=False),
    "summary": Key(TEXT, removable=False),
    "server": Key(_one_of(ServerKind), removable=False),
    "runs_in": Key(_one_of(RunsIn), removable=False),
    "engine": Key(TEXT),
    "version": Key(TEXT),
    "minimum": Key(TEXT),
    "python": Key(TEXT),
    "model": Key(TEXT, removable=False),
    "served_name": Key(TEXT),
    "attention_heads": Key(COUNT),
    "host": Key(TEXT, removable=False),
    "port": Key(PORT),
    "hook": Key(FLAG, removable=False),
    "disk_gib": Key(NUMBER),
    "gated": Key(FLAG, removable=False),
    "members": Key(_list_of("a list of names of profiles, at least two", str, least=2), removable=False),
    "cannot": Key(TEXT, removable=False),
    "url": Key(TEXT, removable=False),
}
"""The keys outside tables."""
KEYS = (*SIMPLE, *TABLES, *FREE_TABLES)


def check_content(content: Mapping[str, Any], source: str) -> None:
    """Refuse unknown keys and values of the wrong type.

    Args:
        content: As the file has it, before inheritance.
        source: Where it comes from, for the words: a path, or "--set".

    Raises:
        ProfileError: For the first thing that is wrong.
    """
    for name, value in content.items():
        if name in SIMPLE:
            _check_value(name, value, SIMPLE[name], source)
        elif name in TABLES:
            _check_table(name, value, source)
        elif name in FREE_TABLES:
            _check_free(name, value, source)
        else:
            raise unknown_key(name, KEYS, source)


def unknown_key(name: str, known: Iterable[str], source: str, prefix: str = "") -> ProfileError:
    """The error for a key that there is not, with the nearest one that there is."""
    names = tuple(known)
    near = difflib.get_close_matches(name, names, 1, 0.5)
    advice = f'The nearest valid key is "{prefix}{near[0]}".' if near else f"The valid keys are {', '.join(names)}."
    return ProfileError(f'{source} has the unknown key "{prefix}{name}".', advice)


def _check_value(name: str, value: Any, key: Key, source: str) -> None:  # noqa: ANN401 - TOML brings values of any type
    if value is False and key.removable:
        return
    if words := key.check(value):
        raise _wrong(name, value, words, source)


def _check_table(name: str, value: Any, source: str) -> None:  # noqa: ANN401 - TOML brings values of any type
    if value is False:
        return
    if not isinstance(value, dict):
        raise _wrong(name, value, f"a table, or false for none: [{name}]", source)
    for key, inner in value.items():
        if key not in TABLES[name]:
            raise unknown_key(key, TABLES[name], source, f"{name}.")
        _check_value(f"{name}.{key}", inner, TABLES[name][key], source)


def _check_free(table: str, value: Any, source: str) -> None:  # noqa: ANN401 - TOML brings values of any type
    if not isinstance(value, dict):
        raise _wrong(table, value, f"a table: [{table}]", source)
    check = {"arguments": _check_argument, "environment": _check_variable, "timeouts": _check_timeout}[table]
    for name, inner in value.items():
        check(name, inner, source)


def _check_argument(name: str, value: Any, source: str) -> None:  # noqa: ANN401 - TOML brings values of any type
    if not ARGUMENT_NAME.fullmatch(name):
        bare = name.lstrip("-")
        raise ProfileError(
            f'{source} has the argument "{name}", which is no name of one.',
            f'Write it without dashes in front: "{bare}".' if bare != name else "Use letters, digits and dashes.",
        )
    if name == "api-key":
        raise ProfileError(
            f"{source} has an API key among the arguments, where every user of the machine could read it.",
            f"Set {KEY_VARIABLE} in the environment instead.",
        )
    if name in OWN_KEYS and not (name == "speculative-config" and isinstance(value, bool)):
        raise ProfileError(
            f'{source} has the argument "{name}", for which profiles have a key of their own.',
            f'Set "{OWN_KEYS[name]}" instead.',
        )
    if words := _kind("a text, a number, true, false, a list or a table", str, int, float, bool, list, dict)(value):
        raise _wrong(f"arguments.{name}", value, words, source)


def _check_variable(name: str, value: Any, source: str) -> None:  # noqa: ANN401 - TOML brings values of any type
    if not VARIABLE_NAME.fullmatch(name):
        raise ProfileError(
            f'{source} has the variable "{name}", which is no name of one.', "Use letters, digits and underscores."
        )
    if name == KEY_VARIABLE:
        raise ProfileError(
            f"{source} has the API key of the server in it.",
            f"Leave it out, and set {KEY_VARIABLE} in the environment that you start specchat from.",
        )
    if value is not False and TEXT(value):
        raise _wrong(f"environment.{name}", value, "a text in quotes, or false for none", source)


def _check_timeout(name: str, value: Any, source: str) -> None:  # noqa: ANN401 - TOML brings values of any type
    if name not in PHASES and name not in PHASES.values():
        raise unknown_key(name, PHASES, source, "timeouts.")
    if value is not False and (NUMBER(value) or value <= 0):
        raise _wrong(f"timeouts.{name}", value, "seconds, more than 0", source)


def _wrong(name: str, value: Any, words: str, source: str) -> ProfileError:  # noqa: ANN401 - TOML brings values of any type
    shown = str(value).lower() if isinstance(value, bool) else repr(value)
    return ProfileError(f'{source} has {shown} for "{name}".', f'"{name}" must be {words}.')
