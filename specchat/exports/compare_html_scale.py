"""Where a value lies on an axis, and which values the axis names. Pure arithmetic."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from statistics import median

_MARGIN = 0.04
"""Share of the axis that stays free at each end, so that no mark is cut off."""
_MOST_TICKS = 6
_FARTHEST_RATIO, _FARTHEST_AMOUNT = 8.0, 5.0
"""A value so many times the median, or its inverse, is beyond the axis: it would press all others into a point."""
_RATIOS, _AMOUNTS = (1e-3, 1e3), (1e-9, 1e12)
"""What an axis can show at all."""
_WIDE = 6.0
"""From this quotient of its ends on an axis of ratios names 1, 2, 5, 10 and so on."""


@dataclass(frozen=True, slots=True)
class Scale:
    """An axis."""

    low: float
    """The value at its beginning."""
    high: float
    """The value at its end; above `low`."""
    ticks: tuple[float, ...]
    """The values that it names, from low to high."""
    is_ratio: bool = False
    """Are equal quotients equally far apart? Then twice and half lie equally far from 1."""

    def at(self, value: float) -> float:
        """Where a value lies, as a share of the axis from 0 to 1; what lies beyond is put at the end."""
        low, high = self._place(self.low), self._place(self.high)
        return min(1.0, max(0.0, (self._place(max(value, self.low)) - low) / (high - low)))

    def is_beyond(self, value: float) -> bool:
        """Does a value lie outside the axis?"""
        return not self.low <= value <= self.high

    def _place(self, value: float) -> float:
        return math.log(value) if self.is_ratio else value


def ratio_scale(values: Iterable[float]) -> Scale:
    """An axis for ratios, which always holds 1. Values that are not above 0 are left out, as are those far off."""
    known = [value for value in values if value > 0]
    middle = median(known) if known else 1.0
    least, most = max(_RATIOS[0], middle / _FARTHEST_RATIO), min(_RATIOS[1], middle * _FARTHEST_RATIO)
    near = [value for value in known if least <= value <= most]
    low, high = min([1.0, *near]), max([1.0, *near])
    if high / low < 1.2:
        low, high = low / 1.1, high * 1.1
    room = (high / low) ** _MARGIN
    ends = low / room, high * room
    ticks = _one_two_five(*ends) if ends[1] / ends[0] > _WIDE else _round_steps(*ends)
    return Scale(*ends, ticks, is_ratio=True)


def amount_scale(values: Iterable[float]) -> Scale:
    """An axis that begins at 0. Values below it are left out, as are those far off."""
    known = [value for value in values if value >= 0]
    most = min(_AMOUNTS[1], _FARTHEST_AMOUNT * median(known)) if known else 0.0
    end = max([value for value in known if _AMOUNTS[0] <= value <= most], default=1.0) * (1 + _MARGIN)
    return Scale(0.0, end, _round_steps(0.0, end))


def _round_steps(low: float, high: float) -> tuple[float, ...]:
    """Multiples of a round number from low to high, as many as can be read."""
    exponent = math.floor(math.log10((high - low) / _MOST_TICKS))
    sizes = (factor * 10.0**power for power in (exponent, exponent + 1) for factor in (1, 2, 2.5, 5))
    step = next(size for size in sizes if (high - low) / size <= _MOST_TICKS)
    first = math.ceil(low / step - 1e-9)
    # Twelve digits: a multiple of 0.1 is otherwise named 0.30000000000000004.
    return tuple(float(f"{count * step:.12g}") for count in range(first, math.floor(high / step + 1e-9) + 1))


def _one_two_five(low: float, high: float) -> tuple[float, ...]:
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    ticks = [factor * 10.0**power for power in powers for factor in (1, 2, 5)]
    held = [float(f"{tick:.12g}") for tick in ticks if low <= tick <= high]
    return tuple(held if len(held) <= 2 * _MOST_TICKS else [tick for tick in held if f"{tick:e}".startswith("1")])
