"""A reply that grows from events."""

from dataclasses import replace

import pytest

from replies import chunk, replied, report
from specchat.core.counters import CounterCheck, Verdict
from specchat.core.errors import StreamBroken
from specchat.core.events import (
    ChunkArrived,
    Event,
    NoteAdded,
    PiecesLearned,
    PiecesUnavailable,
    ReplyIdentified,
    ServerTimingReported,
    SpeculationReported,
    StreamEnded,
    ToolCallPart,
    UsageReported,
)
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import MEASURED, figures_of
from specchat.core.speculation import Channel, Evidence, Origin, Step


def origins(reply: Reply) -> list[Origin]:
    return [token.label.origin for token in reply.tokens]


def test_live_origins_come_from_chunks_and_a_report_replaces_them_at_the_end() -> None:
    reply = Reply(0.0, draft_length=3)
    reply.add(chunk(1.0, "A", 10))
    reply.add(chunk(2.0, "bcde", 11, 12, 13, 14))
    assert {token.label.evidence for token in reply.tokens} == {Evidence.INFERRED}
    reply.add(chunk(3.0, "fghijk", 15, 16, 17, 18, 19, 20, finish_reason="stop"))
    assert origins(reply)[5:] == [Origin.UNKNOWN] * 6
    reply.add(report([3, 1, 3], [3, 3, 3]))
    reply.end(Outcome.FINISHED)
    figures = figures_of(reply)
    assert {token.label.evidence for token in reply.tokens} == {Evidence.REPORTED}
    assert [origins(reply).count(o) for o in (Origin.ACCEPTED, Origin.BONUS, Origin.CORRECTION)] == [7, 2, 1]
    assert figures.acceptance_length == pytest.approx(10 / 3)
    assert figures.live_guess_accuracy == pytest.approx(5 / 11)
    assert figures.evidence["acceptance_length"] == "reported"


def test_a_merge_that_nothing_corrects_leaves_no_acceptance_figure() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bcde", 2, 3, 4, 5, 6, 7), chunk(3.0, "f", 8, finish_reason="stop"))
    figures = figures_of(reply)
    assert (figures.acceptance_length, figures.acceptance_rate, figures.emitted_per_step) == (None, None, None)
    assert figures.evidence["acceptance_length"] == "none"
    assert any("merged" in note for note in reply.notes)


def test_counters_that_differ_withdraw_the_figure_that_chunks_suggested() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bcd", 2, 3, 4, finish_reason="length"))
    assert figures_of(reply).acceptance_length == 3.0
    reply.apply_check(CounterCheck(Verdict.DIFFERS, 2, 6, 1, None, ""))
    assert figures_of(reply).acceptance_length is None


def test_an_excess_of_accepted_proposals_makes_the_last_token_the_draft_s() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bc", 2, 3, finish_reason="length"))
    assert origins(reply)[-1] is Origin.CORRECTION
    reply.apply_check(CounterCheck(Verdict.AGREES, 1, 3, 3, 2, ""))
    last = reply.tokens[-1].label
    assert (last.origin, last.position, last.evidence) == (Origin.ACCEPTED, 2, Evidence.INFERRED)
    assert reply.steps == [Step(3, 3, 2, Evidence.INFERRED)]
    figures = figures_of(reply)
    assert (figures.acceptance_length, figures.emitted_per_step, figures.cut) == (4.0, 2.0, 1)


def test_a_check_without_excess_changes_nothing() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bc", 2, 3, finish_reason="length"))
    before = list(reply.tokens)
    assert reply.apply_check(CounterCheck(Verdict.AGREES, 1, 3, 1, 0, "")) is None
    assert reply.tokens == before
    assert figures_of(reply).cut == 0


def test_a_report_that_does_not_close_is_said_and_the_weaker_evidence_stays() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bc", 2, 3, finish_reason="stop"), report([3, 3, 3], [3, 3, 3]))
    assert {token.label.evidence for token in reply.tokens} == {Evidence.INFERRED}
    assert any("does not close" in note for note in reply.notes)


def test_a_summary_report_gives_the_figures_and_leaves_the_tokens_inferred() -> None:
    summary = SpeculationReported(2, 4, 6, 3, None, None, (0, 1, 0, 1), 3.0)
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bc", 2, 3, finish_reason="stop"), summary)
    figures = figures_of(reply)
    assert (figures.acceptance_length, figures.per_position_rate) == (3.0, (1.0, 0.5, 0.5))
    assert figures.evidence["acceptance_length"] == "reported"
    assert {token.label.evidence for token in reply.tokens} == {Evidence.INFERRED}


def test_a_report_that_contradicts_itself_is_not_believed() -> None:
    wrong = SpeculationReported(2, 9, 6, 3, None, None, None, 5.5)
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bc", 2, 3, finish_reason="stop"), wrong)
    assert figures_of(reply).evidence["acceptance_length"] == "inferred"


def test_rates_count_ids_and_never_chunks() -> None:
    reply = replied(ChunkArrived(0.01), chunk(30.0, "a", 1), chunk(40.0, "b", *range(2, 402)), k=None)
    figures = figures_of(reply)
    assert (figures.time_to_first_token_s, figures.tokens_per_second) == (30.0, 40.0)
    assert figures.evidence["tokens_per_second"] == MEASURED


def test_without_ids_the_last_usage_is_the_token_count() -> None:
    events: list[Event] = [
        ChunkArrived(1.0, ((Channel.CONTENT, "One"),)), UsageReported(10, 1),
        ChunkArrived(2.0, ((Channel.CONTENT, " two three"),)), UsageReported(10, 4),
        ChunkArrived(3.0, (), finish_reason="stop"), UsageReported(10, 7),
    ]  # fmt: skip
    figures = figures_of(replied(*events))
    assert figures.output_tokens == 7
    assert figures.evidence["output_tokens"] == "reported"
    assert figures.acceptance_length is None


def test_without_ids_and_usage_the_token_count_is_unknown() -> None:
    reply = replied(ChunkArrived(1.0, ((Channel.CONTENT, "One"),), finish_reason="stop"))
    assert figures_of(reply).output_tokens is None
    assert [token.id for token in reply.tokens] == [None]


def test_usage_that_differs_from_what_arrived_is_said_and_not_used() -> None:
    reply = replied(chunk(1.0, "abc", 1, 2, 3, 4, 5, 6, finish_reason="length"), UsageReported(1, 8))
    assert figures_of(reply).output_tokens == 6
    assert any("8 tokens, 6 arrived" in note for note in reply.notes)


def test_a_draft_that_is_never_accepted_measures_one_and_zero() -> None:
    sizes = [chunk(float(i), "x", i) for i in range(9)]
    reply = replied(*sizes, report([0] * 8, [13] * 8, k=13), k=13)
    figures = figures_of(reply)
    assert (figures.acceptance_length, figures.acceptance_rate) == (1.0, 0.0)
    assert origins(reply) == [Origin.PREFILL, *[Origin.CORRECTION] * 8]


def test_leaked_thinking_is_reasoning_and_its_tags_are_kept() -> None:
    texts = ["<th", "ink>Compare.</thi", "nk>9.8 is larger."]
    reply = replied(*(ChunkArrived(float(i), ((Channel.CONTENT, text),)) for i, text in enumerate(texts)))
    assert reply.text == "9.8 is larger."
    assert reply.reasoning == "<think>Compare.</think>"


def test_a_start_that_only_looks_like_a_thinking_tag_is_not_lost() -> None:
    reply = replied(ChunkArrived(0.0, ((Channel.CONTENT, "<th"),)))
    assert reply.text == "<th"


def test_tool_calls_are_joined_by_index_and_stay_out_of_the_answer() -> None:
    parts = [
        (ToolCallPart(0, "station", "", "call_a"),),
        (ToolCallPart(0, "", '{"q":"Milano"}'), ToolCallPart(1, "station", '{"q":', "call_b")),
        (ToolCallPart(1, "", '"Piacenza"}'),),
    ]
    reply = replied(*(ChunkArrived(float(i), (), p, (i * 2 + 1, i * 2 + 2)) for i, p in enumerate(parts)), k=None)
    assert reply.text == ""
    assert [call.arguments for call in reply.tool_calls.values()] == ['{"q":"Milano"}', '{"q":"Piacenza"}']
    assert {token.channel for token in reply.tokens} == {Channel.TOOL}


def test_a_reply_that_breaks_off_keeps_its_text_and_its_reason() -> None:
    reply = Reply(0.0)
    reply.add(chunk(1.0, "Half a", 1, 2))
    reply.end(Outcome.FAILED, StreamBroken("gone"))
    assert (reply.text, reply.outcome, str(reply.error)) == ("Half a", Outcome.FAILED, "gone")
    assert not reply.ended_by_engine


def test_a_stop_string_is_no_end_by_the_engine() -> None:
    reply = replied(chunk(1.0, "a", 1, finish_reason="stop", stop_reason="END"))
    assert not reply.ended_by_engine
    assert replied(chunk(1.0, "a", 1, finish_reason="stop")).ended_by_engine


def test_pieces_refine_the_rows_from_the_first_changed_token_on() -> None:
    reply = Reply(0.0, draft_length=3, pieces_expected=True)
    reply.add(chunk(1.0, "Hi", 1))
    assert reply.add(PiecesLearned({1: "Hi"})) == 0
    assert reply.add(chunk(2.0, " you there", 2, 3)) == 1
    assert [token.text for token in reply.tokens] == ["Hi", " you there", ""]
    assert reply.add(PiecesLearned({2: " you", 3: " there"})) == 1
    assert [token.text for token in reply.tokens] == ["Hi", " you", " there"]
    assert reply.add(PiecesUnavailable()) == 3


def test_what_the_server_says_of_itself_is_kept() -> None:
    reply = replied(
        ReplyIdentified("r1", "m"), ReplyIdentified(None, None), NoteAdded("n"), NoteAdded("n"),
        ServerTimingReported(1.0), chunk(1.0, "a", 1, finish_reason="stop"), StreamEnded(2.0, done=True),
    )  # fmt: skip
    assert (reply.request_id, reply.model, reply.notes, reply.done_seen) == ("r1", "m", ["n"], True)
    assert reply.server_timing == ServerTimingReported(1.0)
    assert not reply.is_running


def test_a_report_that_contradicts_itself_is_said_and_backs_no_figure() -> None:
    good = report([3, 1], [3, 3])
    chunks = [chunk(1.0, "a", 1), chunk(2.0, "bcde", 2, 3, 4, 5), chunk(3.0, "fg", 6, 7)]
    for bad in (
        replace(good, accepted=9, per_step_accepted=None),
        replace(good, acceptance_histogram=(1, 1, 0, 1), per_step_accepted=None),
    ):
        reply = replied(*chunks, bad)
        assert any("contradicts itself" in note for note in reply.notes)
        assert figures_of(reply).evidence["acceptance_length"] == Evidence.INFERRED
    totals = replied(*chunks, replace(good, accepted=5, acceptance_histogram=None))
    assert any("its steps do not add up" in note for note in totals.notes)
    assert replied(*chunks, good).notes == []
