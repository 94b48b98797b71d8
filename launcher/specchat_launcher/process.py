"""Starts child processes under a supervisor and tells how they are.

Owns the pipe that keeps a child alive: nothing started here survives this process, however it ends.
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
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self

from specchat_launcher import supervisor
from specchat_launcher.errors import LauncherError

INTERRUPT_S = 5.0
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


class SupervisedProcess:
    """A child process with a supervisor beside it. Safe to use from several threads."""

    def __init__(self, command: Command, *, keep_open: Sequence[int] = ()) -> None:
        """Start the command.

        Args:
            command: What to run.
            keep_open: Descriptors that the supervisor holds until nothing of the child is left, e.g. a lock.

        Raises:
            LauncherError: It could not be started.
        """
        self._mutex = threading.Lock()
        self._unread = b""
        self._returncode: int | None = None
        self._failure: str | None = None
        self.pid = 0
        with command.log.open("ab") as log:
            self._supervisor = subprocess.Popen(
                [sys.executable, "-I", "-S", supervisor.__file__],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                pass_fds=tuple(keep_open),
                start_new_session=True,
            )
        try:
            self._send_request(command)
            self._await_start(command)
        except BaseException:
            self.stop()
            raise

    def _send_request(self, command: Command) -> None:
        request = {
            "argv": list(command.argv),
            "env": dict(command.env),
            "cwd": str(command.cwd),
            "parent": os.getpid(),
            "interrupt_s": INTERRUPT_S,
            "terminate_s": TERMINATE_S,
        }
        assert self._supervisor.stdin is not None  # noqa: S101 - it was started with a pipe
        with contextlib.suppress(BrokenPipeError):
            self._supervisor.stdin.write(json.dumps(request).encode() + b"\n")
            self._supervisor.stdin.flush()

    def _await_start(self, command: Command) -> None:
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.pid and self._failure is None and time.monotonic() < deadline:
            if self._supervisor.poll() is not None:
                self._read_status(0)
                break
            self._read_status(0.1)
        if not self.pid:
            reason = self._failure or "its supervisor did not answer"
            raise LauncherError(
                f"{command.argv[0]} could not be started: {reason}.", f"The log is {command.log}; then try again."
            )

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
