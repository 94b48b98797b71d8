"""Axes: every value has its place, the axis names round values, and far-off ones do not press the others together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.exports.compare_html_scale import amount_scale, ratio_scale

ABOVE_0 = st.floats(min_value=0, exclude_min=True, allow_infinity=False, allow_nan=False)


@given(st.lists(ABOVE_0, max_size=20), ABOVE_0)
def test_every_ratio_has_a_place_and_order_is_kept(values: list[float], other: float) -> None:
    scale = ratio_scale(values)
    places = [scale.at(value) for value in sorted([*values, other])]
    assert all(0 <= place <= 1 for place in places)
    assert places == sorted(places)
    assert scale.low < 1 < scale.high


@given(st.lists(st.floats(min_value=0, allow_infinity=False, allow_nan=False), max_size=20))
def test_every_amount_has_a_place_from_0_on(values: list[float]) -> None:
    scale = amount_scale(values)
    assert scale.at(0) == 0
    assert all(0 <= scale.at(value) <= 1 for value in values)


def test_twice_and_half_are_equally_far_from_no_difference() -> None:
    scale = ratio_scale([0.5, 2])
    assert scale.at(2) - scale.at(1) == pytest.approx(scale.at(1) - scale.at(0.5))


@pytest.mark.parametrize(
    ("values", "ticks"),
    [
        ([1.2, 2.2], (1.0, 1.25, 1.5, 1.75, 2.0, 2.25)),
        ([0.5, 6.0], (0.5, 1.0, 2.0, 5.0)),
        ([1.01], (0.95, 1.0, 1.05, 1.1)),
    ],
)
def test_an_axis_of_ratios_names_round_values(values: list[float], ticks: tuple[float, ...]) -> None:
    assert ratio_scale(values).ticks == ticks


@given(st.lists(ABOVE_0, max_size=9))
def test_an_axis_names_a_few_values_that_lie_on_it(values: list[float]) -> None:
    for scale in (ratio_scale(values), amount_scale(values)):
        assert 1 <= len(scale.ticks) <= 12
        assert all(scale.low <= tick <= scale.high for tick in scale.ticks)
        assert list(scale.ticks) == sorted(set(scale.ticks))


def test_one_wild_value_does_not_press_the_others_together() -> None:
    rates = amount_scale([40, 41, 42, 43, 38_000])
    assert rates.is_beyond(38_000)
    assert not rates.is_beyond(43)
    ratios = ratio_scale([1.2, 1.3, 1.5, 0.002])
    assert ratios.is_beyond(0.002)
    assert not ratios.is_beyond(1.2)
