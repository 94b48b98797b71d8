"""The events of a reply as JSON objects, and back. Chunks are many, so their keys are single letters."""

from collections.abc import Callable
from typing import Any

from specchat.core.events import (
    ChunkArrived,
    Event,
    NoteAdded,
    PiecesLearned,
    PiecesUnavailable,
    ReplyIdentified,
    ServerTimingReported,
    SpeculationReported,
    StepsTraced,
    StreamEnded,
    SwitchRefused,
    ToolCallPart,
    TraceEnded,
    UsageReported,
)
from specchat.core.speculation import Channel
from specchat.core.trace import TracedStep
from specchat.storage.errors import RecordingRefused
from specchat.storage.flat import flat_object, from_flat

_FLAT: dict[str, type[Event]] = {
    "usage": UsageReported,
    "report": SpeculationReported,
    "timing": ServerTimingReported,
    "who": ReplyIdentified,
    "note": NoteAdded,
    "no pieces": PiecesUnavailable,
    "trace end": TraceEnded,
    "refused": SwitchRefused,
    "stream end": StreamEnded,
}
"""Events whose fields are their keys."""
_NAMES = {kind: name for name, kind in _FLAT.items()}
_ROW_LENGTH = len(TracedStep._fields)


def event_object(event: Event) -> dict[str, object]:
    """The event, ready for `json.dumps`."""
    match event:
        case ChunkArrived():
            return _chunk_object(event)
        case PiecesLearned(pieces, runs):
            return {"r": "pieces", "pieces": dict(pieces), "runs": [[list(ids), text] for ids, text in runs.items()]}
        case StepsTraced(steps, texts):
            return {"r": "trace", "rows": list(map(list, steps)), "texts": dict(texts)}
        case _:
            return {"r": _NAMES[type(event)], **flat_object(event)}


def event_from(found: dict[str, Any]) -> Event:
    """The event that an object was made of; what a later version added to it is left out.

    Raises:
        RecordingRefused: If it is of a kind that is unknown here.
        KeyError, TypeError, ValueError: If it is damaged.
    """
    kind = found["r"]
    if kind in _FLAT:
        return from_flat(_FLAT[kind], found)
    reader = _READERS.get(kind)
    if reader is None:
        raise RecordingRefused(
            f"This conversation holds something that this version of specchat does not know: {str(kind)[:40]!r}.",
            "Update specchat to open it.",
        )
    return reader(found)


def _chunk_object(chunk: ChunkArrived) -> dict[str, object]:
    found: dict[str, object] = {"r": "chunk", "t": chunk.at}
    if chunk.spans:
        found["s"] = chunk.spans
    if chunk.token_ids is not None:
        found["i"] = chunk.token_ids
    if chunk.tool_calls:
        found["c"] = [flat_object(part) for part in chunk.tool_calls]
    if chunk.finish_reason is not None:
        found["f"] = chunk.finish_reason
    if chunk.stop_reason is not None:
        found["p"] = chunk.stop_reason
    return found


_CHANNELS = {str(channel): channel for channel in Channel}


def _chunk_from(found: dict[str, Any]) -> ChunkArrived:
    ids = found.get("i")
    return ChunkArrived(
        found["t"],
        tuple((_channel(name), text) for name, text in found.get("s", ())),
        tuple(from_flat(ToolCallPart, part) for part in found.get("c", ())),
        None if ids is None else tuple(ids),
        found.get("f"),
        found.get("p"),
    )


def _channel(name: str) -> Channel:
    channel = _CHANNELS.get(name)
    if channel is None:
        raise RecordingRefused(
            f"This conversation holds a part of a reply that this version of specchat does not know: {name[:40]!r}.",
            "Update specchat to open it.",
        )
    return channel


def _pieces_from(found: dict[str, Any]) -> PiecesLearned:
    return PiecesLearned(_texts_from(found["pieces"]), {tuple(ids): text for ids, text in found["runs"]})


def _trace_from(found: dict[str, Any]) -> StepsTraced:
    return StepsTraced(tuple(map(_row_from, found["rows"])), _texts_from(found["texts"]))


def _row_from(row: list[Any]) -> TracedStep:
    cells: list[Any] = [tuple(entry) if isinstance(entry, list) else entry for entry in row[:_ROW_LENGTH]]
    return TracedStep(*cells)


def _texts_from(found: dict[str, str]) -> dict[int, str]:
    return {int(token): text for token, text in found.items()}


_READERS: dict[str, Callable[[dict[str, Any]], Event]] = {
    "chunk": _chunk_from,
    "pieces": _pieces_from,
    "trace": _trace_from,
}
