"""Which panels there is room for, and how much of each. What says least gives way first."""

from collections.abc import Mapping, Sequence

from specchat.ui.panels.drawing import Line, line
from specchat.ui.panels.forms import Form, forms_of
from specchat.ui.panels.model import PanelsView

FRAME_ROWS = 1
"""A panel's title."""

Drawn = dict[str, Form]
"""Lines of each panel by its name, in the order of the column; a panel that has none is left out."""

_WITH_SPACES = (
    ("rate", 1),
    ("acceptance", 1),
    ("server", 1),
    ("yields", 1),
    ("reply", 1),
    ("comparison", 1),
)
"""Each panel and the form that it shrinks to, one after the other, for an empty line between the panels."""
_WITHOUT_SPACES = (
    *_WITH_SPACES,
    ("reply", 2),
    ("reply", 3),
    ("gpus", 1),
    ("positions", 1),
    ("yields", 2),
    ("server", 2),
    ("reply", 4),
    ("gpus", 2),
    ("yields", 3),
    ("positions", 2),
    ("comparison", 2),
    ("rate", 2),
    ("comparison", 3),
)
"""The same where there is no room for empty lines."""


def arrange(view: PanelsView, rows: int) -> Drawn:
    """The panels that fit into some rows, in the form that says most.

    The comparison stays as long as there is something to compare: the others shrink and go first, down to the
    acceptance length, which always stays.

    Args:
        view: What to draw.
        rows: Height of the column.
    """
    forms = forms_of(view)
    spaced = _shrink(forms, _WITH_SPACES, rows - len(forms) + 1)
    if height(spaced) + len(spaced) - 1 <= rows:
        last = list(spaced)[-1]
        return {name: lines if name == last or not lines else (*lines, line()) for name, lines in spaced.items()}
    return _shrink(forms, _WITHOUT_SPACES, rows)


def height(drawn: Mapping[str, Sequence[Line]]) -> int:
    """Rows of a column."""
    return sum(len(lines) + FRAME_ROWS for lines in drawn.values() if lines)


def _shrink(forms: Mapping[str, Sequence[Form]], steps: Sequence[tuple[str, int]], rows: int) -> Drawn:
    """Take the steps until the panels fit."""
    drawn = {name: of_panel[0] for name, of_panel in forms.items()}
    for name, form in steps:
        if height(drawn) <= rows:
            break
        if name in forms:
            drawn[name] = forms[name][min(form, len(forms[name]) - 1)]
    return drawn
