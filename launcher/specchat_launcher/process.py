"""Starts child processes under a supervisor and tells how they are.

Owns the pipe that keeps a child alive: what is started as a `SupervisedProcess` never survives this process, however
it ends. `start_detached` starts what shall survive it, and then has no hold on it.
"""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from specchat_launcher import supervisor
from specchat_launcher.errors import LauncherError

# vLLM needs about five seconds for a tidy end in the middle of its start.
INTERRUPT_S = 7.0
TERMINATE_S = 3.0
START_TIMEOUT_S = 20.0
KILL_PATIENCE_S = 3.0


@dataclass(frozen=True, slots=True)
class Command:
    """What to run.

    Attributes:
        argv: The program and its arguments. No secrets: other users can read them.
        env: The whole environment.
        cwd: The working directory.
        log: The file that receives stdout and stderr; it is appended to.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    log: Path


@dataclass(frozen=True, slots=True)
class Life:
    """What a supervisor keeps of a server, beside running it.

    Attributes:
        state_file: Where it writes who the processes are, for as long as there are any.
        state: What else stands there.
        after: A command that belongs to the server's end; none if empty.
        after_s: Seconds that it may take.
        interrupt_s: Seconds the server has to end after SIGINT.
        terminate_s: Seconds that what is left has to end after SIGTERM.
        log_bytes: The size at which the log begins anew.
    """

    state_file: Path
    state: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    after_s: float = 0.0
    interrupt_s: float = INTERRUPT_S
    terminate_s: float = TERMINATE_S
    log_bytes: int = supervisor.LOG_BYTES


class SupervisedProcess:
    """A child process with a supervisor beside it. Safe to use from several threads."""

    def __init__(self, command: Command, *, keep_open: Sequence[int] = (), life: Life | None = None) -> None:
        """Start the command.

        Args:
            command: What to run.
            keep_open: Descriptors that the supervisor holds until nothing of the child is left, e.g. a lock.
            life: What the supervisor keeps beside; None for a child that is no server.

        Raises:
            LauncherError: It could not be started.
        """
        self._mutex = threading.Lock()
        self._unread = b""
        self._returncode: int | None = None
        self._failure: str | None = None
        self.pid = 0
        self._supervisor = _supervisor(command, keep_open)
        try:
            _send_request(self._supervisor, _request(command, life, detached=False))
            self._await_start(command)
        except BaseException:
            self.stop()
            raise

    def _await_start(self, command: Command) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.pid and self._failure is None and time.monotonic() < deadline:
            if self._supervisor.poll() is not None:
                self._read_status(0)
                break
            self._read_status(0.1)
        if not self.pid:
            raise _not_started(command, self._failure or "its supervisor did not answer")

    def poll(self) -> int | None:
        """The child's exit code, negative for a signal; None while it runs."""
        self._read_status(0)
        if self._returncode is None and self._supervisor.poll() is not None:
            self._read_status(0)
            if self._returncode is None:
                self._kill_session()
                self._returncode = -signal.SIGKILL
        return self._returncode

    def wait_cleared(self, timeout_s: float) -> bool:
        """Wait until the child and everything below it is gone. False: not within that time."""
        try:
            self._supervisor.wait(timeout_s)
        except subprocess.TimeoutExpired:
            return False
        self._close_pipes()
        return True

    def stop(self, timeout_s: float = 15.0) -> None:
        """End the child and everything below it, and return when it is gone. Harmless when it has ended.

        Args:
            timeout_s: Seconds after which what is left is killed at once.
        """
        if self._supervisor.stdin is not None:
            with contextlib.suppress(OSError):
                self._supervisor.stdin.close()
        if not self.wait_cleared(timeout_s):
            self._kill_session()
            self._supervisor.kill()
            self._supervisor.wait()
        self.poll()
        self._close_pipes()

    def session_pids(self) -> set[int]:
        """The living processes of the child's session."""
        return {
            entry.pid for entry in supervisor.process_table().values() if entry.session == self.pid and not entry.zombie
        }

    def _kill_session(self) -> None:
        # Only reached when the supervisor itself was killed or hangs.
        deadline = time.monotonic() + KILL_PATIENCE_S
        while self.pid and (left := self.session_pids()) and time.monotonic() < deadline:
            for pid in left:
                with contextlib.suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.02)

    def _read_status(self, timeout_s: float) -> None:
        with self._mutex:
            pipe = self._supervisor.stdout
            if pipe is None or pipe.closed:
                return
            while select.select([pipe], [], [], timeout_s)[0]:
                chunk = os.read(pipe.fileno(), 4096)
                if not chunk:
                    return
                *lines, self._unread = (self._unread + chunk).split(b"\n")
                for line in lines:
                    self._understand(line.decode(errors="replace"))
                timeout_s = 0

    def _understand(self, line: str) -> None:
        word, _, rest = line.partition(" ")
        if word == "started":
            self.pid = int(rest)
        elif word == "exited":
            self._returncode = int(rest)
        elif word == "failed":
            self._failure = rest

    def _close_pipes(self) -> None:
        self._read_status(0)
        with self._mutex:
            for pipe in (self._supervisor.stdin, self._supervisor.stdout):
                if pipe is not None:
                    with contextlib.suppress(OSError):
                        pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_detached(command: Command, life: Life, *, keep_open: Sequence[int] = ()) -> None:
    """Start a command under a supervisor of its own, which survives this process.

    Its state file is there when this returns, unless the command has ended already.

    Args:
        command: What to run.
        life: What the supervisor keeps beside.
        keep_open: Descriptors that the supervisor holds until nothing of the child is left, e.g. a lock.

    Raises:
        LauncherError: It could not be started.
    """
    starter = _supervisor(command, keep_open)
    assert starter.stdout is not None  # noqa: S101 - it was started with a pipe
    with starter:
        _send_request(starter, _request(command, life, detached=True))
        answer = b""
        deadline = time.monotonic() + START_TIMEOUT_S
        while not answer.endswith(b"\n") and (left := deadline - time.monotonic()) > 0:
            if select.select([starter.stdout], [], [], left)[0]:
                chunk = os.read(starter.stdout.fileno(), 4096)
                if not chunk:
                    break
                answer += chunk
    word, _, reason = answer.decode(errors="replace").strip().partition(" ")
    if word != "started":
        raise _not_started(command, reason or "its supervisor did not answer")


def _supervisor(command: Command, keep_open: Sequence[int]) -> "subprocess.Popen[bytes]":
    with command.log.open("ab") as log:
        return subprocess.Popen(
            [sys.executable, "-I", "-S", supervisor.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            pass_fds=tuple(keep_open),
            start_new_session=True,
        )


def _request(command: Command, life: Life | None, *, detached: bool) -> dict[str, Any]:
    request = {
        "argv": list(command.argv),
        "env": dict(command.env),
        "cwd": str(command.cwd),
        "parent": os.getpid(),
        "interrupt_s": INTERRUPT_S,
        "terminate_s": TERMINATE_S,
        "detached": detached,
    }
    if life is not None:
        request |= {
            "state_file": str(life.state_file),
            "state": dict(life.state),
            "after": list(life.after),
            "after_s": life.after_s,
            "interrupt_s": life.interrupt_s,
            "terminate_s": life.terminate_s,
            "log": str(command.log),
            "log_bytes": life.log_bytes,
        }
    return request


def _send_request(process: "subprocess.Popen[bytes]", request: Mapping[str, Any]) -> None:
    assert process.stdin is not None  # noqa: S101 - it was started with a pipe
    with contextlib.suppress(BrokenPipeError):
        process.stdin.write(json.dumps(request).encode() + b"\n")
        process.stdin.flush()


def _not_started(command: Command, reason: str) -> LauncherError:
    return LauncherError(
        f"{command.argv[0]} could not be started: {reason}.", f"The log is {command.log}; then try again."
    )
