"""Looks after the first replies whether a launched server accepts as many proposals as it should, and warns once."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.widget import Widget

from specchat.core.errors import SpecchatError
from specchat.core.reply_figures import speculation_of
from specchat.session.chat import ChatSession
from specchat.session.local_servers import LocalServers

if TYPE_CHECKING:
    from textual.worker import Worker

_FEWEST_STEPS = 30
"""With a draft. Fewer say little about a server."""
_MOST_LOOKS = 5
"""Replies after which a server that was healthy until then is believed."""


class HealthWatch:
    """Watches one session's replies with speculation."""

    def __init__(self, session: ChatSession, local: LocalServers, host: Widget, warn: Callable[[str], None]) -> None:
        """Watch a session.

        Args:
            session: The one that is shown.
            local: Knows what is sane for a server that was launched here.
            host: Runs the worker.
            warn: Gets the sentence.
        """
        self._session = session
        self._local = local
        self._host = host
        self._warn = warn
        self._looks = 0

    def look(self) -> None:
        """A reply ended: look, unless it was looked often enough."""
        if self._looks < _MOST_LOOKS:
            _: Worker[None] = self._host.run_worker(self._look, group="health", exclusive=True)

    async def _look(self) -> None:
        steps, accepted = self._steps()
        if steps < _FEWEST_STEPS:
            return
        self._looks += 1
        try:
            finding = await self._local.acceptance_finding(self._session.server.url, 1 + accepted / steps, steps)
        except SpecchatError:
            return  # nobody knows what is sane
        if finding is not None:
            self._looks = _MOST_LOOKS
            self._warn(f"{finding.title} {finding.remedy}".strip())

    def _steps(self) -> tuple[int, int]:
        """Steps with a draft, and proposals accepted in them, over the replies that had the server's own k."""
        steps = accepted = 0
        for turn in self._session.conversation.turns:
            reply = turn.reply
            counts, _ = speculation_of(reply)
            if counts is not None and reply.speculation.limit is None and reply.speculating is not False:
                steps += counts.steps
                accepted += counts.accepted
        return steps, accepted
