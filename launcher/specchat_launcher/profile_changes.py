"""Changes to a profile, as `--set key=value` has them.

Owns how such a line is read. Applies nothing.
"""

import tomllib
from collections.abc import Sequence
from typing import Any

from specchat_launcher.errors import ProfileError
from specchat_launcher.profile_schema import FREE_TABLES, KEYS, SIMPLE, TABLES, TEXT, check_content, unknown_key


def parsed_changes(changes: Sequence[str]) -> dict[str, Any]:
    """The content that lines such as "arguments.max-model-len=12288" or "port=8001" stand for.

    A value is read as TOML, and as a text where it is none: `--set python=/opt/venv/bin/python` needs no quotes.

    Raises:
        ProfileError: A line has no "=", an unknown key, or a value of the wrong type.
    """
    content: dict[str, Any] = {}
    for change in changes:
        name, equals, text = change.partition("=")
        if not equals or not name.strip():
            raise ProfileError(f'--set has "{change}", which is no key=value.', "Write it as --set port=8001.")
        one = _nested(name.strip().split("."), text.strip())
        check_content(one, "--set")
        content = _overlaid(content, one)
    return content


def _overlaid(earlier: dict[str, Any], later: dict[str, Any]) -> dict[str, Any]:
    # A `false` must reach the profile, so it is kept here.
    overlaid = dict(earlier)
    for name, value in later.items():
        below = overlaid.get(name)
        overlaid[name] = _overlaid(below, value) if isinstance(below, dict) and isinstance(value, dict) else value
    return overlaid


def _nested(path: list[str], text: str) -> dict[str, Any]:
    table, rest = path[0], path[1:]
    if table not in KEYS and "-" in table:
        # No key of a profile has a dash, and every long option of vLLM has one.
        written = f"arguments.{'.'.join(path)}={text}"
        raise ProfileError(f'--set has the unknown key "{table}".', f"An option of the server is set as {written}.")
    if table not in KEYS or table == "extends":
        raise unknown_key(table, (key for key in KEYS if key != "extends"), "--set")
    if not rest:
        return {table: _value(text, is_text=table in SIMPLE and not SIMPLE[table].check("text"))}
    if table in SIMPLE:
        raise ProfileError(f'--set has "{".".join(path)}", and "{table}" is no table.', f"Write --set {table}=VALUE.")
    is_text = table == "environment" or (table in TABLES and rest[0] in TABLES[table] and _takes_text(table, rest[0]))
    value = _value(text, is_text=is_text)
    # The names of variables and phases hold no dots; below an argument's name lies the inside of its value.
    inner = rest if table in FREE_TABLES else [".".join(rest)]
    for name in reversed(inner):
        value = {name: value}
    return {table: value}


def _takes_text(table: str, name: str) -> bool:
    return TABLES[table][name].check is TEXT


def _value(text: str, *, is_text: bool) -> Any:  # noqa: ANN401 - TOML brings values of any type
    if text == "false":
        return False
    try:
        value = tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
    return text if is_text and not isinstance(value, str) else value
