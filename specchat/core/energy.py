"""Energy from readings of power: the area under them. Measures nothing."""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import pairwise

LEAST_READINGS = 3
"""Fewer within a span say nothing of it."""
LONGEST_GAP_S = 3.0
"""Between two readings, or between one and an end of the span: what happened meanwhile is not known."""


def joules_between(readings: Sequence[tuple[float, float]], start: float, end: float) -> float | None:
    """The energy of a span, by the trapezoidal rule; power is held constant out to the ends of the span.

    Args:
        readings: (seconds, watts), in the order of time.
        start: Of the span, in seconds of the same clock.
        end: Of the span.

    Returns:
        Joules; None where fewer than three readings lie in the span, or there is a gap in them.
    """
    first, behind = bisect_left(readings, start, key=_moment), bisect_right(readings, end, key=_moment)
    inside = readings[first:behind]
    if len(inside) < LEAST_READINGS:
        return None
    points = [(start, inside[0][1]), *inside, (end, inside[-1][1])]
    spans = [(later[0] - earlier[0], (earlier[1] + later[1]) / 2) for earlier, later in pairwise(points)]
    if any(seconds > LONGEST_GAP_S for seconds, _ in spans):
        return None
    return sum(seconds * watts for seconds, watts in spans)


def _moment(reading: tuple[float, float]) -> float:
    return reading[0]
