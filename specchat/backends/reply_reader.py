"""The bytes of an answer with status 200 to the events of a reply. Pure: no HTTP, no clock, no waiting.

Recognises what is no event stream (a JSON object, a web page, plain text), counts lines that cannot be read, and
says at the end what went wrong, if anything did.
"""

from specchat.backends.chunks import ChunkReader
from specchat.backends.error_body import looks_like_html
from specchat.backends.http_errors import Asked, error_in_stream, error_of_answer
from specchat.backends.json_reading import Json, parse, values_in_row
from specchat.backends.redaction import redact
from specchat.backends.sse import SseDecoder, SseEvent, StrayLine
from specchat.core.errors import SpecchatError, StreamBroken
from specchat.core.events import ChunkArrived, Event, NoteAdded
from specchat.core.harmless import one_line

_DONE = "[DONE]"
_LAST_EVENTS = {"done", "end"}
_QUOTED_CHARACTERS = 120
_KEPT_STRAY_CHARACTERS = 4_000_000
"""Text outside the event stream that is kept: enough for a long reply in one JSON object."""


class ReplyReader:
    """Reads one reply's body, piece by piece.

    Attributes:
        done: Was `[DONE]` seen? What follows it is no part of the reply.
    """

    def __init__(self, asked: Asked) -> None:
        """Start.

        Args:
            asked: What this answers, for the words of an error.
        """
        self.chunks = ChunkReader()
        self.done = False
        self._asked = asked
        self._decoder = SseDecoder()
        self._stray: list[str] = []
        self._stray_size = 0
        self._unreadable = 0
        self._first_unreadable = ""
        self._received = False

    @property
    def is_complete(self) -> bool:
        """Did the reply come to its end? Then it does not matter how the connection ends."""
        return self.done or self.chunks.finish_reason is not None

    @property
    def has_failed(self) -> bool:
        """Did the server report an error within the answer?"""
        return self.chunks.failure is not None

    def feed(self, piece: bytes, at: float) -> list[Event]:
        """Take the next bytes, received at `at`; an empty chunk stands for bytes that say nothing, such as a ping."""
        self._received = self._received or bool(piece)
        events = [event for item in self._decoder.feed(piece) for event in self._read(item, at)]
        return events or [ChunkArrived(at)]

    def finish(self, at: float, *, broken: bool = False) -> list[Event]:
        """The body is over; returns the last events.

        Args:
            at: Now.
            broken: Did the connection break? A line that was cut off is then no fault of its own.
        """
        unreadable, stray = self._unreadable, len(self._stray)
        last = self._decoder.finish()
        events = [event for item in last for event in self._read(item, at)]
        if broken or not self.is_complete:
            self._unreadable = unreadable
            if any(isinstance(item, SseEvent) and _is_cut_chunk(item.data) for item in last):
                del self._stray[stray:]
        if not self.chunks.seen and not self.has_failed and self._stray:
            events += self._read_whole(at)
        events += self.chunks.flush(at)
        if self.chunks.seen and self._unreadable:
            events.append(NoteAdded(self._unreadable_note()))
        unknown = bool(self._stray) and not self.chunks.seen
        if self.is_complete and not self.chunks.has_text and not self.has_failed and not unknown:
            events.append(NoteAdded(self._empty_note()))
        return events

    def failure(self, broken: StreamBroken | None = None) -> SpecchatError | None:
        """What went wrong, after `finish`; None for a reply that ended, or that just stopped coming.

        Args:
            broken: How the connection broke, if it did.
        """
        if self.chunks.failure is not None:
            return error_in_stream(self.chunks.failure, self._asked)
        if self.chunks.seen and self.is_complete:
            return None
        if not self.chunks.seen and self._stray:
            return error_of_answer(200, {}, "\n".join(self._stray).encode("utf-8", "replace"), self._asked)
        if self.is_complete:
            return None
        if broken is None and not self._received:
            return StreamBroken("The server's answer was empty.", "Its own log may say why.")
        return broken

    def _read(self, item: SseEvent | StrayLine, at: float) -> list[Event]:
        if self.done:
            return []
        if isinstance(item, StrayLine):
            return self._read_stray(item.text, at)
        data = item.data.strip().strip("\ufeff")
        if _says_done(data):
            self.done = True
            return []
        is_error = item.event.lower() in {"error", "exception"} or item.event.lower().endswith(".error")
        # A colon begins a comment that a gateway wrapped once more.
        if not is_error and (not data or data.startswith(":")):
            return []
        is_json, chunk = parse(data)
        if isinstance(chunk, str) and chunk.startswith("{"):
            is_json, chunk = parse(chunk)
        if is_error:
            return self.chunks.read(chunk if is_json else data, at, marked_as_error=True)
        events = self._read_chunk(chunk, data, at) if is_json else self._read_lines(data, at)
        self.done = self.done or item.event.lower() in _LAST_EVENTS
        return events

    def _read_chunk(self, chunk: Json, data: str, at: float) -> list[Event]:
        events = self.chunks.read(chunk, at)
        is_known = isinstance(chunk, dict) and "choices" in chunk
        if chunk and not (is_known or self.chunks.seen or self.has_failed):
            # JSON of another kind of server: if nothing else comes, it is what there is to show.
            self._keep(data)
        return events

    def _read_lines(self, data: str, at: float) -> list[Event]:
        """Data that is no JSON: perhaps its lines are, or hold several values, each with its own `data:`."""
        events: list[Event] = []
        for line in data.split("\n"):
            values, rest = values_in_row(line)
            for value in values:
                events += self._read_chunk(value, line, at)
            if _says_done(rest):
                self.done = True
            elif rest.strip():
                self._keep_stray(rest)
        return events

    def _read_stray(self, line: str, at: float) -> list[Event]:
        """A line outside the event stream: a bare chunk, an error under its own name, or a part of something else."""
        text = line.strip()
        if _says_done(text):
            self.done = True
            return []
        named_error = text.startswith("error:")
        text = text.removeprefix("error:").strip()
        is_json, chunk = parse(text) if text.startswith(("{", "[")) else (False, None)
        if is_json and (named_error or not self._stray or self.chunks.seen):
            events = self.chunks.read(chunk, at, marked_as_error=named_error)
            if self.chunks.seen or self.has_failed:
                return events
        self._keep_stray(line)
        return []

    def _keep_stray(self, line: str) -> None:
        self._unreadable += 1
        self._first_unreadable = self._first_unreadable or line
        self._keep(line)

    def _keep(self, line: str) -> None:
        if self._stray_size < _KEPT_STRAY_CHARACTERS:
            self._stray.append(line)
            self._stray_size += len(line) + 1

    def _read_whole(self, at: float) -> list[Event]:
        """A body without one readable line may be one JSON value over several lines."""
        text = "\n".join(self._stray)
        is_json, chunk = (False, None) if looks_like_html(text) else parse(text)
        if not is_json:
            return []
        events = self.chunks.read(chunk, at)
        if self.chunks.seen:
            self._unreadable = 0
        return events

    def _unreadable_note(self) -> str:
        lines = "1 line" if self._unreadable == 1 else f"{self._unreadable} lines"
        text = one_line(redact(self._first_unreadable, (self._asked.key,)), _QUOTED_CHARACTERS)
        quote = f": “{text}”" if text else ""
        return f"{lines} of the stream could not be read{quote}"

    def _empty_note(self) -> str:
        if self.chunks.tokens:
            tokens = "1 token" if self.chunks.tokens == 1 else f"{self.chunks.tokens} tokens"
            return f"the reply is empty: the server sent no text, only {tokens} without any"
        usage = self.chunks.usage
        prompt = None if usage is None else usage.prompt_tokens
        size = "" if prompt is None else f"; the prompt had {prompt} tokens: does it fit the server's context?"
        return f"the reply is empty: the server sent no text and no tokens{size}"


def _is_cut_chunk(data: str) -> bool:
    """Is this the first part of a chunk, and no message of its own?"""
    return data.lstrip().startswith("{") and '"error"' not in data


def _says_done(text: str) -> bool:
    """The end mark, also quoted, doubled or without its brackets."""
    text = text.strip(" \t\"'").upper()
    return text.startswith(_DONE) or text == "DONE"
