"""Where the user types. Knows keys and earlier prompts; sends nothing itself."""

from typing import ClassVar

from textual import events
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from specchat.ui.messages import PromptSubmitted, ScrollTranscript
from specchat.ui.textual_patches import NEWLINE_KEYS

_SCROLL_KEYS = {"pageup": "page_up", "pagedown": "page_down", "ctrl+home": "home", "ctrl+end": "end"}


class Prompt(TextArea):
    """Several lines of text: Enter sends, Ctrl+J makes a new line, arrows at the edges walk through earlier prompts."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("end", "line_end_or_follow", show=False)]
    DEFAULT_CSS = """
    Prompt {
        height: auto;
        min-height: 3;
        max-height: 8;
        border: round $border-blurred;
        background: $background;
        scrollbar-size-vertical: 1;
        &:focus { border: round $border; }
        & .text-area--placeholder { color: $text-muted; }
        & .text-area--cursor-line { background: $background; }
    }
    """

    def __init__(self, *, id: str | None = None) -> None:  # noqa: A002 - Textual's name
        super().__init__(id=id, placeholder="Ask something · /help", tab_behavior="focus", soft_wrap=True)
        self._history: list[str] = []
        self._at = 0
        """Index into the history; its length stands for what is being typed."""
        self._draft = ""

    def remember(self, prompt: str) -> None:
        """Keep a prompt that was sent, for the arrow keys."""
        if not self._history or self._history[-1] != prompt:
            self._history.append(prompt)
        self._at = len(self._history)
        self._draft = ""

    async def _on_key(self, event: events.Key) -> None:
        if self._answers(event.key):
            event.stop()
            event.prevent_default()
            return
        await super()._on_key(event)

    def _answers(self, key: str) -> bool:
        """Do what a key means here; False for one that the text area knows better."""
        if key == "enter":
            self.post_message(PromptSubmitted(self.text))
        elif key in NEWLINE_KEYS:
            self.insert("\n", maintain_selection_offset=False)
            self.scroll_cursor_visible()
        elif key in _SCROLL_KEYS:
            self.post_message(ScrollTranscript(_SCROLL_KEYS[key]))
        elif key == "up" and self.navigator.is_first_wrapped_line(self.cursor_location):
            return self._walk(-1)
        elif key == "down" and self.navigator.is_last_wrapped_line(self.cursor_location):
            return self._walk(1)
        else:
            return False
        return True

    def action_line_end_or_follow(self) -> None:
        """Go to the end of the line, or from the end of the text to the end of the transcript."""
        if self.cursor_at_end_of_text:
            self.post_message(ScrollTranscript("end"))
        else:
            self.action_cursor_line_end()

    def _walk(self, step: int) -> bool:
        at = self._at + step
        if not 0 <= at <= len(self._history):
            return False
        if self._at == len(self._history):
            self._draft = self.text
        self._at = at
        self.text = self._history[at] if at < len(self._history) else self._draft
        self.move_cursor(self.document.end)
        return True
