"""The interval: it holds the truth about as often as it says, and never fails."""

import math
import random

from hypothesis import given
from hypothesis import strategies as st

from specchat.core.comparison.bootstrap import estimate

_RATIOS = st.floats(1e-6, 1e6)
GROUPS = st.dictionaries(st.integers(0, 9), st.lists(_RATIOS, max_size=4), max_size=5)


@given(GROUPS, st.integers(0, 9))
def test_it_never_fails_and_holds_its_own_value(groups: dict[int, list[float]], seed: int) -> None:
    found = estimate(groups, seed=seed)
    values = [value for group in groups.values() for value in group]
    assert found.pairs == len(values)
    assert (found.value is None) == (not values)
    assert (found.interval is None) == (len(values) < 2)
    if found.interval is not None:
        assert min(values) <= found.interval.low <= found.interval.high <= max(values)


def test_the_same_seed_gives_the_same_interval() -> None:
    groups = {prompt: [1 + prompt / 10, 1.05 + prompt / 9] for prompt in range(8)}
    assert estimate(groups, seed=3) == estimate(groups, seed=3)
    assert estimate(groups, seed=3).interval != estimate(groups, seed=4).interval


def test_one_pair_has_a_value_and_no_interval() -> None:
    found = estimate({0: [1.5]}, seed=0)
    assert (found.value, found.interval, found.half_width) == (1.5, None, None)


def test_equal_pairs_leave_no_doubt() -> None:
    found = estimate({0: [2.0, 2.0], 1: [2.0]}, seed=0)
    assert found.interval is not None
    assert (found.interval.low, found.interval.high, found.half_width) == (2.0, 2.0, 0.0)


def noisy(draw: random.Random, *, truth: float, between: float, within: float) -> dict[int, list[float]]:
    """A run of 12 prompts with 3 repeats: prompts differ, and repeats of a prompt differ less or more."""
    groups = {}
    for prompt in range(12):
        centre = draw.gauss(math.log(truth), between)
        groups[prompt] = [math.exp(draw.gauss(centre, within)) for _ in range(3)]
    return groups


def held(runs: int, *, truth: float, between: float, within: float) -> float:
    draw = random.Random(11)
    found = [
        estimate(noisy(draw, truth=truth, between=between, within=within), seed=run).interval for run in range(runs)
    ]
    return sum(one is not None and one.holds(truth) for one in found) / runs


def test_equal_sides_are_held_to_be_equal_in_about_95_of_100_runs() -> None:
    assert held(40, truth=1.0, between=0.0, within=0.2) >= 0.92


def test_where_prompts_differ_the_interval_holds_the_truth_about_as_often() -> None:
    assert held(40, truth=1.8, between=0.2, within=0.1) >= 0.88


def test_a_difference_of_half_is_found_every_time_in_noise_of_a_fifth() -> None:
    draw = random.Random(5)
    for run in range(10):
        interval = estimate(noisy(draw, truth=1.5, between=0.1, within=0.2), seed=run).interval
        assert interval is not None
        assert interval.low > 1
