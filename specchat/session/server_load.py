"""How busy a server is, from two readings of its counters. Polls nothing by itself and knows no server."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from specchat.core.counters import CounterReading
from specchat.session.ports import Clock

SHORTEST_SECONDS = 0.5
"""Counters that moved for less say more about the moment of reading than about the server."""


@dataclass(frozen=True, slots=True)
class ServerLoad:
    """What all clients ask of a server; None is unknown."""

    running: int | None = None
    """Requests running now."""
    waiting: int | None = None
    """Requests waiting for room."""
    kv_cache_usage: float | None = None
    """Share of the KV cache in use, from 0 to 1."""
    tokens_per_second: float | None = None
    """Generated for all clients together, over the time between two readings."""

    @property
    def is_told(self) -> bool:
        """Is anything known?"""
        return any(value is not None for value in (self.running, self.waiting, self.kv_cache_usage)) or (
            self.tokens_per_second is not None
        )


class LoadWatch:
    """Reads one server's counters time and again. One watch for each server: their counters have nothing in common."""

    def __init__(self, read: Callable[[], Awaitable[CounterReading | None]], clock: Clock) -> None:
        """Start without a reading.

        Args:
            read: Reads the counters; None where there is nothing to read.
            clock: Monotonic seconds.
        """
        self._read = read
        self._clock = clock
        self._before: tuple[float, CounterReading] | None = None
        self._rate: float | None = None

    async def read(self) -> ServerLoad | None:
        """Read once more.

        Returns:
            None where nothing could be read, or the page says nothing of any load. The rate is None after the first
            reading, and where the count of tokens fell, since then the server began anew.
        """
        reading = await self._read()
        if reading is None:
            self._before = self._rate = None
            return None
        self._measure(self._clock(), reading)
        load = ServerLoad(reading.running, reading.waiting, reading.kv_cache_usage, self._rate)
        # A count of tokens will give a rate at the next reading.
        return load if load.is_told or reading.generated is not None else None

    def _measure(self, now: float, reading: CounterReading) -> None:
        if reading.tokens_per_second is not None:
            # What the server measured last stays on its page when there is nothing left to measure.
            self._rate = reading.tokens_per_second if reading.busy else 0.0
            return
        if self._before is None:
            self._before = (now, reading)
            return
        then, before = self._before
        if now - then < SHORTEST_SECONDS:
            return
        self._before = (now, reading)
        if reading.generated is None or before.generated is None or reading.generated < before.generated:
            self._rate = None
        else:
            self._rate = (reading.generated - before.generated) / (now - then)
