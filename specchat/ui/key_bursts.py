"""Tells an Enter that a person pressed from one inside a paste. Pure: the times of keys in, what Enter means out.

Terminals without bracketed paste send a paste as keys, with Enter for each line, and Textual stamps each key when its
bytes are parsed: keys of one read lie microseconds apart, where two strokes of the fastest typist are 20 ms apart. So
an Enter right behind another key belongs to a burst. It does not yet say that it is a paste, since a slow link or a
script delivers `hello` and Enter in one read too. What follows decides: more keys at once mean that it was a new line,
and from then on every Enter of that burst is one, the last included; silence means that it sends.
"""

import math
from enum import Enum

GAP_SECONDS = 0.010
"""Keys closer than this were read together. More than the 5 ms for which another thread may hold the reader up."""
HOLD_SECONDS = 0.05
"""How long an Enter at the end of a burst waits for more: a long paste comes in several reads."""


class Enter(Enum):
    """What an Enter means."""

    SEND = "send"
    LINE = "line"
    HOLD = "hold"
    """Not known before more keys come or HOLD_SECONDS are over."""


class KeyBursts:
    """Follows the keys that type something."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._has_lines = False
        self._held = False

    def release(self, at: float) -> Enter | None:
        """What an Enter that was held means, now that another key came at `at` seconds; None if none was held."""
        if not self._held:
            return None
        self._held = False
        if at - self._last >= HOLD_SECONDS:
            return Enter.SEND
        self._has_lines = True
        self._last = at  # the burst goes on, though its next read came late
        return Enter.LINE

    def key(self, at: float) -> bool:
        """A key typed something at `at` seconds; returns whether it belongs to a burst."""
        joined = 0 <= at - self._last < GAP_SECONDS
        self._has_lines = self._has_lines and joined
        self._last = at
        return joined

    def line(self, at: float) -> None:
        """A key that makes a new line whatever comes."""
        self.key(at)
        self._has_lines = True

    def enter(self, at: float) -> Enter:
        """Enter came at `at` seconds, after `release` was asked."""
        if not self.key(at):
            return Enter.SEND
        if self._has_lines:
            return Enter.LINE
        self._held = True
        return Enter.HOLD

    def give_up(self) -> bool:
        """Time is up: was an Enter held, which now sends?"""
        held, self._held = self._held, False
        return held
