"""Bytes of the hook's trace to events. Pure: no HTTP, no waiting. Fields that it does not know are ignored."""

from specchat.backends.json_reading import Json, a_dict, a_float, a_list, a_text, an_int, ints, parse
from specchat.backends.sse import SseDecoder, SseEvent, StrayLine
from specchat.core.events import StepsTraced, TraceEnded
from specchat.core.harmless import one_line
from specchat.core.trace import TracedStep

_DONE = "[DONE]"
_REASONS = {"stop", "stop_string", "length", "abort", "error", "lost"}


class UnreadableTrace(Exception):
    """What came is no trace, or a row of it makes no sense."""


class TraceRows:
    """Reads a trace piece by piece, over one connection after the other.

    Attributes:
        next_number: The row that comes next: where to go on after a connection broke.
    """

    def __init__(self) -> None:
        self.next_number = 0
        self._decoder = SseDecoder()

    def begin_connection(self) -> None:
        """What the connection before left half is not gone on with."""
        self._decoder = SseDecoder()

    def feed(self, piece: bytes) -> list[StepsTraced | TraceEnded]:
        """Take the next bytes; returns what they complete. Nothing counts after a TraceEnded.

        Raises:
            UnreadableTrace: If this is no trace.
        """
        return [event for item in self._decoder.feed(piece) for event in self._read(item)]

    def finish(self, piece: bytes) -> list[StepsTraced | TraceEnded]:
        """Take the last bytes. A last event that was cut off is dropped, since the next connection brings it whole."""
        events = self.feed(piece)
        for item in self._decoder.finish():
            if isinstance(item, SseEvent) and parse(item.data)[0]:
                events += self._read(item)
        return events

    def _read(self, item: SseEvent | StrayLine) -> list[StepsTraced | TraceEnded]:
        if isinstance(item, StrayLine):
            raise UnreadableTrace(f"“{one_line(item.text, 80)}” is no part of one")
        if not item.data.strip() or item.data.strip() == _DONE:
            return []
        is_json, value = parse(item.data)
        if not is_json:
            raise UnreadableTrace(f"“{one_line(item.data, 80)}” is no part of one")
        return self._read_object(value)

    def _read_object(self, value: Json) -> list[StepsTraced | TraceEnded]:
        said = a_dict(value)
        if said.get("error"):
            text = a_text(a_dict(said["error"]).get("message")) or str(said["error"])
            raise UnreadableTrace(one_line(text, 200))
        events: list[StepsTraced | TraceEnded] = []
        steps = tuple(map(_row, a_list(said.get("steps"))))
        texts = {int(token): text for token, text in a_dict(said.get("texts")).items() if _names_id(token, text)}
        if steps:
            self.next_number = steps[-1].number + 1
        if steps or texts:
            # The texts' values are strings: `_names_id` looked.
            events.append(StepsTraced(steps, {token: str(text) for token, text in texts.items()}))
        if "end" in said:
            events.append(_end(said))
        return events


def _row(value: object) -> TracedStep:
    said = a_dict(value)
    proposed = None if said.get("proposed") is None else ints(said["proposed"])
    drafted = an_int(said.get("drafted"))
    drafted = len(proposed) if drafted is None and proposed is not None else drafted
    number, accepted, emitted = an_int(said.get("n")), an_int(said.get("accepted")), ints(said.get("emitted"))
    at = a_float(said.get("t"))
    if number is None or accepted is None or emitted is None or drafted is None or at is None:
        raise UnreadableTrace(f"a row is incomplete ({one_line(str(value), 80)})")
    malformed = proposed is None and said.get("proposed") is not None
    if malformed or number < 0 or (proposed is not None and len(proposed) != drafted):
        raise UnreadableTrace(f"a row makes no sense ({one_line(str(value), 80)})")
    graph = a_text(said.get("graph"))
    width = an_int(said.get("width"))
    shown = None if graph is None else one_line(graph, 20)
    padded = max(0, an_int(said.get("padded")) or 0)
    return TracedStep(number, at, drafted, proposed, accepted, emitted, width, shown, padded)


def _names_id(token: str, text: object) -> bool:
    return isinstance(text, str) and token.isascii() and token.isdigit()


def _end(said: dict[str, object]) -> TraceEnded:
    reason = a_text(said["end"]) or ""
    dropped = an_int(said.get("dropped")) or 0
    known = reason if reason in _REASONS else one_line(reason, 40)
    if reason == "lost" or dropped:
        rows = f"{dropped} steps" if dropped else "steps"
        return TraceEnded(
            known or "lost", f"the server dropped {rows} of this reply's trace, since its memory is limited"
        )
    return TraceEnded(known or "error")
