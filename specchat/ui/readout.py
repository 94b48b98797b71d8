"""What the edges of the screen and the panels say about a session. Samples a running reply; owns no widget."""

from collections.abc import Sequence
from dataclasses import replace

from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Origin
from specchat.core.step_labels import Kind
from specchat.session.chat import ChatSession
from specchat.session.local_servers import GpuLine
from specchat.session.ports import Clock
from specchat.session.server_load import ServerLoad
from specchat.ui.panels import edges
from specchat.ui.panels.drawing import EdgeLine, Line
from specchat.ui.panels.edges import Phase
from specchat.ui.panels.folded import figures as figures_line
from specchat.ui.panels.model import PanelsView, ServerView, facts_of, panels_of

PANELS_FROM_COLUMNS = 100
"""A narrower screen has the figures in its status instead."""
_NARROW_COLUMNS = 80
"""A narrower screen has shorter words at the right of its status."""
_SHOWN_UNTOLD = 3
"""Draft positions in the legend where neither the server nor a reply told k."""


class Readout:
    """Reads a session for the screen.

    Attributes:
        panels: The panels as they were last renewed.
        facts: What stands beside the heading of the last reply; None without one.
    """

    def __init__(self, session: ChatSession, clock: Clock) -> None:
        """Read a session.

        Args:
            session: The one that is shown.
            clock: The session's.
        """
        self._session = session
        self._clock = clock
        self._rates: list[float] = []
        """Of the moment, sampled over the whole reply."""
        self._server = ServerView()
        self._gpus: tuple[GpuLine, ...] = ()
        self._grew = False
        """Did the reply change since the figures were renewed?"""
        self._kinds: list[set[Kind]] = []
        """For each turn, the origins and draft positions that its reply shows."""
        self.panels = PanelsView()
        self.facts: str | None = None
        self.renew()

    def begin(self) -> None:
        """Another reply, or a conversation that starts anew."""
        self._rates.clear()
        self._grew = False

    def grow(self, first: int) -> None:
        """The last reply changed from token `first` on."""
        self._grew = True
        turns = self._session.conversation.turns
        if turns:
            self._meet_until(len(turns))
            self._kinds[-1] |= turns[-1].reply.kinds(first)

    def tick(self) -> bool:
        """Renew the figures if it is time to; returns whether they were."""
        turn = self._session.current
        if not self._grew or turn is None:
            return False
        rate = turn.reply.clock.rate_now
        if rate is not None:
            self._rates.append(rate)
        self.renew()
        return True

    def renew(self) -> None:
        """Count the figures of the last reply."""
        self._grew = False
        session = self._session
        turns = session.conversation.turns
        figures = figures_of(turns[-1].reply) if turns else None
        self.panels = panels_of(
            turns,
            figures,
            self._rates,
            draft_length=session.server.draft_length,
            comparable=bool(session.ways()),
            server=self._server,
        )
        self.panels = replace(self.panels, gpus=self._gpus)
        self.facts = None if figures is None else facts_of(turns[-1].reply, figures)

    def set_load(self, load: ServerLoad | None) -> bool:
        """Show how busy the server is; returns whether that changed what the panels show.

        Args:
            load: As last read; None where the server tells nothing of it.
        """
        server = ServerView(load or ServerLoad(), tells=load is not None)
        if server == self._server:
            return False
        self._server = server
        self.panels = replace(self.panels, server=server)
        return True

    def set_gpus(self, gpus: Sequence[GpuLine]) -> bool:
        """Show what the GPUs of this machine say; returns whether that changed what the panels show."""
        if tuple(gpus) == self._gpus:
            return False
        self._gpus = tuple(gpus)
        self.panels = replace(self.panels, gpus=self._gpus)
        return True

    def forget_load(self) -> None:
        """Another server is asked next: nothing is known of it."""
        self._server = ServerView()
        self.panels = replace(self.panels, server=self._server)

    def settle(self) -> None:
        """Count the last reply again: what its end decided may have taken back what its stream seemed to show."""
        turns = self._session.conversation.turns
        del self._kinds[max(0, len(turns) - 1) :]
        self._meet_until(len(turns))
        self.renew()

    def head(self) -> EdgeLine:
        """Which server is asked next."""
        session = self._session
        return edges.head(session.server, session.speculation, can_switch=bool(session.ways()))

    def status(
        self, *, asked_after: int | None, following: bool, width: int, folded: bool, queued: int = 0
    ) -> EdgeLine:
        """What goes on, with the figures where the screen shows no panels.

        Args:
            asked_after: Turns that there were when the reply that grows was asked for; None where none does.
            following: Is the end of the transcript in sight?
            width: Cells of the screen.
            folded: Are there no panels?
            queued: Prompts that wait for the reply's end.
        """
        turns = self._session.conversation.turns
        running = asked_after is not None
        reply = turns[-1].reply if asked_after is not None and len(turns) > asked_after else None
        phase, silent = Phase.ASKED if running else Phase.READY, 0.0
        if reply is not None and reply.is_running:
            phase = Phase.ASKED if reply.clock.first_at is None else Phase.ANSWERING
            silent = self._clock() - reply.clock.heard_at
        elif reply is not None:
            phase = Phase.CHECKING
        return edges.status(
            phase,
            silent_seconds=silent,
            following=following,
            figures=figures_line(self.panels) if folded else (),
            queued=queued,
            narrow=width < _NARROW_COLUMNS,
        )

    def legend(self) -> Line:
        """The looks that this conversation has, or will have."""
        told = self._session.server.draft_length
        lengths = [turn.server.draft_length for turn in self._session.conversation.turns if turn.server.draft_length]
        kinds = set[Kind]().union(*self._kinds)
        origins = {origin for origin, _ in kinds}
        drafts = max(told or 0, *(position or 0 for _, position in kinds), *lengths[-1:], 0)
        if not drafts and told is None and not origins:
            drafts = _SHOWN_UNTOLD
        return edges.legend(drafts, plain=Origin.PLAIN in origins or told == 0, unknown=Origin.UNKNOWN in origins)

    def _meet_until(self, turns: int) -> None:
        """Know the kinds of so many turns; the last one's may grow."""
        for turn in self._session.conversation.turns[len(self._kinds) : turns]:
            self._kinds.append(turn.reply.kinds())
