"""Figures as text: lines, bars and numbers of fixed widths, so that figures stand still. Knows no panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

WIDTH = 28
"""Cells inside a panel."""
NONE = "—"
TIMES = "\N{MULTIPLICATION SIGN}"
BETWEEN = " · "
"""Set between the figures of one line."""
_BARS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"

Run = tuple[str, str]
"""Text and the name of its look: "", "strong", "dim", "good", "bad", or an origin's."""


class Line(NamedTuple):
    """One line of a panel."""

    runs: tuple[Run, ...]

    @property
    def text(self) -> str:
        """Without looks."""
        return "".join(text for text, _ in self.runs)


def line(*runs: Run) -> Line:
    """A line of runs."""
    return Line(runs)


@dataclass(frozen=True, slots=True)
class EdgeLine:
    """One line with something at either edge; the left side gives way where there is too little room."""

    left: tuple[Run, ...]
    """Runs, the least important last; a BETWEEN stands between two of them only."""
    right: tuple[Run, ...] = ()


def fit(edges: EdgeLine, width: int) -> Line:
    """The line for a width: runs of the left are left out from the end, and the last one that stays is cut."""
    right = sum(cell_len(text) for text, _ in edges.right)
    room = max(0, width - right - 1)
    left: list[Run] = []
    for text, look in edges.left:
        if cell_len(text) > room:
            if not left and room > 1:
                left.append((set_cell_size(text, room - 1).rstrip() + "…", look))
                room = 0
            break
        left.append((text, look))
        room -= cell_len(text)
    while left and left[-1][0] == BETWEEN:
        left.pop()
    used = sum(cell_len(text) for text, _ in left)
    return Line((*left, (" " * max(1, width - used - right), ""), *edges.right))


def condense(values: Sequence[float], most: int) -> tuple[float, ...]:
    """At most so many means of successive groups.

    Groups begin at fixed places and are twice as long when there is no room left, so that a bar stays where it is and
    what it is for as long as can be.
    """
    group = 1
    while len(values) > most * group:
        group *= 2
    if group == 1:
        return tuple(values)
    groups = [values[start : start + group] for start in range(0, len(values), group)]
    return tuple(sum(part) / len(part) for part in groups)


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """One bar for each value, the lowest bar at `low` and the highest at `high`."""
    return chart(values, low, high, 1)[0]


def chart(values: Sequence[float], low: float, high: float, rows: int) -> list[str]:
    """Upright bars over some rows, the top row first; the lowest bar at `low` and the highest at `high`."""
    span = max(high - low, 1e-9)
    steps = rows * len(_BARS)
    levels = [1 + round((min(max(value, low), high) - low) / span * (steps - 1)) for value in values]
    return ["".join(_slice(level - row * len(_BARS)) for level in levels) for row in range(rows - 1, -1, -1)]


def _slice(level: int) -> str:
    """What a bar of some eighths shows in one row."""
    return " " if level <= 0 else _BARS[min(level, len(_BARS)) - 1]


def bar(share: float, cells: int) -> str:
    """A horizontal bar, an eighth of a cell exact."""
    eighths = round(min(max(share, 0.0), 1.0) * cells * 8)
    full, rest = divmod(eighths, 8)
    return ("█" * full + (_EIGHTHS[rest] if rest else "")).ljust(cells)


def number(value: float | None, digits: int, width: int) -> str:
    """Right-aligned; a dash where it is unknown. Decimals give way where there is no room for them."""
    if value is None:
        return NONE.rjust(width)
    shown = (f"{value:.{places}f}" for places in range(digits, -1, -1))
    return next((text for text in shown if len(text) <= width or "." not in text), NONE).rjust(width)


def percent(value: float | None) -> str:
    """Percent, right-aligned in five cells. Only what is all reads as all, and only nothing as nothing."""
    if value is None:
        return NONE.rjust(5)
    rounded = round(value * 100)
    if 0 < value < 1:
        rounded = min(max(rounded, 1), 99)
    return f"{rounded:3} %"


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters, broken between words."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines
