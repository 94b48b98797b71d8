"""In the API server: keeps the rows of traces until they are read. Knows nothing of vLLM or of HTTP.

Bounded in every direction, so that readers who are slow, or never come, cost memory that is known beforehand. All of
it happens on the server's event loop.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from specchat_vllm.rows import Row

ROWS_A_TRACE = 20_000
"""Rows that are kept of one trace: those of a reply of at least as many tokens. The oldest are dropped."""
ROWS_IN_ALL = 200_000
"""Rows that are kept of all traces: some 60 MB. The oldest trace is given up."""
TRACES = 1_024
KEPT_SECONDS = 60.0
"""How long a trace is kept after its request has ended."""


class Trace:
    """The rows of one request."""

    __slots__ = ("changed", "end", "ended", "ended_at", "first", "is_read", "key", "request_id", "rows", "started")

    def __init__(self, key: str) -> None:
        self.key = key
        self.request_id: str | None = None
        """vLLM's inner id; None until its first row comes."""
        self.rows: deque[Row] = deque()
        self.first = 0
        """Number of the oldest row that is kept."""
        self.end: str | None = None
        """How the request ended; None while it runs."""
        self.ended_at = 0.0
        self.started = 0.0
        """When row 0 was."""
        self.is_read = False
        self.changed = asyncio.Event()
        """Something came, or it ended."""
        self.ended = asyncio.Event()
        """Nothing more will come."""

    def end_with(self, reason: str, at: float) -> None:
        """The request ended; the first reason counts."""
        if self.end is None:
            self.end, self.ended_at = reason, at
            self.ended.set()
            self.changed.set()

    @property
    def next(self) -> int:
        """Number of the row that comes next."""
        return self.first + len(self.rows)

    def rows_from(self, number: int) -> list[Row]:
        """The rows that are kept from a number on."""
        skip = max(0, number - self.first)
        return [self.rows[i] for i in range(skip, len(self.rows))]


class Hub:
    """All traces of this process."""

    def __init__(self, clock: Callable[[], float]) -> None:
        """Keep nothing until `open` is set.

        Args:
            clock: Monotonic seconds.
        """
        self.open = False
        """Is there a route by which traces can be read?"""
        self._clock = clock
        self._traces: dict[str, Trace] = {}
        self._keys: dict[str, str] = {}
        """Key of each request whose trace runs."""
        self._rows = 0
        self.late = 0
        """Rows that came after their request had ended here: steps that the engine did before it heard of the end."""

    def __len__(self) -> int:
        return len(self._traces)

    @property
    def rows(self) -> int:
        """Rows that are kept in all."""
        return self._rows

    @property
    def is_tracing(self) -> bool:
        """Does any trace run?"""
        return bool(self._keys)

    @property
    def readers(self) -> int:
        """Traces that are being read."""
        return sum(one.is_read for one in self._traces.values())

    def has_request(self, request_id: str) -> bool:
        """Does the trace of this request run?"""
        return request_id in self._keys

    def add(self, row: Row) -> None:
        """Keep a row. A key belongs to the first request that used it; rows of another are dropped."""
        if row.number == 0:
            self._begin(row)
        trace = self._traces.get(self._keys.get(row.request_id, ""))
        if trace is None:
            self.late += 1
            return
        trace.rows.append(row)
        self._rows += 1
        if len(trace.rows) > ROWS_A_TRACE:
            trace.rows.popleft()
            trace.first += 1
            self._rows -= 1
        trace.changed.set()
        while self._rows > ROWS_IN_ALL and self._give_up_oldest():
            pass

    def _begin(self, row: Row) -> None:
        trace = self._traces.get(row.key) or self._new(row.key)
        if trace.request_id is None:
            trace.request_id, trace.started = row.request_id, row.at
            self._keys[row.request_id] = row.key

    def end(self, request_id: str, reason: str) -> None:
        """The request has ended; the first reason counts."""
        key = self._keys.pop(request_id, None)
        trace = None if key is None else self._traces.get(key)
        if trace is not None:
            trace.end_with(reason, self._clock())

    def reader_of(self, key: str) -> Trace | None:
        """The trace with this key, which may be still to come; None if it has a reader."""
        trace = self._traces.get(key) or self._new(key)
        if trace.is_read:
            return None
        trace.is_read = True
        return trace

    def leave(self, trace: Trace, *, done: bool) -> None:
        """Its reader goes; nothing of the trace is kept if it read all there was, or no request ever came."""
        trace.is_read = False
        if done or trace.request_id is None:
            self._forget(trace)

    def _new(self, key: str) -> Trace:
        now = self._clock()
        for old in [one for one in self._traces.values() if one.end is not None and not one.is_read]:
            if now - old.ended_at > KEPT_SECONDS:
                self._forget(old)
        while len(self._traces) >= TRACES and self._give_up_oldest():
            pass
        trace = self._traces[key] = Trace(key)
        return trace

    def _give_up_oldest(self) -> bool:
        """Forget an old trace: an ended one before one that runs, one that nobody reads before one that is read."""
        if not self._traces:
            return False
        oldest = min(self._traces.values(), key=lambda one: (one.is_read, one.end is None))
        oldest.end_with("lost", self._clock())
        self._forget(oldest)
        return True

    def _forget(self, trace: Trace) -> None:
        if self._traces.get(trace.key) is trace:
            del self._traces[trace.key]
        self._rows -= len(trace.rows)
        trace.first += len(trace.rows)
        trace.rows.clear()
        if trace.request_id is not None:
            self._keys.pop(trace.request_id, None)
        trace.changed.set()
