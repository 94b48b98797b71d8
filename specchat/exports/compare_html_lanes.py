"""Pictures made of rows: each a label, a lane with marks, and a value in words. Knows nothing of what they mean.

Places in a lane are shares of its width, so that a picture is as wide as the screen while its letters keep their size.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.exports.compare_html_parts import Html, element, foreign, joined, percent
from specchat.exports.compare_html_scale import Scale

LANE, THIN_LANE, AXIS = 26, 7, 22
"""Heights in pixels: of a row, of a row among too many to be labelled, and of the names below an axis."""
MOST_LABELLED = 40
"""With more rows than this they are thin and have no labels: the table below names them."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row."""

    label: str
    """Text from elsewhere."""
    value: str
    """The figure in words."""
    marks: Sequence[Html]
    """Drawn by the functions below, at height `MIDDLE`."""
    kind: str = ""
    """A class of the style sheet: `total` stands out."""


def lanes(rows: Sequence[Row], scale: Scale, ground: Sequence[Html], *, name: str) -> Html:
    """The picture.

    Args:
        rows: From top to bottom.
        scale: The axis below them.
        ground: What lies behind the marks in every lane, from top to bottom of it.
        name: What the picture shows, for those who do not see it.
    """
    behind = [*_grid(scale), *ground]
    if len(rows) > MOST_LABELLED:
        return element("div", *_thin(rows, behind), _axis(scale), class_="lanes thin", role="img", aria_label=name)
    drawn = [
        element(
            "div",
            element("span", foreign(row.label), class_="label", title=row.label),
            _lane([*behind, *row.marks], LANE),
            element("span", row.value, class_="value"),
            class_=f"row {row.kind}".strip(),
        )
        for row in rows
    ]
    return element("div", *drawn, _axis(scale), class_="lanes", role="group", aria_label=name)


def dot(scale: Scale, value: float, kind: str, said: str = "", *, radius: float = 4.5) -> Html:
    """A point, or an arrow at the end if it is beyond the axis; `said` shows while a pointer is on it."""
    hint = [element("title", said)] if said else []
    if scale.is_beyond(value):
        side, sign = ("0%", "\N{BLACK LEFT-POINTING TRIANGLE}")
        if value > scale.high:
            side, sign = ("100%", "\N{BLACK RIGHT-POINTING TRIANGLE}")
        return element("text", *hint, sign, x=side, y="50%", dy=".35em", class_=f"dot beyond {kind}")
    return element("circle", *hint, cx=percent(scale.at(value)), cy="50%", r=radius, class_=f"dot {kind}")


def span(scale: Scale, low: float, high: float, kind: str) -> Html:
    """A line from one value to another."""
    return element("line", x1=percent(scale.at(low)), x2=percent(scale.at(high)), y1="50%", y2="50%", class_=kind)


def upright(scale: Scale, value: float, kind: str) -> Html:
    """A line across the lane."""
    at = percent(scale.at(value))
    return element("line", x1=at, x2=at, y1="0", y2="100%", class_=kind)


def band(scale: Scale, low: float, high: float, kind: str) -> Html:
    """A stretch of the lane, in its whole height."""
    begin, end = scale.at(low), scale.at(high)
    return element("rect", x=percent(begin), width=percent(end - begin), y="0", height="100%", class_=kind)


def bar(scale: Scale, value: float, kind: str) -> Html:
    """A bar from the beginning of the axis."""
    return element("rect", x="0", width=percent(scale.at(value)), y="18%", height="64%", rx=2, class_=f"bar {kind}")


def key(*entries: tuple[str, str]) -> Html:
    """What the marks mean: pairs of a mark's class and its meaning."""
    return element(
        "p",
        *(element("span", element("i", class_=f"swatch {kind}"), text) for kind, text in entries),
        class_="key",
    )


def _grid(scale: Scale) -> list[Html]:
    return [upright(scale, tick, "grid") for tick in scale.ticks]


def _lane(marks: Sequence[Html], height: int) -> Html:
    return element("svg", *marks, class_="lane", width="100%", height=height, aria_hidden="true")


def _thin(rows: Sequence[Row], behind: Sequence[Html]) -> list[Html]:
    """Rows without labels, in one picture; a pointer on one shows what it is."""
    drawn = [
        element(
            "svg",
            element("title", f"{row.label}: {row.value}"),
            *row.marks,
            y=number * THIN_LANE,
            width="100%",
            height=THIN_LANE,
            class_=row.kind or None,
        )
        for number, row in enumerate(rows)
    ]
    return [_lane([*behind, *drawn], THIN_LANE * len(rows))]


def _axis(scale: Scale) -> Html:
    named = [element("text", f"{tick:g}", x=percent(scale.at(tick)), y=15, class_="tick") for tick in scale.ticks]
    return element(
        "div",
        element("span", class_="label"),
        element("svg", *named, class_="lane", width="100%", height=AXIS, aria_hidden="true"),
        element("span", class_="value"),
        class_="row axis",
    )


def plane(scale: Scale, marks: Sequence[Html], *, height: int, name: str) -> Html:
    """A picture with an upright axis at its left; places of marks are shares of its width and pixels from its top."""
    levels = [(tick, height * (1 - scale.at(tick))) for tick in scale.ticks]
    names = [element("text", f"{tick:g}", x="100%", y=round(y + 4, 2), class_="tick end") for tick, y in levels]
    lines = [element("line", x1="0", x2="100%", y1=round(y, 2), y2=round(y, 2), class_="grid") for _, y in levels]
    return element(
        "div",
        element("svg", *names, width=34, height=height, aria_hidden="true"),
        element("svg", joined([*lines, *marks]), class_="lane", width="100%", height=height),
        class_="plane",
        role="img",
        aria_label=name,
    )
