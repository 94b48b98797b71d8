"""Reads what the GPU tools print as JSON, which is rarely JSON alone.

Owns the forgiving reading: words around the JSON, "N/A" in place of anything, numbers as text, values with a unit.
"""

import json
import math
from collections.abc import Iterator

UNKNOWN_COUNTS = frozenset({0xFFFF, 0xFFFFFFFF, 0xFFFFFFFFFFFFFFFF})
"""All bits set: how the driver says that it does not know."""
BYTES = {"B": 1, "KB": 1024, "MB": 1024**2, "GB": 1024**3, "KIB": 1024, "MIB": 1024**2, "GIB": 1024**3}
MOST_STARTS = 200


def find_json(text: str) -> object:
    """The first object or list of a text that holds other lines too; None where there is none."""
    decoder = json.JSONDecoder()
    for start in _starts(text):
        try:
            value, _ = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            continue
        # A warning may hold an empty pair of brackets, or a number in brackets.
        if isinstance(value, dict | list) and any(isinstance(part, dict) for part in _parts(value)):
            return value
    return None


def a_dict(value: object) -> dict[str, object]:
    """The value, or an empty dictionary where it is none, such as "N/A"."""
    return value if isinstance(value, dict) else {}


def number(value: object) -> float | None:
    """A number that is given as such, as text, or with a unit; None for everything else. Never negative."""
    if isinstance(value, dict):
        value = value.get("value")
    if isinstance(value, str):
        try:
            value = float(value.strip().rstrip("%").strip())
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        measured = float(value)
    except OverflowError:
        return None
    return measured if math.isfinite(measured) and measured >= 0 and measured not in UNKNOWN_COUNTS else None


def size(value: object, unit: str = "MB") -> int | None:
    """A number of bytes.

    Args:
        value: A number, alone or with its unit.
        unit: Its unit where it says none.
    """
    measured = number(value)
    if measured is None:
        return None
    said = a_dict(value).get("unit")
    factor = BYTES.get(said.upper() if isinstance(said, str) else unit)
    bytes_ = None if factor is None else measured * factor
    return int(bytes_) if bytes_ is not None and bytes_ < 1 << 60 else None


def share(value: object) -> float | None:
    """A percentage as 0 to 1; None where it is none."""
    percent = number(value)
    return percent / 100 if percent is not None and percent <= 100 else None


def at_most(value: object, most: float) -> float | None:
    """A number up to a limit beyond which it can only be nonsense."""
    measured = number(value)
    return measured if measured is not None and measured <= most else None


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, dict):
        yield value
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _starts(text: str) -> Iterator[int]:
    found = 0
    for position, letter in enumerate(text):
        if letter in "{[":
            found += 1
            if found > MOST_STARTS:
                return
            yield position
