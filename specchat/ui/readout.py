"""What the edges of the screen and the panels say about a session. Samples a running reply; owns no widget."""

from collections.abc import Sequence
from dataclasses import replace

from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Origin, Token
from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.session.server_load import ServerLoad
from specchat.ui.panels import edges
from specchat.ui.panels.drawing import EdgeLine, Line
from specchat.ui.panels.edges import Phase
from specchat.ui.panels.folded import figures as figures_line
from specchat.ui.panels.model import PanelsView, ServerView, facts_of, panels_of

STEPS_PER_TICK = 4000
"""Each so many steps of a reply leave out one tick more."""
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
        self._grew = False
        """Did the reply change since the figures were renewed?"""
        self._ticks = 0
        self._turns_before = 0
        """Turns when the last reply was asked for."""
        self._origins: set[Origin] = set()
        self._deepest = 0
        """The deepest accepted draft position."""
        self.panels = PanelsView()
        self.facts: str | None = None
        self.renew()

    def begin(self) -> None:
        """Another reply, or a conversation that starts anew."""
        self._rates.clear()
        self._grew = False
        self._turns_before = len(self._session.conversation.turns)

    def grow(self, first: int) -> None:
        """The last reply changed from token `first` on."""
        self._grew = True
        turns = self._session.conversation.turns
        if turns:
            self._meet(turns[-1].reply.tokens[first:])

    def tick(self) -> bool:
        """Renew the figures if it is time to; returns whether they were."""
        turn = self._session.current
        self._ticks += 1
        # Figures are counted over all steps, so those of a long reply are renewed less often.
        if not self._grew or turn is None or self._ticks % (1 + len(turn.reply.steps) // STEPS_PER_TICK):
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
            comparable=session.has_baseline,
            server=self._server,
        )
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

    def forget_load(self) -> None:
        """Another server is asked next: nothing is known of it."""
        self._server = ServerView()
        self.panels = replace(self.panels, server=self._server)

    def settle(self) -> None:
        """Count everything again: what a reply's end decided may have taken back what its stream seemed to show."""
        self._origins.clear()
        self._deepest = 0
        for turn in self._session.conversation.turns:
            self._meet(turn.reply.tokens)
        self.renew()

    def head(self) -> EdgeLine:
        """Which server is asked next."""
        session = self._session
        return edges.head(session.server, speculating=session.speculating, has_baseline=session.has_baseline)

    def status(
        self,
        *,
        running: bool,
        following: bool,
        width: int,
        folded: bool | None = None,
        queued: int = 0,
        hint: str = "",
    ) -> EdgeLine:
        """What goes on, with the figures where the screen shows no panels.

        Args:
            running: Does a reply grow?
            following: Is the end of the transcript in sight?
            width: Cells of the screen.
            folded: Are there no panels? None: there are, from PANELS_FROM_COLUMNS on.
            queued: Prompts that wait for the reply's end.
            hint: What the keys do at the moment, or "".
        """
        turns = self._session.conversation.turns
        reply = turns[-1].reply if running and len(turns) > self._turns_before else None
        phase, silent = Phase.ASKED if running else Phase.READY, 0.0
        if reply is not None and reply.is_running:
            phase = Phase.ASKED if reply.clock.first_at is None else Phase.ANSWERING
            silent = self._clock() - reply.clock.heard_at
        elif reply is not None:
            phase = Phase.CHECKING
        without_panels = width < PANELS_FROM_COLUMNS if folded is None else folded
        return edges.status(
            phase,
            silent_seconds=silent,
            following=following,
            figures=figures_line(self.panels) if without_panels else (),
            queued=queued,
            hint=hint,
            narrow=width < _NARROW_COLUMNS,
        )

    def legend(self) -> Line:
        """The looks that this conversation has, or will have."""
        told = self._session.server.draft_length
        lengths = [turn.server.draft_length for turn in self._session.conversation.turns if turn.server.draft_length]
        drafts = max(told or 0, self._deepest, *lengths[-1:])
        if not drafts and told is None and not self._origins:
            drafts = _SHOWN_UNTOLD
        return edges.legend(
            drafts,
            plain=Origin.PLAIN in self._origins or told == 0,
            unknown=Origin.UNKNOWN in self._origins,
        )

    def _meet(self, tokens: Sequence[Token]) -> None:
        seen = {(token.label.origin, token.label.position) for token in tokens if token.text}
        self._origins.update(origin for origin, _ in seen)
        self._deepest = max(self._deepest, *(position or 0 for _, position in seen), 0)
