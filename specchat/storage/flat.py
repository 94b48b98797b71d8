"""Dataclasses without structure as JSON objects and back: a field's name is its key.

Fields that are unknown here are left out, and missing ones take their default, so that neighbouring versions read each
other. Owns no names: a renamed field is another format, which a test notices.
"""

from dataclasses import MISSING, fields
from typing import Any, TypeVar

_T = TypeVar("_T")


def flat_object(value: object) -> dict[str, object]:
    """The fields that differ from their defaults, ready for `json.dumps`."""
    found: dict[str, object] = {}
    for name, default in _fields_of(type(value)).items():
        entry = getattr(value, name)
        if entry is not default and (default is MISSING or entry != default or type(entry) is not type(default)):
            found[name] = entry
    return found


def from_flat(kind: type[_T], found: dict[str, Any], **more: object) -> _T:
    """The dataclass that `flat_object` was given; lists become tuples.

    Args:
        kind: The dataclass.
        found: Its object.
        more: Fields that the caller has read itself; they win.

    Raises:
        TypeError: If a field without a default is missing.
    """
    known = _fields_of(kind)
    given = {name: _frozen(entry) for name, entry in found.items() if name in known}
    return kind(**{**given, **more})


def _frozen(entry: object) -> object:
    return tuple(map(_frozen, entry)) if isinstance(entry, list) else entry


_known: dict[type[Any], dict[str, object]] = {}


def _fields_of(kind: type[Any]) -> dict[str, object]:
    """Name and default of each field."""
    if kind not in _known:
        _known[kind] = {field.name: field.default for field in fields(kind)}
    return _known[kind]
