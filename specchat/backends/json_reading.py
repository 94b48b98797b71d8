"""Takes values out of JSON that nobody promised: the wrong type is the same as nothing. Never raises."""

import json
import math
import re
from collections.abc import Sequence

Json = dict[str, object] | list[object] | str | int | float | bool | None

# Control characters inside strings, which the standard wants escaped, are taken as they are.
_DECODER = json.JSONDecoder(strict=False)
_FOR_HUGE_NUMBERS = json.JSONDecoder(strict=False, parse_int=float)
_BETWEEN = re.compile(r"(?:\s|\ufeff|data:)*")


def parse(text: str) -> tuple[bool, Json]:
    """Whether `text` is JSON, and its value. NaN and infinities pass, as Python writes them."""
    for decoder in (_DECODER, _FOR_HUGE_NUMBERS):
        try:
            return True, decoder.decode(text)
        except (json.JSONDecodeError, RecursionError):
            break
        except ValueError:
            # Python refuses to read whole numbers of thousands of digits; none of them is of use here.
            continue
    return False, None


def values_in_row(text: str) -> tuple[list[Json], str]:
    """The objects and arrays that stand one behind the other in `text`, perhaps each after `data:`; and the rest."""
    values: list[Json] = []
    at = 0
    while True:
        between = _BETWEEN.match(text, at)
        at = at if between is None else between.end()
        if text[at : at + 1] not in {"{", "["}:
            return values, text[at:]
        try:
            value, at = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            return values, text[at:]
        values.append(value)


def a_dict(value: object) -> dict[str, object]:
    """The object, or an empty one."""
    return value if isinstance(value, dict) else {}


def a_list(value: object) -> list[object]:
    """The array; an object alone counts as an array of one, anything else as an empty one."""
    if isinstance(value, dict):
        return [value]
    return value if isinstance(value, list) else []


def a_text(value: object) -> str | None:
    """The string, unless it is empty."""
    return value if isinstance(value, str) and value else None


def an_int(value: object) -> int | None:
    """The whole number, also where it is written as 3.0."""
    if isinstance(value, bool):
        return None
    if isinstance(value, float):
        return int(value) if math.isfinite(value) and value.is_integer() else None
    return value if isinstance(value, int) else None


def a_float(value: object) -> float | None:
    """The finite number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def ints(value: object) -> tuple[int, ...] | None:
    """The array of whole numbers ≥ 0; None if it is no array or holds anything else."""
    if not isinstance(value, list):
        return None
    numbers = [an_int(item) for item in value]
    good = tuple(number for number in numbers if number is not None and number >= 0)
    return good if len(good) == len(numbers) else None


def first_text(holder: dict[str, object], names: Sequence[str]) -> str | None:
    """The first of these fields that is a non-empty string."""
    return next((text for name in names if (text := a_text(holder.get(name)))), None)
