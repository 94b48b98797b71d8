"""Ends servers that specchat started, whole: every process, the container, the state file.

Owns what happens when a supervisor cannot do it any more. Sends a signal only to processes that a state file names by
id and start time, and to those below them: a server that somebody else started is never touched.
"""

import contextlib
import os
import re
import shutil
import signal
import time
from collections.abc import Iterable
from pathlib import Path

from specchat_launcher import container_end
from specchat_launcher.errors import LauncherError
from specchat_launcher.logs import last_lines
from specchat_launcher.registry import SCRATCH_PREFIX, ServerRecord, find, is_alive, members, state_file
from specchat_launcher.shared_memory import sweep_openmp
from specchat_launcher.supervisor import ENDED, STOPPED, TRACKER_PATIENCE_S, is_resource_tracker

POLL_S = 0.05
TIDY_S = 5.0
TERMINATE_S = 3.0
KILL_S = 4.0
ENDED_LINE = re.compile(
    "|".join(re.escape(line).replace(re.escape("{}"), r"(-?\d+|None)") for line in (ENDED, STOPPED))
)


class StopError(LauncherError):
    """Something of a server is still there."""


def stop(record: ServerRecord, root: Path, timeout_s: float = 15.0) -> None:
    """End a server that specchat started and return when nothing of it is left. Harmless when it has ended.

    Args:
        record: The server.
        root: The data directory.
        timeout_s: Seconds its supervisor has for a tidy end; after that what is left is killed at once.

    Raises:
        StopError: Something could not be ended.
    """
    if is_alive(record.supervisor):
        _send(record.supervisor.pid, signal.SIGTERM)
        if _gone_within(record, timeout_s, supervised=True):
            _sweep()
            # It has cleared everything, unless a container's daemon does not answer.
            latest = find(root, record.id)
            if latest is None or latest.supervisor != record.supervisor:
                return
        else:
            _kill(record)
            _send(record.supervisor.pid, signal.SIGKILL)
    clear(record, root)


def clear(record: ServerRecord, root: Path) -> None:
    """End what is left of a server whose supervisor is gone, and remove its state file.

    Raises:
        StopError: Something could not be ended.
    """
    if members(record):
        # Its front end was told when the supervisor died, and may be about to end everything tidily.
        if is_alive(record.leader) and record.leader is not None:
            _send(record.leader.pid, signal.SIGINT)
            _gone_within(record, TIDY_S)
        _signal(record, signal.SIGTERM)
        if not _gone_within(record, TERMINATE_S):
            _kill(record)
    _sweep()
    left = sorted(entry.pid for entry in members(record))
    if left:
        numbers = ", ".join(map(str, left))
        raise StopError(
            f"Processes of {record.id} could not be ended: {numbers}.", f"Try as their owner: kill -9 {numbers}"
        )
    if record.container_remove and not container_end.end_container(
        record.container_stop, record.container_remove, record.container_inspect
    ):
        raise StopError(
            f"The container {record.container} may still run: {record.container_tool} did not say that it is gone.",
            f"When it answers again: {' '.join(record.container_remove)}",
        )
    latest = find(root, record.id)
    # Another launch may have the name by now.
    if latest is not None and latest.supervisor == record.supervisor:
        state_file(root, record.id).unlink(missing_ok=True)
    if Path(record.scratch).name.startswith(SCRATCH_PREFIX):
        shutil.rmtree(record.scratch, ignore_errors=True)


class RecordedProcess:
    """A server that this process did not start, or has let go. Safe to use from several threads."""

    def __init__(self, record: ServerRecord, root: Path) -> None:
        """Watch the server of a state file below a data directory."""
        self._record = record
        self._root = root
        self._returncode: int | None = None

    @property
    def pid(self) -> int:
        """Process id of its front end; 0 where that never began."""
        return self._record.leader.pid if self._record.leader is not None else 0

    def poll(self) -> int | None:
        """Its exit code, negative for a signal; None while it runs."""
        if self._returncode is None and not (is_alive(self._record.leader) and is_alive(self._record.supervisor)):
            if not is_alive(self._record.supervisor):
                clear(self._record, self._root)
            elif (code := self._logged()) is None:
                # The supervisor is clearing up and will say how it ended.
                return None
            code = self._logged()
            self._returncode = -signal.SIGKILL if code is None else code
        return self._returncode

    def stop(self, timeout_s: float = 15.0) -> None:
        """End it and return when nothing of it is left. Harmless when it has ended."""
        stop(self._record, self._root, timeout_s)
        self.poll()

    def session_pids(self) -> set[int]:
        """Its living processes."""
        return {entry.pid for entry in members(self._record)}

    def _logged(self) -> int | None:
        for line in reversed(last_lines(self._record.log, 20)):
            if match := ENDED_LINE.fullmatch(line.strip()):
                code = match[1] or match[2]
                return None if code == "None" else int(code)
        return None


def _sweep() -> None:
    sweep_openmp(Path("/dev/shm"), os.getuid())  # noqa: S108 - the system's shared memory, not a temporary file


def _gone_within(record: ServerRecord, seconds: float, *, supervised: bool = False) -> bool:
    deadline = time.monotonic() + seconds
    while True:
        if supervised:
            # It stays until everything below it is gone, and reading the whole table often is not free.
            if not is_alive(record.supervisor):
                return True
        elif not members(record):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(POLL_S)


def _signal(record: ServerRecord, number: signal.Signals) -> None:
    _send_all((entry.pid for entry in members(record)), number)


def _kill(record: ServerRecord) -> None:
    began = time.monotonic()
    # Again and again, because a process may be forking while the table is read.
    while (left := members(record)) and (passed := time.monotonic() - began) < KILL_S:
        late = passed >= TRACKER_PATIENCE_S
        _send_all((entry.pid for entry in left if late or not is_resource_tracker(entry.pid)), signal.SIGKILL)
        time.sleep(POLL_S)


def _send_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        _send(pid, number)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)
