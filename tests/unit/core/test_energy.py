"""Energy from readings of power."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.core.energy import joules_between

STEADY = [(0.5 * number, 100.0) for number in range(21)]


def test_steady_power_times_seconds_is_the_energy() -> None:
    assert joules_between(STEADY, 1.2, 7.7) == pytest.approx(650.0)


def test_rising_power_is_the_area_under_the_line() -> None:
    rising = [(float(second), 10.0 * second) for second in range(11)]
    assert joules_between(rising, 0.0, 10.0) == pytest.approx(500.0)


@pytest.mark.parametrize(
    ("readings", "start", "end"),
    [
        ([], 0.0, 5.0),
        (STEADY, 1.1, 1.9),  # one reading
        ([(0.0, 1.0), (1.0, 1.0), (5.0, 1.0), (6.0, 1.0)], 0.0, 6.0),  # a gap
        (STEADY, 0.0, 14.0),  # nothing was read for the last four seconds
    ],
)
def test_what_was_not_read_has_no_energy(readings: list[tuple[float, float]], start: float, end: float) -> None:
    assert joules_between(readings, start, end) is None


@given(
    st.lists(st.floats(0, 2000), min_size=8, max_size=40),
    st.floats(0, 1),
    st.floats(0, 1),
)
def test_energy_lies_between_the_least_and_the_greatest_power_of_the_span(
    watts: list[float], begin: float, rest: float
) -> None:
    readings = [(float(second), power) for second, power in enumerate(watts)]
    start, end = begin, len(watts) - 1 - rest
    found = joules_between(readings, start, end)
    assert found is not None
    seconds = end - start
    assert min(watts) * seconds - 1e-6 <= found <= max(watts) * seconds + 1e-6
