"""The start of one server: what is looked at before, its options and command, the start itself, and why it failed."""

from contextlib import aclosing
from functools import partial
from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.screen import Screen
from textual.widgets import Input, TextArea

from specchat.core.errors import SpecchatError
from specchat.session.local_servers import (
    READY,
    AlreadyRuns,
    Finding,
    LaunchFailed,
    LaunchView,
    ProfileLine,
    ServerLine,
)
from specchat.theming import Theme
from specchat.ui.app import ChatApp
from specchat.ui.choosing import Surroundings
from specchat.ui.panels.drawing import Line
from specchat.ui.panels.launch_page import LaunchPage, Stage
from specchat.ui.readout import PANELS_FROM_COLUMNS
from specchat.ui.screens.asks import AskScreen
from specchat.ui.theme import token_styles
from specchat.ui.widgets.key_footer import KeyFooter
from specchat.ui.widgets.launch_options import LaunchOptions
from specchat.ui.widgets.lines import EdgesWidget, LinesWidget
from specchat.ui.widgets.page import Page

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator

    from textual.worker import Worker

ASK_SECONDS = 0.5
"""After the last change of an option its command is worked out anew."""
_ASKING = "working out the command …"
_CLASSES = ("-setup", "-starting", "-failed", "-there")


class LaunchScreen(Screen[None]):
    """Enter starts; what follows is shown as it happens."""

    AUTO_FOCUS = "#launch-main"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "start", "Start", key_display="Enter"),
        Binding("enter", "again", "Try again", key_display="Enter"),
        Binding("enter", "connect", "Connect", key_display="Enter"),
        Binding("tab", "options", "Options", key_display="Tab"),
        Binding("y", "copy", "Copy"),
        Binding("l", "log", "Log"),
        Binding("r", "check", "Check again"),
        Binding("b", "let_go", "Leave it to itself"),
        Binding("f3", "app.toggle_theme", "Theme", key_display="F3"),
        Binding("escape", "back", "Back", key_display="Esc"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True, key_display="Ctrl+Q"),
        Binding("ctrl+c", "app.quit", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    LaunchScreen {
        layout: vertical;
        background: $background;
        & #launch-head { background: $surface; }
        & #launch-body { height: 1fr; layout: horizontal; margin-top: 1; }
        & #launch-main { width: 1fr; height: 1fr; }
        & #launch-side { width: 1fr; height: 1fr; border-left: solid $border-blurred; }
        & #command { height: 1fr; }
        & #tail { height: 1fr; display: none; }
        & Footer { background: $background; }
        &.-starting #options, &.-starting #command { display: none; }
        &.-starting #tail { display: block; }
        &.-failed #launch-side, &.-there #launch-side { display: none; }
        &.-narrow #launch-body { layout: vertical; margin-top: 0; }
        &.-narrow #launch-side { width: 100%; height: 45%; border-left: none; border-top: solid $border-blurred; }
    }
    """
    app = getters.app(ChatApp)
    main = getters.query_one("#launch-main", Page)
    options = getters.query_one("#options", LaunchOptions)
    command = getters.query_one("#command", Page)
    tail = getters.query_one("#tail", Page)

    def __init__(
        self, around: Surroundings, profile: ProfileLine | None, *, look: Theme, follows: ServerLine | None = None
    ) -> None:
        """Prepare a start, or watch one.

        Args:
            around: Where servers come from.
            profile: What to start; None to watch.
            look: The theme.
            follows: The start to watch.
        """
        super().__init__()
        self._around = around
        self._styles = token_styles(look)
        self._page = LaunchPage(profile, follows)

    def compose(self) -> ComposeResult:
        """Head; what it is about, with options and command, or with the end of the log, beside it; keys."""
        yield EdgesWidget(self._styles, id="launch-head")
        with Container(id="launch-body"):
            yield Page(self._styles, id="launch-main")
            with Vertical(id="launch-side"):
                yield LaunchOptions(id="options")
                yield Page(self._styles, focusable=False, id="command")
                yield Page(self._styles, focusable=False, id="tail")
        yield KeyFooter(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Begin."""
        self._timer = self.set_timer(ASK_SECONDS, self._ask_command, pause=True)
        self.open()

    def open(self) -> None:
        """Look whether a launch can work, or watch the one that runs."""
        if self._page.follows is not None:
            self._begin(self._around.local.follow(self._page.follows.id))
        else:
            self._enter(Stage.SETUP)
            self.action_check()
            self._ask_command()

    def on_resize(self) -> None:
        """Put options and command below where there is no room beside."""
        self.set_class(self.size.width < PANELS_FROM_COLUMNS, "-narrow")

    def show_theme(self, theme: Theme) -> None:
        """Draw in another theme's looks."""
        self._styles = token_styles(theme)
        for widget in self.query(LinesWidget):
            widget.set_token_styles(self._styles)

    def say(self, sentence: str, look: str = "dim") -> None:
        """Show a sentence on top."""
        self._page.said = sentence, look
        if self.is_attached:
            self._show()

    # -- before the start ---------------------------------------------------------------------------------------------

    def action_check(self) -> None:
        """Look again whether a launch can work."""
        if self._page.profile is not None and self._page.stage is Stage.SETUP:
            self._page.checks = None
            self._show()
            _: Worker[None] = self.run_worker(
                partial(self._check, self._page.profile), group="checking", exclusive=True
            )

    async def _check(self, profile: ProfileLine) -> None:
        try:
            found = await self._around.local.check(profile.name, self.options.changes)
            self._page.checks = tuple(found)
        except SpecchatError as error:
            self._page.checks = ()
            self._page.said = str(error), "bad"
        self._show()

    @on(Input.Changed)
    @on(TextArea.Changed)
    def _options_changed(self) -> None:
        if self._page.stage is Stage.SETUP:
            self._timer.stop()
            self._timer = self.set_timer(ASK_SECONDS, self._ask_command)

    def _ask_command(self) -> None:
        if self._page.profile is not None and self._page.stage is Stage.SETUP:
            _: Worker[None] = self.run_worker(
                partial(self._work_out, self._page.profile), group="command", exclusive=True
            )

    async def _work_out(self, profile: ProfileLine) -> None:
        try:
            self._page.command = await self._around.local.command(profile.name, self.options.changes)
            self._page.trouble = ""
        except SpecchatError as error:
            self._page.command, self._page.trouble = "", str(error)
        self._show()

    # -- the start ----------------------------------------------------------------------------------------------------

    @on(Input.Submitted)
    def action_start(self) -> None:
        """Start."""
        if self._page.stage is Stage.SETUP and self._page.profile is not None:
            profile, changes = self._page.profile, self.options.changes
            self._begin(self._around.local.launch(profile.name, changes, owned=profile.is_demo))

    def action_again(self) -> None:
        """Go back to the options after a failure."""
        self._enter(Stage.SETUP)
        self.action_check()
        self._ask_command()

    def action_options(self) -> None:
        """Go from one option to the next."""
        self.focus_next()

    def action_connect(self) -> None:
        """Chat with the server that is there, or watch how it gets there."""
        if self._page.server is not None:
            if self._page.server.state == READY:
                self._connect(self._page.server.url)
            else:
                self._begin(self._around.local.follow(self._page.server.id))

    def _begin(self, views: "AsyncGenerator[LaunchView, None]") -> None:
        self._page.view = self._page.failure = None
        self._page.said = "", "dim"
        self._enter(Stage.STARTING)
        _: Worker[None] = self.run_worker(partial(self._watch, views), group="launching", exclusive=True)

    async def _watch(self, views: "AsyncGenerator[LaunchView, None]") -> None:
        try:
            async with aclosing(views):
                async for view in views:
                    is_new = self._page.view is None or self._page.view.id != view.id
                    self._page.view = view
                    self._show()
                    if is_new:
                        self.refresh_bindings()
        except LaunchFailed as failed:
            self._fail(failed)
        except AlreadyRuns as runs:
            self._page.server = runs.server
            self._page.said = f"{runs.message} {runs.hint}".strip(), "dim"
            self._enter(Stage.THERE)
        except SpecchatError as error:
            self._fail(LaunchFailed(Finding("fatal", error.message, error.hint)))
        else:
            self._arrive()

    def _fail(self, failed: LaunchFailed) -> None:
        self._page.failure = failed
        self._enter(Stage.FAILED)

    def _arrive(self) -> None:
        view = self._page.view
        if view is None or not view.url:
            self._fail(LaunchFailed(Finding("fatal", "The start ended, and no server answers.", "Try it again.")))
            return
        name = self._page.named
        self._page.server = ServerLine(view.id, view.url, name, started_here=True)
        self._enter(Stage.THERE)
        # A warning is read before the chat takes its place.
        if self.is_active and not any(one.severity == "warning" for one in view.warnings):
            self._connect(view.url)

    def _connect(self, url: str) -> None:
        if self.app.chooser is not None:
            demo = self._page.profile is not None and self._page.profile.is_demo
            self.app.chooser.choose(url, None, self.say, demo=demo)

    def action_back(self) -> None:
        """From an option to the page; else leave, after a question while something starts."""
        if self._page.stage is Stage.SETUP and self.focused is not self.main:
            self.main.focus()
        elif self._page.stage is Stage.STARTING and self._page.follows is None:
            _: Worker[None] = self.run_worker(self._ask_to_stop, group="asking", exclusive=True)
        elif self.is_active:
            self.dismiss()

    def action_let_go(self) -> None:
        """Watch no longer; the start goes on."""
        if self.is_active:
            self.dismiss()

    async def _ask_to_stop(self) -> None:
        question = "What was loaded until now is lost. Esc lets the start go on."
        ask = AskScreen(question, title="Stop this start?", verb="stop it")
        if not await self.app.push_screen_wait(ask) or self._page.stage is not Stage.STARTING:
            return
        server = self._page.view.id if self._page.view is not None else ""
        if server and self._page.outlives:
            # It would outlive the watching.
            try:
                await self._around.local.stop(server)
            except SpecchatError as error:
                self.say(str(error), "bad")
                return
        self.workers.cancel_group(self, "launching")
        self.show_stopped()

    def show_stopped(self) -> None:
        """The start was stopped."""
        self._enter(Stage.SETUP)
        self.say("The start was stopped.")

    # -- showing ------------------------------------------------------------------------------------------------------

    def _enter(self, stage: Stage) -> None:
        self._page.stage = stage
        for number, name in enumerate(_CLASSES):
            self.set_class(number == list(Stage).index(stage), name)
        self._timer.stop()
        self._show(from_top=True)
        self.main.focus()
        self.refresh_bindings()

    def _show(self, *, from_top: bool = False) -> None:
        self.query_one("#launch-head", EdgesWidget).edges = self._page.head()
        self.main.show(self._page.main_lines, from_top=from_top)
        if self._page.stage is Stage.SETUP:
            self.command.show(self._page.command_lines)
        elif self._page.stage is Stage.STARTING:
            self.tail.show(self._tail_lines)

    def _tail_lines(self, width: int) -> tuple[Line, ...]:
        """As much of the end of the log as there is room for, under its heading."""
        first, *rest = self._page.tail_lines(width)
        return first, *rest[-max(1, self.tail.size.height - 1) :]

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Keys that mean nothing now are not shown."""
        stage = self._page.stage
        allowed = {
            "start": stage is Stage.SETUP,
            "again": stage is Stage.FAILED and self._page.profile is not None,
            "connect": stage is Stage.THERE,
            "options": stage is Stage.SETUP,
            "check": stage is Stage.SETUP,
            "copy": stage in {Stage.SETUP, Stage.FAILED},
            "let_go": stage is Stage.STARTING and self._page.outlives,
            "log": self._page.log_id != "",
        }
        return allowed.get(action, True)

    def action_log(self) -> None:
        """Show the whole log."""
        from specchat.ui.screens.log import LogScreen

        self.app.push_screen(LogScreen(self._around.local, self._page.log_id, self._page.named))

    def action_copy(self) -> None:
        """Copy the command, or the failure."""
        text = self._page.copied
        if text:
            self.notify(self.app.copy(text), markup=False, timeout=6)
