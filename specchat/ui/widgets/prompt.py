"""Where the user types. Knows keys, earlier prompts and long texts under short names; sends nothing itself."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar

from rich.text import Text
from textual import events, on
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from specchat.ui.attachments import Attachment
from specchat.ui.folding import FoldedTexts
from specchat.ui.key_bursts import HOLD_SECONDS, Enter, KeyBursts
from specchat.ui.messages import PromptSubmitted, ScrollTranscript
from specchat.ui.prompt_history import PromptHistory
from specchat.ui.textual_patches import NEWLINE_KEYS
from specchat.ui.widgets.completion import Completion, Suggestion
from specchat.ui.widgets.sturdy_text_area import SturdyTextArea

if TYPE_CHECKING:
    from textual.timer import Timer

_SCROLL_KEYS = {"pageup": "page_up", "pagedown": "page_down", "ctrl+home": "home", "ctrl+end": "end"}
_TAKEN = frozenset({"ctrl+z", "super+z", "ctrl+f", "f6", "f7"})
"""Keys of the text area that mean something else on this screen."""
_LONGEST_COMMAND = 300
"""Characters of a prompt that is completed."""
_EDITING = "edit · Enter asks this instead · Esc gives it up"
_LINE_ENDS = re.compile(r"\r\n?")


def _remaining_bindings() -> list[BindingType]:
    """The text area's bindings without those of the keys that are taken."""
    kept: list[BindingType] = []
    for binding in TextArea.BINDINGS:
        if isinstance(binding, Binding):
            keys = ",".join(key for key in binding.key.split(",") if key not in _TAKEN)
            if keys:
                kept.append(Binding(keys, binding.action, binding.description, show=False))
    return kept


def _lines(*texts: str) -> str:
    return "\n".join(filter(None, texts))


def _nothing(_: str) -> Sequence[Suggestion]:
    return ()


class Prompt(SturdyTextArea, inherit_bindings=False):
    """Several lines of text: Enter sends, Ctrl+J makes a new line, arrows at the edges walk through earlier prompts.

    A long paste and an attached file stand in the text under a short name, and are put in when the prompt is sent.

    Attributes:
        editing: Index of the turn whose prompt is being changed, or None.
    """

    COMPONENT_CLASSES: ClassVar[set[str]] = {"prompt--folded"}
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("end", "line_end_or_follow", show=False),
        Binding("ctrl+underscore", "undo", show=False),
        Binding("ctrl+o", "unfold", show=False),
        # Behind the others: the text area's own End comes second.
        *_remaining_bindings(),
    ]
    DEFAULT_CSS = """
    Prompt {
        height: auto;
        min-height: 3;
        max-height: 8;
        border: round $border-blurred;
        border-title-color: $warning;
        background: $background;
        scrollbar-size-vertical: 1;
        &:focus { border: round $border; }
        & .text-area--placeholder { color: $text-muted; }
        & .text-area--cursor-line { background: $background; }
        & .prompt--folded { color: $accent; text-style: bold; }
    }
    """

    def __init__(
        self,
        *,
        complete: Callable[[str], Sequence[Suggestion]] = _nothing,
        id: str | None = None,  # noqa: A002 - Textual's name
    ) -> None:
        """Make an empty prompt.

        Args:
            complete: What can be typed where the prompt is this one line, which begins with a slash.
            id: The widget's.
        """
        super().__init__(id=id, placeholder="Ask something · /help", tab_behavior="focus", soft_wrap=True)
        # A cursor that blinks is all that a resting screen would do, and would send over a slow link.
        self.set_reactive(Prompt.cursor_blink, False)
        self.editing: int | None = None
        self._complete = complete
        self._history = PromptHistory()
        self._folded = FoldedTexts()
        self._bursts = KeyBursts()
        self._hold: Timer | None = None
        self._before_edit = ""
        self._popup = Completion(self._take)

    def on_mount(self) -> None:
        """Bring the popup, which lies over the whole screen."""
        self.screen.mount(self._popup)

    # -- what the screen asks of it -------------------------------------------------------------------------------

    @property
    def expanded(self) -> str:
        """The text with long pastes and files in their places."""
        return self._folded.expand(self.text)

    def remember(self, prompt: str) -> None:
        """Keep a prompt that was asked, for the arrow keys. It ends a change of an earlier one."""
        self._history.remember(self._folded.refold(prompt))
        self.forget_change()

    def give_back(self, *prompts: str, changed: bool = False) -> None:
        """Have again what was sent and not asked, before what was typed since.

        Args:
            prompts: What was sent.
            changed: Is it what an earlier prompt, which is still being changed, was changed to?
        """
        prompts = tuple(map(self._folded.refold, prompts))
        if self.editing is None or changed:
            self._show(_lines(*prompts, self.text))
        else:
            self._before_edit = _lines(*prompts, self._before_edit)

    def change(self, index: int, prompt: str) -> None:
        """Let the user change the prompt of a turn. What is being typed comes back afterwards."""
        if self.editing is None:
            self._before_edit = self.text
        self.editing = index
        self.border_title = _EDITING
        self._show(self._folded.refold(prompt))
        self.focus()

    def dismiss(self) -> bool:
        """Close the popup, else give up changing an earlier prompt; returns whether there was something to close."""
        if self._popup.is_open:
            self._popup.offer((), "")
            return True
        return self.give_up_change()

    def give_up_change(self) -> bool:
        """Give up changing an earlier prompt; returns whether one was being changed."""
        if self.editing is None:
            return False
        self.editing = None
        self.border_title = ""
        self._show(self._before_edit)
        return True

    def forget_change(self) -> None:
        """No earlier prompt is changed any more; what is being typed stays, as a new one."""
        typed = self.text
        if self.give_up_change():
            self._show(_lines(self.text, typed))

    def attach(self, attachment: Attachment) -> None:
        """Put a file under a short name where the cursor is."""
        self._type(self._folded.fold_file(attachment.name, attachment.size, attachment.fenced) + "\n")

    # -- keys -----------------------------------------------------------------------------------------------------

    async def _on_key(self, event: events.Key) -> None:
        types = event.is_printable or event.key in {"enter", "tab"} or event.key in NEWLINE_KEYS
        if types:
            self._settle(self._bursts.release(event.time))
        if self._answers(event):
            event.stop()
            event.prevent_default()
            return
        if types:
            self._step_out_of_name()
        await super()._on_key(event)

    def _answers(self, event: events.Key) -> bool:
        """Do what a key means here; False for one that the text area knows better."""
        key = event.key
        if self._popup.is_open and self._popup.typed != self.text:
            self._offer()  # keys came faster than the news of their changes
        if self._popup.is_open and self._chooses(key):
            return True
        if key == "enter":
            self._settle(self._bursts.enter(event.time))
        elif key in NEWLINE_KEYS:
            self._bursts.line(event.time)
            self._type("\n")
        elif event.is_printable or key == "tab":
            if not self._bursts.key(event.time) or key != "tab":
                return False
            self._type("\t")  # of a paste: it must not take the focus away
        elif key in _SCROLL_KEYS:
            self.post_message(ScrollTranscript(_SCROLL_KEYS[key]))
        elif key == "up" and self.navigator.is_first_wrapped_line(self.cursor_location):
            return self._walk(-1)
        elif key == "down" and self.navigator.is_last_wrapped_line(self.cursor_location):
            return self._walk(1)
        else:
            return key == "escape" and self.dismiss()
        return True

    def _settle(self, enter: Enter | None) -> None:
        if self._hold is not None:
            self._hold.stop()
            self._hold = None
        if enter is Enter.SEND:
            self._submit()
        elif enter is Enter.LINE:
            self._type("\n")
        elif enter is Enter.HOLD:
            self._hold = self.set_timer(HOLD_SECONDS, self._send_held)

    def _send_held(self) -> None:
        if self._bursts.give_up():
            self._submit()

    def _submit(self) -> None:
        text = self.expanded
        if text.startswith("/") and not self.text.startswith("/"):
            text = f"/{text}"  # a paste or a file is never a command
        self._popup.offer((), "")
        shown, self.text = self.text, ""  # at once: keys that wait already are of the next prompt
        self.post_message(PromptSubmitted(text, self.editing, shown))

    def _type(self, text: str) -> None:
        self._step_out_of_name()
        self.replace(text, *self.selection, maintain_selection_offset=False)
        self.scroll_cursor_visible()

    def _show(self, text: str) -> None:
        self.text = text
        self.move_cursor(self.document.end)

    def _walk(self, step: int) -> bool:
        shown = self._history.walk(step, self.text)
        if shown is None:
            return False
        self._show(shown)
        return True

    def action_line_end_or_follow(self) -> None:
        """Go to the end of the line, or from the end of the text to the end of the transcript."""
        if self.cursor_at_end_of_text:
            self.post_message(ScrollTranscript("end"))
        else:
            self.action_cursor_line_end()

    # -- completion -----------------------------------------------------------------------------------------------

    @on(TextArea.Changed)
    def _offer(self) -> None:
        text = self.document.get_line(0)
        wanted = self.document.line_count == 1 and len(text) <= _LONGEST_COMMAND and self.cursor_at_end_of_text
        wanted = wanted and text.startswith("/") and not text.startswith("//")
        if not wanted or self._history.is_walking or not self.has_focus:
            self._popup.offer((), "")
            return
        self._popup.offer(self._complete(text), text)
        self._popup.place(self.region)

    def _chooses(self, key: str) -> bool:
        """Do what a key means while the popup is open; False for one that means what it always does."""
        chosen = self._popup.chosen
        if chosen is None:
            return False
        if key in {"up", "down"}:
            self._popup.move(-1 if key == "up" else 1)
        elif key == "tab" or (key == "enter" and chosen.insert.rstrip() != self.text.rstrip()):
            self._take(chosen)
        elif key == "escape":
            self.dismiss()
        else:
            return False
        return True

    def _take(self, suggestion: Suggestion) -> None:
        same = suggestion.insert == self.text
        self._show(suggestion.insert)
        if same:
            self._popup.offer((), "")

    def on_blur(self) -> None:
        """Close the popup: its keys come here no more."""
        self._popup.offer((), "")

    # -- long texts -----------------------------------------------------------------------------------------------

    async def _on_paste(self, event: events.Paste) -> None:
        # Terminals send carriage returns for the ends of lines.
        event.stop()
        event.prevent_default()
        self._type(self._folded.fold_paste(_LINE_ENDS.sub("\n", event.text)))

    def get_line(self, line_index: int) -> Text:
        """A line, with the names of long texts in a look of their own."""
        line = super().get_line(line_index)
        for first, end in self._folded.spans(line.plain):
            line.stylize(self.get_component_rich_style("prompt--folded", partial=True), first, end)
        return line

    def action_delete_left(self) -> None:
        """Delete to the left; a name goes as a whole, and what it stands for with it."""
        self._delete_name(before=True) or super().action_delete_left()

    def action_delete_right(self) -> None:
        """Delete to the right; a name goes as a whole, and what it stands for with it."""
        self._delete_name(before=False) or super().action_delete_right()

    def action_unfold(self) -> None:
        """Put the text of the name at the cursor in its place."""
        row, _ = self.cursor_location
        span = self._name_at(lambda first, end, column: first <= column <= end)
        if span is not None:
            text = self._folded.expand(self.document.get_line(row)[slice(*span)])
            self.replace(text, (row, span[0]), (row, span[1]), maintain_selection_offset=False)

    def _delete_name(self, *, before: bool) -> bool:
        row, _ = self.cursor_location
        span = self._name_at(
            (lambda first, end, column: first < column <= end)
            if before
            else (lambda first, end, column: first <= column < end)
        )
        if span is None or not self.selection.is_empty:
            return False
        self.replace("", (row, span[0]), (row, span[1]), maintain_selection_offset=False)
        return True

    def _step_out_of_name(self) -> None:
        """A name with something typed into it would be a name no more, and its text lost."""
        span = self._name_at(lambda first, end, column: first < column < end)
        if span is not None and self.selection.is_empty:
            self.move_cursor((self.cursor_location[0], span[1]))

    def _name_at(self, holds: Callable[[int, int, int], bool]) -> tuple[int, int] | None:
        row, column = self.cursor_location
        spans = self._folded.spans(self.document.get_line(row))
        return next((span for span in spans if holds(*span, column)), None)
