"""Neighbouring tokens of one channel as parts: token by token, folded to a heading, or as Markdown.

Owns the choice between the three; a place in one that is not shown is translated to one in that which is.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from specchat.core.speculation import Channel, Label
from specchat.ui.layout.asides import Aside
from specchat.ui.layout.markdown import MarkdownLayout
from specchat.ui.layout.parts import GapPart, HeadingPart, Part, TextPart
from specchat.ui.proposals import Proposals, aside_style
from specchat.ui.styles import style_of

INDENT = 2
BLOCKS_PER_SECTION = 1 << 20
"""Numbers that the blocks of one section share out among them."""
_HEADINGS = {Channel.REASONING: "Thinking", Channel.TOOL: "Tool call"}
_PART = 2
_MARKDOWN = 3


class View(NamedTuple):
    """How a reply is shown."""

    folded: bool = False
    """Is its thinking only a heading?"""
    markdown: bool = False
    """Is its answer shown as Markdown, as soon as it is complete, and not token by token?"""
    proposals: Proposals = Proposals.HIDDEN
    """How rejected proposals are shown among its tokens."""


class Section:
    """Tokens of one channel.

    Attributes:
        first: Index, in the reply, of its first token.
        part: Its tokens, whether they are shown or not.
        count: Tokens with an id, for the heading of what is folded; 0 where the server sends no ids.
    """

    def __init__(
        self,
        channel: Channel,
        first: int,
        block: int,
        width: int,
        label_of: Callable[[int], Label],
        *,
        proposals: Proposals = Proposals.HIDDEN,
    ) -> None:
        """Start empty.

        Args:
            channel: The channel of all its tokens that have a text.
            first: Index of its first token.
            block: The first of its numbers for blocks.
            width: Cells of the transcript.
            label_of: What is known of a token, by its index in the reply. It is asked for what is in sight, whenever
                that is drawn: a report that is laid over a long reply changes the looks of all of it at once.
            proposals: How rejected proposals are shown.
        """
        self.channel = channel
        self.first = first
        self.block = block
        self.gap = GapPart(block)
        self._title = _HEADINGS.get(channel)
        self._heading = HeadingPart(block + 1, self._title or "", "channel", indent=INDENT)
        # No method of this section: a circle of objects would outlive the conversation (see `specchat.ui.frames`).
        style = partial(_style, label_of, first, channel is Channel.REASONING)
        around = partial(aside_style, proposals)
        self.part = TextPart(block + _PART, width, indent=INDENT, style=style, aside_style=around)
        self.count = 0
        self._markdown: MarkdownLayout | None = None
        self._shown: list[Part] = [self.part]
        self.arrange(View(), complete=False)

    @property
    def shown(self) -> list[Part]:
        """The parts that `arrange` chose."""
        return self._shown

    @property
    def height(self) -> int:
        """Rows of what is shown."""
        return sum(part.height for part in self._shown)

    @property
    def shows_tokens(self) -> bool:
        """Are its tokens shown one by one?"""
        return self._shown[-1] is self.part

    @property
    def is_folded(self) -> bool:
        """Is nothing of it shown but the heading?"""
        return self._shown[-1] is self._heading

    def replace(self, texts: Sequence[str], first: int, asides: Sequence[Aside] = ()) -> int:
        """Put tokens with these texts in place of those from index `first` of the reply on.

        Args:
            texts: One for each token.
            first: Index of the first of them.
            asides: What is drawn before some of them, by their indices.

        Returns:
            The first row of `part` that may look different.
        """
        return self.part.replace(first - self.first, texts, asides=self._own(asides))

    def set_asides(self, asides: Sequence[Aside], proposals: Proposals) -> None:
        """Draw other rejected proposals.

        Args:
            asides: Those of all of its tokens, by their indices in the reply.
            proposals: How they are shown.
        """
        self.part.set_asides(self._own(asides), partial(aside_style, proposals))

    def _own(self, asides: Sequence[Aside]) -> list[Aside]:
        return [(index - self.first, words) for index, words in asides]

    def resize(self, width: int) -> None:
        """Lay out for another width. Markdown keeps its rows until it is laid out anew, which takes longer."""
        self.part.resize(width)

    def arrange(self, view: View, *, complete: bool) -> None:
        """Choose what is shown.

        Args:
            view: What the reader wants.
            complete: Will nothing of the reply change any more?
        """
        if not self.part.height:
            self._shown = [self.part]
        elif self.channel is Channel.REASONING and view.folded:
            self._shown = [self._heading]
        elif self._is_markdown(view, complete=complete) and self._markdown is not None and self._markdown.height:
            self._shown = self._markdown.parts
        else:
            self._shown = [self.part] if self._title is None else [self._heading, self.part]
        if self.channel is Channel.REASONING:
            self._heading.text = self._folded_title() if self.is_folded else f"▾ {self._title}"

    def wants_markdown(self, view: View, width: int, *, complete: bool) -> bool:
        """Must its text be laid out as Markdown for this view and width?"""
        if not self._is_markdown(view, complete=complete) or not self.part.height:
            return False
        return self._markdown is None or self._markdown.width != width or self._markdown.source != self.part.text

    def take_markdown(self, markdown: MarkdownLayout) -> bool:
        """Have a layout that was made elsewhere; False where the text is another one by now."""
        if markdown.source != self.part.text:
            return False
        self._markdown = markdown
        return True

    @property
    def markdown_block(self) -> int:
        """The first number for blocks of Markdown."""
        return self.block + _MARKDOWN

    def shown_place(self, block: int, offset: int) -> tuple[int, int]:
        """The place, among what is shown, of one in any view."""
        if self.is_folded and block != self.gap.block:
            return self._heading.block, 0
        if block >= self.markdown_block and self.shows_tokens:
            return self.part.block, 0 if self._markdown is None else self._markdown.source_of(block, offset)
        if block == self.part.block and not self.shows_tokens and self._markdown is not None:
            return self._markdown.place_of(offset)
        return block, offset

    def _is_markdown(self, view: View, *, complete: bool) -> bool:
        # A growing text would be laid out again and again, and rows above its end would change under the reader.
        return view.markdown and complete and self.channel is Channel.CONTENT

    def _folded_title(self) -> str:
        tokens = f" · {self.count} token{'s' if self.count != 1 else ''}" if self.count else ""
        return f"▸ {self._title}{tokens} · F6 opens"


def _style(label_of: Callable[[int], Label], first: int, thinking: bool, piece: int) -> str:
    return style_of(label_of(first + piece), thinking=thinking)


def channel_from(rows: Sequence[tuple[Channel, str]], index: int) -> Channel:
    """The channel of the first token from `index` on that has a text."""
    return next((rows[at][0] for at in range(index, len(rows)) if rows[at][1]), rows[index][0])
