"""Bytes of an event stream to events. Knows nothing of HTTP or JSON, never waits and never raises.

Real servers bend the format, so the reader is more tolerant than the standard: the last line counts without its line
end, data lines that are whole JSON objects need no blank line between them, and lines that are no field of an event
stream come out as such instead of vanishing, since an error message may be among them.
"""

import re
from dataclasses import dataclass

_BOM = b"\xef\xbb\xbf"
_FIELD = re.compile(rb"[ \t]*(data|event|id|retry)(?::[ ]?|$)")


@dataclass(frozen=True, slots=True)
class SseEvent:
    """One event: its type ("" for the usual one) and its data lines joined by newlines."""

    event: str
    data: str


@dataclass(frozen=True, slots=True)
class StrayLine:
    """A line that is no field of an event stream."""

    text: str


class SseDecoder:
    """Reads an event stream piece by piece; the pieces may be cut anywhere, even inside a character."""

    def __init__(self) -> None:
        self._line: list[bytes] = []
        self._after_cr = False
        self._event = ""
        self._data: list[str] = []

    def feed(self, piece: bytes) -> list[SseEvent | StrayLine]:
        """Take the next bytes; returns what they complete."""
        if self._after_cr and piece[:1] == b"\n":
            piece = piece[1:]
            self._after_cr = False
        if not piece:
            return []
        found: list[SseEvent | StrayLine] = []
        # bytes.splitlines knows CR, LF and CR LF alone; the one of str would also split at U+2028.
        for part in piece.splitlines(keepends=True):
            self._line.append(part)
            if part[-1:] in {b"\n", b"\r"}:
                found += self._end_line()
        self._after_cr = piece[-1:] == b"\r"
        return found

    def finish(self) -> list[SseEvent | StrayLine]:
        """The stream is over; returns what its last line, ended or not, still held."""
        found = self._end_line() if self._line else []
        return found + self._dispatch()

    def _end_line(self) -> list[SseEvent | StrayLine]:
        # A byte order mark belongs at the start alone, but a gateway that joins streams leaves some inside.
        line = b"".join(self._line).rstrip(b"\r\n").removeprefix(_BOM)
        self._line = []
        if not line:
            return [*self._dispatch()]
        if line.startswith(b":"):
            return []
        field = _FIELD.match(line)
        if field is None:
            return [StrayLine(line.decode("utf-8", "replace"))]
        value = line[field.end() :].decode("utf-8", "replace")
        if field[1] == b"event":
            self._event = value.strip()
        return [*self._add_data(value)] if field[1] == b"data" else []

    def _add_data(self, value: str) -> list[SseEvent]:
        whole = len(self._data) == 1 and self._data[0].startswith("{") and self._data[0].rstrip().endswith("}")
        # No JSON text goes on after a whole object, so this is the next event of a server that sends no blank lines.
        before = self._dispatch() if whole and value.lstrip()[:1] in {"{", "["} else []
        self._data.append(value)
        return before

    def _dispatch(self) -> list[SseEvent]:
        event, data = self._event, self._data
        self._event, self._data = "", []
        return [SseEvent(event, "\n".join(data))] if data else []
