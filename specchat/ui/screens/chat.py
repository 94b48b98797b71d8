"""The chat: routes what happens to the widgets that show it. Draws nothing and knows no server."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from rich.style import Style
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.notifications import SeverityLevel
from textual.screen import ModalScreen, Screen

from specchat.core.errors import SpecchatError
from specchat.core.reply import Outcome
from specchat.session.chat import ChatSession
from specchat.session.ports import Clock
from specchat.theming import Theme
from specchat.ui.app import ChatApp
from specchat.ui.asking import Asker
from specchat.ui.commands import table
from specchat.ui.commands.command import Command
from specchat.ui.commands.completing import suggestions
from specchat.ui.dashboard import Dashboard
from specchat.ui.frames import collect_what_was_spared
from specchat.ui.messages import (
    AskingBegan,
    AskingEnded,
    CursorLeft,
    CursorMoved,
    FollowingChanged,
    PromptSubmitted,
    ReplyGrew,
    ScrollTranscript,
)
from specchat.ui.theme import token_styles
from specchat.ui.widgets.find_bar import FindBar
from specchat.ui.widgets.inspector import Inspector
from specchat.ui.widgets.key_footer import KeyFooter
from specchat.ui.widgets.lines import EdgesWidget, LinesWidget
from specchat.ui.widgets.panels import PanelColumn
from specchat.ui.widgets.prompt import Prompt
from specchat.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from collections.abc import Callable

QUIT_SECONDS = 3.0
"""A second Ctrl+C within this time quits."""
WELCOME = "Each token is drawn in the look of whoever wrote it: the draft or the target."


class ChatScreen(Screen[None]):
    """One conversation, with what speculative decoding does for it.

    Attributes:
        session: What is shown.
        asker: Asks it.
        dashboard: Shows its figures.
        export_directory: Where exports go.
        clock: The session's.
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
        for command in table.bound()
    ]
    app = getters.app(ChatApp)
    transcript = getters.query_one("#transcript", Transcript)
    panels = getters.query_one("#panels", PanelColumn)
    inspector = getters.query_one("#inspector", Inspector)
    find_bar = getters.query_one("#find", FindBar)
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
        self.dashboard = Dashboard(self, session, clock)
        self.export_directory = export_directory
        self._styles = token_styles(theme)
        self.clock = clock
        self._opening_prompt = opening_prompt
        self._quits_until = -1.0

    def compose(self) -> ComposeResult:
        """Head, transcript and panels, status, prompt, legend and keys."""
        yield EdgesWidget(self._styles, id="head")
        with Container(id="body"):
            with Vertical(id="reading"):
                yield Transcript(self._styles, id="transcript")
                yield Inspector(self._styles, id="inspector")
            yield PanelColumn(self._styles, id="panels")
        yield EdgesWidget(self._styles, id="status")
        yield FindBar(id="find")
        yield Prompt(complete=partial(suggestions, commands=table.COMMANDS), id="prompt")
        yield LinesWidget(self._styles, id="legend")
        yield KeyFooter(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Show what is there already, and ask the opening prompt after the first frame."""
        self._show_intro()
        self.dashboard.start()
        if self._opening_prompt is not None:
            self.call_after_refresh(self.ask, self._opening_prompt)

    def on_resize(self) -> None:
        """Fold the panels into the status where they leave too little room."""
        self.dashboard.fold()

    @property
    def token_styles(self) -> Mapping[str, Style]:
        """Rich styles by the names of `specchat.ui.styles`."""
        return self._styles

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
            elif event.text.strip():
                self.ask(table.question(event.text), replaces=event.replaces)
        except SpecchatError as error:
            self.prompt.give_back(event.shown, changed=event.replaces is not None)
            self.tell(str(error), severity="warning")

    def ask(self, question: str, *, replaces: int | None = None) -> None:
        """Ask, or queue it while a reply runs.

        Args:
            question: What the user says.
            replaces: Index of the turn whose prompt it takes the place of.

        Raises:
            SpecchatError: If that prompt cannot be replaced now.
        """
        if replaces is None:
            self.asker.ask(question)
        else:
            self.asker.resend(replaces, question)
        self.prompt.remember(question)
        self.dashboard.show_status()

    @on(AskingBegan)
    def _show_beginning(self) -> None:
        self.transcript.follow()
        self.dashboard.begin()

    @on(ReplyGrew)
    def _show_growth(self, event: ReplyGrew) -> None:
        self.dashboard.grow(event.first)
        if not self.transcript.document.turns:
            self.transcript.set_intro((*self.session.remarks, *self.session.server.gaps))
        self.transcript.show_turns(self.session.conversation.turns, event.first)

    @on(AskingEnded)
    def _show_end(self) -> None:
        turns = self.session.conversation.turns
        if turns:
            self.transcript.show_turns(turns, len(turns[-1].reply.tokens))
            if turns[-1].reply.outcome is not Outcome.FINISHED:
                self._give_queue_back()
        self.asker.go_on_asking()
        self.dashboard.settle()

    def _give_queue_back(self) -> None:
        """After a reply that was stopped or failed nothing is asked unasked: what waited is the prompt again."""
        waiting = self.asker.take_queue()
        if waiting:
            self.prompt.give_back(*waiting)

    # -- showing --------------------------------------------------------------------------------------------------

    def _show_intro(self) -> None:
        """Above an empty transcript: what it will show, and what this server cannot tell."""
        self.transcript.set_intro((WELCOME, *self.session.remarks, *self.session.server.gaps))

    def show_server_changed(self) -> None:
        """Another server is asked from now on."""
        if not self.transcript.document.turns:
            self._show_intro()
        self.dashboard.change_server()

    def show_anew(self) -> None:
        """The conversation has begun anew."""
        self.transcript.clear()
        self.prompt.forget_change()
        self._show_intro()
        self.dashboard.begin()
        self.dashboard.settle()
        self.call_after_refresh(collect_what_was_spared)

    @on(FollowingChanged)
    def _show_following(self) -> None:
        self.dashboard.show_status()

    @on(CursorMoved)
    def _inspect(self, event: CursorMoved) -> None:
        turns = self.session.conversation.turns
        if event.turn < len(turns):  # else the conversation began anew behind it
            self.inspector.show(turns[event.turn].reply, event.token)

    @on(CursorLeft)
    def _close_inspector(self) -> None:
        self.inspector.hide()

    def tell(self, sentence: str, *, severity: SeverityLevel = "information") -> None:
        """Say a sentence for a few seconds."""
        # One at a time: what was said before is over, and would cover the reply.
        self.app.clear_notifications()
        self.notify(sentence, severity=severity, markup=False, timeout=6)

    def show_over(self, screen: ModalScreen[None]) -> None:
        """Show something over the chat."""
        if self.is_active:  # the key may have been pressed twice before this
            self.app.clear_notifications()
            self.app.push_screen(screen)

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
        """Close what is open, else drop the selection, else leave the tokens, else stop the reply."""
        if self.find_bar.close():
            self.prompt.focus()
        elif self.prompt.dismiss():
            pass
        elif self.selections:
            self.clear_selection()
        elif self.transcript.has_focus:
            self.prompt.focus()
        else:
            self.asker.stop()

    def interrupt(self) -> None:
        """Copy a selection, else stop the reply; the second time in a row: leave."""
        selected = self.prompt.selected_text or self.get_selected_text()
        if selected:
            self.tell(self.app.copy(selected))
        elif self.clock() < self._quits_until:
            self.leave()
        else:
            self._quits_until = self.clock() + QUIT_SECONDS
            self.asker.stop()
            self.tell("Press Ctrl+C again to quit.")

    def leave(self) -> None:
        """Leave the program."""
        self.app.exit()
