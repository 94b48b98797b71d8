"""Figures as text. Plain functions of the panels' values; widths are fixed, so that figures stand still."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rich.cells import cell_len, set_cell_size

from specchat.theming import GRADES
from specchat.ui.panels.model import AcceptanceView, ComparisonView, PanelsView, PositionsView, RateView, ReplyView

WIDTH = 28
"""Cells inside a panel."""
NONE = "—"
TIMES = "\N{MULTIPLICATION SIGN}"
_BARS = "▁▂▃▄▅▆▇█"
_EIGHTHS = " ▏▎▍▌▋▊▉"
_BAR_CELLS = 18
_SHARE_CELLS = 4
"""Of one draft position, where all are in one line."""

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
    """Runs, the least important last."""
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
    used = sum(cell_len(text) for text, _ in left)
    return Line((*left, (" " * max(1, width - used - right), ""), *edges.right))


def sparkline(values: Sequence[float], low: float, high: float) -> str:
    """One bar for each value, the lowest bar at `low` and the highest at `high`."""
    span = max(high - low, 1e-9)
    levels = [round((min(max(value, low), high) - low) / span * (len(_BARS) - 1)) for value in values]
    return "".join(_BARS[level] for level in levels)


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


def draw_acceptance(view: AcceptanceView) -> list[Line]:
    """Mean, now and trend, and what they rest on."""
    top = view.highest or max(view.trend, default=2.0)
    trend = sparkline(view.trend, 1.0, top)
    first = line(
        (number(view.mean, 2, 6), "strong"),
        ("  now ", "dim"),
        (number(view.now, 1, 4), ""),
        (" " + trend.rjust(WIDTH - 17), "accent"),
    )
    return [first, line((view.evidence or f"{NONE} no reply yet", "dim"))]


def draw_rate(view: RateView) -> list[Line]:
    """Mean, now and trend."""
    trend = sparkline(view.trend, 0.0, max(view.trend, default=1.0))
    return [
        line(
            (number(view.mean, 1, 6), "strong"),
            ("  now ", "dim"),
            (number(view.now, 0, 4), ""),
            (" " + trend.rjust(WIDTH - 17), "accent"),
        )
    ]


def draw_positions(view: PositionsView) -> list[Line]:
    """One bar for each draft position."""
    count = len(view.rates) if view.rates is not None else view.positions or 0
    if not count:
        return [line((NONE, "dim"))]
    lines = []
    for index in range(count):
        rate = None if view.rates is None else view.rates[index]
        shown = f"{NONE:>6}" if rate is None else f"{number(rate * 100, 0, 4)} %"
        look = f"accepted-{min(index + 1, GRADES)}"
        lines.append(line((f"{index + 1:>2} ", "dim"), (bar(rate or 0.0, _BAR_CELLS), look), (shown, "")))
    return lines


def positions_line(view: PositionsView) -> Line:
    """The shares in one line, as many of them as there is room for."""
    if view.rates is None:
        return line((NONE, "dim"))
    runs: list[Run] = []
    for index, rate in enumerate(view.rates[: (WIDTH - 2) // _SHARE_CELLS]):
        runs.append((number(rate * 100, 0, 3) + " " * (_SHARE_CELLS - 3), f"accepted-{min(index + 1, GRADES)}"))
    return line(*runs, ("%", "dim"))


def draw_reply(view: ReplyView) -> list[Line]:
    """Times and counts, with the figures one below the other."""
    lines = [
        line(("first token ", "dim"), (_milliseconds(view.first_token_ms), "")),
        line(("step        ", "dim"), (_milliseconds(view.step_ms), "")),
        line(("drafted    ", "dim"), (_count(view.drafted), ""), (" kept", "dim"), (_count(view.kept), "")),
    ]
    if view.cut:
        lines.append(line(("past the end", "dim"), (f"{view.cut:5}", ""), (" accepted", "dim")))
    lines += [line((text, "bad" if view.check_failed else "dim")) for text in wrap(view.check, WIDTH)]
    return lines


def draw_comparison(view: ComparisonView) -> list[Line]:
    """Both rates, and how many times faster."""
    if not view.possible:
        return [line(("one server; a second one", "dim")), line(("comes with --baseline-url", "dim"))]
    on, off = (number(value, 1, 6) for value in (view.on, view.off))
    ratio = NONE if view.ratio is None else f"{view.ratio:.2f} {TIMES}"
    return [
        line(("● on  ", "dim"), (on, ""), (" t/s", "dim"), (ratio.rjust(WIDTH - 16), f"strong {_ratio_look(view)}")),
        line(("○ off ", "dim"), (off, ""), (" t/s", "dim")),
    ]


def comparison_line(view: ComparisonView) -> Line:
    """Both rates and their ratio in one line."""
    on, off = (number(value, 1, 5) for value in (view.on, view.off))
    ratio = NONE if view.ratio is None else f"{view.ratio:.2f} {TIMES}"
    return line(
        ("● ", "dim"), (on, ""), ("  ○ ", "dim"), (off, ""), (ratio.rjust(WIDTH - 16), f"strong {_ratio_look(view)}")
    )


def _ratio_look(view: ComparisonView) -> str:
    return "dim" if view.ratio is None else "good" if view.ratio >= 1 else "bad"


def status_figures(view: PanelsView, width: int) -> str:
    """The panels in one line: as many of their figures, the most important first, as there is room for."""
    parts = [f"AL {number(view.acceptance.mean, 2, 4).strip()}", f"{number(view.rate.mean, 1, 5).strip()} t/s"]
    if view.comparison.possible:
        ratio = view.comparison.ratio
        parts.append(f"on/off {NONE if ratio is None else f'{ratio:.2f} {TIMES}'}")
    if view.positions.rates:
        shares = " ".join(f"{rate * 100:.0f}" for rate in view.positions.rates[:8])
        parts.append(f"by position {shares} %")
    elif view.acceptance.evidence:
        parts.append(view.acceptance.evidence.removeprefix(f"{NONE} "))
    while len(parts) > 1 and len(" · ".join(parts)) > width:
        parts.pop()
    return " · ".join(parts)


def wrap(text: str, width: int) -> list[str]:
    """Lines of at most `width` characters, broken between words."""
    lines: list[str] = []
    for word in text.split():
        if lines and len(lines[-1]) + 1 + len(word) <= width:
            lines[-1] += f" {word}"
        else:
            lines.append(word)
    return lines


def _milliseconds(value: float | None) -> str:
    if value is None:
        return NONE.rjust(5)
    return f"{value / 1000:5.2f} s" if value >= 10_000 else f"{value:5.0f} ms"


def _count(value: int | None) -> str:
    return (NONE if value is None else str(value)).rjust(6)
