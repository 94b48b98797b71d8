"""Things that people met with real servers, each rebuilt from a public report: the client must cope with all."""

from typing import Any

import pytest

from chatting import ask_server
from reported_cases import of_kind, server_for
from specchat.backends.metrics import parse_counters
from specchat.core.errors import SpecchatError
from specchat.core.reply import Outcome, Reply


async def what_is_said(url: str) -> str:
    """The error, whichever request met it."""
    try:
        reply = await ask_server(url)
    except SpecchatError as error:
        return str(error)
    assert reply.outcome is Outcome.FAILED
    return str(reply.error)


def check_reply(case: dict[str, Any], reply: Reply) -> None:
    notes = " ".join([*reply.notes, "" if reply.error is None else str(reply.error)])
    assert case["expected_text"] in reply.text
    assert (reply.outcome is Outcome.FAILED) is case["expected_exit_nonzero"], notes
    if case["expected_stderr_any"]:
        assert any(text in notes for text in case["expected_stderr_any"]), notes
    assert "\n" not in notes
    if "reasoning" in case:
        assert reply.reasoning == case["reasoning"]
        assert reply.text == case["expected_text"]
    for text in case.get("forbidden_text", []):
        assert text not in reply.text
    for text in case.get("json_must_contain", []):
        assert any(text in call.arguments for call in reply.tool_calls.values())
        assert text not in reply.text
    if "output_tokens" in case.get("expected_figures", {}):
        assert reply.output_tokens == case["expected_figures"]["output_tokens"]


@of_kind("stream")
async def test_a_reported_stream_is_read(case: dict[str, Any]) -> None:
    async with server_for(case) as server:
        check_reply(case, await ask_server(server.url))


@of_kind("http")
async def test_a_reported_error_is_explained(case: dict[str, Any]) -> None:
    async with server_for(case) as server:
        said = await what_is_said(server.url)
    assert any(text in said for text in case["expected_stderr_any"])
    assert "\n" not in said


@of_kind("metrics")
def test_a_reported_metrics_page_is_read(case: dict[str, Any]) -> None:
    expected = case["expected_figures"]
    reading = parse_counters(case["input"], case.get("request_model"))
    if "request_model" not in case and "demo-model" in case["input"]:
        reading = parse_counters(case["input"], "demo-model")
    assert reading is not None
    if "num_drafts" not in expected:
        assert (reading.running, reading.counts) == (0, None)  # an idle server, whatever its gauges remember
        return
    assert reading.drafts == expected["num_drafts"]
    counts = reading.counts
    assert counts is not None
    for name, value in {
        "acceptance_length": counts.acceptance_length,
        "acceptance_rate": counts.acceptance_rate,
    }.items():
        if name in expected:
            assert value == (None if expected[name] is None else pytest.approx(expected[name], abs=1e-3))
    if "per_position" in expected:
        assert counts.per_position_rate == pytest.approx(expected["per_position"], abs=1e-3)
