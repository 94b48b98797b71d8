"""Real engines that are launched: they outlive their launcher, end whole, and nothing of them is ever left.

The short tier makes four starts on the newest engine. The long one goes through every phase, signal and process, on
every installed version, and prints a table of what was left after how long.
"""

import http.client
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from launched import LAUNCHER, Terminal, engine_of, kill, left_of, living, pids_of, wait_until
from specchat_launcher import DEFAULT_ENGINE, list_engines
from specchat_launcher.launching import attach, launch_profile
from specchat_launcher.listing import listed
from specchat_launcher.ports import free_port, is_free
from specchat_launcher.profiles import load_profile
from specchat_launcher.registry import Owner, ServerRecord, find, server_id, servers
from specchat_launcher.running import RunningServer
from specchat_launcher.startup import StartPhase, StartState
from specchat_launcher.stopping import stop
from specchat_launcher.supervisor import process_table

pytestmark = pytest.mark.engine

PROFILE = "cpu-smollm2"
WORDS = {
    "arguments": "non-default args",
    "weights": "Starting to load model",
    "ready": "Application startup complete",
    "reply": "Application startup complete",
}
SHM = Path("/dev/shm")  # noqa: S108 - where the system keeps it
START_S = 180
LEFT_AFTER_S = 15


@pytest.fixture(autouse=True)
def not_the_users_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECCHAT_PROFILES", str(tmp_path))


@pytest.fixture
def newest(engine_root: Path) -> str:
    """The newest version, which the short tier runs on."""
    if {status.version: status.state for status in list_engines(engine_root)}[DEFAULT_ENGINE] != "installed":
        pytest.skip(f"engine {DEFAULT_ENGINE} is not installed")
    return DEFAULT_ENGINE


@dataclass(frozen=True)
class Command:
    """A command that serves, on a port of its own."""

    process: "subprocess.Popen[Any]"
    root: Path
    port: int

    def in_log(self, phase: str) -> ServerRecord:
        """Its server, as soon as it has got to a phase."""
        identifier = server_id(PROFILE, self.port)

        def look() -> ServerRecord | None:
            record = find(self.root, identifier)
            if record is None or record.leader is None or self.process.poll() is not None:
                return None
            return record if WORDS[phase] in record.log.read_text(errors="replace") else None

        return wait_until(look, START_S)

    def end(self, number: signal.Signals) -> str:
        """End it, and return what it has said."""
        self.process.send_signal(number)
        said, _ = self.process.communicate(timeout=30)
        return str(said)


def environ(root: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "HOME", "SPECCHAT_PROFILES") if name in os.environ}
    return {**kept, "PYTHONPATH": str(LAUNCHER), "PYTHONUNBUFFERED": "1", "SPECCHAT_DATA_DIR": str(root)}


@contextmanager
def serving(root: Path, version: str, *options: str) -> Iterator[Command]:
    """`serve` in the foreground, with nothing of it left afterwards."""
    port = free_port(random.Random())
    argv = [sys.executable, "-m", "specchat_launcher", "serve", PROFILE, "--engine", version, "--port", str(port)]
    process = subprocess.Popen(
        [*argv, *options], env=environ(root), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        yield Command(process, root, port)
    finally:
        process.kill()
        process.communicate()
        if (record := find(root, server_id(PROFILE, port))) is not None:
            stop(record, root)


def launch(root: Path, version: str) -> RunningServer:
    profile = load_profile(PROFILE, changes=(f"engine={version}",))
    port = free_port(random.Random())
    return launch_profile(profile, root, owner=Owner.ITSELF, report=silent, preparing=silent, port=port)


def silent(_: object) -> None:
    pass


@contextmanager
def replying(record: ServerRecord) -> Iterator[None]:
    """A reply that streams for as long as this is open."""
    connection = http.client.HTTPConnection(record.host, record.port, timeout=60)
    messages = [{"role": "user", "content": "Count to a thousand."}]
    body = {"model": record.model, "messages": messages, "max_tokens": 2000, "stream": True, "ignore_eos": True}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    with connection.getresponse() as reply:
        assert reply.readline().startswith(b"data")
        try:
            yield
        finally:
            connection.close()


def abandoned_memory() -> set[str]:
    """The shared memory that no living process has."""
    entries = {str(path) for path in SHM.iterdir()}
    used: set[str] = set()
    for pid in process_table():
        with suppress(OSError):
            maps = Path(f"/proc/{pid}/maps").read_text(errors="replace")
            used |= {entry for entry in entries if entry in maps}
        used |= {entry for entry in entries if f"_{pid}_" in entry}
    return {entry for entry in entries - used if Path(entry).exists()}


def nothing_left(record: ServerRecord, pids: set[int], root: Path, within: float = LEFT_AFTER_S) -> float:
    """Assert that nothing is left of a server, and say how long that took."""
    began = time.monotonic()
    assert not left_of(pids, within)
    took = time.monotonic() - began
    wait_until(lambda: find(root, record.id) is None, 2)
    assert is_free(record.port)
    return took


def answers(record: ServerRecord) -> bool:
    connection = http.client.HTTPConnection(record.host, record.port, timeout=10)
    connection.request("GET", "/v1/models")
    with connection.getresponse() as answer:
        status = answer.status
    connection.close()
    return status == 200


def test_a_launched_server_outlives_its_command_is_attached_to_and_stopped_in_a_reply(
    newest: str, engine_root: Path
) -> None:
    with serving(engine_root, newest) as command:
        record = command.in_log("weights")
        command.end(signal.SIGKILL)
        seen: list[StartState] = []
        again = attach(record, engine_root, seen.append)
        assert answers(record)
        assert {StartPhase.READY} <= {state.phase for state in seen}
        assert next(line for line in listed(engine_root) if line.id == record.id).state == "ready"
        pids = pids_of(record)
        with replying(record):
            again.stop()
        assert nothing_left(record, pids, engine_root, 0.5) < 1


def test_an_owned_server_ends_with_its_killed_command(newest: str, engine_root: Path) -> None:
    with serving(engine_root, newest, "--owned") as command:
        record = command.in_log("ready")
        pids = pids_of(record)
        command.end(signal.SIGKILL)
        nothing_left(record, pids, engine_root)


def test_an_engine_never_outlives_its_front_end(newest: str, engine_root: Path) -> None:
    record = launch(engine_root, newest).record
    pids = pids_of(record)
    assert record.leader is not None
    kill(record.leader.pid)
    nothing_left(record, pids, engine_root)


def test_what_a_killed_supervisor_and_front_end_left_is_cleared_by_the_next_look(
    newest: str, engine_root: Path
) -> None:
    record = launch(engine_root, newest).record
    pids, engine = pids_of(record), engine_of(record)
    assert record.leader is not None
    kill(record.supervisor.pid, record.leader.pid)
    time.sleep(1)
    assert living({engine})
    assert record.id not in {other.id for other in servers(engine_root)}
    nothing_left(record, pids, engine_root, 0.5)


def say(capsys: pytest.CaptureFixture[str], *words: object) -> None:
    with capsys.disabled():
        print("  ", *words)


@pytest.mark.long
@pytest.mark.parametrize("phase", WORDS)
def test_stopping_in_every_phase(
    engine_version: str, engine_root: Path, phase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(engine_root, engine_version) as command:
        record = command.in_log(phase)
        pids = pids_of(record)
        began = time.monotonic()
        with replying(record) if phase == "reply" else nothing():
            stop(record, engine_root)
        took = time.monotonic() - began
        assert took < LEFT_AFTER_S
        nothing_left(record, pids, engine_root, 0.5)
    say(capsys, engine_version, "stop", phase, f"{took:.1f} s")


@contextmanager
def nothing() -> Iterator[None]:
    yield


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "phase"),
    [
        (signal.SIGINT, "arguments"),
        (signal.SIGINT, "weights"),
        (signal.SIGINT, "reply"),
        (signal.SIGTERM, "weights"),
        (signal.SIGKILL, "arguments"),
        (signal.SIGKILL, "reply"),
    ],
)
def test_the_launcher_ends_and_a_launched_server_goes_on_unless_that_was_ctrl_c(
    engine_version: str, engine_root: Path, number: signal.Signals, phase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(engine_root, engine_version) as command:
        record = command.in_log(phase)
        pids = pids_of(record)
        with replying(record) if phase == "reply" else nothing():
            command.end(number)
        if number is signal.SIGINT:
            took = nothing_left(record, pids, engine_root)
            say(capsys, engine_version, number.name, "launcher", phase, f"nothing left after {took:.1f} s more")
            return
        assert attach(record, engine_root, silent).is_running()
        assert answers(record)
    say(capsys, engine_version, number.name, "launcher", phase, "goes on, attached again")


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "phase"),
    [
        (signal.SIGINT, "weights"),
        (signal.SIGTERM, "ready"),
        (signal.SIGKILL, "arguments"),
        (signal.SIGKILL, "weights"),
        (signal.SIGHUP, "weights"),
    ],
)
def test_the_launcher_ends_and_an_owned_server_with_it(
    engine_version: str, engine_root: Path, number: signal.Signals, phase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(engine_root, engine_version, "--owned") as command:
        record = command.in_log(phase)
        pids = pids_of(record)
        began = time.monotonic()
        command.end(number)
        nothing_left(record, pids, engine_root)
        took = time.monotonic() - began
        assert took < LEFT_AFTER_S
    say(capsys, engine_version, number.name, "launcher, owned", phase, f"nothing left after {took:.1f} s")


@pytest.mark.long
@pytest.mark.parametrize(
    ("number", "phase"),
    [
        (signal.SIGINT, "weights"),
        (signal.SIGTERM, "arguments"),
        (signal.SIGKILL, "arguments"),
        (signal.SIGKILL, "weights"),
        (signal.SIGKILL, "ready"),
    ],
)
def test_the_supervisor_ends_and_everything_with_it(
    engine_version: str, engine_root: Path, number: signal.Signals, phase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(engine_root, engine_version, "--detach") as command:
        record = command.in_log(phase)
        pids = pids_of(record)
        began = time.monotonic()
        os.kill(record.supervisor.pid, number)
        assert not left_of(pids)
        took = time.monotonic() - began
        servers(engine_root, ask=False)
        nothing_left(record, pids, engine_root, 0.5)
    say(capsys, engine_version, number.name, "supervisor", phase, f"nothing left after {took:.1f} s")


@pytest.mark.long
@pytest.mark.parametrize("phase", ["arguments", "weights"])
def test_the_front_end_is_killed_and_the_engine_goes_too(
    engine_version: str, engine_root: Path, phase: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with serving(engine_root, engine_version) as command:
        record = command.in_log(phase)
        pids = pids_of(record)
        assert record.leader is not None
        kill(record.leader.pid)
        took = nothing_left(record, pids, engine_root)
        said, _ = command.process.communicate(timeout=20)
        assert command.process.returncode == 1
        assert "Traceback" not in said
    say(capsys, engine_version, "SIGKILL front end", phase, f"nothing left after {took:.1f} s")


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_the_app_ends_and_its_server_with_it(
    engine_version: str, engine_root: Path, number: signal.Signals, capsys: pytest.CaptureFixture[str]
) -> None:
    argv = [sys.executable, "-m", "specchat", "ask", "Count to a thousand.", "--profile", PROFILE]
    app = subprocess.Popen(
        [*argv, "--engine", engine_version, "--max-tokens", "2000"], env=environ(engine_root), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip

    def look() -> ServerRecord | None:
        table = process_table()
        mine = (r for r in servers(engine_root) if table[r.supervisor.pid].parent == app.pid)
        return next((record for record in mine if record.state == "ready"), None)

    record = wait_until(look, START_S)
    assert record.owner is Owner.APP
    pids = pids_of(record)
    time.sleep(2)
    began = time.monotonic()
    app.send_signal(number)
    app.communicate(timeout=30)
    nothing_left(record, pids, engine_root)
    say(capsys, engine_version, number.name, "app, in a reply", f"nothing left after {time.monotonic() - began:.1f} s")


@pytest.mark.long
@pytest.mark.parametrize("owned", [False, True])
def test_a_terminal_hangs_up(
    engine_version: str, engine_root: Path, owned: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    port = free_port(random.Random())
    argv = [sys.executable, "-m", "specchat_launcher", PROFILE, "--engine", engine_version, "--port", str(port)]
    terminal = Terminal([*argv, *(["--owned"] if owned else [])], environ(engine_root))
    record = Command(terminal.process, engine_root, port).in_log("weights")
    pids = pids_of(record)
    terminal.hang_up()
    if owned:
        nothing_left(record, pids, engine_root)
    else:
        again = attach(record, engine_root, silent)
        assert answers(record)
        again.stop()
    outcome = "owned: nothing left" if owned else "goes on, attached again"
    say(capsys, engine_version, "hang-up of the terminal", outcome)


@pytest.mark.long
@pytest.mark.timeout(1800)
def test_ten_starts_and_stops_in_a_row_leave_nothing(
    newest: str, engine_root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    before = abandoned_memory()
    count: Callable[[], int] = lambda: len(process_table())  # noqa: E731 - a figure for the table
    at_first = count()
    for _ in range(10):
        server = launch(engine_root, newest)
        pids = pids_of(server.record)
        server.stop()
        nothing_left(server.record, pids, engine_root, 0.5)
    # Other engines may run on this machine, and what they use is not left over.
    assert abandoned_memory() <= before
    assert not list(temporary.rglob("*"))
    say(capsys, newest, f"ten starts and stops: {at_first} processes before, {count()} after; no file left")
