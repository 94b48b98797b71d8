"""What a running event loop costs: processor time, the lag of other tasks, and memory."""

import asyncio
import gc
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

_TICK_SECONDS = 0.01


@dataclass
class Reading:
    """Between two moments of one process."""

    seconds: float = 0.0
    cpu_percent: float = 0.0
    """Processor time of all threads over wall time."""
    lags_ms: list[float] = field(default_factory=list)
    """By how much each sleep of 10 ms came later than in an empty loop; empty where they were not watched."""

    busy_ms: list[float] = field(default_factory=list)
    """Processor time that this process took during each of these sleeps: what a busy machine adds is not in it."""

    def lag(self, share: float) -> float:
        """The lag in milliseconds that this share of the sleeps stayed below; 1.0 gives the longest."""
        return _quantile(self.lags_ms, share)

    def busy(self, share: float) -> float:
        """As `lag`, of the process's own time."""
        return _quantile(self.busy_ms, share)


class Meter:
    """Measures on the running loop. What the measuring itself costs is left out of the figures."""

    def __init__(self) -> None:
        self._late_ms = 0.0
        self._tick_cpu_seconds = 0.0

    async def calibrate(self, sleeps: int = 50) -> None:
        """Learn, in a loop that does nothing else, by how much a sleep is late and what it costs."""
        cpu = time.process_time()
        late = sorted([await _late_ms() for _ in range(sleeps)])
        self._tick_cpu_seconds = (time.process_time() - cpu) / sleeps
        self._late_ms = late[len(late) // 2]

    @asynccontextmanager
    async def measure(self, *, lags: bool = True) -> AsyncIterator[Reading]:
        """Fill the reading with what happens while this is open.

        Args:
            lags: Watch the loop too? A loop that is watched is never idle.
        """
        reading = Reading()
        watch = asyncio.create_task(self._watch(reading)) if lags else None
        started, cpu = time.perf_counter(), time.process_time()
        try:
            yield reading
        finally:
            reading.seconds = time.perf_counter() - started
            spent = time.process_time() - cpu - self._tick_cpu_seconds * len(reading.lags_ms)
            reading.cpu_percent = max(0.0, spent / reading.seconds * 100)
            if watch is not None:
                await asyncio.sleep(2 * _TICK_SECONDS)
                watch.cancel()

    async def _watch(self, reading: Reading) -> None:
        while True:
            cpu = time.process_time()
            reading.lags_ms.append(max(0.0, await _late_ms() - self._late_ms))
            reading.busy_ms.append(max(0.0, time.process_time() - cpu - self._tick_cpu_seconds) * 1000)


def _quantile(values: list[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


async def _late_ms() -> float:
    started = time.perf_counter()
    await asyncio.sleep(_TICK_SECONDS)
    return (time.perf_counter() - started - _TICK_SECONDS) * 1000


def settle_memory() -> None:
    """Start as the application does: what the start made is no work of the collector."""
    gc.collect()
    gc.freeze()


def resident_mb() -> float:
    """Resident memory of this process in MB; 0.0 where the system does not tell."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        return 0.0
    return next((int(line.split()[1]) / 1000 for line in status.splitlines() if line.startswith("VmRSS")), 0.0)
