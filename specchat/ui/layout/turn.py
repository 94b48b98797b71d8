"""One turn as rows: the prompt, the reply's sections, and what there is to say of its end.

Lays out again only what an event touched. Knows no other turn and no screen row: `Document` stacks turns.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from specchat.core.conversation import Turn
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel
from specchat.core.switch_meaning import meaning_of
from specchat.ui.layout.asides import Aside
from specchat.ui.layout.markdown import MarkdownLayout
from specchat.ui.layout.parts import GapPart, HeadingPart, Part, Row, TextPart
from specchat.ui.layout.section import BLOCKS_PER_SECTION, INDENT, Section, View, channel_from
from specchat.ui.proposals import asides_of

BLOCKS_PER_TURN = 1 << 44
"""Numbers that the blocks of one turn share out among them."""
REPLACED = "replaced"
"""The style of everything in a turn that counts no more."""


class Place(NamedTuple):
    """Where a token is shown."""

    block: int
    start: int
    """Index of its first character in the text of the block."""
    end: int


class TurnLayout:
    """A prompt and its reply as rows.

    Attributes:
        replaced: Is it drawn as one that counts no more?
        parts: What is shown, from the top.
    """

    def __init__(self, index: int, turn: Turn, width: int, view: View) -> None:
        """Lay out the prompt.

        Args:
            index: Number of the turn in the conversation.
            turn: What was said; the reply itself is taken in by `update`.
            width: Cells of the transcript.
            view: How the reply is to be shown.
        """
        self._width = width
        self._block = (index + 1) * BLOCKS_PER_TURN
        self._view = view
        self._reply = turn.reply
        self._server = turn.server
        self._complete = False
        self.replaced = turn.replaced
        self._title = "Assistant · continued" if turn.continues else "Assistant"
        self.heading = HeadingPart(self._block + 3, self._title, "assistant")
        # A reply can be shown without what it answers.
        self._head: list[Part] = self._question(turn.prompt) if turn.prompt and not turn.continues else []
        self._head.append(self.heading)
        self._sections: list[Section] = []
        self._thought = bytearray()
        """For each token of the reply: 1 if it has an id and belongs to the thinking."""
        self._tail: list[Part] = [GapPart(self._block + BLOCKS_PER_TURN - 1)]
        self.set_replaced(replaced=turn.replaced)
        self._collect()

    def _question(self, prompt: str) -> list[Part]:
        said = TextPart(self._block + 1, self._width, indent=INDENT, style="prompt")
        said.replace(0, [prompt])
        return [HeadingPart(self._block, "You", "you"), said, GapPart(self._block + 2)]

    @property
    def height(self) -> int:
        """Rows."""
        return self._ends[-1]

    # -- changing -------------------------------------------------------------------------------------------------

    def resize(self, width: int) -> None:
        """Lay out for another width."""
        self._width = width
        for part in (*self._head, *self._tail):
            part.resize(width)
        for section in self._sections:
            section.resize(width)
        self._collect()

    def update(self, reply: Reply, first: int) -> int:
        """Take in a reply whose tokens changed from index `first` on; returns the first row that may look different."""
        complete = not reply.is_running
        whole = complete is not self._complete and self._view.markdown
        self._complete = complete
        changed = self._update_sections(reply, first)
        self._tail = self._tail_of(reply, self._server)
        before = self._rows_before(changed[0]) + changed[1]
        self._collect()
        return 0 if whole else before

    def set_replaced(self, *, replaced: bool) -> None:
        """Say whether it counts no more."""
        self.replaced = replaced
        self.heading.text = f"{self._title} · replaced" if replaced else self._title

    @property
    def view(self) -> View:
        """How the reply is shown."""
        return self._view

    def set_view(self, view: View) -> None:
        """Show the reply in another way."""
        before, self._view = self._view, view
        if view.proposals is not before.proposals:
            asides = asides_of(self._reply, view.proposals)
            for section in self._sections:
                end = section.first + len(section.part.flow)
                section.set_asides(_within(asides, section.first, end), view.proposals)
        self._collect()

    # -- Markdown -------------------------------------------------------------------------------------------------

    def wanted_markdown(self) -> Iterator[MarkdownLayout]:
        """The layouts that the view needs and that are not there; their `lay_out` was not called."""
        for section in self._sections:
            if section.wants_markdown(self._view, self._width, complete=self._complete):
                yield MarkdownLayout(section.part.text, section.markdown_block, self._width, indent=INDENT)

    def take_markdown(self, markdown: MarkdownLayout) -> bool:
        """Have a layout that was made elsewhere; False where it fits no longer."""
        section = self._section_of(markdown.block)
        if section is None or not section.take_markdown(markdown):
            return False
        self._collect()
        return True

    # -- reading --------------------------------------------------------------------------------------------------

    def row(self, index: int) -> Row:
        """One of its rows."""
        at = bisect_right(self._ends, index)
        row = self.parts[at].row(index - (self._ends[at - 1] if at else 0))
        if self.replaced:
            spans = (span if span.aside else span._replace(style=REPLACED) for span in row.spans)
            return row._replace(spans=tuple(spans))
        return row

    def row_of(self, block: int, offset: int) -> int:
        """The row that shows a place, or what is shown instead of it."""
        section = self._section_of(block)
        if section is not None:
            block, offset = section.shown_place(block, offset)
        at = max(0, bisect_right([part.block for part in self.parts], block) - 1)
        return (self._ends[at - 1] if at else 0) + (self.parts[at].row_at(offset) if self.parts[at].height else 0)

    def place_of_token(self, index: int) -> Place | None:
        """Where a token of the reply is shown; an empty stretch for one without text, None where it is not shown."""
        at = bisect_right(self._sections, index, key=lambda section: section.first) - 1
        if at < 0 or index - self._sections[at].first >= len(self._sections[at].part.flow):
            return None
        section = self._sections[at]
        if not section.shows_tokens:
            return None
        return Place(section.part.block, *section.part.flow.span_of_piece(index - section.first))

    def shown_tokens(self) -> list[range]:
        """Indices of the reply's tokens that are shown one by one, stretch by stretch."""
        shown = (section for section in self._sections if section.shows_tokens and section.part.height)
        return [range(section.first, section.first + len(section.part.flow)) for section in shown]

    def token_at(self, block: int, offset: int) -> int | None:
        """The token of the reply that a character comes from; None where no token is shown."""
        section = self._section_of(block)
        if section is None or section.part.block != block:
            return None
        return section.first + section.part.flow.piece_at(offset)

    def hidden_parts(self) -> Iterator[Part]:
        """Thinking that is folded."""
        return (section.part for section in self._sections if section.is_folded)

    def _section_of(self, block: int) -> Section | None:
        number = (block - self._block) // BLOCKS_PER_SECTION - 1
        return self._sections[number] if 0 <= number < len(self._sections) else None

    # -- laying out -----------------------------------------------------------------------------------------------

    def _update_sections(self, reply: Reply, first: int) -> tuple[int, int]:
        """Returns (section, row in it) of the first change."""
        rows = reply.rows
        first = min(first, len(rows))
        self._note_thought(rows, reply.ids, first)
        while self._sections and self._sections[-1].first > first:
            self._sections.pop()
        section = self._sections[-1] if self._sections else None
        if section is not None and section.first == first:
            # Where only origins changed, the text keeps its lines. A token without text belongs to the section before.
            joins = first < len(rows) and not rows[first][1] and len(self._sections) > 1
            if first == len(rows) or joins or channel_from(rows, first) is not section.channel:
                self._sections.pop()
                section = self._sections[-1] if self._sections else None
        touched = max(0, len(self._sections) - 1)
        row: int | None = None
        start = first
        asides = asides_of(reply, self._view.proposals, first)
        for index, (channel, text) in enumerate(rows[first:], first):
            if section is not None and (channel is section.channel or not text):
                continue
            if section is not None:
                texts = [text for _, text in rows[start:index]]
                changed = section.replace(texts, start, _within(asides, start, index))
                row = changed if row is None else row
                start = index
            block = self._block + BLOCKS_PER_SECTION * (len(self._sections) + 1)
            section = Section(
                channel_from(rows, index),
                index,
                block,
                self._width,
                reply.label_of,
                proposals=self._view.proposals,
            )
            self._sections.append(section)
        if section is not None:
            changed = section.replace([text for _, text in rows[start:]], start, _within(asides, start, len(rows)))
            row = changed if row is None else row
        shows_tokens = touched < len(self._sections) and self._sections[touched].shows_tokens
        return touched, row if row is not None and shows_tokens else 0

    def _note_thought(self, rows: Sequence[tuple[Channel, str]], ids: Sequence[int | None], first: int) -> None:
        changed = zip(rows[first:], ids[first:], strict=False)
        thought = bytes(channel is Channel.REASONING and token_id is not None for (channel, _), token_id in changed)
        self._thought[first:] = thought.ljust(len(rows) - first, b"\0")

    def _rows_before(self, section: int) -> int:
        # Gaps are left out: a row too early is drawn again for nothing, a row too late not at all.
        rows = sum(part.height for part in self._head)
        return rows + sum(earlier.height for earlier in self._sections[:section])

    def _tail_of(self, reply: Reply, server: ServerInfo) -> list[Part]:
        sentences = []
        if reply.outcome is Outcome.FAILED:
            sentences.append((f"✗ {reply.error}", "error"))
        elif reply.outcome is Outcome.STOPPED:
            sentences.append(("■ stopped; what came is kept", "stopped"))
        elif reply.finish_reason == "length":
            sentences.append(("■ ended at the limit of tokens", "stopped"))
        meaning = meaning_of(reply, server)
        if meaning is not None and reply.has_ids:
            sentences.append((f"· {meaning.sentence}", "note"))
        sentences += [(f"· {note}", "note") for note in reply.notes]
        tail: list[Part] = []
        block = self._block + BLOCKS_PER_TURN - 1 - len(sentences)
        for number, (sentence, style) in enumerate(sentences):
            part = TextPart(block + number, self._width, indent=INDENT, style=style)
            part.replace(0, [sentence])
            tail.append(part)
        return [*tail, GapPart(self._block + BLOCKS_PER_TURN - 1)]

    def _collect(self) -> None:
        self._count_thought()
        parts = list(self._head)
        for number, section in enumerate(self._sections):
            section.arrange(self._view, complete=self._complete)
            if number and self._sections[number - 1].height and section.height:
                parts.append(section.gap)
            parts += section.shown
        self.parts = [*parts, *self._tail]
        self._ends: list[int] = []
        rows = 0
        for part in self.parts:
            rows += part.height
            self._ends.append(rows)

    def _count_thought(self) -> None:
        """Tell each stretch of thinking its tokens; those before it without a text may hang on what precedes."""
        counted = 0
        for number, section in enumerate(self._sections):
            # One without any text is not shown, and is none where the reply is laid out at once.
            if section.channel is Channel.REASONING and section.part.height:
                ends = self._sections[number + 1].first if number + 1 < len(self._sections) else len(self._thought)
                section.count = self._thought.count(1, counted, ends)
                counted = ends


def _within(asides: Sequence[Aside], start: int, end: int) -> Sequence[Aside]:
    """Those before tokens of a stretch."""
    first = bisect_left(asides, start, key=_index_of)
    return asides[first : bisect_left(asides, end, first, key=_index_of)]


def _index_of(aside: Aside) -> int:
    return aside[0]
