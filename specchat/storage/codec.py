"""The records of a turn as lines of JSON, and back. docs/sessions-file.md describes every key.

A line is one record, plain ASCII: every other character is escaped, lone surrogates and NUL too. Keys that are unknown
here are left out of account. A kind that is unknown is refused, and so is a later major version: to pass over what
made a reply would show another reply.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from specchat.core.counters import CounterCheck, CounterReading, Verdict
from specchat.core.errors import SpecchatError
from specchat.core.recording import (
    EventCame,
    NoteKept,
    Record,
    SystemSet,
    TurnBegan,
    TurnChecked,
    TurnEnded,
    TurnReplaced,
    TurnSent,
)
from specchat.core.reply import Outcome
from specchat.core.server import Hook, ServedModel, ServerInfo
from specchat.core.switching import Speculation, Way
from specchat.storage.errors import RecordingRefused
from specchat.storage.event_codec import event_from, event_object
from specchat.storage.flat import flat_object, from_flat

MAJOR, MINOR = 1, 0
"""Version of the lines: a reader refuses a later major one and reads a later minor one."""

_encode = json.JSONEncoder(separators=(",", ":"), check_circular=False).encode
_ERROR_FACTS = ("status", "fields", "models", "limit")


def line_of(record: Record) -> bytes:
    """A record as a line, its end included."""
    return _encode(_object(record)).encode("ascii") + b"\n"


def records_of(lines: bytes) -> Iterator[Record]:
    """The records of some lines, in order.

    Raises:
        RecordingRefused: If a later version wrote something that this one does not know.
        ValueError: If a line is damaged.
    """
    for line in lines.splitlines():
        found = json.loads(line)
        try:
            yield _READERS.get(found["r"], _came_from)(found)
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError(f"a line holds half a record: {error}") from error


def joined(records: Iterable[Record]) -> bytes:
    """Some records as lines."""
    return b"".join(map(line_of, records))


def _object(record: Record) -> dict[str, object]:
    found: dict[str, object]
    match record:
        case EventCame(event, at):
            found = event_object(event)
            if at is not None:
                found["came"] = at
        case TurnBegan():
            found = _begin_object(record)
        case TurnSent(at):
            found = {"r": "sent", "at": at}
        case NoteKept(text):
            found = {"r": "kept note", "text": text}
        case TurnEnded(outcome, error):
            found = {"r": "end", "outcome": outcome, "error": _error_object(error)}
        case TurnChecked(check):
            found = {"r": "check", **flat_object(check)}
        case TurnReplaced():
            found = {"r": "replaced"}
        case SystemSet(text):
            found = {"r": "system", "text": text}
    return found


def _came_from(found: dict[str, Any]) -> Record:
    return EventCame(event_from(found), found.get("came"))


def _begin_object(began: TurnBegan) -> dict[str, object]:
    return {
        "r": "turn",
        "version": [MAJOR, MINOR],
        **flat_object(began),
        "server": _server_object(began.server),
        "request": began.request,
        "speculation": [began.speculation.limit, began.speculation.way],
    }


def _begin_from(found: dict[str, Any]) -> TurnBegan:
    major, minor = found["version"][:2]
    if major > MAJOR:
        raise RecordingRefused(
            f"This conversation was recorded by a newer specchat: its records have version {major}.{minor}, and this "
            f"one reads {MAJOR}.{MINOR}.",
            "Update specchat to open it.",
        )
    limit, way = found["speculation"][:2]
    return from_flat(
        TurnBegan,
        found,
        server=_server_from(found["server"]),
        request=found["request"],
        speculation=Speculation(limit, None if way is None else Way(way)),
    )


def _server_object(server: ServerInfo) -> dict[str, object]:
    return {
        **flat_object(server),
        "models": [flat_object(model) for model in server.models],
        "counters": None if server.counters is None else flat_object(server.counters),
        "hook": None if server.hook is None else flat_object(server.hook),
    }


def _server_from(found: dict[str, Any]) -> ServerInfo:
    counters, hook = found.get("counters"), found.get("hook")
    return from_flat(
        ServerInfo,
        found,
        models=tuple(from_flat(ServedModel, model) for model in found.get("models", ())),
        counters=None if counters is None else from_flat(CounterReading, counters),
        hook=None if hook is None else from_flat(Hook, hook),
    )


def _error_object(error: SpecchatError | None) -> dict[str, object] | None:
    if error is None:
        return None
    facts = {name: getattr(error, name) for name in _ERROR_FACTS if hasattr(error, name)}
    return {"kind": type(error).__name__, "message": error.message, "hint": error.hint, **facts}


def _error_from(found: dict[str, Any] | None) -> SpecchatError | None:
    """The error again; one of a kind that is unknown here keeps its sentences."""
    if found is None:
        return None
    kind = _error_kinds().get(found["kind"], SpecchatError)
    error = kind.__new__(kind)
    SpecchatError.__init__(error, found["message"], found.get("hint", ""))
    for name in _ERROR_FACTS:
        if name in found:
            fact = found[name]
            setattr(error, name, tuple(fact) if isinstance(fact, list) else fact)
    return error


def _error_kinds() -> dict[str, type[SpecchatError]]:
    kinds: dict[str, type[SpecchatError]] = {}
    waiting = [SpecchatError]
    while waiting:
        kind = waiting.pop()
        kinds[kind.__name__] = kind
        waiting += kind.__subclasses__()
    return kinds


_READERS: dict[str, Callable[[dict[str, Any]], Record]] = {
    "turn": _begin_from,
    "sent": lambda found: TurnSent(found["at"]),
    "kept note": lambda found: NoteKept(found["text"]),
    "end": lambda found: TurnEnded(Outcome(found["outcome"]), _error_from(found.get("error"))),
    "check": lambda found: TurnChecked(from_flat(CounterCheck, found, verdict=Verdict(found["verdict"]))),
    "replaced": lambda _: TurnReplaced(),
    "system": lambda found: SystemSet(found["text"]),
}
