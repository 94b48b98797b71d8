"""The token cursor in a transcript: marks, scrolling, selection by keyboard, and what others hear of it.

Where the cursor stands and where a move takes it is `specchat.ui.cursor`'s.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from textual.geometry import Offset
from textual.selection import Selection

from specchat.core.conversation import Turn
from specchat.ui.cursor import Spot, TokenCursor
from specchat.ui.layout.marks import Mark
from specchat.ui.messages import CursorLeft, CursorMoved
from specchat.ui.styles import MARK

if TYPE_CHECKING:
    from specchat.ui.widgets.transcript import Transcript

_WORD = re.compile(r"\w+")


class TokenMode:
    """Is on while the transcript has the keyboard."""

    def __init__(self, transcript: "Transcript") -> None:
        """Begin in the state off.

        Args:
            transcript: Shows the tokens; draws what is marked here.
        """
        self._transcript = transcript
        self._cursor = TokenCursor(transcript.document)
        self._anchor: Spot | None = None
        """Where a selection by keyboard began."""
        self._selected: Selection | None = None
        """What was selected from there."""
        self._step: list[Spot] = []
        self._is_last = False
        self._runs = False
        self.is_on = False

    @property
    def spot(self) -> Spot | None:
        """The token under the cursor; None while the mode is off or there is no token."""
        return self._cursor.spot if self.is_on else None

    def enter(self) -> None:
        """The transcript has the keyboard now: stand where the cursor stood, if that is in sight, else at the end."""
        self.is_on = True
        top = self._transcript.scroll_offset.y
        self._cursor.enter(top, top + self._transcript.size.height)
        self._is_last = self._cursor.is_last
        self._show()

    def leave(self) -> None:
        """The keyboard is elsewhere."""
        self.is_on = False
        self._anchor = None
        self._show()

    def take(self, turns: Sequence[Turn], first: int = 0) -> None:
        """The conversation, or the way it is shown, changed; of the last turn, the tokens from index `first` on."""
        before, was_last = self._cursor.spot, self._is_last
        self._cursor.take(turns)
        if self._anchor is not None and self._anchor.turn >= len(turns):
            self._anchor = None
        if not self.is_on:
            return
        spot, runs = self._cursor.spot, bool(turns) and turns[-1].reply.is_running
        if spot is None and self._transcript.document.turns:
            self.enter()
        elif spot is None or spot != before or runs is not self._runs or first <= self._step[-1].token + 1:
            self._show()
        self._runs = runs
        self._is_last = self._cursor.is_last
        if was_last and not self._is_last:
            # Whoever reads here is not carried along.
            self._transcript.set_following(following=False)

    # -- moving ---------------------------------------------------------------------------------------------------

    def move(self, name: str, *, extend: bool = False) -> bool:
        """Make a move by its name.

        Args:
            name: One of `TokenCursor.move`'s, or row-up, row-down, page-up or page-down.
            extend: Select from where the cursor was, or from where the selection began?

        Returns:
            False if there is no token to move from.
        """
        before = self._cursor.spot
        if before is None:
            return False
        page = self._transcript.page_rows
        rows = {"row-up": -1, "row-down": 1, "page-up": -page, "page-down": page}
        if name in rows:
            self._cursor.move_rows(rows[name])
        else:
            self._cursor.move(name)
        self._arrive(before if extend else None)
        return True

    def go_to(self, spot: Spot) -> bool:
        """Stand at a token; False if there is none."""
        found = self._cursor.go_to(spot)
        if found:
            self._arrive(None)
        return found

    def go_to_step(self, number: int) -> bool:
        """Stand at the first token of a step, counted from 0, of the reply under the cursor; False if there is none."""
        found = self._cursor.go_to_step(number)
        if found:
            self._arrive(None)
        return found

    def reveal(self) -> None:
        """Bring the cursor into sight."""
        row = self._cursor.row
        if self.is_on and row is not None:
            self._transcript.reveal(row)

    def is_within(self, rows: int) -> bool:
        """Does the cursor stand in one of so many rows from the top of what is in sight?"""
        row, top = self._cursor.row, self._transcript.scroll_offset.y
        return self.is_on and row is not None and top <= row < top + rows

    def _arrive(self, extends_from: Spot | None) -> None:
        self._is_last = self._cursor.is_last
        if self._is_last:
            self._transcript.follow()
        else:
            self.reveal()
            if self._transcript.live:
                self._transcript.set_following(following=False)
        self._select_from(extends_from)
        self._show()

    # -- selecting ------------------------------------------------------------------------------------------------

    def _select_from(self, spot: Spot | None) -> None:
        transcript = self._transcript
        if spot is None:
            self._anchor = None
            if transcript.text_selection is not None:
                transcript.screen.clear_selection()
            return
        if self._anchor is None or transcript.text_selection != self._selected:
            self._anchor = spot
        ends = sorted((self._anchor, self._cursor.spot or spot))
        first, last = (transcript.document.place_of_token(*end) for end in ends)
        if first is not None and last is not None:
            self._select(first.block, first.start, last.block, last.end)

    def select_word(self, block: int, offset: int) -> None:
        """Select the word at a place, or the single character where it is in none."""
        text = self._text_of(block)
        words = (match.span() for match in _WORD.finditer(text, max(0, offset - 200), offset + 200))
        start, end = next(((a, b) for a, b in words if a <= offset < b), (offset, min(offset + 1, len(text))))
        self._select(block, start, block, end)

    def select_part(self, block: int) -> None:
        """Select all of the message that a place belongs to."""
        self._select(block, 0, block, len(self._text_of(block)))

    def select_message(self) -> None:
        """Select all of the message under the cursor."""
        place = self._cursor.place()
        if place is not None:
            self.select_part(place.block)

    def _text_of(self, block: int) -> str:
        return next((part.text for part in self._transcript.document.parts() if part.block == block), "")

    def _select(self, first_block: int, start: int, last_block: int, end: int) -> None:
        # Textual's own selection, so that what the mouse and the keyboard select looks and copies the same.
        self._selected = Selection(Offset(start, first_block), Offset(end, last_block))
        self._transcript.screen.selections = {self._transcript: self._selected}

    # -- showing --------------------------------------------------------------------------------------------------

    def _show(self) -> None:
        spot, document = self.spot, self._transcript.document
        place = self._cursor.place() if spot is not None else None
        self._step = [] if spot is None else self._cursor.step()
        marks: dict[int, list[Mark]] = {}
        for other in self._step:
            where = document.place_of_token(*other)
            if other != spot and where is not None and where.end > where.start:
                marks.setdefault(where.block, []).append(Mark(where.start, where.end, f"{MARK}step"))
        self._transcript.set_marks("step", marks)
        cursor = {} if place is None else {place.block: [Mark(place.start, place.end, f"{MARK}cursor")]}
        self._transcript.set_marks("cursor", cursor)
        self._transcript.post_message(CursorLeft() if spot is None else CursorMoved(*spot))
