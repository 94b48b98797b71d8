"""Finds a text in the parts of a transcript. Knows no widget, and looks at no screen row.

A match lies within one part, whatever wraps it, and whoever wrote its tokens. Case counts only where the text that is
looked for has a capital.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple, overload

from specchat.ui.layout.marks import Mark
from specchat.ui.layout.parts import GapPart, Part
from specchat.ui.styles import MARK

FIND, FOUND = f"{MARK}find", f"{MARK}found"
"""Styles of a match, and of the one that the reader is at."""


class Folded:
    """A text without differences of case, whose offsets are still those of the original."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = text.casefold()
        self._grown: list[int] = []
        """Offsets, in the folded text, behind each character that became several."""
        self._growth: list[int] = [0]
        """By how many characters the folded text is longer behind each of those."""
        if len(self.folded) != len(text):
            self._measure()

    def find(self, needle: str) -> list[tuple[int, int]]:
        """(start, end) of all matches of a folded needle in the original text, from the left, none over another."""
        size = len(needle)
        found: list[tuple[int, int]] = []
        at = self.folded.find(needle) if needle else -1
        if not self._grown:
            while at >= 0:
                found.append((at, at + size))
                at = self.folded.find(needle, at + size)
            return found
        while at >= 0:
            start, end = self._original(at), self._original(at + size)
            if start is not None and end is not None:
                found.append((start, end))
            at = self.folded.find(needle, at + (1 if start is None or end is None else size))
        return found

    def _measure(self) -> None:
        kinds = "".join(char for char in set(self.text) if len(char.casefold()) > 1)
        growing = [(char.start(), len(char[0].casefold()) - 1) for char in re.finditer(f"[{kinds}]", self.text)]
        self._growth = [0, *accumulate(growth for _, growth in growing)]
        self._grown = [at + 1 + growth for (at, _), growth in zip(growing, self._growth[1:], strict=True)]

    def _original(self, folded: int) -> int | None:
        """The offset in the original text; None inside what was one character there."""
        at = bisect_left(self._grown, folded)
        if at < len(self._grown):
            size = self._growth[at + 1] - self._growth[at] + 1
            if self._grown[at] - size < folded < self._grown[at]:
                return None
            if folded == self._grown[at]:
                at += 1
        return folded - self._growth[at]


class Match(NamedTuple):
    """Where the text was found."""

    block: int
    start: int
    end: int


class _MarkedSpans(Sequence[Mark]):
    """Matches as marks, made when they are drawn: one letter may be found fifty thousand times."""

    def __init__(self, spans: Sequence[tuple[int, int]], current: int | None) -> None:
        self._spans = spans
        self._current = current

    def __len__(self) -> int:
        return len(self._spans)

    @overload
    def __getitem__(self, index: int) -> Mark: ...

    @overload
    def __getitem__(self, index: slice) -> list[Mark]: ...

    def __getitem__(self, index: int | slice) -> Mark | list[Mark]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        start, end = self._spans[index]
        return Mark(start, end, FOUND if start == self._current else FIND)


class Finder:
    """All matches of a text, and the one that the reader is at.

    Attributes:
        needle: What is looked for; "" finds nothing.
        current: Number of the match that the reader is at, from 0; None where there is none.
    """

    def __init__(self) -> None:
        self.needle = ""
        self.current: int | None = None
        self._blocks: list[int] = []
        self._spans: list[list[tuple[int, int]]] = []
        self._before: list[int] = [0]
        """Matches before each of the blocks, and of all."""
        self._folded: dict[int, Folded] = {}
        self._known: dict[int, tuple[str, str, list[tuple[int, int]]]] = {}
        """Block → text, needle, matches of the last search, which a part that did not change need not repeat."""

    @property
    def count(self) -> int:
        """Matches."""
        return self._before[-1]

    @property
    def match(self) -> Match | None:
        """The match that the reader is at."""
        return None if self.current is None else self._nth(self.current)

    def search(self, needle: str, parts: Iterable[Part]) -> bool:
        """Look for a text; the reader stays at the match where he was, if it is still one.

        Args:
            needle: The text.
            parts: Where to look, in the order of their blocks.

        Returns:
            Whether anything is found otherwise than before.
        """
        was, spans_were = self.match, (self._blocks, self._spans)
        self.needle = needle
        self._blocks, self._spans = [], []
        known: dict[int, tuple[str, str, list[tuple[int, int]]]] = {}
        for part in parts if needle else ():
            if isinstance(part, GapPart):
                continue  # gaps and headings: nobody wrote them
            spans = self._in_part(part.block, part.text)
            known[part.block] = (part.text, needle, spans)
            if spans:
                self._blocks.append(part.block)
                self._spans.append(spans)
        self._known = known
        self._folded = {block: folded for block, folded in self._folded.items() if block in known}
        self._before = [0, *accumulate(len(spans) for spans in self._spans)]
        self.current = None if was is None else self._number_of(was)
        return spans_were != (self._blocks, self._spans)

    def go_near(self, block: int, offset: int) -> None:
        """Be at the first match from a place on, else at the first of all."""
        if not self.count:
            self.current = None
            return
        at = bisect_left(self._blocks, block)
        number = self._before[at]
        if at < len(self._blocks) and self._blocks[at] == block:
            number += bisect_left(self._spans[at], (offset, offset))
        self.current = number % self.count

    def step(self, direction: int) -> bool:
        """Go to the next match (the one before, if negative); True where that leads over an end of the transcript."""
        if not self.count:
            return False
        if self.current is None:
            self.current = 0 if direction > 0 else self.count - 1
            return False
        beyond = self.current + direction
        self.current = beyond % self.count
        return beyond != self.current

    def marks(self) -> dict[int, Sequence[Mark]]:
        """What to draw, by block."""
        here = self.match
        return {
            block: _MarkedSpans(spans, here.start if here is not None and here.block == block else None)
            for block, spans in zip(self._blocks, self._spans, strict=True)
        }

    def _in_part(self, block: int, text: str) -> list[tuple[int, int]]:
        before = self._known.get(block)
        if before is not None and before[0] == text and before[1] == self.needle:
            return before[2]
        if self.needle != self.needle.lower():
            return _exactly(text, self.needle)
        folded = self._folded.get(block)
        if folded is None or folded.text != text:
            folded = self._folded[block] = Folded(text)
        return folded.find(self.needle.casefold())

    def _nth(self, number: int) -> Match:
        at = bisect_left(self._before, number + 1) - 1
        return Match(self._blocks[at], *self._spans[at][number - self._before[at]])

    def _number_of(self, match: Match) -> int | None:
        at = bisect_left(self._blocks, match.block)
        if at == len(self._blocks) or self._blocks[at] != match.block:
            return None
        within = bisect_left(self._spans[at], (match.start, match.start))
        same = within < len(self._spans[at]) and self._spans[at][within][0] == match.start
        return self._before[at] + within if same else None


def _exactly(text: str, needle: str) -> list[tuple[int, int]]:
    found: list[tuple[int, int]] = []
    at = text.find(needle)
    while at >= 0:
        found.append((at, at + len(needle)))
        at = text.find(needle, at + len(needle))
    return found
