"""Whole logs, recorded and re-created: the phases that are seen in them, and the cause that is found."""

from typing import Any

from launch_logs import FOLDER, LOGS, each, text_of
from specchat_launcher.spec import Expected
from specchat_launcher.startup import StartPhase, StartWatcher

FAILING = [log for log in LOGS if log["cause"]]
HEALTHY = [log for log in LOGS if not log["cause"]]
M3 = Expected(moe_backend="AITER_MXFP4_MXFP4", draft_backend="TRITON_ATTN", acceptance_length=(2.0, 3.3))


def followed(log: dict[str, Any]) -> tuple[StartWatcher, list[str]]:
    """A watcher after the log, and the phases that somebody who looked after every line has seen."""
    watcher = StartWatcher(lambda: 0.0, expected=M3 if "rocm" in log["file"] else None)
    seen = ["starting"]
    for line in text_of(log).splitlines(keepends=True):
        watcher.feed(line)
        phase = watcher.state().phase.value
        if phase != seen[-1]:
            seen.append(phase)
    return watcher, seen


def test_the_index_and_the_folder_hold_the_same_logs() -> None:
    files = [log["file"] for log in LOGS]
    assert sorted(files) == sorted(path.stem for path in FOLDER.glob("*.log"))
    assert len(files) == len(set(files)) >= 25
    assert all(log["origin"] in {"recorded", "re-created"} for log in LOGS)


@each([log for log in LOGS if "phases" in log])
def test_the_phases_are_seen_in_their_order(log: dict[str, Any]) -> None:
    _watcher, seen = followed(log)
    assert seen == log["phases"]


@each(FAILING)
def test_the_cause_of_a_failure_is_found(log: dict[str, Any]) -> None:
    watcher, _seen = followed(log)
    found = watcher.diagnosis(log.get("exit_code"))
    assert (found.cause, found.severity) == (log["cause"], "fatal")
    told = f"{found.title}\n{found.remedy}"
    assert all(words in told for words in log.get("says", ()))
    assert found.title.endswith((".", "…"))
    assert found.remedy
    assert not any("See root cause above" in line or "initialization failed" in line for line in found.lines)


@each(HEALTHY)
def test_a_healthy_log_raises_no_alarm(log: dict[str, Any]) -> None:
    watcher, _seen = followed(log)
    state = watcher.state()
    assert [warning.cause for warning in state.warnings] == log.get("warnings", [])
    assert watcher.diagnosis(None).cause == "no-reason"
    assert watcher.overdue() is None
    if "detail" in log:
        assert state.detail == log["detail"]


@each([log for log in HEALTHY if log.get("phases", [""])[-1] == "ready"])
def test_a_log_of_a_start_ends_in_a_server_that_is_ready(log: dict[str, Any]) -> None:
    watcher, _seen = followed(log)
    assert watcher.state().phase is StartPhase.READY
    assert not [note for note in watcher.health() if note.severity == "fatal"]


@each(LOGS)
def test_nothing_of_this_log_is_shown_raw(log: dict[str, Any]) -> None:
    watcher, _seen = followed(log)
    lines = watcher.state().last_lines
    assert 0 < len(lines) <= 200
    shown = "\n".join(lines)
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert "secret-of-the-user" not in shown
    assert "hf_abcdef" not in shown
