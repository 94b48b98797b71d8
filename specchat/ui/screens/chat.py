"""The chat: routes what happens to the widgets that show it. Draws nothing and knows no server."""

from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on, work
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.notifications import SeverityLevel
from textual.screen import Screen

from specchat.core.errors import SpecchatError
from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.theming import Theme
from specchat.ui import commands
from specchat.ui.frames import in_frames
from specchat.ui.keys import SCREEN_KEYS
from specchat.ui.messages import FollowingChanged, PromptSubmitted, ReplyEnded, ReplyGrew, ScrollTranscript
from specchat.ui.readout import PANELS_FROM_COLUMNS, Readout
from specchat.ui.screens.help import HelpScreen
from specchat.ui.theme import token_styles
from specchat.ui.widgets.key_footer import KeyFooter
from specchat.ui.widgets.lines import EdgesWidget, LinesWidget
from specchat.ui.widgets.panels import PanelColumn
from specchat.ui.widgets.prompt import Prompt
from specchat.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

FIGURES_SECONDS = 0.25
"""How often figures change: fast enough to follow, slow enough to read."""
QUIT_SECONDS = 3.0
"""A second Ctrl+C within this time quits."""
WELCOME = "Each token is drawn in the look of whoever wrote it: the draft or the target."


class ChatScreen(Screen[None]):
    """One conversation, with what speculative decoding does for it."""

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            key.binding,
            key.action,
            key.label,
            show=bool(key.label),
            priority=key.priority,
            key_display=key.keys.split(",")[0],
        )
        for key in SCREEN_KEYS
    ]
    transcript = getters.query_one("#transcript", Transcript)
    panels = getters.query_one("#panels", PanelColumn)
    prompt = getters.query_one("#prompt", Prompt)

    def __init__(
        self, session: ChatSession, theme: Theme, *, clock: Clock, export_directory: Path, opening_prompt: str | None
    ) -> None:
        """Show a session.

        Args:
            session: Connected.
            theme: Looks of tokens.
            clock: The session's.
            export_directory: Where exports go.
            opening_prompt: Asked as soon as the screen stands.
        """
        super().__init__()
        self._session = session
        self._styles = token_styles(theme)
        self._clock = clock
        self._export_directory = export_directory
        self._opening_prompt = opening_prompt
        self._readout = Readout(session, clock)
        self._asking = False
        self._quits_until = -1.0

    def compose(self) -> ComposeResult:
        """Head, transcript and panels, status, prompt, legend and keys."""
        yield EdgesWidget(self._styles, id="head")
        with Container(id="body"):
            yield Transcript(self._styles, id="transcript")
            yield PanelColumn(self._styles, id="panels")
        yield EdgesWidget(self._styles, id="status")
        yield Prompt(id="prompt")
        yield LinesWidget(self._styles, id="legend")
        yield KeyFooter(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Show what is there already, and ask the opening prompt after the first frame."""
        self._show_intro()
        self._show_server()
        self._show_figures()
        self.set_interval(FIGURES_SECONDS, self._tick)
        if self._opening_prompt is not None:
            self.call_after_refresh(self._ask, self._opening_prompt)

    def on_resize(self) -> None:
        """Fold the panels into the status where they leave too little room."""
        self.set_class(self.size.width < PANELS_FROM_COLUMNS, "-folded")
        self._show_status()

    def show_theme(self, theme: Theme) -> None:
        """Draw tokens with another theme's looks."""
        self._styles = token_styles(theme)
        self.transcript.set_token_styles(self._styles)
        for widget in self.query(LinesWidget):
            widget.set_token_styles(self._styles)

    # -- asking ---------------------------------------------------------------------------------------------------

    @on(PromptSubmitted)
    def _take_prompt(self, event: PromptSubmitted) -> None:
        if not event.text.strip():
            self.prompt.text = ""  # spaces left behind would turn the next command into a question
            return
        try:
            command = commands.parse(event.text)
        except SpecchatError as error:
            self._tell(str(error), severity="warning")
            return
        if command is not None:
            self.prompt.text = ""
            self._obey(command)
        elif self._asking:
            self._tell("A reply is running: your prompt stays here. Esc stops the reply.")
        else:
            self.prompt.text = ""
            self._ask(commands.question(event.text))

    def _ask(self, question: str) -> None:
        self.prompt.remember(question)
        self._asking = True
        self._readout.begin()
        self.transcript.follow()
        self._generate(question)
        self._show_status()

    @work(exclusive=True, group="generation")
    async def _generate(self, question: str) -> None:
        async with aclosing(in_frames(self._session.ask(question))) as frames:
            async for first in frames:
                self.post_message(ReplyGrew(first))
        self.post_message(ReplyEnded())

    @on(ReplyGrew)
    def _show_growth(self, event: ReplyGrew) -> None:
        self._readout.grow(event.first)
        if not self.transcript.document.turns:
            self.transcript.set_intro(self._session.server.gaps)
        self.transcript.show_turns(self._session.conversation.turns, event.first)

    @on(ReplyEnded)
    def _show_end(self) -> None:
        self._asking = False
        turns = self._session.conversation.turns
        if turns:
            self.transcript.show_turns(turns, len(turns[-1].reply.tokens))
        self._readout.settle()
        self._show_server()
        self._show_figures()

    # -- showing --------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        if not self._asking:
            return
        if self._readout.tick():
            self._show_server()
            self._show_figures()
        else:
            self._show_status()

    def _show_intro(self) -> None:
        """Above an empty transcript: what it will show, and what this server cannot tell."""
        self.transcript.set_intro((WELCOME, *self._session.server.gaps))

    def _show_server(self) -> None:
        self.query_one("#head", EdgesWidget).edges = self._readout.head()
        self.query_one("#legend", LinesWidget).lines = (self._readout.legend(),)

    def _show_figures(self) -> None:
        self.panels.view = self._readout.panels
        shown = len(self.transcript.document.turns)
        if self._readout.facts is not None and shown == len(self._session.conversation.turns):
            self.transcript.set_facts(shown - 1, self._readout.facts)
        self._show_status()

    @on(FollowingChanged)
    def _show_status(self) -> None:
        self.transcript.live = self._asking
        self.query_one("#status", EdgesWidget).edges = self._readout.status(
            running=self._asking, following=self.transcript.following, width=self.size.width
        )

    def _tell(self, sentence: str, *, severity: SeverityLevel = "information") -> None:
        # One at a time: what was said before is over, and would cover the reply.
        self.app.clear_notifications()
        self.notify(sentence, severity=severity, markup=False, timeout=6)

    @on(ScrollTranscript)
    def _scroll(self, event: ScrollTranscript) -> None:
        moves: dict[str, Callable[[], None]] = {
            "page_up": lambda: self.transcript.action_page(-1),
            "page_down": lambda: self.transcript.action_page(1),
            "home": self.transcript.action_home,
            "end": self.transcript.action_end,
        }
        moves[event.where]()

    # -- doing ----------------------------------------------------------------------------------------------------

    def _obey(self, command: commands.Command) -> None:
        if command.name in commands.SETTINGS:
            self._tell(commands.set_in(self._session, command))
        else:
            actions: dict[str, Callable[[], None]] = {
                "export": self.action_export, "clear": self.action_clear, "help": self.action_help,
                "quit": self.action_quit,
            }  # fmt: skip
            actions[command.name]()

    def action_help(self) -> None:
        """Show every key and command."""
        self.app.clear_notifications()
        self.app.push_screen(HelpScreen())

    def action_stop(self) -> None:
        """Drop the selection, else stop the reply."""
        if self.selections:
            self.clear_selection()
        elif self._asking:
            self._session.stop()

    def action_switch(self) -> None:
        """Ask the other server from now on."""
        if not self._session.has_baseline:
            self._tell(
                "There is one server, and no server can switch speculation off by request. "
                "Start specchat with --baseline-url and the address of one that does not speculate."
            )
            return
        on_now = self._session.switch()
        self._readout.renew()
        if not self.transcript.document.turns:
            self._show_intro()
        self._show_server()
        self._show_figures()
        self._tell(f"Speculation {'on' if on_now else 'off'}, from the next prompt on.")

    def action_export(self) -> None:
        """Write the conversation to files."""
        # Only who exports pays for the import.
        from specchat.exports import write_session

        try:
            json_path, csv_path = write_session(self._session.conversation, self._export_directory)
        except SpecchatError as error:
            self._tell(str(error), severity="warning")
            return
        self._tell(f"Exported to {json_path} and {csv_path}")

    def action_clear(self) -> None:
        """Start the conversation anew."""
        if self._asking:
            self._tell("A reply is running: stop it with Esc first.", severity="warning")
            return
        self._session.clear()
        self._readout.begin()
        self._readout.settle()
        self.transcript.clear()
        self._show_intro()
        self._show_server()
        self._show_figures()

    def action_interrupt(self) -> None:
        """Copy a selection, else stop the reply; the second time in a row: quit."""
        selected = self.prompt.selected_text or self.get_selected_text()
        if selected:
            self.app.copy_to_clipboard(selected)
            self._tell("Copied.")
        elif self._clock() < self._quits_until:
            self.action_quit()
        else:
            self._quits_until = self._clock() + QUIT_SECONDS
            if self._asking:
                self._session.stop()
            self._tell("Press Ctrl+C again to quit.")

    def action_quit(self) -> None:
        """Leave."""
        self.app.exit()
