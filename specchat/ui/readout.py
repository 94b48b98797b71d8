"""What the edges of the screen and the panels say about a session. Samples a running reply; owns no widget."""

from collections import deque
from collections.abc import Sequence

from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Origin, Token
from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.ui.panels import drawing, edges
from specchat.ui.panels.drawing import EdgeLine, Line
from specchat.ui.panels.edges import Phase
from specchat.ui.panels.model import TREND_BARS, PanelsView, facts_of, panels_of

STEPS_PER_TICK = 4000
"""Each so many steps of a reply leave out one tick more."""
PANELS_FROM_COLUMNS = 100
"""A narrower screen has the figures in its status instead."""
_STATE_CELLS = 36
"""What the status keeps free beside the figures."""
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
        self._rates: deque[float] = deque(maxlen=TREND_BARS)
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
            tuple(self._rates),
            draft_length=session.server.draft_length,
            comparable=session.has_baseline,
        )
        self.facts = None if figures is None else facts_of(turns[-1].reply, figures)

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

    def status(self, *, running: bool, following: bool, width: int) -> EdgeLine:
        """What goes on, with the figures where the screen has no room for panels.

        Args:
            running: Does a reply grow?
            following: Is the end of the transcript in sight?
            width: Cells of the screen.
        """
        turns = self._session.conversation.turns
        reply = turns[-1].reply if running and len(turns) > self._turns_before else None
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
            figures=drawing.status_figures(self.panels, width - _STATE_CELLS) if width < PANELS_FROM_COLUMNS else "",
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
        for token in tokens:
            if token.text:
                self._origins.add(token.label.origin)
                self._deepest = max(self._deepest, token.label.position or 0)
