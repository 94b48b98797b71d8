"""The hook's rows laid over the ids of a reply, in every order in which both can come."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replies import chunk, report
from specchat.core.counters import CounterReading, Verdict, check_steps
from specchat.core.events import Event, PiecesLearned, TraceEnded
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Evidence, Label, Origin
from specchat.core.trace import TracedStep
from traces import PREFILL, Generation, generations, kinds, row, traced

CUTS = st.lists(st.integers(0, 50), max_size=12)
# The draft wanted 2, 3, 9; the target kept 2 and 3 and said 4. Then nothing was drafted; then all of it was kept.
ROWS = (PREFILL, row(1, (2, 3, 9), (2, 3, 4)), row(2, (), (5,)), row(3, (6, 7, 8), (6, 7, 8, 10)))
IDS = (1000, 2, 3, 4, 5, 6, 7, 8, 10)


def reply_of(*events: Event, ended: bool = True, **more: object) -> Reply:
    reply = Reply(0.0, draft_length=3)
    for event in events:
        reply.add(event)
    if ended:
        reply.end(more.pop("outcome", Outcome.FINISHED))  # type: ignore[arg-type]
    return reply


def whole() -> list[Event]:
    return [chunk(1.0, "A", 1000), chunk(2.0, "bcdefghi", *IDS[1:], finish_reason="length")]


@given(generations(), CUTS, CUTS, st.randoms(use_true_random=False))
def test_whatever_arrives_first_the_origins_are_those_of_the_rows(
    made: Generation, chunk_cuts: list[int], row_cuts: list[int], dice: Random
) -> None:
    chunks, rows = made.chunks(chunk_cuts), made.events(row_cuts)
    reply, shown = Reply(0.0, draft_length=4), list[tuple[int | None, Label]]()
    while chunks or rows:
        first = not rows or (chunks and dice.random() < 0.5)
        changed = reply.add(chunks.pop(0) if first else rows.pop(0))
        # Whoever draws only what is said to have changed always has the whole.
        now = [(token.id, token.label) for token in reply.tokens]
        shown = now if changed is None and not shown else shown
        if changed is not None:
            shown = shown[:changed] + now[changed:]
        assert shown == now
    reply.end(Outcome.FINISHED)
    assert reply.is_traced
    assert kinds(list(reply.labels)) == made.truth
    assert {label.evidence for label in reply.labels} == {Evidence.TRACED}
    assert [step.proposed for step in reply.steps] == [one.proposed for one in made.rows[1:]]
    assert [step.accepted for step in reply.steps] == [one.accepted for one in made.rows[1:]]
    assert sum(step.emitted for step in reply.steps) + 1 == len(made.ids)
    assert reply.notes == []


@given(generations(), CUTS, st.data())
def test_an_id_that_differs_anywhere_refuses_the_whole_trace(
    made: Generation, cuts: list[int], data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(made.rows) - 1))
    place = data.draw(st.integers(0, len(made.rows[at].emitted) - 1))
    wrong = list(made.rows)
    emitted = [token + 100 * (i == place) for i, token in enumerate(wrong[at].emitted)]
    wrong[at] = wrong[at]._replace(emitted=tuple(emitted))
    first = data.draw(st.booleans())
    events: list[Event] = [*Generation(tuple(wrong)).events(cuts)]
    stream: list[Event] = [*made.chunks([1])]
    reply = reply_of(*(events + stream if first else stream + events))
    assert not reply.is_traced
    assert {label.evidence for label in reply.labels} <= {Evidence.INFERRED, Evidence.NONE}
    assert all(step.proposed is None for step in reply.steps)
    assert any("does not fit" in note for note in reply.notes)


@given(generations(cut_end=False), st.integers(1, 60), CUTS, st.booleans())
def test_a_reply_that_ends_before_its_rows_do_holds_what_they_say_of_its_ids(
    made: Generation, kept: int, cuts: list[int], rows_first: bool
) -> None:
    kept = min(kept, len(made.ids))
    stream: list[Event] = [chunk(1.0 + i, "x", token) for i, token in enumerate(made.ids[:kept])]
    rows: list[Event] = [*made.events(cuts)]
    reply = reply_of(*(rows + stream if rows_first else stream + rows), outcome=Outcome.STOPPED)
    assert reply.is_traced
    assert kinds(list(reply.labels)) == made.truth[:kept]
    assert reply.trace is not None
    counted = [step.accepted for step in reply.sources.for_check]
    assert counted == [one.accepted for one in made.rows[1:]]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ((PREFILL, ROWS[2], ROWS[3]), "step 1 is missing"),
        ((ROWS[1], ROWS[2], ROWS[3]), "step 0 is missing"),
        ((PREFILL, row(1, (2, 3, 9), (2, 3, 4), accepted=1), *ROWS[2:]), "step 1 does not add up"),
        ((PREFILL, row(1, (2, 3, 9), (2, 3, 4), accepted=3), *ROWS[2:]), "step 1 keeps other tokens"),
        ((PREFILL, row(1, (2, 3, 4), (2, 3, 4)), *ROWS[2:]), "step 2 does not add up"),
        ((PREFILL._replace(drafted=1, proposed=(1,)), *ROWS[1:]), "step 0 does not add up"),
        ((PREFILL, row(1, (2, 8, 9), (2, 3, 4), accepted=2), *ROWS[2:]), "keeps other tokens than were proposed"),
    ],
)
def test_rows_that_contradict_themselves_are_refused_and_the_next_evidence_is_used(
    rows: tuple[TracedStep, ...], why: str
) -> None:
    told = report([2, 3], [3, 3])
    reply = reply_of(*whole(), traced(*rows), told)
    assert reply.steps_are_reported
    assert any(why in note for note in reply.notes)
    assert not reply_of(*whole(), traced(*rows)).steps_are_exact


def test_a_trace_that_breaks_off_says_how_far_it_went_and_gives_way() -> None:
    broke = TraceEnded(None, "the trace of this reply is missing: the connection broke")
    reply = reply_of(*whole(), traced(*ROWS[:2]), broke, report([2, 3], [3, 3]))
    assert reply.steps_are_reported
    assert "the server's trace covers 4 of 9 tokens" in reply.notes
    assert broke.why in reply.notes


def test_a_trace_that_breaks_off_in_mid_reply_gives_way_at_once() -> None:
    reply = reply_of(chunk(1.0, "A", 1000), traced(*ROWS[:2]), chunk(2.0, "bcd", 2, 3, 4), ended=False)
    assert reply.is_traced
    assert reply.add(TraceEnded(None, "It broke.")) is None  # it still accounts for all there is
    assert reply.add(chunk(3.0, "e", 5)) == 0
    assert {label.evidence for label in reply.labels} == {Evidence.INFERRED}


def test_a_row_that_the_reply_ends_in_with_other_ids_refuses_the_trace_too() -> None:
    reply = reply_of(chunk(1.0, "A", 1000), chunk(2.0, "b", 7), traced(*ROWS), outcome=Outcome.STOPPED)
    assert any("step 1 holds other ids" in note for note in reply.notes)
    assert not reply.is_traced


def test_figures_are_traced_while_the_reply_grows() -> None:
    reply = reply_of(chunk(1.0, "A", 1000), chunk(2.0, "bcde", 2, 3, 4, 5), ended=False)
    assert figures_of(reply).evidence["acceptance_length"] == "inferred"
    reply.add(traced(*ROWS[:3]))
    figures = figures_of(reply)
    assert (figures.acceptance_length, figures.drafted, figures.accepted) == (3.0, 3, 2)
    assert {figures.evidence[name] for name in ("acceptance_length", "steps", "per_position_rate")} == {"traced"}
    assert reply.labels[-1].origin is Origin.PLAIN


def test_rows_that_come_again_after_a_reconnect_count_once() -> None:
    reply = reply_of(*whole(), traced(*ROWS[:3]), traced(*ROWS[1:]), TraceEnded("length"))
    assert reply.is_traced
    assert [step.drafted for step in reply.steps] == [3, 0, 3]
    assert reply.notes == []


def test_texts_of_what_was_rejected_come_from_the_trace_and_of_what_was_kept_from_the_tokenizer() -> None:
    learned = PiecesLearned({2: " two"})
    reply = reply_of(*whole(), traced(*ROWS, texts={9: " nine"}), learned)
    assert [step.rejected for step in reply.steps] == [(9,), (), ()]
    assert [reply.text_of_proposal(token) for token in (2, 9, 77)] == [" two", " nine", None]


def test_a_stop_string_s_reply_is_checked_with_the_steps_beyond_its_end() -> None:
    reply = reply_of(
        chunk(1.0, "A", 1000), chunk(2.0, "bc", 2, 3, finish_reason="stop", stop_reason="c"), traced(*ROWS)
    )
    assert [step.emitted for step in reply.steps] == [2]
    assert reply.trace is not None
    assert len(reply.trace.beyond) == 2
    before = CounterReading(0, 0, 0, (), running=0, waiting=0, finished=0, generated=0)
    after = CounterReading(2, 6, 5, (), running=0, waiting=0, finished=1, generated=9)
    check = check_steps(
        before, after, reply.sources.for_check, output_tokens=3, ended_by_engine=reply.ended_by_engine, traced=True
    )
    assert check.verdict is Verdict.AGREES
    assert figures_of(reply).cut == 0


def test_counters_that_moved_otherwise_than_the_trace_are_a_difference_even_by_one() -> None:
    reply = reply_of(*whole(), traced(*ROWS))
    before = CounterReading(0, 0, 0, (), running=0, waiting=0, finished=0, generated=0)
    after = CounterReading(2, 6, 6, (), running=0, waiting=0, finished=1, generated=9)
    check = check_steps(before, after, reply.sources.for_check, output_tokens=9, ended_by_engine=True, traced=True)
    assert check.verdict is Verdict.DIFFERS
    reply.apply_check(check)
    assert figures_of(reply).evidence["acceptance_length"] == "traced"


def test_a_report_that_says_otherwise_than_the_trace_is_pointed_out() -> None:
    assert reply_of(*whole(), traced(*ROWS), report([2, 3], [3, 3])).notes == []
    odd = reply_of(*whole(), traced(*ROWS), report([2, 2], [3, 3]))
    assert odd.is_traced
    assert any("the server's report 2 with 4" in note for note in odd.notes)
