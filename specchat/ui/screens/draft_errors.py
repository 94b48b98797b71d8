"""What the draft gets wrong, over the chat: for one reply, or for all of the session."""

from collections.abc import Mapping, Sequence
from typing import ClassVar

from rich.style import Style
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll

from specchat.core.draft_errors import InCode, errors_of
from specchat.core.reply import Reply
from specchat.core.speculation import Channel
from specchat.ui.layout.code_blocks import code_blocks
from specchat.ui.panels.drawing import line
from specchat.ui.panels.error_lines import error_lines
from specchat.ui.screens.over import ScreenOver
from specchat.ui.widgets.lines import LinesWidget

UNTRACED = "Only a trace of the server hook tells what the draft proposed, and {} has none."


class _Page(LinesWidget):
    """As high as its lines."""

    DEFAULT_CSS = "_Page { height: auto; }"


class DraftErrorsScreen(ScreenOver):
    """A page of counts; a key goes from the reply to the session and back."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,enter", "dismiss", "Close"),
        Binding("s", "other", "Reply or session"),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]
    DEFAULT_CSS = """
    DraftErrorsScreen { align: center middle; }
    DraftErrorsScreen > VerticalScroll {
        width: 76;
        max-width: 100%;
        height: auto;
        max-height: 96%;
        border: round $border;
        border-title-color: $primary;
        border-subtitle-color: $text-muted;
        background: $background;
        padding: 0 2;
    }
    """

    def __init__(self, reply: Reply, replies: Sequence[Reply], name: str, token_styles: Mapping[str, Style]) -> None:
        """Show counts.

        Args:
            reply: That is shown first.
            replies: All of the session.
            name: What the reply is called.
            token_styles: Rich styles by the names of `specchat.ui.styles`.
        """
        super().__init__()
        self._reply = reply
        self._replies = replies
        self._name = name
        self._token_styles = token_styles
        self._shows_all = not reply.is_traced and any(other.is_traced for other in replies)

    def compose(self) -> ComposeResult:
        """One scrolling page."""
        with VerticalScroll():
            yield _Page(self._token_styles)

    def on_mount(self) -> None:
        """Count."""
        self._show()

    def action_other(self) -> None:
        """Show the session in place of the reply, or the other way round."""
        self._shows_all = not self._shows_all
        self._show()

    def _show(self) -> None:
        page = self.query_one(VerticalScroll)
        replies = self._replies if self._shows_all else [self._reply]
        traced = [reply for reply in replies if reply.is_traced]
        whose = f"{len(traced)} of {len(replies)} replies" if self._shows_all else self._name
        page.border_title = f"What the draft gets wrong · {whose}"
        page.border_subtitle = f"s: {'this reply' if self._shows_all else 'the session'} · Esc closes"
        errors = errors_of((reply, code_of(reply)) for reply in traced)
        content = self.query_one(_Page)
        if errors is None:
            content.lines = (line((UNTRACED.format("the session" if self._shows_all else "this reply"), "dim")),)
        else:
            content.lines = error_lines(errors, max((reply.draft_length or 0 for reply in traced), default=0) or None)
        content.refresh(layout=True)
        page.scroll_home(animate=False)


def code_of(reply: Reply) -> InCode:
    """What tells whether a token of a reply belongs to a fenced block of code."""
    blocks = code_blocks(reply.text)
    inside = bytearray()
    at = number = 0
    for channel, text in reply.rows:
        while number < len(blocks) and blocks[number].end <= at:
            number += 1
        is_inside = number < len(blocks) and blocks[number].start <= at
        inside.append(channel is Channel.CONTENT and is_inside)
        if channel is Channel.CONTENT:
            at += len(text)
    return lambda index: bool(inside[index])
