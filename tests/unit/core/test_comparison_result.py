"""Samples to results: pairs, ratios, acceptance by two aggregations, where texts part, and what is said of it all."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from samples_of import both, counted, failed, plan_for, reply_at, sample_at
from specchat.core.comparison.divergence import divergence_of, first_difference
from specchat.core.comparison.pairs import pairs_of
from specchat.core.comparison.result import result_of
from specchat.core.comparison.samples import COUNTED, Measured, Sample, Side, mean_of_requests, pooled_counts
from specchat.core.comparison.verdict import divergence_text, headline, is_within_noise, names_of, sentences
from specchat.core.speculation import Evidence

ON_OFF = names_of(3, 0)


def test_the_ratio_is_the_median_of_pairs_not_the_ratio_of_medians() -> None:
    samples = [*both(30, 10, prompt=0), *both(8, 8, prompt=1), *both(40, 20, prompt=2)]
    result = result_of(plan_for(3, repeats=1), samples)
    assert result.total.speed.value == pytest.approx(2.0)
    assert (result.total.on.decode_rate, result.total.off.decode_rate) == (30, 10)
    assert [one.figures.speed.value for one in result.prompts] == pytest.approx([3.0, 1.0, 2.0])


def test_tokens_that_arrived_all_at_once_show_no_decode_rate() -> None:
    reply = Measured(first_token_s=2.0934, decode_s=0.0025, total_s=2.096, tokens=96)
    sample = Sample(0, 0, Side.ON, (reply,))
    assert sample.decode_rate is None
    assert sample.end_to_end_rate == pytest.approx(45.8, abs=0.1)
    plan = plan_for(1, repeats=1)
    told = headline(result_of(plan, [sample, sample_at(30, Side.OFF)]), names_of(3, 0))
    assert "all of their tokens arrived at once" in told


def test_the_first_token_of_each_reply_is_in_no_decode_rate() -> None:
    turns = (reply_at(50, tokens=11), reply_at(50, tokens=21))
    sample = Sample(0, 0, Side.ON, turns)
    assert sample.decode_rate == pytest.approx(50)
    assert sample.tokens == 32
    assert sample.end_to_end_rate == pytest.approx(32 / (0.2 + 0.6))


@pytest.mark.parametrize("reply", [Measured(), Measured(tokens=1, decode_s=0.0), Measured(tokens=5, decode_s=None)])
def test_a_reply_that_shows_no_decoding_has_no_rate(reply: Measured) -> None:
    assert Sample(0, 0, Side.ON, (reply,)).decode_rate is None
    assert Sample(0, 0, Side.ON, ()).decode_rate is None


def test_a_sample_that_was_asked_for_again_replaces_the_broken_one() -> None:
    samples = [failed(Side.ON, refusal=False), *both(20, 10)]
    (pair,) = pairs_of(samples)
    assert pair.speed_ratio == pytest.approx(2.0)
    assert result_of(plan_for(1, repeats=1), samples).samples == 2


def test_a_prompt_that_both_refuse_is_named_and_in_no_ratio() -> None:
    samples = [*both(20, 10), failed(Side.ON, prompt=1), failed(Side.OFF, prompt=1)]
    plan = plan_for(2, repeats=1)
    result = result_of(plan, samples)
    assert result.total.speed.pairs == 1
    assert result.prompts[1].refused == (Side.ON, Side.OFF)
    assert "Prompt 2 was refused by on and off: The prompt is too long." in sentences(plan, result, ON_OFF)
    assert result.is_complete


def test_acceptance_is_pooled_over_steps_and_the_mean_of_requests_is_another_figure() -> None:
    replies = [reply_at(10, **counted(10, 20)), reply_at(10, **counted(90, 90))]
    counts, evidence = pooled_counts(replies)
    assert counts is not None
    assert counts.acceptance_length == pytest.approx(1 + 110 / 100)
    assert mean_of_requests(replies) == pytest.approx((3.0 + 2.0) / 2)
    assert (counts.per_position, evidence) == ((100, 10, 0), "reported")


def test_pooled_figures_have_the_weakest_evidence_of_their_replies() -> None:
    replies = [reply_at(10, **counted(10, 20, Evidence.TRACED)), reply_at(10, **counted(9, 9, Evidence.INFERRED))]
    assert pooled_counts(replies)[1] == "inferred"
    counters = [replies[0], reply_at(10, **counted(9, 9) | {"evidence": COUNTED})]
    assert pooled_counts(counters)[1] == "counted"
    assert pooled_counts([reply_at(10)]) == (None, "none")


def test_both_aggregations_are_named_where_they_are_said() -> None:
    samples = [*both(20, 10)]
    samples[0] = sample_at(20, Side.ON, **counted(10, 20))
    plan = plan_for(1, repeats=1)
    said = sentences(plan, result_of(plan, samples), ON_OFF)
    expected = "pooled over steps: 3.00 of 10 steps; mean of requests 3.00 (reported)."
    assert [one for one in said if one.startswith("Acceptance")] == [
        f"Acceptance length with speculation on, {expected}"
    ]
    samples[1] = sample_at(20, Side.OFF, **counted(10, 10))
    said = sentences(plan, result_of(plan, samples), names_of(3, 1))
    assert sum(one.startswith("Acceptance length with k = ") for one in said) == 2


def test_throughput_counts_the_time_in_which_any_request_ran_once() -> None:
    beside = [
        Sample(number, 0, Side.ON, (reply_at(10, tokens=11),), started_at=100.0 + number * 0.55) for number in range(2)
    ]
    late = Sample(2, 0, Side.ON, (reply_at(10, tokens=11),), started_at=500.0)
    result = result_of(plan_for(3, repeats=1), [*beside, late])
    assert result.total.on.throughput == pytest.approx(33 / (1.1 + 0.55 + 1.1))


# -- where texts part -----------------------------------------------------------------------------------------------


@given(st.lists(st.integers(0, 3), max_size=12), st.lists(st.integers(0, 3), max_size=12))
def test_the_first_difference_is_the_end_of_what_is_equal(one: list[int], other: list[int]) -> None:
    index = first_difference(one, other)
    if index is None:
        assert one == other
    else:
        assert one[:index] == other[:index]
        assert one[index : index + 1] != other[index : index + 1]


def test_texts_part_at_a_token_and_at_a_character_of_both() -> None:
    on, off = [reply_at(9, ids=(1, 2, 3), text="one two three")], [reply_at(9, ids=(1, 2, 4), text="one two four")]
    found = divergence_of(on, off)
    assert found is not None
    assert (found.turn, found.token, found.character) == (0, 2, 8)
    assert (found.before, found.on, found.off) == ("one two ", "three", "four")


def test_of_several_turns_the_first_that_differs_is_named() -> None:
    same, other = reply_at(9, ids=(1, 2)), reply_at(9, ids=(1, 5))
    found = divergence_of([same, same], [same, other])
    assert found is not None
    assert (found.turn, found.token) == (1, 1)


def test_a_reply_that_ends_earlier_parts_at_its_end() -> None:
    found = divergence_of([reply_at(9, ids=(1, 2))], [reply_at(9, ids=(1, 2, 3))])
    assert found is not None
    assert found.token == 2


def test_without_ids_texts_are_compared_by_their_characters() -> None:
    found = divergence_of([Measured(text="ab")], [Measured(text="ac")])
    assert found is not None
    assert (found.token, found.character) == (None, 1)
    assert divergence_of([Measured(text="ab")], [Measured(text="ab")]) is None


def test_the_table_says_where_a_prompt_parts() -> None:
    equal, parted = result_of(plan_for(2, repeats=1), [*both(2, 1), *_parted(1)]).prompts
    assert (divergence_text(equal), divergence_text(parted)) == ("equal", "token 1")


def _parted(prompt: int) -> list[Sample]:
    return [
        sample_at(20, Side.ON, prompt=prompt, ids=(1, 2, 3)),
        sample_at(10, Side.OFF, prompt=prompt, ids=(1, 9, 3)),
    ]


# -- what is said ---------------------------------------------------------------------------------------------------


def test_a_difference_is_told_only_where_the_interval_does_not_hold_one() -> None:
    clear = [one for prompt in range(6) for one in both(20 + prompt, 10, prompt=prompt)]
    noise = [one for prompt in range(6) for one in both(10 + prompt, 12.5, prompt=prompt)]
    plan = plan_for(6, repeats=1)
    fast, same = result_of(plan, clear), result_of(plan, noise)
    assert headline(fast, ON_OFF).startswith("Decoding is faster with speculation on: 2.25 times as fast as with")
    assert headline(same, ON_OFF).startswith("No difference can be told from the noise")
    assert (is_within_noise(fast.total.speed), is_within_noise(same.total.speed)) == (False, True)


def test_slower_is_said_as_plainly() -> None:
    plan = plan_for(6, repeats=1)
    slow = result_of(plan, [one for prompt in range(6) for one in both(5, 10 + prompt, prompt=prompt)])
    assert headline(slow, ON_OFF).startswith("Decoding is slower with speculation on: 0.40 times")


def test_texts_that_part_at_temperature_0_are_explained() -> None:
    plan = plan_for(1, repeats=1)
    said = " ".join(sentences(plan, result_of(plan, _parted(0)), ON_OFF))
    assert "In 1 of 1 pair the texts part." in said
    assert "At temperature 0 texts may part all the same" in said
    drawn = plan_for(1, repeats=1, temperature=1.0)
    assert "drawn by chance" in " ".join(sentences(drawn, result_of(drawn, _parted(0)), ON_OFF))


def test_what_is_missing_is_said() -> None:
    plan = plan_for(2, repeats=3)
    said = " ".join(sentences(plan, result_of(plan, both(2, 1)), ON_OFF))
    assert "2 of 12 replies were measured" in said
    assert "too few to say how sure that is" in said
    assert "Nothing can be said of the speed" in headline(result_of(plan, []), ON_OFF)


def test_replies_that_others_disturbed_and_switches_that_were_not_obeyed_are_counted() -> None:
    samples = [sample_at(2, Side.ON, was_alone=False), sample_at(1, Side.OFF, obeyed=False)]
    plan = plan_for(1, repeats=1)
    said = " ".join(sentences(plan, result_of(plan, samples), ON_OFF))
    assert "During 1 of 1 replies with speculation on the server served others too" in said
    assert "In 1 of 1 replies that were to be off the server drafted all the same" in said


def test_a_reply_whose_tokens_came_all_at_once_is_in_no_ratio_and_that_is_said() -> None:
    samples = [*both(2, 1), sample_at(2, Side.ON, prompt=1, decode_s=0.0), sample_at(1, Side.OFF, prompt=1)]
    plan = plan_for(2, repeats=1)
    result = result_of(plan, samples)
    assert (result.total.speed.pairs, result.total.pairs) == (1, 2)
    assert "1 of 2 replies with speculation on show no decode rate" in " ".join(sentences(plan, result, ON_OFF))


def test_a_side_that_differs_from_itself_is_the_control_and_is_told() -> None:
    samples = [
        sample_at(2, side, repeat=repeat, ids=(1, 2 + repeat if side is Side.OFF else 2))
        for side in Side
        for repeat in range(2)
    ]
    plan = plan_for(1, repeats=2)
    said = " ".join(sentences(plan, result_of(plan, samples), ON_OFF))
    assert "Compared with itself, on gave another text in 0 repeats, off gave another text in 1 repeat." in said


def test_a_broken_reply_is_neither_measured_nor_compared_with_another() -> None:
    samples = [*both(2, 1), sample_at(2, Side.ON, prompt=1), failed(Side.OFF, prompt=1, refusal=False)]
    plan = plan_for(2, repeats=1)
    result = result_of(plan, samples)
    assert (result.total.pairs, result.samples) == (1, 3)
    said = " ".join(sentences(plan, result, ON_OFF))
    assert "3 of 4 replies were measured" in said
    assert "Prompt 2 was not answered whole each time" in said


def test_few_prompts_make_a_rough_interval_and_that_is_said() -> None:
    plan = plan_for(1, repeats=3)
    samples = [one for repeat in range(3) for one in both(20 + repeat, 10, repeat=repeat)]
    said = " ".join(sentences(plan, result_of(plan, samples), ON_OFF))
    assert "With one prompt the interval is a rough one" in said
    # It knows nothing of other prompts, so it says nothing of them.
    assert "for other prompts" not in said
    assert "nothing of other prompts" in said


def test_another_count_of_prompt_tokens_is_another_template_or_model() -> None:
    samples = [sample_at(2, Side.ON, prompt_tokens=30), sample_at(1, Side.OFF, prompt_tokens=34)]
    plan = plan_for(1, repeats=1)
    assert "as 30 and 34 tokens" in " ".join(sentences(plan, result_of(plan, samples), ON_OFF))


def test_two_sides_that_both_speculate_are_not_called_on_and_off() -> None:
    assert names_of(3, 1) == {Side.ON: "k = 3", Side.OFF: "k = 1"}
    assert names_of(3, 3) == {Side.ON: "first server", Side.OFF: "second server"}
    plan = plan_for(1, repeats=1)
    text = headline(result_of(plan, both(20, 10)), names_of(3, 3))
    assert text.startswith("Decoding with the first server is 2.00 times as fast as with the second server")


@given(
    st.lists(
        st.builds(
            lambda prompt, repeat, side, rate, fails: (
                failed(side, prompt=prompt, repeat=repeat, refusal=fails == 1)
                if fails
                else Sample(prompt, repeat, side, (Measured(tokens=3, decode_s=rate, total_s=rate),))
            ),
            st.integers(0, 2),
            st.integers(0, 2),
            st.sampled_from(Side),
            st.none() | st.floats(0, 1e9),
            st.integers(0, 2),
        ),
        max_size=12,
    )
)
def test_any_samples_at_all_have_a_result_and_sentences(samples: list[Sample]) -> None:
    plan = plan_for(3)
    result = result_of(plan, samples)
    assert result.samples <= len({(one.prompt, one.repeat, one.side) for one in samples})
    assert all(sentences(plan, result, ON_OFF))
