"""Reads what the GPUs of this machine draw while something runs that is to be accounted for."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from specchat.core.energy import joules_between
from specchat.session.local_servers import GpuWatch
from specchat.session.ports import Clock

READ_SECONDS = 0.5
"""Between two readings; one of them may start a program."""
WHAT_ENERGY_IS = (
    f"Energy: the power of all GPUs of this machine, read every {READ_SECONDS:g} s from sending the request to the last"
    " token; what they draw when idle is in it, and so is what others have them do."
)


class PowerMeter:
    """Adds up the power of all GPUs at every reading."""

    def __init__(self, watch: GpuWatch, clock: Clock) -> None:
        """Read nothing yet.

        Args:
            watch: The GPUs.
            clock: Monotonic seconds, the one of the replies.
        """
        self._watch = watch
        self._clock = clock
        self._readings: list[tuple[float, float]] = []

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Read as long as this is open."""
        self._readings.clear()
        task = asyncio.create_task(self._read())
        try:
            yield
        finally:
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task

    def joules(self, start: float, end: float) -> float | None:
        """The energy of a span of the clock; None where it is not known."""
        return joules_between(self._readings, start, end)

    async def _read(self) -> None:
        while True:
            gpus = await self._watch.read()
            watts = [gpu.power for gpu in gpus or () if gpu.power is not None]
            if not gpus or len(watts) < len(gpus):
                # A sum without one of them would be no sum; and what is not there now is not there in a second.
                return
            self._readings.append((self._clock(), sum(watts)))
            await asyncio.sleep(READ_SECONDS)
