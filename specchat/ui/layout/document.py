"""The whole transcript as rows: turns, one below the other. Knows in which row each of them begins."""

from bisect import bisect_right
from collections.abc import Iterator, Sequence

from specchat.core.conversation import Turn
from specchat.ui.layout.markdown import MarkdownLayout
from specchat.ui.layout.parts import GapPart, Part, Row, TextPart
from specchat.ui.layout.section import View
from specchat.ui.layout.turn import BLOCKS_PER_TURN, Place, TurnLayout
from specchat.ui.proposals import Proposals

__all__ = ["Document", "Place", "TurnLayout", "View"]


class Document:
    """All turns, below a few sentences about the server."""

    def __init__(self, width: int) -> None:
        self.width = width
        self.turns: list[TurnLayout] = []
        self._intro: list[Part] = []
        self._view = View()
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
        for number, (layout, turn) in enumerate(zip(self.turns, turns, strict=False)):
            if layout.replaced is not turn.replaced:
                layout.set_replaced(replaced=turn.replaced)
                changed = min(changed, self._tops[number])
        while len(self.turns) < len(turns):
            number = len(self.turns)
            self.turns.append(TurnLayout(number, turns[number], self.width, self._view))
            self._place(number)
            first = 0
            if number + 1 < len(turns):
                self.turns[-1].update(turns[number].reply, 0)
        if self.turns:
            changed = min(changed, self._tops[-1] + self.turns[-1].update(turns[-1].reply, first))
        return changed

    # -- views ----------------------------------------------------------------------------------------------------

    def view_of(self, turn: int | None) -> View:
        """How a turn's reply is shown; None asks how those to come will be."""
        return self._view if turn is None else self.turns[turn].view

    def set_view(
        self,
        turn: int | None,
        *,
        folded: bool | None = None,
        markdown: bool | None = None,
        proposals: Proposals | None = None,
    ) -> None:
        """Show a reply in another way.

        Args:
            turn: Its number; None for all, and those to come.
            folded: Shall its thinking be only a heading? None leaves that as it is.
            markdown: Shall its answer be Markdown, as soon as it is complete? None leaves that as it is.
            proposals: How shall rejected proposals be shown? None leaves that as it is.
        """
        if turn is None:
            self._view = _changed(self._view, folded, markdown, proposals)
        for layout in self.turns if turn is None else [self.turns[turn]]:
            layout.set_view(_changed(layout.view, folded, markdown, proposals))
        self._place(0)

    def wanted_markdown(self) -> list[MarkdownLayout]:
        """The layouts that views need and that are not there: call `lay_out` of each, anywhere, then take them."""
        return [wanted for turn in self.turns if turn.view.markdown for wanted in turn.wanted_markdown()]

    def take_markdown(self, markdown: MarkdownLayout) -> bool:
        """Show a layout; False where it fits no longer."""
        turn = self.turn_of(markdown.block)
        if turn is None or not self.turns[turn].take_markdown(markdown):
            return False
        self._place(turn)
        return True

    # -- reading --------------------------------------------------------------------------------------------------

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
        return row.block, row.spans[0].offset if row.spans else row.end

    def turn_of(self, block: int) -> int | None:
        """The number of the turn that a block belongs to; None above the first."""
        turn = block // BLOCKS_PER_TURN - 1
        return turn if 0 <= turn < len(self.turns) else None

    def row_of(self, block: int, offset: int) -> int:
        """The row that shows a place, or what is shown instead of it."""
        turn = self.turn_of(block)
        if turn is not None:
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

    def shown_tokens(self, turn: int) -> list[range]:
        """Indices of the tokens of a turn's reply that are shown one by one; see `TurnLayout.shown_tokens`."""
        return self.turns[turn].shown_tokens()

    def token_at(self, block: int, offset: int) -> tuple[int, int] | None:
        """(turn, token) that a character of a block comes from; None where no token is shown."""
        turn = self.turn_of(block)
        if turn is None:
            return None
        token = self.turns[turn].token_at(block, offset)
        return None if token is None else (turn, token)

    def parts(self) -> Iterator[Part]:
        """All parts from the top to the end, in the order of their blocks."""
        yield from self._intro
        for turn in self.turns:
            yield from turn.parts

    def hidden_parts(self) -> Iterator[Part]:
        """Thinking that is folded, from the top to the end."""
        for turn in self.turns:
            yield from turn.hidden_parts()

    def _place(self, first: int) -> None:
        del self._tops[first:]
        for number in range(len(self._tops), len(self.turns)):
            before = self._tops[-1] + self.turns[number - 1].height if number else self._intro_height
            self._tops.append(before)


def _changed(view: View, folded: bool | None, markdown: bool | None, proposals: Proposals | None) -> View:
    return View(
        view.folded if folded is None else folded,
        view.markdown if markdown is None else markdown,
        view.proposals if proposals is None else proposals,
    )
