"""What the doctor says about what was found."""

from dataclasses import replace
from pathlib import PurePosixPath

import pytest

from specchat.cli.doctor import report_lines
from specchat.cli.doctor_report import (
    Check,
    Findings,
    HookSeen,
    ReportAnswer,
    State,
    check_of_failure,
    check_of_folder,
    checks_of_server,
    report_object,
)
from specchat.core.server import Hook, ServedModel, ServerInfo

FOLDER = PurePosixPath("/opt/hook")
SERVER = ServerInfo("http://gpu01:8000", "0.32.0", (ServedModel("m", 2048),), "m", draft_length=3)
HOOK = Hook(
    trace=True,
    switch=True,
    version="1.0",
    runner="V1",
    draft_length=3,
    off_draft_forwards=1,
    off_why="why",
    method="eagle3",
)
WORKING = HookSeen(200, hook=HOOK)
FOUND = Findings(SERVER, (0, 32, 0), False, False, WORKING, ReportAnswer(has_counts=True, steps=7))


def said(found: Findings, folder: PurePosixPath | None = FOLDER) -> dict[str, Check]:
    return {check.name: check for check in checks_of_server(found, folder)}


def text(check: Check) -> str:
    return "\n".join(report_lines(check))


def test_a_server_that_has_everything_is_well_in_every_line() -> None:
    checks = said(FOUND)
    assert list(checks) == ["server", "model", "speculation", "report", "hook"]
    assert {check.state for check in checks.values()} == {State.OK}
    assert "vLLM 0.32.0" in checks["server"].evidence
    assert checks["model"].evidence == "m, context of 2,048 tokens"
    assert checks["speculation"].evidence == "eagle3, k = 3, from the hook"
    assert "7 steps" in checks["report"].evidence
    assert checks["hook"].evidence == "hook 1.0, trace works, switch works, model runner V1"
    assert [advice.text for advice in checks["hook"].advice] == [
        "Where it is off, 1 draft forward remains in each step: why."
    ]


@pytest.mark.parametrize("status", [404, 405, 200])
def test_a_server_without_the_hook_gets_the_lines_that_load_it(status: int) -> None:
    hook = said(replace(FOUND, hook=HookSeen(status)))["hook"]
    assert hook.state is State.MISSING
    shown = text(hook).splitlines()
    assert '  export PYTHONPATH="/opt/hook${PYTHONPATH:+:$PYTHONPATH}"' in shown
    assert '  export VLLM_PLUGINS="specchat,specchat_http${VLLM_PLUGINS:+,$VLLM_PLUGINS}"' in shown
    assert any(line.startswith("  -v /opt/hook:/specchat_vllm:ro ") for line in shown)
    assert "names every plugin that is loaded" in " ".join(text(hook).split())


def test_a_server_elsewhere_needs_the_folder_there() -> None:
    missing = replace(FOUND, hook=HookSeen(404))
    assert "copy it" in text(said(missing)["hook"])
    assert "copy it" not in text(said(replace(missing, is_here=True))["hook"])


def test_without_a_hook_of_its_own_the_doctor_gives_no_lines() -> None:
    hook = said(replace(FOUND, hook=HookSeen(404)), None)["hook"]
    assert "export" not in text(hook)
    assert "reinstall" in text(hook)


def test_a_hook_that_does_not_work_says_why() -> None:
    broken = replace(HOOK, trace=False, problems=("The scheduler is another one.",))
    hook = said(replace(FOUND, hook=replace(WORKING, hook=broken)))["hook"]
    assert hook.state is State.PROBLEM
    assert "trace does not work, switch works" in hook.evidence
    assert "The scheduler is another one." in text(hook)


def test_a_hook_has_nothing_to_do_without_speculation() -> None:
    idle = replace(HOOK, trace=False, switch=False, draft_length=0)
    checks = said(replace(FOUND, hook=replace(WORKING, hook=idle), report=None))
    assert checks["hook"].state is State.OK
    assert checks["speculation"].state is State.MISSING
    assert checks["report"].state is State.MISSING


def test_a_server_without_speculation_is_not_told_to_load_the_hook() -> None:
    found = replace(FOUND, server=replace(SERVER, draft_length=0), hook=HookSeen(404), report=None)
    assert "export" not in text(said(found)["hook"])


def test_a_hook_that_cannot_be_used_is_a_problem_and_not_missing() -> None:
    hook = said(replace(FOUND, hook=HookSeen(200, problem="It speaks protocol 2.")))["hook"]
    assert hook.state is State.PROBLEM
    assert "protocol 2" in hook.evidence


@pytest.mark.parametrize("answer", [HookSeen(401), HookSeen(503), HookSeen(None, "it timed out")])
def test_a_hook_that_cannot_be_asked_is_not_called_missing(answer: HookSeen) -> None:
    assert said(replace(FOUND, hook=answer))["hook"].state is State.PROBLEM


@pytest.mark.parametrize(
    ("answer", "version", "state", "words"),
    [
        (ReportAnswer(has_counts=True), (0, 32, 0), State.MISSING, "sums"),
        (ReportAnswer(), (0, 32, 0), State.MISSING, "--per-request-spec-decode-metrics detailed"),
        (ReportAnswer(), (0, 27, 1), State.MISSING, "0.29 or later can report"),
        (ReportAnswer(), None, State.MISSING, "--per-request-spec-decode-metrics detailed"),
        (ReportAnswer(error="it is full"), (0, 32, 0), State.PROBLEM, "it is full"),
        (ReportAnswer(steps=0, has_counts=True), (0, 32, 0), State.OK, "0 steps"),
    ],
)
def test_a_report_is_judged_by_a_reply(
    answer: ReportAnswer, version: tuple[int, ...] | None, state: State, words: str
) -> None:
    report = said(replace(FOUND, report=answer, version=version, hook=HookSeen(404)))["report"]
    assert report.state is state
    assert words in " ".join(text(report).split())


def test_a_server_whose_hook_traces_needs_no_report() -> None:
    report = said(replace(FOUND, report=ReportAnswer()))["report"]
    assert "the trace of the hook does" in report.evidence
    assert report.advice == ()


@pytest.mark.parametrize(
    ("k", "state", "words"),
    [(3, State.OK, "k = 3, from its counters"), (0, State.MISSING, "off"), (None, State.PROBLEM, "unknown")],
)
def test_without_the_hook_the_counters_tell_the_speculation(k: int | None, state: State, words: str) -> None:
    found = replace(FOUND, server=replace(SERVER, draft_length=k), hook=HookSeen(404))
    speculation = said(found)["speculation"]
    assert speculation.state is state
    assert words in speculation.evidence


def test_several_models_are_named_and_one_is_looked_at() -> None:
    server = replace(SERVER, models=(ServedModel("m"), ServedModel("n")))
    model = said(replace(FOUND, server=server, unchosen=True))["model"]
    assert model.state is State.PROBLEM
    assert "m, n" in model.evidence
    assert "--model" in text(model)


def test_no_control_character_of_a_server_reaches_the_terminal() -> None:
    evil = "\x1b[2J\nx"
    hook = replace(HOOK, version=evil, runner=evil, off_why=evil, method=evil, problems=(evil,))
    server = replace(SERVER, model=evil, models=(ServedModel(evil),), gaps=(evil,))
    found = replace(FOUND, server=server, hook=HookSeen(200, hook=hook))
    for check in checks_of_server(found, FOLDER):
        assert "\x1b" not in text(check)


def test_without_a_server_the_folder_and_its_lines_are_told() -> None:
    check = check_of_folder(FOLDER)
    assert check.state is State.OK
    assert '  export PYTHONPATH="/opt/hook${PYTHONPATH:+:$PYTHONPATH}"' in text(check).splitlines()
    assert check_of_folder(None, "It is missing.").state is State.PROBLEM


def test_no_line_is_wider_than_a_hundred_columns_but_those_to_copy() -> None:
    for check in checks_of_server(replace(FOUND, hook=HookSeen(404)), FOLDER):
        copied = {f"  {line}" for advice in check.advice for line in advice.lines}
        assert all(len(line) <= 100 for line in report_lines(check) if line not in copied)


def test_the_object_holds_every_line_that_is_to_be_copied() -> None:
    checks = checks_of_server(replace(FOUND, hook=HookSeen(404)), FOLDER)
    value = report_object("http://gpu01:8000", checks, answers=True)
    assert value["schema"] == "specchat.doctor/1"
    assert value["answers"] is True
    assert 'export PYTHONPATH=\\"/opt/hook' in str(value).replace('"', '\\"')
    assert report_object(None, (check_of_folder(FOLDER),), answers=True)["answers"] is None
    assert check_of_failure("No.", "Go.").advice[0].text == "Go."
