"""Servers to connect to, and profiles to start one from. Routes; what the rows say is `panels.server_rows`'."""

from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Input, Static

from specchat.core.errors import SpecchatError
from specchat.session.local_servers import (
    ORPHANED,
    READY,
    STOPPING,
    ProfileLine,
    ServerLine,
)
from specchat.theming import Theme
from specchat.ui.app import ChatApp
from specchat.ui.choosing import Surroundings
from specchat.ui.gpu_polling import GpuPolling
from specchat.ui.panels.drawing import EdgeLine, Line, Run
from specchat.ui.panels.server_facts import facts_lines
from specchat.ui.panels.server_rows import SavedServer, first_choice, host_of, list_rows
from specchat.ui.panels.texts import sentences
from specchat.ui.readout import PANELS_FROM_COLUMNS
from specchat.ui.screens.asks import AskScreen
from specchat.ui.theme import token_styles
from specchat.ui.widgets.choice_list import ChoiceList
from specchat.ui.widgets.gpu_panel import GpuPanel
from specchat.ui.widgets.key_footer import KeyFooter
from specchat.ui.widgets.lines import EdgesWidget, LinesWidget
from specchat.ui.widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import Sequence

    from textual.worker import Worker

LOOK_SECONDS = 5.0
"""How often it is looked at what runs."""
_INTRO = "Choose a server to chat with, or start one on this machine."
_FIRST = (
    "No server is known yet. The CPU demo is a real one for this machine, and needs nothing else: press Enter. "
    "With the address of a server press u."
)


class ServersScreen(Screen[None]):
    """A list of what there is, with what is known of the row under the bar beside it."""

    AUTO_FOCUS = "#choices"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "take", "Connect or start", key_display="Enter"),
        Binding("u", "address", "Address"),
        Binding("l", "log", "Log"),
        Binding("s", "stop", "Stop"),
        Binding("r", "look", "Look again"),
        Binding("f3", "app.toggle_theme", "Theme", key_display="F3"),
        Binding("escape", "back", "Back", key_display="Esc"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True, key_display="Ctrl+Q"),
        Binding("ctrl+c", "app.quit", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    ServersScreen {
        layout: vertical;
        background: $background;
        & #servers-head { background: $surface; }
        & #servers-say { height: auto; max-height: 6; padding: 0 1; margin: 1 0; color: $text-muted; }
        & #servers-say.-bad { color: $error; text-style: bold; }
        & #servers-body { height: 1fr; layout: horizontal; }
        & #choices { width: 1fr; height: 1fr; }
        & #servers-side { width: 1fr; height: 1fr; padding: 0 1; border-left: solid $border-blurred; }
        & #facts { height: 1fr; }
        & #servers-address { display: none; height: 1; padding: 0 1; background: $surface; layout: horizontal; }
        & #servers-address.-open { display: block; }
        & #servers-address Static { width: auto; color: $primary; text-style: bold; }
        & #servers-address Input { width: 1fr; margin: 0 1; }
        & #servers-address Input, & #servers-address Input:ansi { background: $surface; color: $foreground; }
        & Footer { background: $background; }
        &.-narrow #servers-body { layout: vertical; }
        &.-narrow #servers-side {
            width: 100%;
            height: 45%;
            border-left: none;
            border-top: solid $border-blurred;
            padding: 0;
        }
        &.-low #servers-say { margin: 0; }
    }
    """
    app = getters.app(ChatApp)
    choices = getters.query_one("#choices", ChoiceList)
    facts = getters.query_one("#facts", Page)
    address = getters.query_one("#servers-url", Input)

    def __init__(self, around: Surroundings, why: str = "", *, look: Theme) -> None:
        """Show servers.

        Args:
            around: Where they come from.
            why: A sentence that says why this is shown unasked; "" for who asked.
            look: The theme.
        """
        super().__init__()
        self._around = around
        self._why = why
        self._styles = token_styles(look)
        self._servers: list[ServerLine] | None = None
        self._profiles: Sequence[ProfileLine] = ()
        self._moved = False
        """Did the reader move the bar? Until then it goes to the likeliest row."""
        self._looking = False
        self._said = why

    def compose(self) -> ComposeResult:
        """Head, a sentence, the list and what is known, an address to type, keys."""
        yield EdgesWidget(self._styles, id="servers-head")
        yield Static("", id="servers-say", markup=False)
        with Container(id="servers-body"):
            yield ChoiceList(self._styles, id="choices")
            with Vertical(id="servers-side"):
                yield Page(self._styles, id="facts")
                yield GpuPanel(self._styles, id="gpus")
        with Container(id="servers-address"):
            yield Static("Address", markup=False)
            text = Input(id="servers-url", compact=True, placeholder="http://gpu01:8000")
            text.set_reactive(Input.cursor_blink, False)  # as in the prompt
            yield text
        yield KeyFooter(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Say why this is shown, and look."""
        self.query_one("#servers-head", EdgesWidget).edges = EdgeLine(
            ((" specchat ", "strong accent"), (" servers", "")), self._to_the_right()
        )
        self.say(self._why, "bad" if self._why else "dim")
        self._list()
        GpuPolling(self._around.gpus, self, self.query_one("#gpus", GpuPanel).show).start()
        self.call_after_refresh(self.action_look)
        self.set_interval(LOOK_SECONDS, self._tick)

    def on_resize(self) -> None:
        """Put what is known below the list where there is no room beside it."""
        self.set_class(self.size.width < PANELS_FROM_COLUMNS, "-narrow")
        self.set_class(self.size.height < 30, "-low")

    def on_screen_resume(self) -> None:
        """Back from a start or a log: things may have changed."""
        if self.is_mounted:
            self.action_look()

    def show_theme(self, theme: Theme) -> None:
        """Draw in another theme's looks."""
        self._styles = token_styles(theme)
        self.choices.set_token_styles(self._styles)
        for widget in self.query(LinesWidget):
            widget.set_token_styles(self._styles)

    def say(self, sentence: str, look: str = "dim") -> None:
        """Show a sentence above the list; "" shows what this screen is for."""
        self._said = sentence
        if self.is_attached:
            said = self.query_one("#servers-say", Static)
            said.set_class(look == "bad", "-bad")
            said.update(
                "\n".join(line.text for line in sentences(sentence or self._intro, max(20, self.app.size.width - 2)))
            )

    @property
    def _intro(self) -> str:
        return _FIRST if self._around.saved is None and self._servers == [] else _INTRO

    # -- looking ------------------------------------------------------------------------------------------------------

    def _tick(self) -> None:
        if self.is_active:
            self.action_look()

    def action_look(self) -> None:
        """Look at what runs and what can be started."""
        if not self._looking:
            self._looking = True
            _: Worker[None] = self.run_worker(self._look, group="looking")

    async def _look(self) -> None:
        try:
            if not self._profiles:
                self._profiles = await self._around.local.profiles()
                self._list()
            self._servers = [*await self._around.local.servers()]
        except SpecchatError as error:
            self._servers = self._servers or []
            self.say(str(error), "bad")
        finally:
            self._looking = False
        self._list()
        if not self._said:
            self.say("")

    def _list(self) -> None:
        rows = list_rows(self._around.saved, self._servers, self._profiles)
        self.choices.show(rows, at="" if self._moved else first_choice(rows, but_saved=bool(self._why)))
        self._show_facts()

    @on(ChoiceList.Moved)
    def _show_facts(self) -> None:
        choice = self.choices.choice
        self.refresh_bindings()

        def build(width: int) -> tuple[Line, ...]:
            return () if choice is None else facts_lines(choice, width)

        self.facts.show(build)

    def on_key(self) -> None:
        """The reader has taken over."""
        self._moved = True

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Keys that mean nothing for the row under the bar are not shown."""
        choice = self.choices.choice if self.is_mounted else None
        if action == "back":
            return self.app.chat is not None or self._is_typing
        if action == "stop":
            return isinstance(choice, ServerLine) and choice.started_here
        if action == "log":
            return isinstance(choice, ServerLine) and choice.log is not None
        if action == "take":
            return choice is not None
        return True

    # -- doing --------------------------------------------------------------------------------------------------------

    @on(ChoiceList.Chosen)
    def action_take(self) -> None:
        """Connect to the server under the bar, or go to the start of its profile."""
        choice = self.choices.choice
        match choice:
            case SavedServer():
                self._connect(choice.url, choice.model)
            case ProfileLine(can_launch=False):
                if choice.url:
                    self._connect(choice.url, None)
                else:
                    self.say(choice.why_not or "This profile cannot be started from here.", "bad")
            case ProfileLine():
                self._go_to_start(choice)
            case ServerLine():
                self._take_server(choice)

    def _take_server(self, server: ServerLine) -> None:
        if server.state == READY:
            self._connect(server.url, None)
        elif server.state == ORPHANED:
            self.say("Its front end has gone, and processes of it are left. Press s to clear them.", "bad")
        elif server.state == STOPPING:
            self.say("It is being stopped.")
        else:
            from specchat.ui.screens.launch import LaunchScreen

            self.app.push_screen(LaunchScreen(self._around, None, follows=server, look=self.app.look))

    def _go_to_start(self, profile: ProfileLine) -> None:
        from specchat.ui.screens.launch import LaunchScreen

        self.app.push_screen(LaunchScreen(self._around, profile, look=self.app.look))

    def _connect(self, url: str, model: str | None) -> None:
        if self.app.chooser is not None:
            self.app.chooser.choose(url, model, self.say)

    def action_log(self) -> None:
        """Show the log of the server under the bar."""
        choice = self.choices.choice
        if isinstance(choice, ServerLine):
            from specchat.ui.screens.log import LogScreen

            self.app.push_screen(LogScreen(self._around.local, choice.id, choice.profile or host_of(choice.url)))

    def action_stop(self) -> None:
        """Stop the server under the bar, after a question."""
        choice = self.choices.choice
        if isinstance(choice, ServerLine) and choice.started_here:
            server = choice
            _: Worker[None] = self.run_worker(partial(self._stop, server), group="stopping")

    async def _stop(self, server: ServerLine) -> None:
        name = server.profile or host_of(server.url)
        whom = "Whoever uses it is cut off, and it has to load anew when it is started again."
        ask = AskScreen(f"{name} at {host_of(server.url)} is ended whole. {whom}", title="Stop it?", verb="stop it")
        if not await self.app.push_screen_wait(ask):
            return
        self.say(f"Stopping {name} …")
        try:
            await self._around.local.stop(server.id)
        except SpecchatError as error:
            self.say(str(error), "bad")
        else:
            self.say(f"{name} is stopped.")
        self.action_look()

    def action_address(self) -> None:
        """Type the address of a server that is not listed."""
        self.query_one("#servers-address").add_class("-open")
        self.address.focus()
        self.refresh_bindings()

    @on(Input.Submitted)
    def _take_address(self, event: Input.Submitted) -> None:
        url = event.value.strip()
        self._close_address()
        if url:
            self._connect(url if "://" in url else f"http://{url}", None)

    @property
    def _is_typing(self) -> bool:
        return self.is_mounted and self.query_one("#servers-address").has_class("-open")

    def _close_address(self) -> None:
        self.query_one("#servers-address").remove_class("-open")
        self.choices.focus()
        self.refresh_bindings()

    def action_back(self) -> None:
        """Close the address, or go back to the chat."""
        if self._is_typing:
            self._close_address()
        elif self.app.chat is not None and self.is_active:
            self.dismiss()

    def _to_the_right(self) -> tuple[Run, ...]:
        return (("Esc: back to the chat ", "dim"),) if self.app.chat is not None else ()
