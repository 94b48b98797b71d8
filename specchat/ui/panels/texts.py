"""Text from elsewhere as lines of a width: sentences broken between words, lines of a log cut at the edge."""

import re
from collections.abc import Sequence

from rich.cells import cell_len, chop_cells, set_cell_size

from specchat.core.harmless import one_line
from specchat.ui.panels.drawing import Line, line

_HEAD = re.compile(
    r"(?:\([^)]{1,60} pid=\d+\) )?(?P<level>DEBUG|INFO|WARNING|ERROR|CRITICAL) [\d-]{5,10} (?P<time>\d\d:\d\d:\d\d) "
    r"\[[^\]]{1,80}\] "
)
"""Before what a line of vLLM's log says."""
_LEVELS = {"WARNING": "", "ERROR": "bad", "CRITICAL": "bad"}
_TIME_CELLS = 9
_MOST_ROWS = 3
"""Of one line: a dump of all settings would hide what came before."""
_LONGEST = 4000
"""Characters of one sentence or line that are looked at."""


def sentences(text: str, width: int, look: str = "", *, indent: str = "") -> tuple[Line, ...]:
    """Lines of at most `width` cells, broken between words where they have any.

    Args:
        text: From anywhere; made harmless here.
        width: Cells.
        look: Of every line.
        indent: Before every line.
    """
    room = max(8, width - cell_len(indent))
    rows: list[str] = []
    for word in one_line(text, _LONGEST).split(" "):
        if rows and cell_len(rows[-1]) + 1 + cell_len(word) <= room:
            rows[-1] += f" {word}"
        else:
            rows += chop_cells(word, room) or [word]
    return tuple(line((indent + row, look)) for row in rows if row)


def cut(text: str, width: int) -> str:
    """One harmless line of at most `width` cells; what is cut off shows as an ellipsis."""
    shown = one_line(text, _LONGEST)
    return shown if cell_len(shown) <= width else set_cell_size(shown, max(0, width - 1)).rstrip() + "…"


def brief_log(texts: Sequence[str], width: int) -> tuple[Line, ...]:
    """The lines of a log with what they say first: of vLLM's own heads the time is left, and the level as a look."""
    lines: list[Line] = []
    for text in texts:
        head = _HEAD.match(text)
        time, level, said = (head["time"], head["level"], text[head.end() :]) if head else ("", "", text)
        rows = [row.text for row in sentences(said, max(8, width - _TIME_CELLS))]
        if len(rows) > _MOST_ROWS:
            rows = [
                *rows[: _MOST_ROWS - 1],
                cut(f"{rows[_MOST_ROWS - 1]} {rows[_MOST_ROWS]}", max(8, width - _TIME_CELLS)),
            ]
        look = _LEVELS.get(level, "dim")
        for number, row in enumerate(rows):
            lines.append(line((f"{'' if number else time:<{_TIME_CELLS}}", "dim"), (row, look)))
    return tuple(lines)


def log_lines(texts: Sequence[str], width: int, look: str = "dim", *, indent: str = "") -> tuple[Line, ...]:
    """One line for each line of a log, cut at the edge."""
    return tuple(line((indent + cut_keeping_spaces(text, width - cell_len(indent)), look)) for text in texts)


def cut_keeping_spaces(text: str, width: int) -> str:
    """The line cut at the edge, with the indentation that it has."""
    indent = text[: len(text) - len(text.lstrip(" "))][: max(0, width - 1)]
    return indent + cut(text, width - len(indent))


def lasted(seconds: float | None) -> str:
    """How long something took, in its two greatest units: `42 s`, `3 min 20 s`, `2 h 5 min`, `4 d 2 h`."""
    if seconds is None:
        return ""
    whole = max(0, round(seconds))
    if whole < 60:
        return f"{whole} s"
    for size, unit, part, below in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            return f"{whole // size} {unit} {whole % size // part} {below}"
    return f"{whole} s"
