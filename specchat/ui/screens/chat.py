"""The chat: routes what happens to the widgets that show it. Draws nothing and knows no server."""

from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen

from specchat.core.errors import SpecchatError
from specchat.core.reply import Outcome
from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.theming import Theme
from specchat.ui.asking import Asker
from specchat.ui.commands import table
from specchat.ui.commands.command import Command
from specchat.ui.messages import (
    AskingBegan,
    AskingEnded,
    AskingRefused,
    FollowingChanged,
    PromptSubmitted,
    ReplyGrew,
    ScrollTranscript,
)
from specchat.ui.readout import PANELS_FROM_COLUMNS, Readout
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
    """One conversation, with what speculative decoding does for it.

    Attributes:
        session: What is shown.
        asker: Asks it.
        export_directory: Where exports go.
    """

    AUTO_FOCUS = "#prompt"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding(
            command.binding,
            f"command('{command.name}')",
            command.label,
            show=bool(command.label),
            priority=command.priority,
            key_display=command.keys.split(",")[0],
        )
        for command in table.COMMANDS
        if command.binding
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
        self.session = session
        self.asker = Asker(session, self)
        self.export_directory = export_directory
        self._styles = token_styles(theme)
        self._clock = clock
        self._opening_prompt = opening_prompt
        self._readout = Readout(session, clock)
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
        self.show_figures()
        self.set_interval(FIGURES_SECONDS, self._tick)
        if self._opening_prompt is not None:
            self.call_after_refresh(self.ask, self._opening_prompt)

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
        try:
            parsed = table.parse(event.text)
            if parsed is not None:
                self._run(*parsed)
        except SpecchatError as error:
            self.tell(str(error), severity="warning")  # and the prompt stays, to be mended
            return
        self.prompt.text = ""  # spaces too: left behind, they would turn the next command into a question
        if parsed is None and event.text.strip():
            self.ask(table.question(event.text))

    def ask(self, question: str) -> None:
        """Ask, or queue it while a reply runs."""
        self.prompt.remember(question)
        self.asker.ask(question)
        self._show_status()

    @on(AskingBegan)
    def _show_beginning(self) -> None:
        self._readout.begin()
        self.transcript.follow()
        self._show_status()

    @on(ReplyGrew)
    def _show_growth(self, event: ReplyGrew) -> None:
        self._readout.grow(event.first)
        if not self.transcript.document.turns:
            self.transcript.set_intro(self.session.server.gaps)
        self.transcript.show_turns(self.session.conversation.turns, event.first)

    @on(AskingRefused)
    def _show_refusal(self, event: AskingRefused) -> None:
        self.tell(str(event.error), severity="warning")

    @on(AskingEnded)
    def _show_end(self) -> None:
        turns = self.session.conversation.turns
        if turns:
            self.transcript.show_turns(turns, len(turns[-1].reply.tokens))
        self._readout.settle()
        if turns and turns[-1].reply.outcome is not Outcome.FINISHED:
            self._give_queue_back()
        self.asker.go_on_asking()
        self._show_server()
        self.show_figures()

    def _give_queue_back(self) -> None:
        """After a reply that was stopped or failed nothing is asked unasked: what waited is the prompt again."""
        waiting = self.asker.take_queue()
        if waiting:
            self.prompt.text = "\n".join([*waiting, *filter(None, [self.prompt.text])])

    # -- showing --------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        if not self.asker.running:
            return
        if self._readout.tick():
            self._show_server()
            self.show_figures()
        else:
            self._show_status()

    def _show_intro(self) -> None:
        """Above an empty transcript: what it will show, and what this server cannot tell."""
        self.transcript.set_intro((WELCOME, *self.session.server.gaps))

    def _show_server(self) -> None:
        self.query_one("#head", EdgesWidget).edges = self._readout.head()
        self.query_one("#legend", LinesWidget).lines = (self._readout.legend(),)

    def show_figures(self) -> None:
        """Show the figures as they are now."""
        self.panels.view = self._readout.panels
        shown = len(self.transcript.document.turns)
        if self._readout.facts is not None and shown == len(self.session.conversation.turns):
            self.transcript.set_facts(shown - 1, self._readout.facts)
        self._show_status()

    def show_server_changed(self) -> None:
        """Another server is asked from now on."""
        self._readout.renew()
        if not self.transcript.document.turns:
            self._show_intro()
        self._show_server()
        self.show_figures()

    def show_anew(self) -> None:
        """The conversation has begun anew."""
        self._readout.begin()
        self._readout.settle()
        self.transcript.clear()
        self._show_intro()
        self._show_server()
        self.show_figures()

    @on(FollowingChanged)
    def _show_status(self) -> None:
        self.transcript.live = self.asker.running
        self.query_one("#status", EdgesWidget).edges = self._readout.status(
            running=self.asker.running, following=self.transcript.following, width=self.size.width
        )

    def tell(self, sentence: str, *, severity: SeverityLevel = "information") -> None:
        """Say a sentence for a few seconds."""
        # One at a time: what was said before is over, and would cover the reply.
        self.app.clear_notifications()
        self.notify(sentence, severity=severity, markup=False, timeout=6)

    def show_over(self, screen: ModalScreen[None]) -> None:
        """Show something over the chat."""
        self.app.clear_notifications()
        self.app.push_screen(screen)

    def toggle_panels(self) -> None:
        """Hide the panels, or show them again."""
        self.toggle_class("-hidden")
        self._show_status()

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

    def action_command(self, name: str) -> None:
        """Run a command without an argument, as its key does."""
        try:
            self._run(table.named(name), "")
        except SpecchatError as error:
            self.tell(str(error), severity="warning")

    def _run(self, command: Command, argument: str) -> None:
        command.run(self, argument)

    def escape(self) -> None:
        """Drop the selection, else stop the reply."""
        if self.selections:
            self.clear_selection()
        else:
            self.asker.stop()

    def interrupt(self) -> None:
        """Copy a selection, else stop the reply; the second time in a row: leave."""
        selected = self.prompt.selected_text or self.get_selected_text()
        if selected:
            self.app.copy_to_clipboard(selected)
            self.tell("Copied.")
        elif self._clock() < self._quits_until:
            self.leave()
        else:
            self._quits_until = self._clock() + QUIT_SECONDS
            self.asker.stop()
            self.tell("Press Ctrl+C again to quit.")

    def leave(self) -> None:
        """Leave the program."""
        self.app.exit()

    def run_app_action(self, action: str) -> None:
        """Run one of the app's actions."""
        self.call_later(self.run_action, f"app.{action}")
