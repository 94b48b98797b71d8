"""The order of a comparison: whole, balanced, and the same for the same seed."""

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples_of import plan_for
from specchat.core.comparison.plan import Plan, Prompt
from specchat.core.comparison.samples import Side
from specchat.core.errors import ConfigurationError


@given(st.integers(1, 9), st.integers(1, 4), st.integers(1, 5), st.integers(0, 99))
def test_every_prompt_is_asked_so_often_on_both_sides(prompts: int, repeats: int, concurrency: int, seed: int) -> None:
    plan = plan_for(prompts, repeats=repeats, concurrency=concurrency, seed=seed)
    asked = Counter((one.prompt, one.repeat) for block in plan.blocks() for one in block.asked)
    assert asked == Counter({(number, repeat): 1 for number in range(prompts) for repeat in range(repeats)})
    assert plan.total == 2 * len(asked)
    assert all(set(block.order) == set(Side) for block in plan.blocks())


@given(st.integers(1, 9), st.integers(0, 99))
def test_the_side_that_goes_first_alternates(prompts: int, seed: int) -> None:
    first = [block.order[0] for block in plan_for(prompts, repeats=2, seed=seed).blocks()]
    assert all(one is not other for one, other in pairwise(first))


def test_all_prompts_are_asked_before_any_is_asked_again() -> None:
    blocks = plan_for(5, repeats=3, seed=4).blocks()
    assert [block.asked[0].repeat for block in blocks] == [0] * 5 + [1] * 5 + [2] * 5


def test_the_seed_decides_the_order_and_another_seed_another_one() -> None:
    orders = {seed: [block.asked for block in plan_for(8, seed=seed).blocks()] for seed in (1, 1, 2)}
    assert orders[1] == [block.asked for block in plan_for(8, seed=1).blocks()]
    assert orders[1] != orders[2]


def test_requests_beside_each_other_come_in_blocks_of_four_times_their_number() -> None:
    sizes = [len(block.asked) for block in plan_for(7, repeats=3, concurrency=2).blocks()]
    assert sizes == [8, 8, 5]


def test_another_plan_or_another_server_has_another_fingerprint() -> None:
    servers = {"on": {"url": "http://a"}, "off": {"url": "http://b"}}
    prints = {
        plan_for(2).fingerprint(servers),
        plan_for(3).fingerprint(servers),
        plan_for(2, max_tokens=9).fingerprint(servers),
        plan_for(2).fingerprint({**servers, "off": {"url": "http://c"}}),
    }
    assert len(prints) == 4
    assert plan_for(2).fingerprint(servers) in prints


def test_asking_both_sides_at_once_is_another_comparison() -> None:
    plan = Plan((Prompt(("Why?",)),))
    assert replace(plan, together=True).fingerprint({}) != plan.fingerprint({})


def test_a_prompt_from_a_broken_file_name_has_a_fingerprint_too() -> None:
    assert len(Plan((Prompt(("\udcff",)),)).fingerprint({})) == 64


def test_the_sampler_has_a_seed_for_each_repeat_unless_nothing_is_drawn() -> None:
    assert [plan_for(seed=5, temperature=0.7).seed_of(repeat) for repeat in (0, 1)] == [5, 6]
    assert plan_for(seed=5).seed_of(1) is None


@pytest.mark.parametrize("wrong", [{"repeats": 0}, {"max_tokens": 1}, {"concurrency": 0}, {"warm_up": -1}])
def test_what_cannot_be_done_is_refused_by_its_option(wrong: dict[str, int]) -> None:
    with pytest.raises(ConfigurationError, match=f"--{next(iter(wrong)).replace('_', '-')} "):
        plan_for(**wrong)


def test_a_comparison_needs_a_prompt() -> None:
    with pytest.raises(ConfigurationError, match="no prompt"):
        plan_for(0)
    with pytest.raises(ValueError, match="something to ask"):
        Prompt(())
