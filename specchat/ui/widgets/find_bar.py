"""One line in which a text is looked for in the transcript. What matches is `specchat.ui.finding`'s to say."""

from heapq import merge
from typing import ClassVar

from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.widgets import Input, Label

from specchat.ui.finding import Finder
from specchat.ui.widgets.transcript import Transcript

LOOK_AGAIN_SECONDS = 0.5
"""How often a reply that grows is searched."""


class FindBar(Horizontal):
    """Looks for a text while it is typed, marks all matches, and takes the reader from one to the next.

    It keeps its text while it is closed. Thinking that is folded is searched too, and unfolded where the reader goes
    to a match in it.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("down", "step(1)", show=False),
        Binding("up,shift+enter", "step(-1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
    ]
    DEFAULT_CSS = """
    FindBar {
        height: 1;
        display: none;
        background: $surface;
        padding: 0 1;
        &.-open { display: block; }
        & Label { width: auto; color: $text-muted; }
        & #find-name { color: $primary; text-style: bold; }
        & Input { width: 1fr; margin: 0 1; }
        & Input, & Input:ansi { background: $surface; color: $foreground; }
    }
    """
    text = getters.query_one("#find-text", Input)
    count = getters.query_one("#find-count", Label)

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's
        super().__init__(id=id)
        self._finder = Finder()

    def compose(self) -> ComposeResult:
        """Name, text and count."""
        yield Label("Find", id="find-name")
        text = Input(id="find-text", compact=True, placeholder="in this conversation")
        text.set_reactive(Input.cursor_blink, False)  # as in the prompt
        yield text
        yield Label("", id="find-count", markup=False)

    def on_mount(self) -> None:
        """Look again from time to time."""
        self._timer = self.set_interval(LOOK_AGAIN_SECONDS, self._look_again, pause=True)

    @property
    def is_open(self) -> bool:
        """Is it there to be seen?"""
        return self.has_class("-open")

    def open(self, text: str = "") -> None:
        """Show it, with a text or with the one of last time, and take the keyboard."""
        self.add_class("-open")
        self._timer.resume()
        if text:
            self.text.value = text
        self._look()
        self.text.focus()

    def close(self) -> bool:
        """Hide it and the marks; the reader stays where he is. False if it was not open."""
        if not self.is_open:
            return False
        self.remove_class("-open")
        self._timer.pause()
        self._transcript.set_marks("find", {})
        return True

    def action_step(self, direction: int) -> None:
        """Go to the next match, or the one before."""
        if self._finder.match is None:
            self._finder.go_near(*self._top())
            over = False
        else:
            over = self._finder.step(direction)
        self._go()
        self._show(("from the top again" if direction > 0 else "from the end again") if over else "")

    def action_page(self, pages: int) -> None:
        """Scroll the transcript by pages."""
        self._transcript.action_page(pages)

    @on(Input.Changed)
    def _look(self) -> None:
        if not self.is_open:
            return
        before = self._finder.match
        self._search()
        if before is not None:
            self._finder.go_near(before.block, before.start)
        else:
            self._finder.go_near(*self._top())
        self._go()
        self._show()

    @on(Input.Submitted)
    def _go_on(self) -> None:
        self.action_step(1)

    def _look_again(self) -> None:
        """The reply grew, or a view changed; the reader stays where he is."""
        if self._search():
            self._show()

    def _search(self) -> bool:
        document = self._transcript.document
        parts = merge(document.parts(), document.hidden_parts(), key=lambda part: part.block)
        return self._finder.search(self.text.value, parts)

    def _top(self) -> tuple[int, int]:
        """The place in the first row that is in sight."""
        document = self._transcript.document
        row = min(self._transcript.scroll_offset.y, document.height - 1)
        return document.place_of(row) if row >= 0 else (0, 0)

    def _go(self) -> None:
        match, transcript = self._finder.match, self._transcript
        if match is None:
            return
        if any(part.block == match.block for part in transcript.document.hidden_parts()):
            transcript.set_view(transcript.document.turn_of(match.block), folded=False)
        transcript.set_following(following=False)  # a reply that grows would carry the match away
        transcript.reveal(transcript.document.row_of(match.block, match.start))

    def _show(self, word: str = "") -> None:
        finder = self._finder
        self._transcript.set_marks("find", finder.marks())
        if not finder.needle:
            said = "Enter next · Esc closes"
        elif not finder.count:
            said = "no match"
        else:
            at = f"{finder.current + 1} of {finder.count}" if finder.current is not None else f"{finder.count} found"
            said = f"{at} · {word}" if word else at
        self.count.update(said)

    @property
    def _transcript(self) -> Transcript:
        return self.screen.query_one(Transcript)
