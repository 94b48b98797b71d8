"""Which panels there is room for, and how much of each. What says least gives way first."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from specchat.ui.panels import drawing
from specchat.ui.panels.drawing import Line
from specchat.ui.panels.model import PanelsView

FRAME_ROWS = 2
"""A panel's border."""

Drawn = dict[str, tuple[Line, ...]]
"""Lines of each panel by its name; a panel that has none is left out."""


def arrange(view: PanelsView, rows: int) -> Drawn:
    """The panels that fit into some rows.

    The comparison stays as long as there is something to compare: the others shrink and go first, down to the
    acceptance length, which always stays.

    Args:
        view: What to draw.
        rows: Height of the column.
    """
    drawn: Drawn = {
        "acceptance": tuple(drawing.draw_acceptance(view.acceptance)),
        "rate": tuple(drawing.draw_rate(view.rate)),
        "positions": tuple(drawing.draw_positions(view.positions)),
        "reply": tuple(drawing.draw_reply(view.reply)),
        "comparison": tuple(drawing.draw_comparison(view.comparison)),
    }
    for give_way in _steps(view):
        if height(drawn) <= rows:
            break
        drawn |= give_way()
    return drawn


def height(drawn: Mapping[str, Sequence[Line]]) -> int:
    """Rows of a column."""
    return sum(len(lines) + FRAME_ROWS for lines in drawn.values() if lines)


def _steps(view: PanelsView) -> list[Callable[[], Drawn]]:
    """What gives way, one after the other."""
    unchecked = replace(view.reply, check="")
    counts = replace(unchecked, cut=None)
    steps: list[Callable[[], Drawn]] = [
        lambda: {"reply": tuple(drawing.draw_reply(unchecked))},
        lambda: {"reply": tuple(drawing.draw_reply(counts))},
        lambda: {"reply": ()},
        lambda: {"positions": (drawing.positions_line(view.positions),)},
        lambda: {"positions": ()},
        lambda: {"comparison": (drawing.comparison_line(view.comparison),)},
        lambda: {"rate": ()},
        lambda: {"comparison": ()},
    ]
    # The hint that a second server could be compared is no figure.
    return steps if view.comparison.possible else [lambda: {"comparison": ()}, *steps[:5], steps[6]]
