"""A small process that stands between specchat and one child, and leaves nothing of that child behind.

Run as a script by the app's own interpreter (`python -I -S supervisor.py`), so it uses the standard library only
and imports nothing of its package. One thread: the child's death signal is tied to the thread that started it.

An attached supervisor serves an app, which holds the write end of its stdin. Whatever ends the app, a SIGKILL
included, closes that pipe, and then the child and everything it started is stopped. A detached one has no such tie:
it survives the app, the launcher and the terminal, and ends at SIGTERM or SIGINT, or when its child does.

Protocol: one JSON line on stdin is the request (see `Request`); lines on stdout are `started PID`,
`failed REASON` and `exited CODE`. The child writes to this process's stderr. Where the request names a state file,
it says who the processes are for as long as there are any.
"""

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
TICK_S = 0.1
KILL_PATIENCE_S = 4.0
# Python's resource trackers end when those they serve are gone, and free their shared memory before that.
TRACKER_PATIENCE_S = 1.0
LEFTOVER_PATIENCE_S = 2.0
LOG_BYTES = 20 * 1024 * 1024
LOG_LOOK_S = 1.0
ENDED, STOPPED = "specchat: the server ended with exit code {}", "specchat: the server was stopped, exit code {}"
MARK_VARIABLE = "SPECCHAT_SERVER_MARK"
"""A random word in the environment of a server's processes, by which those are found that left its session."""


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
        detached: Go on without the app.
        state_file: Where to write who the processes are; "" for nowhere.
        state: What else the state file says.
        after: A command that belongs to the child's end, such as the removal of its container; none if empty.
        after_s: Seconds that it may take.
        log: The file that stdout and stderr go to, to be kept short; "" to leave it alone.
        log_bytes: The size at which it begins anew.
    """

    argv: list[str]
    env: dict[str, str]
    cwd: str
    parent: int
    interrupt_s: float
    terminate_s: float
    detached: bool = False
    state_file: str = ""
    state: dict[str, Any] = field(default_factory=dict)
    after: list[str] = field(default_factory=list)
    after_s: float = 0.0
    log: str = ""
    log_bytes: int = LOG_BYTES


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One line of the process table.

    Attributes:
        pid: Process id.
        parent: Process id of the parent.
        group: Process group.
        session: Session.
        zombie: Whether it has ended and only waits to be collected.
        started: When it started, in clock ticks since the machine did.
    """

    pid: int
    parent: int
    group: int
    session: int
    zombie: bool
    started: int


def process_table(proc: Path = Path("/proc"), only: int | None = None) -> dict[int, ProcessEntry]:
    """All processes that can be seen, or one of them, by id."""
    table: dict[int, ProcessEntry] = {}
    for folder in proc.iterdir() if only is None else (proc / str(only),):
        if not folder.name.isdigit():
            continue
        # A process may end between the listing and the reading.
        with contextlib.suppress(OSError, ValueError, IndexError):
            stat = (folder / "stat").read_text(encoding="utf-8", errors="replace")
            # The name is in parentheses and may hold spaces and parentheses itself.
            fields = stat[stat.rindex(")") + 2 :].split()
            parent, group, session, started = int(fields[1]), int(fields[2]), int(fields[3]), int(fields[19])
            ended = fields[0] in {"Z", "X"}
            table[int(folder.name)] = ProcessEntry(int(folder.name), parent, group, session, ended, started)
    return table


def boot_id(proc: Path = Path("/proc")) -> str:
    """A word that is another one after the machine started anew; "" where the system has none."""
    try:
        return (proc / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return ""


def pid_namespace(proc: Path = Path("/proc")) -> str:
    """A word for the set of processes among which an id means one process; "" where the system has none."""
    try:
        return str((proc / "self/ns/pid").readlink())
    except OSError:
        return ""


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

    def __init__(self, request: Request, lifeline: int | None) -> None:
        """Prepare to run it. The lifeline is the descriptor that closes when the app ends."""
        self._request = request
        self._lifeline = lifeline
        self._stop_asked = False
        self._leader: int | None = None
        self._leader_code: int | None = None
        self._after = 0
        self._after_code: int | None = None
        self._log_looked_at = 0.0

    def run(self) -> int:
        """Start the child and stay until nothing of it is left. Returns this process's exit status."""
        # Orphans below the child become children of this process, so a walk from here finds them all.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_signal)
        if self._request.detached:
            signal.signal(signal.SIGHUP, signal.SIG_IGN)
        try:
            # Written before there is a child: one that nobody knows of could not be found again.
            self._write_state("starting")
            self._leader = self._spawn()
        except (OSError, subprocess.SubprocessError) as error:
            self._remove_state()
            _say(f"failed {error}")
            return 1
        with contextlib.suppress(OSError):
            self._write_state("starting")
        _say(f"started {self._leader}")
        while self._leader_code is None and not self._stop_asked:
            self._tick()
            self._look_for_app()
        with contextlib.suppress(OSError):
            self._write_state("stopping")
        ending = STOPPED if self._leader_code is None else ENDED
        if self._leader_code is None:
            self._stop_everything()
        else:
            self._clear_leftovers()
        if self._leader_code is None:
            # It has only just ended, and was not collected yet.
            self._tick()
        if self._request.state_file:
            # For those who watch by the log alone.
            with contextlib.suppress(OSError):
                os.write(sys.stderr.fileno(), f"{ending.format(self._leader_code)}\n".encode())
        # Where something may be left, the file stays, for those who look next.
        if self._follow_up():
            self._remove_state()
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
        if self._stop_asked or self._lifeline is None:
            time.sleep(TICK_S / 2 if self._stop_asked else TICK_S)
        else:
            ready, _, _ = select.select([self._lifeline], [], [], TICK_S)
            if ready and not os.read(self._lifeline, 4096):
                self._stop_asked = True
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
            elif pid == self._after:
                self._after_code = os.waitstatus_to_exitcode(status)
        self._look_after_log()

    def _look_for_app(self) -> None:
        # The pipe says so too, unless something else in the app inherited its other end.
        if not self._request.detached and os.getppid() != self._request.parent:
            self._stop_asked = True

    def _look_after_log(self) -> None:
        log, limit, now = self._request.log, self._request.log_bytes, time.monotonic()
        if not log or now - self._log_looked_at < LOG_LOOK_S:
            return
        self._log_looked_at = now
        # A full disk must not end a server.
        with contextlib.suppress(OSError):
            if Path(log).stat().st_size > limit:
                beside = str(Path(__file__).with_name("log_rotation.py"))
                self._run([sys.executable, "-I", "-S", beside, log, str(limit)])

    def _run(self, argv: list[str]) -> int:
        """Start a command of this process's own; `_tick` collects it."""
        process = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=sys.stderr.fileno(), env=self._request.env, cwd="/"
        )
        process.returncode = 0
        return process.pid

    def _stop_everything(self) -> None:
        if self._leader is not None:
            _send(self._leader, signal.SIGINT)
        if not self._ends_within(self._request.interrupt_s):
            self._terminate_and_kill()

    def _clear_leftovers(self) -> None:
        # A resource tracker ends by itself a moment after its parent, and frees shared memory in that moment.
        self._stop_asked = True
        if not self._ends_within(LEFTOVER_PATIENCE_S):
            self._terminate_and_kill()

    def _terminate_and_kill(self) -> None:
        for entry in descendants(os.getpid(), process_table()):
            _send(entry.pid, signal.SIGTERM)
        if self._ends_within(self._request.terminate_s):
            return
        began = time.monotonic()
        while (passed := time.monotonic() - began) < KILL_PATIENCE_S:
            # Again and again, because a process may be forking while the table is read.
            for entry in descendants(os.getpid(), process_table()):
                if passed >= TRACKER_PATIENCE_S or not is_resource_tracker(entry.pid):
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

    def _follow_up(self) -> bool:
        """Run the command that belongs to the child's end. Returns whether it succeeded in time."""
        if not self._request.after:
            return True
        with contextlib.suppress(OSError):
            self._after = self._run(self._request.after)
        if not self._ends_within(self._request.after_s):
            self._terminate_and_kill()
        return self._after_code == 0

    def _write_state(self, state: str) -> None:
        """Write the state file, so that it is the old one or the new one and never half of it."""
        if not self._request.state_file:
            return
        path = Path(self._request.state_file)
        content = {
            **self._request.state,
            "state": state,
            "boot": boot_id(),
            "pid_namespace": pid_namespace(),
            "supervisor": _identity(os.getpid()),
            "leader": _identity(self._leader),
        }
        half = path.with_name(f".{path.name}.{os.getpid()}")
        half.touch(mode=0o600)
        half.write_text(json.dumps(content, indent=1), encoding="utf-8")
        half.replace(path)

    def _remove_state(self) -> None:
        shutil.rmtree(self._request.state.get("scratch", ""), ignore_errors=True)
        with contextlib.suppress(OSError):
            Path(self._request.state_file).unlink(missing_ok=True)


def _identity(pid: int | None) -> list[int] | None:
    entry = process_table(only=pid).get(pid) if pid is not None else None
    return None if entry is None else [entry.pid, entry.started]


def _send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, number)


def is_resource_tracker(pid: int, proc: Path = Path("/proc")) -> bool:
    """Whether a process frees the shared memory of others when they are gone."""
    try:
        return b"multiprocessing.resource_tracker" in (proc / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False


def _say(line: str) -> None:
    # Nobody may be listening any more, which is the very case this process exists for.
    with contextlib.suppress(OSError):
        os.write(sys.stdout.fileno(), (line.replace("\n", " ") + "\n").encode())


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
    if not request.detached:
        return Supervisor(request, lifeline).run()
    # The app must not be its parent: a walk over the app's processes would find the server among them.
    if os.fork():
        os._exit(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, lifeline)
    os.close(nothing)
    os.chdir("/")
    return Supervisor(request, None).run()


if __name__ == "__main__":
    sys.exit(main())
