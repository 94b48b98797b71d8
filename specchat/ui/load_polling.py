"""Reads the server's load now and then: often while a reply runs, seldom while nothing happens."""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from textual.widget import Widget

from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.session.server_load import LoadWatch, ServerLoad

if TYPE_CHECKING:
    from textual.worker import Worker

_SECONDS = 1.0
_IDLE_TICKS = 4
"""Left out between two looks at a server at rest."""
_UNTOLD_TICKS = 30
"""A server that told nothing is asked again this seldom, also while a reply runs."""


class LoadPolling:
    """Asks the server that is asked next for its counters, as long as its host lives."""

    def __init__(
        self, session: ChatSession, clock: Clock, host: Widget, show: Callable[[ServerLoad | None], None]
    ) -> None:
        """Poll for a session.

        Args:
            session: The one that is shown.
            clock: The session's.
            host: Runs the timer and the workers.
            show: Gets every reading.
        """
        self._session = session
        self._host = host
        self._show = show
        self._watches = {
            side: LoadWatch(partial(session.read_counters, speculating=side), clock) for side in (True, False)
        }
        self._pause = 0
        """Ticks to leave out."""
        self._tells = True
        """Did the server tell anything when it was last asked? It is thought to until then."""
        self._busy = False

    def start(self) -> None:
        """Begin at once."""
        self._host.call_after_refresh(self._tick)
        self._host.set_interval(_SECONDS, self._tick)

    def hurry(self) -> None:
        """Something happens: read at the next tick."""
        self._pause = 0

    def _tick(self) -> None:
        if self._session.current is not None and self._tells:
            self._pause = 0
        if self._pause:
            self._pause -= 1
        elif not self._busy:
            self._busy = True
            # The method and not a coroutine: one that the app's end leaves unstarted would be warned of.
            _: Worker[None] = self._host.run_worker(self._read, group="load")

    async def _read(self) -> None:
        try:
            side = self._session.speculating
            load = await self._watches[side].read()
            self._tells = load is not None
            self._pause = _IDLE_TICKS if self._tells else _UNTOLD_TICKS
            if side is self._session.speculating:
                self._show(load)
        finally:
            self._busy = False
