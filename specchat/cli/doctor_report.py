"""What `specchat doctor` says: from what was found to lines with a state, evidence and what to do. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import PurePath

from specchat.backends.discovery import REPORT_FLAG, REPORT_SINCE
from specchat.cli.hook_lines import WARNING, container_arguments, shell_lines
from specchat.core.harmless import one_line
from specchat.core.server import Hook, ServerInfo


class State(StrEnum):
    """How one thing stands."""

    OK = "ok"
    MISSING = "missing"
    """It is not there, and all that needs no more works."""
    WARNING = "warning"
    """It works, but not as well as it should."""
    PROBLEM = "problem"
    """It is there, or should be, and does not work."""
    UNKNOWN = "unknown"
    """It could not be looked at."""


@dataclass(frozen=True, slots=True)
class Advice:
    """One thing to do or to know."""

    text: str
    lines: tuple[str, ...] = ()
    """What to copy, a line each."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    state: State
    evidence: str
    """What was seen, a sentence or a part of one."""
    advice: tuple[Advice, ...] = ()


@dataclass(frozen=True, slots=True)
class HookSeen:
    """What GET /v1/specchat gave."""

    status: int | None
    """The HTTP status; None where nothing came."""
    reason: str = ""
    """Why nothing came."""
    hook: Hook | None = None
    """None where the answer is not the hook's, or not one that can be used."""
    problem: str = ""
    """Why a hook that is there cannot be used."""


@dataclass(frozen=True, slots=True)
class ReportAnswer:
    """What a short reply told about its steps."""

    error: str = ""
    """Why there was no reply."""
    has_counts: bool = False
    """Did it bring the sums of its steps?"""
    steps: int | None = None
    """Number of steps that were told one by one; None where they were not."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a server showed."""

    server: ServerInfo
    version: tuple[int, ...] | None
    """Its version in numbers; None unknown."""
    unchosen: bool
    """Does it serve several models, of which the user named none?"""
    is_here: bool
    """Does it run on this machine?"""
    hook: HookSeen
    report: ReportAnswer | None
    """None where nothing was asked, because it does not speculate."""


def checks_of_server(found: Findings, folder: PurePath | None) -> tuple[Check, ...]:
    """Every line about a server that answers.

    Args:
        found: What it showed.
        folder: Where this installation has the hook; None where it is missing.
    """
    return (_server(found), _model(found), _speculation(found), _report(found), _hook(found, folder))


def check_of_failure(sentence: str, hint: str) -> Check:
    """The only line about a server that cannot be talked to."""
    return _check("server", State.PROBLEM, sentence, hint)


def check_of_folder(folder: PurePath | None, problem: str = "") -> Check:
    """The line about the hook where no server is named."""
    if folder is None:
        return _check("hook", State.PROBLEM, problem)
    first = "To load it into a vLLM server, copy these lines into the shell that starts the server:"
    return Check("hook", State.OK, f"this installation has it in {folder}", _how_to_load(first, folder))


def draft_length(server: ServerInfo, hook: Hook | None) -> int | None:
    """k, from the hook if it says it, else from the counters; None unknown."""
    return server.draft_length if hook is None or hook.draft_length is None else hook.draft_length


def _server(found: Findings) -> Check:
    version = f"vLLM {found.server.version}" if found.server.version else "its version is unknown; is it vLLM?"
    # The report and the hook have lines of their own.
    others = (gap for gap in found.server.gaps if REPORT_FLAG not in gap and "hook" not in gap)
    gaps = one_line("; ".join(others), 900)
    return _check("server", State.OK, f"{found.server.url} answers; {version}", gaps[:1].upper() + gaps[1:])


def _model(found: Findings) -> Check:
    server = found.server
    name = one_line(server.model or "", 120)
    if found.unchosen:
        names = one_line(", ".join(model.name for model in server.models), 300)
        return _check(
            "model",
            State.PROBLEM,
            f"{len(server.models)} are served: {names}",
            f"Choose one with --model; what follows is about {name}.",
        )
    context = "" if server.max_model_len is None else f", context of {server.max_model_len:,} tokens"
    return _check("model", State.OK, f"{name}{context}")


def _speculation(found: Findings) -> Check:
    hook = found.hook.hook
    method = None if hook is None else hook.method
    told_by_hook = hook is not None and hook.draft_length is not None
    k, source = draft_length(found.server, hook), "from the hook" if told_by_hook else "from its counters"
    if k == 0:
        return _check(
            "speculation", State.MISSING, f"off, {source}", "Start the server with --speculative-config to have it."
        )
    if k is not None:
        return _check("speculation", State.OK, f"{f'{one_line(method, 60)}, ' if method else ''}k = {k}, {source}")
    if found.server.speculates:
        return _check("speculation", State.OK, "on, from its counters; k is unknown")
    return _check(
        "speculation",
        State.PROBLEM,
        "unknown: nothing tells",
        "Let /metrics through, or load the hook into the server.",
    )


def _report(found: Findings) -> Check:
    answer = found.report
    if answer is None:
        return _check("report", State.MISSING, "a server without speculation has no steps to report")
    if answer.error:
        return _check("report", State.PROBLEM, f"a short request failed: {answer.error}")
    if answer.steps is not None:
        return _check("report", State.OK, f"a short request told its {answer.steps} steps one by one")
    return _report_without_steps(found, answer)


def _report_without_steps(found: Findings, answer: ReportAnswer) -> Check:
    if found.hook.hook is not None and found.hook.hook.trace:
        return _check("report", State.MISSING, "a short request told no steps one by one; the trace of the hook does")
    if answer.has_counts:
        return _check(
            "report",
            State.MISSING,
            "a short request told the sums of its steps only",
            f"Start the server with {REPORT_FLAG}.",
        )
    if found.version is not None and found.version < REPORT_SINCE:
        return _check(
            "report",
            State.MISSING,
            f"vLLM {found.server.version} has none: origins are inferred from the stream",
            "vLLM 0.29 or later can report them, and so can the hook in this one.",
        )
    return _check(
        "report",
        State.MISSING,
        "a short request told no steps: origins are inferred from the stream",
        f"Start the server with {REPORT_FLAG} (vLLM 0.29 or later).",
    )


def _hook(found: Findings, folder: PurePath | None) -> Check:
    answer = found.hook
    if answer.status is None:
        return _check("hook", State.PROBLEM, f"/v1/specchat gives no answer: {answer.reason}")
    if answer.status in {401, 403}:
        return _check(
            "hook",
            State.PROBLEM,
            f"/v1/specchat answers {answer.status}",
            "Give the server's key with SPECCHAT_API_KEY or --api-key-file.",
        )
    if answer.status >= 500:
        return _check(
            "hook", State.PROBLEM, f"/v1/specchat answers {answer.status}", "The server's log has the reason."
        )
    if answer.hook is None:
        return _check("hook", State.PROBLEM, answer.problem) if answer.problem else _missing(found, folder)
    return _present(answer.hook)


def _present(hook: Hook) -> Check:
    parts = (f"trace {_yes(hook.trace)}", f"switch {_yes(hook.switch)}")
    runner = f"model runner {one_line(hook.runner, 20)}" if hook.runner else ""
    evidence = ", ".join(part for part in (f"hook {one_line(hook.version, 40)}", *parts, runner) if part)
    problems = " ".join(one_line(problem, 300) for problem in hook.problems)
    # A server without speculation has nothing to trace or to switch, which is no fault.
    works = hook.draft_length == 0 or (hook.trace and hook.switch)
    return _check("hook", State.OK if works else State.PROBLEM, evidence, problems, _off(hook))


def _off(hook: Hook) -> str:
    """What is left of speculation where it is switched off."""
    remaining = hook.off_draft_forwards
    if remaining is None or not hook.switch:
        return ""
    forwards = "draft forward remains" if remaining == 1 else "draft forwards remain"
    why = one_line(hook.off_why, 300).rstrip(".")
    return f"Where it is off, {remaining} {forwards} in each step{f': {why}' if why else ''}."


def _missing(found: Findings, folder: PurePath | None) -> Check:
    if draft_length(found.server, None) == 0:
        return _check("hook", State.MISSING, "a server without speculation has nothing to trace or to switch")
    evidence = (
        f"not in this server (/v1/specchat answers {found.hook.status}): rejected tokens stay unseen, and speculation "
        "cannot be switched for one message"
    )
    if folder is None:
        return _check("hook", State.MISSING, evidence, "This installation lacks the hook too: reinstall specchat.")
    there = "" if found.is_here else f" on its machine, with the path that {folder} gets there when you copy it"
    first = f"If it is a vLLM server, copy these lines into the shell that starts it{there}, and start it again:"
    return Check("hook", State.MISSING, evidence, _how_to_load(first, folder))


def _how_to_load(first: str, folder: PurePath) -> tuple[Advice, ...]:
    return (
        Advice(first, shell_lines(folder)),
        Advice(WARNING),
        Advice("For a container, these arguments before the name of its image:", (container_arguments(folder),)),
    )


def _check(name: str, state: State, evidence: str, *advice: str) -> Check:
    return Check(name, state, evidence, tuple(Advice(text) for text in advice if text))


def _yes(works: bool) -> str:
    return "works" if works else "does not work"


def report_object(url: str | None, checks: Sequence[Check], *, answers: bool) -> dict[str, object]:
    """The report for programs."""
    return {
        "schema": "specchat.doctor/1",
        "url": url,
        "answers": answers if url is not None else None,
        "checks": [
            {
                "name": check.name,
                "state": str(check.state),
                "evidence": check.evidence,
                "advice": [{"text": advice.text, "lines": list(advice.lines)} for advice in check.advice],
            }
            for check in checks
        ],
    }
