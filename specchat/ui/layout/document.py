"""The whole transcript as rows. Lays out again only what an event touched: the end of the last reply."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from specchat.core.conversation import Turn
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel, Token
from specchat.ui.layout.parts import GapPart, HeadingPart, Part, Row, TextPart
from specchat.ui.styles import style_of


class Place(NamedTuple):
    """Where a token is shown."""

    block: int
    start: int
    """Index of its first character in the text of the block."""
    end: int


_INDENT = 2
_BLOCKS_PER_TURN = 1 << 20
_BLOCKS_PER_SECTION = 3
_HEADINGS = {Channel.REASONING: "Thinking", Channel.TOOL: "Tool call"}


class _Section:
    """Neighbouring tokens of one channel."""

    def __init__(self, channel: Channel, first: int, block: int, width: int) -> None:
        self.channel = channel
        self.first = first
        self.gap = GapPart(block)
        title = _HEADINGS.get(channel)
        self.heading = None if title is None else HeadingPart(block + 1, title, "channel", indent=_INDENT)
        self.part = TextPart(block + 2, width, indent=_INDENT)

    def replace(self, tokens: Sequence[Token], first: int) -> int:
        styles = [style_of(token.label, thinking=self.channel is Channel.REASONING) for token in tokens]
        return self.part.replace(first - self.first, [token.text for token in tokens], styles)


class TurnLayout:
    """A prompt and its reply as rows."""

    def __init__(self, index: int, prompt: str, width: int) -> None:
        """Lay out the prompt.

        Args:
            index: Number of the turn in the conversation.
            prompt: What the user said.
            width: Cells of the transcript.
        """
        self._width = width
        self._block = (index + 1) * _BLOCKS_PER_TURN
        said = TextPart(self._block + 1, width, indent=_INDENT, style="prompt")
        said.replace(0, [prompt])
        self.heading = HeadingPart(self._block + 3, "Assistant", "assistant")
        self._head: list[Part] = [
            HeadingPart(self._block, "You", "you"), said, GapPart(self._block + 2), self.heading,
        ]  # fmt: skip
        self._sections: list[_Section] = []
        self._tail: list[Part] = [GapPart(self._block + _BLOCKS_PER_TURN - 1)]
        self.parts: list[Part] = []
        self._collect()

    @property
    def height(self) -> int:
        """Rows."""
        return self._ends[-1]

    def resize(self, width: int) -> None:
        """Lay out for another width."""
        self._width = width
        for part in self.parts:
            part.resize(width)
        self._collect()

    def row(self, index: int) -> Row:
        """One of its rows."""
        at = bisect_right(self._ends, index)
        return self.parts[at].row(index - (self._ends[at - 1] if at else 0))

    def place_of(self, index: int) -> tuple[int, int]:
        """(block, offset) of the first character of a row, which name the same place at any width."""
        row = self.row(index)
        return row.block, row.spans[0].offset if row.spans else 0

    def row_of(self, block: int, offset: int) -> int:
        """The row that shows a place."""
        at = max(0, bisect_right([part.block for part in self.parts], block) - 1)
        return (self._ends[at - 1] if at else 0) + (self.parts[at].row_at(offset) if self.parts[at].height else 0)

    def place_of_token(self, index: int) -> Place | None:
        """Where a token of the reply is shown; an empty stretch for one without text, None where there is none."""
        at = bisect_right(self._sections, index, key=lambda section: section.first) - 1
        if at < 0 or index - self._sections[at].first >= len(self._sections[at].part.flow):
            return None
        section = self._sections[at]
        return Place(section.part.block, *section.part.flow.span_of_piece(index - section.first))

    def token_at(self, block: int, offset: int) -> int | None:
        """The token of the reply that a character comes from; None where no token is shown."""
        section = next((section for section in self._sections if section.part.block == block), None)
        return None if section is None else section.first + section.part.flow.piece_at(offset)

    def update(self, reply: Reply, first: int) -> int:
        """Take in a reply whose tokens changed from index `first` on; returns the first row that may look different."""
        changed = self._update_sections(reply.tokens, first)
        self._tail = self._tail_of(reply)
        before = self._rows_before(changed[0]) + changed[1]
        self._collect()
        return before

    def _update_sections(self, tokens: Sequence[Token], first: int) -> tuple[int, int]:
        """Returns (section, row in it) of the first change."""
        first = min(first, len(tokens))
        while self._sections and self._sections[-1].first >= first:
            self._sections.pop()
        touched = max(0, len(self._sections) - 1)
        row: int | None = None
        start = first
        for index in range(first, len(tokens) + 1):
            ends = index == len(tokens)
            section = self._sections[-1] if self._sections else None
            spoken = None if ends or not tokens[index].text else tokens[index].channel
            moves = section is not None and spoken is not None and spoken is not section.channel
            if (ends or moves) and section is not None:
                changed = section.replace(tokens[start:index], start)
                row = changed if row is None else row
                start = index
            if not ends and (moves or section is None):
                block = self._block + 4 + _BLOCKS_PER_SECTION * len(self._sections)
                self._sections.append(_Section(_channel_from(tokens, index), index, block, self._width))
        return touched, row or 0

    def _rows_before(self, section: int) -> int:
        rows = sum(part.height for part in self._head)
        for earlier in self._sections[:section]:
            rows += earlier.part.height + (earlier.heading is not None and earlier.part.height > 0)
        # Gaps are left out: a row too early is drawn again for nothing, a row too late not at all.
        return rows

    def _tail_of(self, reply: Reply) -> list[Part]:
        sentences = []
        if reply.outcome is Outcome.FAILED:
            sentences.append((f"✗ {reply.error}", "error"))
        elif reply.outcome is Outcome.STOPPED:
            sentences.append(("■ stopped; what came is kept", "stopped"))
        elif reply.finish_reason == "length":
            sentences.append(("■ ended at the limit of tokens", "stopped"))
        sentences += [(f"· {note}", "note") for note in reply.notes]
        tail: list[Part] = []
        block = self._block + _BLOCKS_PER_TURN - 1 - len(sentences)
        for number, (sentence, style) in enumerate(sentences):
            part = TextPart(block + number, self._width, indent=_INDENT, style=style)
            part.replace(0, [sentence])
            tail.append(part)
        return [*tail, GapPart(self._block + _BLOCKS_PER_TURN - 1)]

    def _collect(self) -> None:
        parts = list(self._head)
        for number, section in enumerate(self._sections):
            if number and self._sections[number - 1].part.height and section.part.height:
                parts.append(section.gap)
            if section.heading is not None and section.part.height:
                parts.append(section.heading)
            parts.append(section.part)
        self.parts = [*parts, *self._tail]
        self._ends: list[int] = []
        rows = 0
        for part in self.parts:
            rows += part.height
            self._ends.append(rows)


class Document:
    """All turns, below a few sentences about the server."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.turns: list[TurnLayout] = []
        self._intro: list[Part] = []
        self._tops: list[int] = []
        """First row of each turn."""

    @property
    def height(self) -> int:
        """Rows."""
        return self._tops[-1] + self.turns[-1].height if self.turns else self._intro_height

    @property
    def _intro_height(self) -> int:
        return sum(part.height for part in self._intro)

    def set_intro(self, sentences: Sequence[str]) -> None:
        """Say what cannot be known here."""
        self._intro = []
        for number, sentence in enumerate(sentences):
            part = TextPart(number, self.width, indent=0, style="note")
            part.replace(0, [f"· {sentence}"])
            self._intro.append(part)
        if self._intro:
            self._intro.append(GapPart(len(sentences)))
        self._place(0)

    def resize(self, width: int) -> None:
        """Lay out for another width."""
        self.width = width
        for part in self._intro:
            part.resize(width)
        for turn in self.turns:
            turn.resize(width)
        self._place(0)

    def clear(self) -> None:
        """Drop all turns."""
        self.turns.clear()
        self._tops.clear()

    def update(self, turns: Sequence[Turn], first: int) -> int:
        """Take in turns; the last one's tokens changed from `first` on. Returns the first row that may differ."""
        changed = self.height
        while len(self.turns) < len(turns):
            number = len(self.turns)
            self.turns.append(TurnLayout(number, turns[number].prompt, self.width))
            self._place(number)
            first = 0
            if number + 1 < len(turns):
                self.turns[-1].update(turns[number].reply, 0)
        if self.turns:
            changed = min(changed, self._tops[-1] + self.turns[-1].update(turns[-1].reply, first))
        return changed

    def set_facts(self, turn: int, facts: str) -> int:
        """Say something at the right of an Assistant heading; returns its row."""
        layout = self.turns[turn]
        layout.heading.facts = facts
        return self._tops[turn] + layout.row_of(layout.heading.block, 0)

    def row(self, index: int) -> Row:
        """One row."""
        if self._tops and index >= self._tops[0]:
            turn = bisect_right(self._tops, index) - 1
            return self.turns[turn].row(index - self._tops[turn])
        for part in self._intro:
            if index < part.height:
                return part.row(index)
            index -= part.height
        raise IndexError(index)

    def place_of(self, index: int) -> tuple[int, int]:
        """(block, offset) of the first character of a row, which name the same place at any width."""
        row = self.row(index)
        return row.block, row.spans[0].offset if row.spans else 0

    def row_of(self, block: int, offset: int) -> int:
        """The row that shows a place."""
        turn = block // _BLOCKS_PER_TURN - 1
        if 0 <= turn < len(self.turns):
            return self._tops[turn] + self.turns[turn].row_of(block, offset)
        rows = 0
        for part in self._intro:
            if part.block == block:
                return rows + part.row_at(offset)
            rows += part.height
        return rows

    def place_of_token(self, turn: int, index: int) -> Place | None:
        """Where a token of a turn's reply is shown; see `TurnLayout.place_of_token`."""
        return self.turns[turn].place_of_token(index)

    def token_at(self, block: int, offset: int) -> tuple[int, int] | None:
        """(turn, token) that a character of a block comes from; None where no token is shown."""
        turn = block // _BLOCKS_PER_TURN - 1
        if not 0 <= turn < len(self.turns):
            return None
        token = self.turns[turn].token_at(block, offset)
        return None if token is None else (turn, token)

    def parts(self) -> Iterator[Part]:
        """All parts from the top to the end, in the order of their blocks."""
        yield from self._intro
        for turn in self.turns:
            yield from turn.parts

    def _place(self, first: int) -> None:
        del self._tops[first:]
        for number in range(len(self._tops), len(self.turns)):
            before = self._tops[-1] + self.turns[number - 1].height if number else self._intro_height
            self._tops.append(before)


def _channel_from(tokens: Sequence[Token], index: int) -> Channel:
    """The channel of the first token from `index` on that has a text."""
    return next((token.channel for token in tokens[index:] if token.text), tokens[index].channel)
