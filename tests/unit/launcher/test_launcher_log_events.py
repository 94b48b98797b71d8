"""What the lines of a server's log mean."""

import pytest

from specchat_launcher.log_events import LAUNCHED, MILESTONES, eased, latest_milestone, milestone, root_cause
from specchat_launcher.progress import Phase

ENGINE = "(EngineCore pid=3867) ERROR 11-30 11:19:12 [core.py:1254] "


@pytest.mark.parametrize(
    ("line", "phase"),
    [
        ("(APIServer pid=1) INFO 11-30 11:18:48 [api_utils.py:286] non-default args: {'port': 1}", Phase.STARTING),
        ("(EngineCore pid=2) INFO 11-30 [core.py:133] Initializing a V1 LLM engine (v0.32.0) with", Phase.STARTING),
        ("(Worker pid=3) INFO 11-30 [cpu_model_runner.py:68] Starting to load model /x...", Phase.LOADING),
        ("(Worker pid=3) INFO 11-30 [cpu_model_runner.py:75] Loading drafter model...", Phase.LOADING),
        ("(EngineCore pid=2) INFO [kv_cache_utils.py:2327] CPU KV cache size: 45,056 tokens", Phase.WARMING),
        ("(EngineCore pid=2) INFO [core.py:402] init engine (profile, warmup model) took 1.58 s", Phase.WARMING),
        ("(APIServer pid=1) INFO:     Application startup complete.", Phase.WARMING),
    ],
)
def test_milestones_are_recognised(line: str, phase: Phase) -> None:
    found = milestone(line)
    assert found is not None
    assert found.phase is phase


def test_progress_never_falls_back_when_a_line_comes_late() -> None:
    late = ["Starting to load model", "non-default args"]
    assert latest_milestone(late).phase is Phase.LOADING
    assert latest_milestone(["something else"]) == LAUNCHED


def test_the_word_error_alone_is_no_error() -> None:
    line = (
        "(APIServer pid=1) WARNING 11-30 11:18:48 [system_utils.py:255] Found ulimit of 20000 and failed to "
        "automatically increase with error current limit exceeds maximum limit."
    )
    assert root_cause([line]) is None


def test_the_first_process_to_fail_is_believed_and_not_those_that_report_it() -> None:
    lines = [
        f"{ENGINE}Traceback (most recent call last):",
        f"{ENGINE}ValueError: No available memory for the cache blocks.",
        "RuntimeError: WorkerProc initialization failed due to an exception in a background process.",
        "Traceback (most recent call last):",
        "RuntimeError: Engine core initialization failed. See root cause above. Failed core proc(s): {}",
    ]
    assert root_cause(lines) == "ValueError: No available memory for the cache blocks."


def test_a_reason_that_follows_a_wrapper_is_found_too() -> None:
    lines = ["RuntimeError: Engine core initialization failed. See root cause above.", "OSError: [Errno 98] Address"]
    assert root_cause(lines) == "OSError: [Errno 98] Address"


def test_a_validation_error_is_given_with_its_reason() -> None:
    lines = [
        "pydantic_core._pydantic_core.ValidationError: 1 validation error for ModelConfig",
        "  Value error, Invalid repository ID or local directory specified: '/x'. [type=value_error]",
    ]
    assert root_cause([lines[0], "", lines[1]]) is not None
    assert "Invalid repository ID" in str(root_cause([lines[0], "config", lines[1]]))


def test_arguments_the_server_refuses_are_a_reason() -> None:
    line = "api_server.py: error: unrecognized arguments: --no-such-flag"
    assert root_cause(["usage: api_server.py [-h]", line]) == line


def test_an_interrupt_is_no_reason() -> None:
    assert root_cause(["Traceback (most recent call last):", "KeyboardInterrupt"]) is None


def test_a_start_creeps_on_between_milestones_and_never_overtakes_the_next() -> None:
    marks = [LAUNCHED, *(mark for _, mark in MILESTONES)]
    shares = [eased(mark, seconds) for mark in marks for seconds in (0.0, 5.0, 1e6)]
    assert shares == sorted(shares)
    assert len(set(shares)) == len(shares)
    assert 0 <= shares[0] < shares[-1] < 1
