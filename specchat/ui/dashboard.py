"""Keeps every figure of the chat's screen up to date: head, panels, status, legend and facts beside headings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specchat.core.server import is_local
from specchat.session.chat import ChatSession
from specchat.session.local_servers import GpuLine
from specchat.session.ports import Clock
from specchat.session.server_load import ServerLoad
from specchat.ui.gpu_polling import GpuPolling
from specchat.ui.health import HealthWatch
from specchat.ui.load_polling import LoadPolling
from specchat.ui.readout import PANELS_FROM_COLUMNS, Readout
from specchat.ui.widgets.lines import EdgesWidget, LinesWidget

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen

FIGURES_SECONDS = 0.25
"""How often figures change: fast enough to follow, slow enough to read."""


class Dashboard:
    """Reads the session and tells the widgets. They draw; the screen says when something happened."""

    def __init__(self, chat: "ChatScreen", session: ChatSession, clock: Clock) -> None:
        """Prepare; `start` begins.

        Args:
            chat: The screen with the widgets.
            session: The one that is shown.
            clock: The session's.
        """
        self._chat = chat
        self._session = session
        self._readout = Readout(session, clock)
        self._polling = LoadPolling(session, clock, chat, self._take_load)
        self._health: HealthWatch | None = None

    def start(self) -> None:
        """Show what is there, and go on by the clock."""
        self._show_server()
        self.show_figures()
        self._chat.set_interval(FIGURES_SECONDS, self._tick)
        self._polling.start()
        chooser = self._chat.app.chooser
        if chooser is not None and is_local(self._session.server.url):
            self._health = HealthWatch(self._session, chooser.around.local, self._chat, self._warn)
            GpuPolling(chooser.around.gpus, self._chat, self._take_gpus).start()

    def fold(self) -> None:
        """The screen has another width: below some, the figures go into the status."""
        self._chat.set_class(self._chat.size.width < PANELS_FROM_COLUMNS, "-folded")
        self.show_status()

    def toggle_panels(self) -> None:
        """Hide the panels, or show them again; their figures go into the status."""
        self._chat.toggle_class("-hidden")
        self.show_status()

    def begin(self) -> None:
        """Another reply."""
        self._readout.begin()
        self.show_status()

    def grow(self, first: int) -> None:
        """The last reply changed from token `first` on; its figures come with the next tick."""
        self._readout.grow(first)

    def settle(self) -> None:
        """A reply ended, or the conversation began anew: count everything again."""
        self._polling.hurry()  # the panel shows the load of a moment ago
        self._readout.settle()
        self._show_server()
        self.show_figures()
        if self._health is not None:
            self._health.look()

    def change_server(self) -> None:
        """Another server is asked from now on."""
        self._readout.forget_load()
        self._polling.hurry()
        self._readout.renew()
        self._show_server()
        self.show_figures()

    def show_figures(self) -> None:
        """Show the figures as they are now."""
        self._chat.panels.view = self._readout.panels
        transcript = self._chat.transcript
        shown = len(transcript.document.turns)
        if self._readout.facts is not None and shown == len(self._session.conversation.turns):
            transcript.set_facts(shown - 1, self._readout.facts)
        self.show_status()

    def show_status(self) -> None:
        """Show what goes on."""
        chat, running = self._chat, self._chat.asker.running
        transcript = chat.transcript
        transcript.live = running
        chat.query_one("#status", EdgesWidget).edges = self._readout.status(
            asked_after=chat.asker.turns_before if running else None,
            following=transcript.following or transcript.scroll_offset.y >= transcript.max_scroll_y,
            width=chat.size.width,
            folded=chat.has_class("-folded") or chat.has_class("-hidden"),
            queued=len(chat.asker.queue),
        )

    def _show_server(self) -> None:
        self._chat.query_one("#head", EdgesWidget).edges = self._readout.head()
        self._chat.query_one("#legend", LinesWidget).lines = (self._readout.legend(),)

    def _take_gpus(self, gpus: Sequence[GpuLine] | None) -> None:
        if self._readout.set_gpus(gpus or ()):
            self.show_figures()

    def _warn(self, sentence: str) -> None:
        """Under the last reply, where it stays."""
        turns = self._session.conversation.turns
        if turns:
            turns[-1].reply.note(sentence)
            self._chat.transcript.show_turns(turns, len(turns[-1].reply.tokens))
        self._chat.tell(sentence, severity="warning")

    def _take_load(self, load: ServerLoad | None) -> None:
        if self._readout.set_load(load):
            self.show_figures()

    def _tick(self) -> None:
        if not self._chat.asker.running:
            return
        if self._readout.tick():
            self._show_server()
            self.show_figures()
        else:
            self.show_status()
