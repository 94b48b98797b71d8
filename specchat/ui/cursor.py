"""The token cursor: at which token it stands, and where each move takes it. Draws nothing and knows no widget.

It stands at tokens that are shown with a text: never at the later tokens of one character, and never at what is folded
away or shown as Markdown.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.cells import cell_len

from specchat.core.conversation import Turn
from specchat.core.harmless import harmless
from specchat.core.reply import Reply
from specchat.core.speculation import Origin, Token
from specchat.ui.layout.document import Document, Place
from specchat.ui.layout.parts import Row


class Spot(NamedTuple):
    """A token of a conversation."""

    turn: int
    token: int
    """Index into the tokens of the turn's reply."""


class TokenCursor:
    """Stands at one token of the shown conversation, or nowhere while there is none."""

    def __init__(self, document: Document) -> None:
        """Stand nowhere.

        Args:
            document: Where tokens are shown; it holds as many turns as `take` is given.
        """
        self.spot: Spot | None = None
        self._document = document
        self._turns: Sequence[Turn] = ()
        self._left: Spot | None = None
        """Where it would stand if that were shown; None where it stands there, or was moved since."""
        self._column: int | None = None
        """Cells from the left at which moves by rows aim; None after any other move."""
        self._moves: dict[str, Callable[[], Spot | None]] = {
            "next-token": lambda: self._beside(1),
            "previous-token": lambda: self._beside(-1),
            "next-step": self._next_step,
            "previous-step": self._previous_step,
            "next-rejection": lambda: self._rejection(1),
            "previous-rejection": lambda: self._rejection(-1),
            "next-reply": lambda: self._reply(1),
            "previous-reply": lambda: self._reply(-1),
            "first-token": lambda: self._edge(1),
            "last-token": lambda: self._edge(-1),
            "beginning": lambda: self._outermost(1),
            "end": lambda: self._outermost(-1),
        }

    # -- what changes around it -----------------------------------------------------------------------------------

    def take(self, turns: Sequence[Turn]) -> None:
        """The conversation changed: stay at the token, or at what is nearest before it until it is shown again."""
        self._turns = turns
        wanted = self._left or self.spot
        if wanted is None:
            return
        if wanted.turn < self._count:
            self.spot = self._nearest(wanted)
            self._left = None if self.spot == wanted else wanted
        else:
            self.spot, self._left = self._outermost(-1), None

    def enter(self, top: int, bottom: int) -> bool:
        """Stand at the last token in the rows from `top` to before `bottom`, unless it stands within them already.

        Returns:
            False if there is no token anywhere.
        """
        row = self.row
        if row is not None and top <= row < bottom:
            return True
        bottom = min(bottom, self._document.height)
        in_sight = (tokens[-1][1] for row in range(bottom - 1, top - 1, -1) if (tokens := self.tokens_in(row)))
        nearest = next(in_sight, None) or self._toward(bottom - 1, -1, 1 << 30) or self._toward(top, 1, 0)
        self._stand(nearest)
        return nearest is not None

    # -- where it is ----------------------------------------------------------------------------------------------

    @property
    def row(self) -> int | None:
        """The row of the document in which it stands."""
        return None if self.spot is None else self.row_of(self.spot)

    @property
    def is_last(self) -> bool:
        """Is there no token behind it?"""
        return self.spot is not None and self._scan(self.spot, 1) is None

    def place(self) -> Place | None:
        """Where its token is shown."""
        return None if self.spot is None else self._document.place_of_token(*self.spot)

    def step(self) -> list[Spot]:
        """All tokens of its step in order, those without a text included; its own alone where no step is known."""
        if self.spot is None:
            return []
        turn, token = self.spot
        return [Spot(turn, index) for index in tokens_of_step(self._turns[turn].reply, token)]

    def row_of(self, spot: Spot) -> int:
        """The row in which a token stands: that of its first visible character."""
        block, offset = self._anchor(spot)
        return self._document.row_of(block, offset)

    def tokens_in(self, row: int) -> list[tuple[int, Spot]]:
        """(cells from the left, token) of the tokens that stand in a row, in order."""
        shown = self._document.row(row)
        at = shown.spans[0].offset if shown.spans else shown.end
        found: list[tuple[int, Spot]] = []
        while at <= shown.end:
            named = self._document.token_at(shown.block, at)
            place = None if named is None else self._document.place_of_token(*named)
            if named is None or place is None:
                break
            spot = Spot(*named)
            if place.end > place.start:
                block, anchor = self._anchor(spot)
                if self._document.row_of(block, anchor) == row:
                    found.append((column_of(shown, anchor), spot))
            at = max(place.end, at + 1)
        return found

    # -- moving ---------------------------------------------------------------------------------------------------

    def move(self, name: str) -> bool:
        """Make a move by its name; False where there is nothing to move to."""
        spot = None if self.spot is None else self._moves[name]()
        if spot is None or spot == self.spot:
            return False
        self._stand(spot)
        return True

    def move_rows(self, rows: int) -> bool:
        """Go down (up, if negative) by some rows, to the token nearest below (above); False at the end."""
        if self.spot is None:
            return False
        at = self.row_of(self.spot)
        column = self._column
        if column is None:
            column = column_of(self._document.row(at), self._anchor(self.spot)[1])
        direction = 1 if rows > 0 else -1
        spot = self._toward(at + rows, direction, column) or self._outermost(-direction)
        if spot is None or spot == self.spot:
            return False
        self.spot, self._column, self._left = spot, column, None
        return True

    def go_to(self, spot: Spot) -> bool:
        """Stand at a token, or at the nearest one before it that is shown with a text; False if there is none."""
        nearest = self._nearest(spot) if 0 <= spot.turn < self._count else None
        if nearest is not None:
            self._stand(nearest)
        return nearest is not None

    def go_to_step(self, number: int) -> bool:
        """Stand at the first token of a step of the reply that it stands in; steps are counted from 0."""
        if self.spot is None:
            return False
        turn = self.spot.turn
        first = first_of_step(self._tokens(turn), number)
        of_step = [] if first is None else tokens_of_step(self._turns[turn].reply, first)
        found = next((index for index in of_step if self._is_shown(turn, index)), None)
        if found is not None:
            self._stand(Spot(turn, found))
        return found is not None

    def _stand(self, spot: Spot | None) -> None:
        self.spot, self._column, self._left = spot, None, None

    def _nearest(self, spot: Spot) -> Spot | None:
        """The token itself if it is shown with a text, else the nearest before it, else behind it."""
        return self._scan(Spot(spot.turn, spot.token + 1), -1) or self._scan(spot, 1)

    def _beside(self, direction: int) -> Spot | None:
        return None if self.spot is None else self._scan(self.spot, direction)

    def _next_step(self) -> Spot | None:
        return None if self.spot is None else self._other_step(self.spot, 1)

    def _previous_step(self) -> Spot | None:
        if self.spot is None:
            return None
        first = self._first_of_step(self.spot)
        if first != self.spot:
            return first
        before = self._other_step(self.spot, -1)
        return None if before is None else self._first_of_step(before)

    def _first_of_step(self, spot: Spot) -> Spot:
        tokens = self._tokens(spot.turn)
        of_step = tokens_of_step(self._turns[spot.turn].reply, spot.token)
        return Spot(spot.turn, next((index for index in of_step if tokens[index].text), spot.token))

    def _other_step(self, spot: Spot, direction: int) -> Spot | None:
        """The nearest token of another step; the first token of a reply, which belongs to none, counts as one."""
        own = self._tokens(spot.turn)[spot.token].label.step

        def is_other(turn: int, token: Token) -> bool:
            step = token.label.step
            return token.label.origin is Origin.PREFILL if step is None else turn != spot.turn or step != own

        return self._scan(spot, direction, is_other)

    def _rejection(self, direction: int) -> Spot | None:
        """Where the target put its own word in place of a rejected one."""
        if self.spot is None:
            return None
        for turn in range(self.spot.turn, self._count if direction > 0 else -1, direction):
            start = self.spot.token if turn == self.spot.turn else None
            for index in corrections(self._turns[turn].reply, start, direction):
                if self._is_shown(turn, index):
                    return Spot(turn, index)
        return None

    def _reply(self, direction: int) -> Spot | None:
        if self.spot is None:
            return None
        others = range(self.spot.turn + direction, self._count if direction > 0 else -1, direction)
        return next((first for turn in others if (first := self._first_in(turn, 1)) is not None), None)

    def _edge(self, direction: int) -> Spot | None:
        return None if self.spot is None else self._first_in(self.spot.turn, direction)

    def _outermost(self, direction: int) -> Spot | None:
        """The first (last, if negative) token of all."""
        turns = range(self._count)
        found = (self._first_in(turn, direction) for turn in (turns if direction > 0 else reversed(turns)))
        return next((spot for spot in found if spot is not None), None)

    def _first_in(self, turn: int, direction: int) -> Spot | None:
        """The first (last, if negative) token of a reply that is shown."""
        start = -1 if direction > 0 else len(self._tokens(turn))
        return self._scan(Spot(turn, start), direction, one_reply=True)

    def _scan(
        self,
        spot: Spot,
        direction: int,
        is_wanted: Callable[[int, Token], bool] | None = None,
        *,
        one_reply: bool = False,
    ) -> Spot | None:
        """The nearest shown token, behind (before, if negative) a place, that is wanted."""
        turns = range(spot.turn, self._count if direction > 0 else -1, direction)
        for turn in turns[:1] if one_reply else turns:
            tokens = self._tokens(turn)
            at = spot.token if turn == spot.turn else -1 if direction > 0 else len(tokens)
            for shown in self._document.shown_tokens(turn)[::direction]:
                start, stop = max(shown.start, at + 1), min(shown.stop, len(tokens))
                indices = range(start, stop) if direction > 0 else range(min(stop, at) - 1, shown.start - 1, -1)
                for index in indices:
                    token = tokens[index]
                    if token.text and (is_wanted is None or is_wanted(turn, token)):
                        return Spot(turn, index)
        return None

    # -- rows -----------------------------------------------------------------------------------------------------

    def _toward(self, row: int, direction: int, column: int) -> Spot | None:
        """The token that covers a column in the first row, from a row on downwards (upwards), that has any.

        Rows between replies are leapt over, however many a prompt has.
        """
        turns = range(self._count)
        for turn in turns if direction > 0 else reversed(turns):
            edges = self._first_in(turn, 1), self._first_in(turn, -1)
            if edges[0] is None or edges[1] is None:
                continue
            first, last = self.row_of(edges[0]), self.row_of(edges[1])
            rows = range(max(row, first), last + 1) if direction > 0 else range(min(row, last), first - 1, -1)
            for at in rows:
                tokens = self.tokens_in(at)
                if tokens:
                    covering = [spot for cells, spot in tokens if cells <= column]
                    return covering[-1] if covering else tokens[0][1]
        return None

    def _anchor(self, spot: Spot) -> tuple[int, int]:
        """(block, offset) of a token's first visible character, since its space may stand at the end of a row above."""
        place = self._document.place_of_token(*spot)
        if place is None:
            return 0, 0
        tokens = self._tokens(spot.turn)
        text = harmless(tokens[spot.token].text) if spot.token < len(tokens) else ""
        blank = len(text) - len(text.lstrip(" \t\n"))
        return place.block, place.start + (blank if blank < place.end - place.start else 0)

    def _tokens(self, turn: int) -> Sequence[Token]:
        return self._turns[turn].reply.tokens

    def _is_shown(self, turn: int, token: int) -> bool:
        return bool(self._tokens(turn)[token].text) and self._document.place_of_token(turn, token) is not None

    @property
    def _count(self) -> int:
        """Turns that are laid out; the conversation may have one more already."""
        return min(len(self._turns), len(self._document.turns))


def tokens_of_step(reply: Reply, index: int) -> list[int]:
    """Indices of the tokens of the step that a token belongs to; its own alone where its step is not known."""
    tokens = reply.tokens
    step = tokens[index].label.step
    if step is None:
        return [index]
    found = [index]
    for direction in (-1, 1):
        at = index + direction
        # A chunk's text may have rows of its own, without an id, between the tokens of a step.
        while 0 <= at < len(tokens) and (tokens[at].label.step == step or tokens[at].id is None):
            if tokens[at].id is not None:
                found.append(at)
            at += direction
    return sorted(found)


def first_of_step(tokens: Sequence[Token], number: int) -> int | None:
    """Index of the first token of a step; None where no token is known to be of it. Steps are in order."""
    at = bisect_left(range(len(tokens)), number, key=lambda index: _step_before(tokens, index))
    return at if at < len(tokens) and tokens[at].label.step == number else None


def corrections(reply: Reply, start: int | None, direction: int) -> Iterator[int]:
    """Indices of the corrections that have a text, from behind (before, if negative) a token on.

    Args:
        reply: Where to look.
        start: Index of a token; None for the whole reply.
        direction: 1 or -1.
    """
    tokens, steps = reply.tokens, reply.steps
    # Steps are far fewer than tokens, and most of the time they tell: a move must not look at 100,000 tokens.
    longest = max((step.accepted for step in steps if step.drafted is None), default=0)
    at = (0 if direction > 0 else len(steps) - 1) if start is None else max(0, _step_before(tokens, start))
    for number in range(at, len(steps) if direction > 0 else -1, direction):
        step = steps[number]
        if step.accepted >= (longest if step.drafted is None else step.drafted):
            continue
        first = first_of_step(tokens, number)
        for index in [] if first is None else tokens_of_step(reply, first):
            is_behind = start is None or (index - start) * direction > 0
            if is_behind and tokens[index].text and tokens[index].label.origin is Origin.CORRECTION:
                yield index


def _step_before(tokens: Sequence[Token], index: int) -> int:
    """The step of a token, or the nearest one before it that is known; -1 for none."""
    while index >= 0 and tokens[index].label.step is None:
        index -= 1
    return -1 if index < 0 else tokens[index].label.step or 0


def column_of(row: Row, offset: int) -> int:
    """Cells from the left of the text to the character at `offset` in a row."""
    cells = row.indent
    for number, span in enumerate(row.spans):
        end = row.spans[number + 1].offset if number + 1 < len(row.spans) else row.end
        if offset < end:
            return cells if span.whole else cells + cell_len(span.text[: offset - span.offset])
        cells += cell_len(span.text)
    return cells
