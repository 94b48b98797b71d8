"""Reads the GPUs of this machine now and then, while their figures can be seen."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from textual.widget import Widget

from specchat.session.local_servers import GpuLine, GpuWatch

if TYPE_CHECKING:
    from textual.worker import Worker

SECONDS = 2.0
"""Between two looks; a reading of some machines starts a program."""
_UNTOLD_TICKS = 30
"""A machine that told nothing is looked at again this seldom."""


class GpuPolling:
    """Asks as long as its host lives."""

    def __init__(self, watch: GpuWatch, host: Widget, show: Callable[[Sequence[GpuLine] | None], None]) -> None:
        """Poll for a widget.

        Args:
            watch: The GPUs.
            host: Runs the timer and the workers; nothing is read while its screen lies under another.
            show: Gets every reading; None where there are no GPUs, or none that tell.
        """
        self._watch = watch
        self._host = host
        self._show = show
        self._pause = 0
        self._busy = False

    def start(self) -> None:
        """Begin after the next frame."""
        self._host.call_after_refresh(self._tick)
        self._host.set_interval(SECONDS, self._tick)

    def _tick(self) -> None:
        if self._pause:
            self._pause -= 1
        elif not self._busy and self._host.screen.is_active:
            self._busy = True
            # The method and not a coroutine: one that the app's end leaves unstarted would be warned of.
            _: Worker[None] = self._host.run_worker(self._read, group="gpus")

    async def _read(self) -> None:
        try:
            gpus = await self._watch.read()
            self._pause = 0 if gpus else _UNTOLD_TICKS
            self._show(gpus)
        finally:
            self._busy = False
