"""A small process that stands between the app and one child, and never lets the child outlive the app.

Run as a script by the app's own interpreter (`python -I -S supervisor.py`), so it uses the standard library only
and imports nothing of its package. The app holds the write end of this process's stdin. Whatever ends the app, a
SIGKILL included, closes that pipe, and then the child and everything it started is stopped.

Protocol: one JSON line on stdin is the request (see `Request`); lines on stdout are `started PID`,
`failed REASON` and `exited CODE`. The child writes to this process's stderr.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
TICK_S = 0.1
KILL_PATIENCE_S = 4.0
# Python's resource trackers end when those they serve are gone, and free their shared memory before that.
TRACKER_PATIENCE_S = 1.0
LEFTOVER_PATIENCE_S = 2.0


@dataclass(frozen=True, slots=True)
class Request:
    """What to run.

    Attributes:
        argv: The command.
        env: Its whole environment.
        cwd: Its working directory.
        parent: Process id of the app.
        interrupt_s: Seconds the child has to end after SIGINT.
        terminate_s: Seconds its group has to end after SIGTERM.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    parent: int
    interrupt_s: float
    terminate_s: float


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One line of the process table.

    Attributes:
        pid: Process id.
        parent: Process id of the parent.
        group: Process group.
        session: Session.
        zombie: Whether it has ended and only waits to be collected.
    """

    pid: int
    parent: int
    group: int
    session: int
    zombie: bool


def process_table(proc: Path = Path("/proc")) -> dict[int, ProcessEntry]:
    """All processes that can be seen, by id."""
    table: dict[int, ProcessEntry] = {}
    for folder in proc.iterdir():
        if not folder.name.isdigit():
            continue
        # A process may end between the listing and the reading.
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            # The name is in parentheses and may hold spaces and parentheses itself.
            fields = stat[stat.rindex(")") + 2 :].split()
            state, parent, group, session = fields[0], int(fields[1]), int(fields[2]), int(fields[3])
            table[int(folder.name)] = ProcessEntry(int(folder.name), parent, group, session, state in {"Z", "X"})
    return table


def descendants(of: int, table: Mapping[int, ProcessEntry]) -> list[ProcessEntry]:
    """Every living process below one, in no particular order."""
    children: dict[int, list[ProcessEntry]] = {}
    for entry in table.values():
        children.setdefault(entry.parent, []).append(entry)
    found: list[ProcessEntry] = []
    waiting = [of]
    while waiting:
        below = children.get(waiting.pop(), [])
        found.extend(below)
        waiting.extend(entry.pid for entry in below)
    return [entry for entry in found if not entry.zombie]


class Supervisor:
    """Runs one child to its end, or stops it with everything below it."""

    def __init__(self, request: Request, lifeline: int) -> None:
        self._request = request
        self._lifeline = lifeline
        self._stop_asked = False
        self._leader: int | None = None
        self._leader_code: int | None = None

    def run(self) -> int:
        """Start the child and stay until nothing of it is left. Returns this process's exit status."""
        # Orphans below the child become children of this process, so a walk from here finds them all.
        _prctl(PR_SET_CHILD_SUBREAPER, 1)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        try:
            self._leader = self._spawn()
        except (OSError, subprocess.SubprocessError) as error:
            _say(f"failed {error}")
            return 1
        _say(f"started {self._leader}")
        while self._leader_code is None:
            self._tick()
            if self._stop_asked or self._app_is_gone():
                self._stop_everything()
                break
        else:
            self._clear_leftovers()
        return 0

    def _on_signal(self, _number: int, _frame: object) -> None:
        self._stop_asked = True

    def _spawn(self) -> int:
        request = self._request
        me = os.getpid()
        libc = ctypes.CDLL(None)

        def prepare_child() -> None:
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                signal.signal(number, signal.SIG_DFL)
            # Should this process be killed, the child is told to end; SIGINT because vLLM's front end takes its
            # engine along at that signal in every phase, and at SIGKILL never.
            libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGINT), 0, 0, 0)
            if os.getppid() != me:
                os._exit(1)

        child = subprocess.Popen(
            request.argv,
            stdin=subprocess.DEVNULL,
            stdout=sys.stderr.fileno(),
            stderr=sys.stderr.fileno(),
            env=request.env,
            cwd=request.cwd,
            start_new_session=True,
            preexec_fn=prepare_child,  # noqa: PLW1509 - this process has one thread
        )
        child.returncode = 0  # It is collected by `_tick`, together with orphans; Popen must not wait for it.
        return child.pid

    def _tick(self) -> None:
        """Wait a moment, then collect whatever ended."""
        if not self._stop_asked:
            ready, _, _ = select.select([self._lifeline], [], [], TICK_S)
            if ready and not os.read(self._lifeline, 4096):
                self._stop_asked = True
        else:
            time.sleep(TICK_S / 2)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self._leader:
                self._leader_code = os.waitstatus_to_exitcode(status)
                _say(f"exited {self._leader_code}")

    def _app_is_gone(self) -> bool:
        # The pipe says so too, unless something else in the app inherited its other end.
        if os.getppid() != self._request.parent:
            self._stop_asked = True
        return self._stop_asked

    def _stop_everything(self) -> None:
        if self._leader is not None and self._leader_code is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._leader, signal.SIGINT)
        if not self._ends_within(self._request.interrupt_s):
            self._terminate_and_kill()

    def _clear_leftovers(self) -> None:
        # A resource tracker ends by itself a moment after its parent, and frees shared memory in that moment.
        self._stop_asked = True
        if not self._ends_within(LEFTOVER_PATIENCE_S):
            self._terminate_and_kill()

    def _terminate_and_kill(self) -> None:
        self._terminate_all()
        if self._ends_within(self._request.terminate_s):
            return
        began = time.monotonic()
        while (passed := time.monotonic() - began) < KILL_PATIENCE_S:
            # Again and again, because a process may be forking while the table is read.
            for entry in descendants(os.getpid(), process_table()):
                if passed >= TRACKER_PATIENCE_S or not _is_resource_tracker(entry.pid):
                    _send(entry.pid, signal.SIGKILL)
            if self._ends_within(TICK_S):
                return

    def _ends_within(self, seconds: float) -> bool:
        deadline = time.monotonic() + seconds
        while True:
            self._tick()
            if not descendants(os.getpid(), process_table()):
                return True
            if time.monotonic() >= deadline:
                return False

    def _terminate_all(self) -> None:
        for entry in descendants(os.getpid(), process_table()):
            _send(entry.pid, signal.SIGTERM)


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def _is_resource_tracker(pid: int, proc: Path = Path("/proc")) -> bool:
    try:
        return b"multiprocessing.resource_tracker" in (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def _say(line: str) -> None:
    # Nobody may be listening any more, which is the very case this process exists for.
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), (line.replace("\n", " ") + "\n").encode())


def _prctl(option: int, value: int) -> None:
    ctypes.CDLL(None).prctl(option, value, 0, 0, 0)


def _read_request(lifeline: int) -> Request | None:
    received = b""
    while not received.endswith(b"\n"):
        chunk = os.read(lifeline, 65536)
        if not chunk:
            return None
        received += chunk
    return Request(**json.loads(received))


def main() -> int:
    """Read the request from stdin and run it. Returns the exit status."""
    lifeline = sys.stdin.fileno()
    request = _read_request(lifeline)
    if request is None:
        return 0
    return Supervisor(request, lifeline).run()


if __name__ == "__main__":
    sys.exit(main())
