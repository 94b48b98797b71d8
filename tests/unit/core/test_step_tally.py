"""Running sums equal the sums over the whole list, however the list came to be."""

from hypothesis import given
from hypothesis import strategies as st

from specchat.core.figures import SpeculationCounts
from specchat.core.reply import Reply
from specchat.core.speculation import Evidence, Step
from specchat.core.step_tally import StepTally


def step(drafted: int | None, accepted: int) -> Step:
    kept = accepted if drafted is None else min(accepted, drafted)
    return Step(drafted, kept, kept + 1, Evidence.INFERRED)


_STEPS = st.lists(st.builds(step, st.sampled_from([None, 0, 3, 5]), st.integers(0, 5)), max_size=20)


@given(_STEPS, _STEPS, st.sampled_from([None, 2, 7]))
def test_a_tally_that_caught_up_counts_what_a_fresh_count_does(first: list[Step], more: list[Step], k: int) -> None:
    steps = list(first)
    tally = StepTally(steps)
    tally.catch_up()
    steps += more
    tally.catch_up()

    assert tally.counts(k) == SpeculationCounts.of_steps(steps, k)
    assert tally.emitted == sum(step.emitted for step in steps)
    assert sum(tally.yields.values()) == tally.steps == sum(step.is_drafted for step in steps)


@given(_STEPS, st.integers(-3, 25), st.integers(-3, 25))
def test_the_mean_of_some_steps_is_over_those_alone(steps: list[Step], start: int, stop: int) -> None:
    tally = StepTally(steps)
    tally.catch_up()
    start, stop = max(0, start), max(0, stop)

    assert tally.mean_yield(start, stop) == SpeculationCounts.of_steps(steps[start:stop]).acceptance_length


def test_a_last_step_that_was_corrected_is_counted_anew() -> None:
    reply = Reply(0.0, draft_length=3)
    reply.live.add_chunk(1)
    reply.live.add_chunk(2)
    assert reply.tally.counts().accepted == 1
    reply.steps[-1] = Step(3, 3, 2, Evidence.INFERRED)

    assert reply.tally.counts().accepted == 3
