"""What is shown until the server has answered. Knows no server and keeps what is typed meanwhile."""

from typing import ClassVar

from rich.text import Text
from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.screen import Screen
from textual.widgets import Static

SLOW_SECONDS = 2.0
"""After so long the wait is worth a word."""
_LONGEST = 2000
"""Characters that are kept; nobody types more into a screen that says to wait."""


class ConnectingScreen(Screen[None]):
    """Says whom it waits for, and for how long.

    Attributes:
        typed: What was typed, for the prompt of the chat.
    """

    BINDINGS: ClassVar[list[BindingType]] = [Binding("ctrl+q,ctrl+c", "app.quit", "Quit", priority=True)]
    DEFAULT_CSS = """
    ConnectingScreen {
        background: $background;
        & #head { height: 1; background: $surface; color: $primary; text-style: bold; padding: 0 1; }
        & #wait { height: 1fr; content-align: center middle; color: $text-muted; }
        & #typed { height: auto; max-height: 6; padding: 0 2; }
    }
    """

    def __init__(self, destination: str) -> None:
        """Wait for a server.

        Args:
            destination: Its address, harmless and without a password.
        """
        super().__init__()
        self._destination = destination
        self._seconds = 0
        self.typed = ""

    def compose(self) -> ComposeResult:
        """A head as the chat has one, and a sentence."""
        yield Static("specchat", id="head", markup=False)
        yield Static(self._sentence(), id="wait", markup=False)
        yield Static("", id="typed", markup=False)

    def on_mount(self) -> None:
        """Count the seconds."""
        self._clock = self.set_interval(1.0, self._count)

    def on_screen_suspend(self) -> None:
        """The chat is there: count no more."""
        self._clock.stop()

    def _count(self) -> None:
        self._seconds += 1
        self.query_one("#wait", Static).update(Text(self._sentence()))

    def _sentence(self) -> str:
        waited = f" · {self._seconds} s · Ctrl+C leaves" if self._seconds >= SLOW_SECONDS else ""
        return f"connecting to {self._destination} …{waited}"

    def on_key(self, event: events.Key) -> None:
        """Keep what is typed ahead."""
        if event.key == "backspace":
            self._keep(self.typed[:-1])
        elif event.is_printable and event.character:
            self._keep(self.typed + event.character)

    def on_paste(self, event: events.Paste) -> None:
        """Keep what is pasted ahead."""
        self._keep(self.typed + event.text)

    def _keep(self, text: str) -> None:
        self.typed = text[:_LONGEST]
        self.query_one("#typed", Static).update(Text(f"> {self.typed}" if self.typed else ""))
