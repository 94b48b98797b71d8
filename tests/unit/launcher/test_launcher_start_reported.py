"""Start-up logs that people reported, each with the cause that it should be told by."""

from typing import Any

import pytest

from reported_cases import CASES, of_kind
from specchat_launcher.startup import Diagnosis, StartPhase, StartWatcher, diagnose, read_acceptance

LOGS = [case for case in CASES if case["kind"] == "log"]


def watched(text: str) -> StartWatcher:
    watcher = StartWatcher(lambda: 0.0)
    watcher.feed(text)
    return watcher


def input_of(case_id: str) -> str:
    return str(next(case["input"] for case in LOGS if case["id"] == case_id))


def told(found: Diagnosis) -> str:
    return "\n".join((found.title, found.remedy, *found.lines))


@of_kind("log")
def test_a_reported_log_is_told_by_its_cause(case: dict[str, Any]) -> None:
    found = diagnose(case["input"].split("\n"))
    if case["expected_cause"] is None:
        assert found.cause == "no-reason"
        assert watched(case["input"]).state().warnings == ()
        return
    assert found.cause == case["expected_cause"]
    assert found.severity == {"warning-then-stall": "warning"}.get(case["severity"], case["severity"])
    assert all(words in told(found) for words in case.get("must_mention", ()))
    assert not any(words.lower() in told(found).lower() for words in case.get("must_not_blame", ()))


@of_kind("log")
def test_the_lines_that_say_so_are_quoted_once_and_without_wrappers(case: dict[str, Any]) -> None:
    found = diagnose(case["input"].split("\n"))
    assert len(found.lines) == len(set(found.lines)) <= 5
    assert not any("pid=" in line or "See root cause above" in line for line in found.lines)


def test_the_servers_own_estimate_is_the_first_remedy() -> None:
    found = diagnose(input_of("l05-kv-too-small-new").split("\n"))
    assert found.remedy.startswith("Set --max-model-len 34736")


def test_a_stuck_lock_is_a_warning_while_the_start_goes_on_and_its_notices_are_folded() -> None:
    state = watched(input_of("l07-aiter-baton-deadlock")).state()
    assert [warning.cause for warning in state.warnings] == ["aiter-lock-stuck"]
    assert state.phase is StartPhase.JIT
    assert "2 processes wait" in state.detail
    assert len(state.last_lines) == 5
    assert state.last_lines[-1].endswith("(26 times)")


def test_a_first_build_is_shown_with_its_module_and_seconds() -> None:
    watcher = watched(input_of("l09-aiter-healthy-first-run"))
    assert watcher.state().phase is StartPhase.JIT
    assert watcher.state().detail == "module_aiter_enum took 13 s, 1 built"


def test_a_fault_behind_a_carriage_return_is_placed_in_its_phase() -> None:
    found = diagnose(input_of("l27-gpu-fault-capture").split("\n"))
    assert "capturing graphs" in found.title
    assert found.lines[0].startswith("Memory access fault by GPU node-5")


def test_all_shards_are_no_success() -> None:
    watcher = watched(input_of("l29-weights-not-initialized"))
    assert watcher.state().fraction == 1.0
    assert "model.layers.3.mlp.down_proj.weight" in watcher.diagnosis(1).title


def test_a_long_compile_ends_ready() -> None:
    assert watched(input_of("l35-long-compile-not-a-hang")).state().phase is StartPhase.READY


def test_the_periodic_line_about_speculation_is_read_in_any_order() -> None:
    case = next(case for case in LOGS if case["id"] == "l37-spec-log-line")
    wanted = case["expected_figures"]
    found = read_acceptance(case["input"])
    assert found is not None
    assert found.acceptance_length == pytest.approx(wanted["acceptance_length"])
    assert found.drafts == wanted["num_drafts"]
    assert len(found.by_position) == wanted["positions"]
    assert watched(case["input"]).acceptance == found
