"""The reported cases of kind `figure`: numbers that people met, and what they should have been."""

import json
from pathlib import Path
from typing import Any

import pytest

from replies import aligned, chunk, replied, report
from specchat.core.figures import SpeculationCounts, decode_rate
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Channel, leading_matches

CASES = [json.loads(line) for line in (Path(__file__).parents[2] / "cases/reported.jsonl").read_text().splitlines()]
FIGURES = {case["id"]: case for case in CASES if case["kind"] == "figure"}


def given_and_wanted(case_id: str) -> tuple[Any, dict[str, Any]]:
    case = FIGURES[case_id]
    return json.loads(case["input"]), case["expected_figures"]


def test_the_acceptance_length_holds_the_target_s_own_token() -> None:
    said, wanted = given_and_wanted("f01-bonus-token")
    counts = SpeculationCounts(said["num_drafts"], said["num_draft_tokens"], said["num_accepted_tokens"])
    assert counts.acceptance_length == pytest.approx(wanted["acceptance_length"], abs=1e-4)
    assert counts.acceptance_rate == pytest.approx(wanted["acceptance_rate"], abs=1e-4)


def test_a_log_line_without_steps_is_consistent_with_its_own_rates() -> None:
    said, wanted = given_and_wanted("f03-log-line-consistency")
    counts = SpeculationCounts.of_totals(
        drafted=said["drafted"], accepted=said["accepted"], draft_length=said["num_speculative_tokens"]
    )
    assert counts.steps == wanted["num_drafts"]
    assert counts.acceptance_length == pytest.approx(wanted["acceptance_length"], abs=0.005)
    assert counts.acceptance_length == pytest.approx(1 + sum(said["per_position"]), abs=0.005)
    assert counts.acceptance_rate == pytest.approx(wanted["acceptance_rate"], abs=1e-4)


def test_accepted_is_the_leading_run() -> None:
    said, wanted = given_and_wanted("f05-accepted-after-rejection")
    matches = said["step"]["matches"]
    accepted = leading_matches([1] * len(matches), matches)
    assert accepted == wanted["accepted"]
    assert accepted / len(matches) == wanted["acceptance_rate"]
    assert accepted + 1 == wanted["emitted"]


def test_prefill_is_not_in_the_rate() -> None:
    _, wanted = given_and_wanted("f07-prefill-in-the-rate")
    figures = figures_of(replied(chunk(0.01, ""), chunk(30.0, "a", 1), chunk(40.0, "b", *range(2, 402)), k=None))
    assert figures.time_to_first_token_s == wanted["time_to_first_token_s"]
    assert figures.tokens_per_second == wanted["tokens_per_second"]


def test_the_client_s_clock_is_shown_and_not_the_server_s_absurd_rate() -> None:
    said, wanted = given_and_wanted("f11-absurd-server-timing")
    client = said["client"]
    rate = decode_rate(said["timings"]["predicted_n"], client["first_token_s"], client["last_token_s"])
    assert rate == pytest.approx(wanted["tokens_per_second"], abs=0.05)


def test_delivered_ids_count_and_the_difference_is_said() -> None:
    said, wanted = given_and_wanted("f15-usage-above-delivered")
    from specchat.core.events import UsageReported

    ids = range(said["ids_delivered"])
    reply = replied(chunk(1.0, "abcdef", *ids, finish_reason="length"), UsageReported(1, 8))
    assert figures_of(reply).output_tokens == wanted["output_tokens"]
    assert any("usage" in note for note in reply.notes)


def test_another_engine_s_books_close_without_a_prefill_token() -> None:
    said, wanted = given_and_wanted("f17-engine-without-prefill-token")
    counts = SpeculationCounts(said["draft_rounds"], said["draft_n"], said["draft_n_accepted"])
    assert counts.acceptance_length == pytest.approx(wanted["acceptance_length"])
    assert counts.acceptance_rate == pytest.approx(wanted["acceptance_rate"])


def test_text_that_lost_words_is_said_not_to_match_the_ids() -> None:
    said, wanted = given_and_wanted("f19-text-lost-ids-right")
    aligner = aligned(said["pieces_from_detokenize"], said["streamed_text"])
    assert aligner.matches is wanted["text_matches_ids"]
    assert "".join(text for _, text in aligner.rows) == said["streamed_text"]


def test_nothing_accepted_is_a_measurement() -> None:
    said, wanted = given_and_wanted("f21-nothing-accepted")
    chunks = [chunk(float(i), "x", i) for i in range(said["completion_tokens"])]
    reply = replied(*chunks, report(said["per_step_accepted"], said["per_step_drafted"], k=13), k=13)
    figures = figures_of(reply)
    assert figures.acceptance_length == wanted["acceptance_length"]
    assert figures.acceptance_rate == wanted["acceptance_rate"]
    assert counted(reply) == {name: count for name, count in wanted["origins"].items() if count}


@pytest.mark.parametrize("case_id", ["f23-merged-chunk-exact-arrays", "f25-undrafted-steps"])
def test_whole_replies_are_laid_over_exactly(case_id: str) -> None:
    body = FIGURES[case_id]["input"].split("\r\n\r\n", 1)[1]
    wanted = FIGURES[case_id]["expected_figures"]
    reply = Reply(0.0)
    for at, line in enumerate(body.split("\n\n")):
        if not line.startswith("data: {"):
            continue
        said = json.loads(line[6:])
        for choice in said["choices"]:
            reply.add(chunk(float(at), choice["delta"].get("content", ""), *choice.get("token_ids", ())))
        if "metrics" in said:
            spec = said["metrics"]["speculative_decoding"]
            reply.add(report(spec["per_step_accepted"], spec["per_step_drafted"]))
    reply.end(Outcome.FINISHED)
    figures = figures_of(reply)
    assert figures.output_tokens == wanted["output_tokens"]
    assert figures.acceptance_length == pytest.approx(wanted["acceptance_length"], abs=1e-4)
    assert counted(reply) == wanted["origins"]
    assert all(token.channel is Channel.CONTENT for token in reply.tokens)


def counted(reply: Reply) -> dict[str, int]:
    origins = [str(token.label.origin) for token in reply.tokens]
    return {name: origins.count(name) for name in set(origins)}
