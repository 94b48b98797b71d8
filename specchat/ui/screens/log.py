"""The log of a server: followed while it grows, and searched."""

from typing import TYPE_CHECKING, ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.screen import Screen
from textual.widgets import Input, Static

from specchat.core.errors import SpecchatError
from specchat.core.harmless import one_line
from specchat.session.local_servers import LocalServers
from specchat.ui.app import ChatApp
from specchat.ui.messages import FollowingChanged
from specchat.ui.panels.drawing import EdgeLine, Run
from specchat.ui.widgets.key_footer import KeyFooter
from specchat.ui.widgets.lines import EdgesWidget
from specchat.ui.widgets.log_list import LogList

if TYPE_CHECKING:
    from textual.worker import Worker

LOOK_SECONDS = 0.5
"""How often the log is read."""


class LogScreen(Screen[None]):
    """Lines of a log; the end is followed until the reader scrolls up."""

    AUTO_FOCUS = "#log"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("slash", "find", "Find", key_display="/"),
        Binding("ctrl+f", "find", show=False),
        Binding("n", "step(1)", "Next"),
        Binding("N", "step(-1)", "Before"),
        Binding("end", "follow", "Follow", key_display="End"),
        Binding("w", "wrap", "Wrap"),
        Binding("escape", "back", "Back", key_display="Esc"),
        Binding("ctrl+q", "app.quit", "Quit", priority=True, key_display="Ctrl+Q"),
        Binding("ctrl+c", "app.quit", show=False, priority=True),
    ]
    DEFAULT_CSS = """
    LogScreen {
        layout: vertical;
        background: $background;
        & #log-head { background: $surface; }
        & #log { height: 1fr; }
        & #log-find { display: none; height: 1; padding: 0 1; background: $surface; layout: horizontal; }
        & #log-find.-open { display: block; }
        & #log-find Static { width: auto; color: $primary; text-style: bold; }
        & #log-find Input { width: 1fr; margin: 0 1; }
        & #log-find Input, & #log-find Input:ansi { background: $surface; color: $foreground; }
        & Footer { background: $background; }
    }
    """
    app = getters.app(ChatApp)
    log_list = getters.query_one("#log", LogList)
    text = getters.query_one("#log-text", Input)

    def __init__(self, local: LocalServers, server: str, name: str) -> None:
        """Show a log.

        Args:
            local: Reads it.
            server: Id of the server.
            name: What it is called here.
        """
        super().__init__()
        self._local = local
        self._server = server
        self._called = name
        self._next = 0
        self._reading = False
        self._trouble = ""

    def compose(self) -> ComposeResult:
        """Head, the lines, a text to find, keys."""
        yield EdgesWidget({}, id="log-head")
        yield LogList(id="log")
        with Container(id="log-find"):
            yield Static("Find", markup=False)
            text = Input(id="log-text", compact=True, placeholder="in this log")
            text.set_reactive(Input.cursor_blink, False)  # as in the prompt
            yield text
        yield KeyFooter(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Read at once, and go on."""
        self._show_head()
        self._look()
        self.set_interval(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        if self.is_active and not self._reading:
            self._reading = True
            _: Worker[None] = self.run_worker(self._read, group="log")

    async def _read(self) -> None:
        try:
            part = await self._local.log(self._server, self._next)
        except SpecchatError as error:
            self._trouble = str(error)
        else:
            self._trouble = ""
            self._next = part.next
            if part.restarted:
                self.log_list.clear()
            if part.lines:
                self.log_list.add(part.lines)
        finally:
            self._reading = False
        self._show_head()

    @on(FollowingChanged)
    def _show_head(self) -> None:
        rows = self.log_list
        left: list[Run] = [(f" {one_line(self._called, 60)} ", "strong accent"), (f" {rows.count} lines", "")]
        if rows.needle:
            found = f"{rows.found_at} of {rows.matches}" if rows.matches else "no match"
            left.append((f" · “{one_line(rows.needle, 30)}” {found}", "strong"))
        if self._trouble:
            left.append((f" · {one_line(self._trouble, 200)}", "bad"))
        right: Run = ("following ", "good") if rows.following else ("↓ End follows ", "strong accent")
        self.query_one("#log-head", EdgesWidget).edges = EdgeLine(tuple(left), (right,))

    def action_find(self) -> None:
        """Type what to look for."""
        self.query_one("#log-find").add_class("-open")
        self.text.focus()

    @on(Input.Changed)
    def _search(self, event: Input.Changed) -> None:
        self.log_list.search(event.value)
        self._show_head()

    @on(Input.Submitted)
    def _to_the_list(self) -> None:
        self.log_list.focus()

    def action_step(self, direction: int) -> None:
        """Go to the next match, or the one before."""
        self.log_list.step(direction)
        self._show_head()

    def action_follow(self) -> None:
        """Go to the end and stay there."""
        self.log_list.follow()

    def action_wrap(self) -> None:
        """Wrap long lines, or cut them at the edge."""
        self.log_list.toggle_wrap()

    def action_back(self) -> None:
        """Close the text to find, else the log."""
        bar = self.query_one("#log-find")
        if bar.has_class("-open"):
            bar.remove_class("-open")
            self.log_list.search("")
            self.log_list.focus()
            self._show_head()
        elif self.is_active:
            self.dismiss()
