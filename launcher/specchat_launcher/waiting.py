"""Waits until a server that was started answers, and says why it does not.

Owns the question whether it is ready: an answer counts only from the server's own processes. What its log means is
`startup`'s.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from specchat_launcher import readiness
from specchat_launcher.errors import LauncherError, PortError, ServerStartError
from specchat_launcher.logs import LogFollower
from specchat_launcher.ports import listener_inodes, socket_inodes
from specchat_launcher.registry import ServerRecord
from specchat_launcher.running import ServerProcess, was_stopped
from specchat_launcher.spec import Expected, ServerKind
from specchat_launcher.startup import Diagnosis, StartPhase, StartState, StartWatcher

POLL_S = 0.2
NAMED_MODELS = frozenset({ServerKind.VLLM, ServerKind.SGLANG})
"""Servers that list the model they were started with under its served name."""
PORT_IN_USE = "port-in-use"

StartReport = Callable[[StartState], None]
"""Receives the state of a start several times a second. An exception it raises gives the start up."""


class StartFailed(ServerStartError):
    """A server did not get ready.

    Attributes:
        diagnosis: Why, and what to do about it.
        log: Its whole log.
        last_lines: The end of it.
    """

    def __init__(self, diagnosis: Diagnosis, log: Path, last_lines: tuple[str, ...]) -> None:
        super().__init__(diagnosis.title, f"{diagnosis.remedy} The log is {log}.".strip())
        self.diagnosis = diagnosis
        self.log = log
        self.last_lines = last_lines


class StartStopped(LauncherError):
    """The start was given up because the user wanted that."""

    def __init__(self) -> None:
        super().__init__("The start was stopped.", "Start it again when you like.")


def never() -> bool:
    """The answer of a caller that does not change its mind."""
    return False


def until_ready(
    record: ServerRecord,
    process: ServerProcess,
    report: StartReport,
    *,
    stop_asked: Callable[[], bool] = never,
    expected: Expected | None = None,
    timeouts: Mapping[str, float] | None = None,
    key: str | None = None,
    timeout_s: float | None = None,
    age: float = 0.0,
) -> tuple[Diagnosis, ...]:
    """Wait until a server answers.

    Args:
        record: The server.
        process: Its processes.
        report: Receives the state of the start.
        stop_asked: Asked several times a second whether to give up.
        expected: What a healthy start shows.
        timeouts: Seconds that a phase may take, where the profile says so.
        key: The key of its API.
        timeout_s: Seconds that the whole start may take; None for the limits of its phases alone.
        age: Seconds since it was started, where that was before anybody watched.

    Returns:
        What the start showed that a healthy one does not.

    Raises:
        PortError: Another program has its port.
        StartFailed: It ended, or did not answer in time.
        StartStopped: It was given up, here or elsewhere.
    """
    log = LogFollower(record.log)
    watcher = StartWatcher(time.monotonic, expected=expected, timeouts=timeouts or {}, age=age)
    while True:
        # Asked before the log is read, so that the last words of one that ended are in it.
        code = process.poll()
        watcher.feed(log.read())
        state = watcher.state()
        if code is not None:
            if was_stopped(state.last_lines):
                raise StartStopped
            raise _failure(record, watcher.diagnosis(code), state)
        if _answers(record, process, key):
            watcher.feed(log.read())
            where = f"{record.model} at {record.url}"
            report(replace(watcher.state(), phase=StartPhase.READY, detail=where, fraction=1.0))
            return watcher.health()
        report(state)
        if stop_asked():
            raise StartStopped
        late = watcher.overdue()
        if late is None and timeout_s is not None and state.seconds > timeout_s:
            late = f"The server did not answer within {timeout_s:.0f} s; it was last {state.phase.value}."
        if late is not None:
            raise StartFailed(Diagnosis("overdue", "fatal", late, ""), record.log, state.last_lines)
        time.sleep(POLL_S)


def _answers(record: ServerRecord, process: ServerProcess, key: str | None) -> bool:
    # For a container its daemon listens, or redirects the port without listening; it was free before the start.
    if record.container is None and not _listens(record, process):
        return False
    if not readiness.is_healthy(record.host, record.port):
        return False
    if record.server not in NAMED_MODELS:
        return True
    if record.model in readiness.served_models(record.host, record.port, key=key):
        return True
    # Without the key nobody is told which model is served; that it is our process was seen above.
    return readiness.needs_key(record.host, record.port, key=key)


def _listens(record: ServerRecord, process: ServerProcess) -> bool:
    listening = listener_inodes(record.port)
    if not listening:
        return False
    # vLLM binds in a way that lets two servers share a port; an answer counts only from our own.
    if listening <= socket_inodes(process.session_pids()):
        return True
    # It may have ended between the two looks.
    if process.poll() is None and not listener_inodes(record.port) <= socket_inodes(process.session_pids()):
        raise port_taken(record.port)
    return False


def _failure(record: ServerRecord, diagnosis: Diagnosis, state: StartState) -> LauncherError:
    if diagnosis.cause == PORT_IN_USE:
        return port_taken(record.port)
    return StartFailed(diagnosis, record.log, state.last_lines)


def port_taken(port: int) -> PortError:
    """The failure of a server that lost its port to another program."""
    return PortError(
        f"Port {port} was taken by another program meanwhile.",
        "Choose another one, or leave --port away to get a free one.",
    )
