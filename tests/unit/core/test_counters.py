"""What the movement of a server's counters proves."""

from specchat.core.counters import CounterReading, Verdict, check_steps
from specchat.core.speculation import Evidence, Step


def reading(drafts: int, drafted: int, accepted: int, **more: int) -> CounterReading:
    values = {"running": 0, "waiting": 0, "finished": 0, "generated": 0, **more}
    return CounterReading(drafts, drafted, accepted, (), **values)


BEFORE = reading(100, 300, 150)
STEPS = [Step(3, 3, 4, Evidence.INFERRED), Step(3, 1, 2, Evidence.INFERRED)]


def verdict(after: CounterReading | None, *, before: CounterReading | None = BEFORE, **more: object) -> Verdict:
    given: dict[str, object] = {"output_tokens": 7, "ended_by_engine": True, **more}
    return check_steps(before, after, STEPS, **given).verdict  # type: ignore[arg-type]


def test_equal_drafts_and_drafted_agree_and_the_excess_lies_in_the_last_step() -> None:
    check = check_steps(
        BEFORE, reading(102, 306, 156, finished=1, generated=7), STEPS, output_tokens=7, ended_by_engine=True
    )
    assert (check.verdict, check.drafts, check.drafted, check.accepted) == (Verdict.AGREES, 2, 6, 6)
    assert check.excess == 2
    assert "1 accepted past the end" in check.sentence


def test_fewer_chunks_than_drafts_show_a_merge() -> None:
    assert verdict(reading(103, 309, 155, finished=1, generated=7)) is Verdict.DIFFERS


def test_more_accepted_than_the_end_can_hide_differs() -> None:
    assert verdict(reading(102, 306, 158, finished=1, generated=7)) is Verdict.DIFFERS


def test_a_proven_merge_never_agrees_even_where_the_counts_happen_to() -> None:
    assert verdict(reading(102, 306, 154, finished=1, generated=7), merges_proven=1) is Verdict.DIFFERS


def test_other_requests_make_the_counters_prove_nothing() -> None:
    after = reading(102, 306, 154, finished=1, generated=7)
    assert verdict(after, before=reading(100, 300, 150, running=1)) is Verdict.NOT_ALONE
    assert verdict(reading(102, 306, 154, finished=2, generated=7)) is Verdict.NOT_ALONE
    assert verdict(reading(102, 306, 154, finished=1, generated=9)) is Verdict.NOT_ALONE


def test_a_reply_ended_from_outside_may_have_steps_that_nobody_saw() -> None:
    assert verdict(reading(104, 312, 157, generated=12), ended_by_engine=False) is Verdict.NOT_COMPARABLE
    assert verdict(reading(102, 306, 154, generated=7), ended_by_engine=False) is Verdict.AGREES


def test_without_a_known_draft_length_the_steps_alone_are_compared() -> None:
    steps = [Step(None, 3, 4, Evidence.INFERRED), Step(None, 1, 2, Evidence.INFERRED)]
    after = reading(102, 306, 154, finished=1, generated=7)
    assert check_steps(BEFORE, after, steps, output_tokens=7, ended_by_engine=True).verdict is Verdict.AGREES
    more = reading(103, 309, 154, finished=1, generated=7)
    assert check_steps(BEFORE, more, steps, output_tokens=7, ended_by_engine=True).verdict is Verdict.DIFFERS


def test_counters_that_are_missing_or_began_anew_are_unavailable() -> None:
    assert verdict(None) is Verdict.UNAVAILABLE
    assert verdict(BEFORE, before=None) is Verdict.UNAVAILABLE
    assert verdict(reading(2, 6, 4)) is Verdict.UNAVAILABLE
    assert verdict(CounterReading(None, None, None, ())) is Verdict.UNAVAILABLE


def test_figures_since_the_start_are_unknown_before_the_first_draft() -> None:
    counts = CounterReading(0, 0, 0, (0, 0, 0)).counts
    assert counts is not None
    assert (counts.acceptance_length, counts.acceptance_rate, counts.per_position_rate) == (None, None, None)
    assert CounterReading(None, None, None, ()).counts is None
