"""What is started never outlives who started it."""

import fcntl
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import specchat_launcher
from specchat_launcher import process as process_module
from specchat_launcher.errors import LauncherError
from specchat_launcher.process import Command, SupervisedProcess
from specchat_launcher.supervisor import descendants, process_table
from unit.launcher.conftest import gone_within, wait_for

Script = Callable[..., Command]

TREE = """
import os, subprocess, sys, time
inner = "import os, time; open(FILE, 'a').write(f'{os.getpid()}\\\\n'); time.sleep(600)"
grandchild = subprocess.Popen([sys.executable, "-c", inner.replace("FILE", repr(sys.argv[1] + ".in"))])
outer = inner.replace("FILE", repr(sys.argv[1] + ".out"))
away = subprocess.Popen([sys.executable, "-c", outer], start_new_session=True)
# Closed here and not by a destructor, which would swallow an interrupt that comes in that moment.
with open(sys.argv[1], "w") as file:
    file.write(f"{os.getpid()} {grandchild.pid} {away.pid}\\n")
time.sleep(600)
"""
STUBBORN = """
import os, signal, sys, time
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(number, signal.SIG_IGN)
open(sys.argv[1], "w").write(f"{os.getpid()}\\n")
time.sleep(600)
"""
SHARING = STUBBORN.replace("import os,", "from multiprocessing import shared_memory\nimport os,").replace(
    'f"{os.getpid()}\\n"', 'shared_memory.SharedMemory(create=True, size=64).name + "\\n"'
)
APP = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from specchat_launcher.process import Command, SupervisedProcess
folder, source, argument = Path(sys.argv[2]), sys.argv[3], sys.argv[4]
kept = SupervisedProcess(Command((sys.executable, "-c", source, argument), {}, folder, folder / "app.log"))
time.sleep(600)
"""


def start_app(folder: Path, source: str, pid_file: Path) -> tuple[subprocess.Popen[bytes], set[int]]:
    """An app with a supervised child, and the processes of that child."""
    launcher = str(Path(specchat_launcher.__file__).parents[1])
    app = subprocess.Popen([sys.executable, "-c", APP, launcher, str(folder), source, str(pid_file)])
    pids = {int(word) for word in wait_for(pid_file).split()}
    return app, pids


def test_killing_the_app_ends_the_child_and_everything_below_it(tmp_path: Path) -> None:
    app, pids = start_app(tmp_path, TREE, tmp_path / "pids")
    wait_for(tmp_path / "pids.out")
    app.kill()
    app.wait()
    assert len(pids) == 3
    assert gone_within(pids, 15)


def test_killing_the_app_ends_a_child_that_ignores_every_request(tmp_path: Path) -> None:
    app, pids = start_app(tmp_path, STUBBORN, tmp_path / "pids")
    app.kill()
    app.wait()
    assert gone_within(pids, 15)


def test_shared_memory_is_freed_even_where_its_owner_had_to_be_killed(tmp_path: Path, script: Script) -> None:
    child = SupervisedProcess(script(SHARING, str(tmp_path / "name")))
    shared = Path("/dev/shm") / wait_for(tmp_path / "name").strip()  # noqa: S108 - where the system keeps it
    assert shared.exists()
    child.stop()
    assert not shared.exists()


def test_killing_the_supervisor_ends_the_child(tmp_path: Path, script: Script) -> None:
    child = SupervisedProcess(script(TREE, str(tmp_path / "pids")))
    _, grandchild, away = (int(word) for word in wait_for(tmp_path / "pids").split())
    os.kill(process_table()[child.pid].parent, signal.SIGKILL)
    assert gone_within({child.pid}, 10)
    assert child.poll() is not None
    assert gone_within({grandchild}, 1)
    child.stop()
    # Without its supervisor nobody finds a process that left the session.
    os.kill(away, signal.SIGKILL)


def test_terminating_the_supervisor_stops_the_child_tidily(tmp_path: Path, script: Script) -> None:
    child = SupervisedProcess(script(TREE, str(tmp_path / "pids")))
    pids = {int(word) for word in wait_for(tmp_path / "pids").split()}
    os.kill(process_table()[child.pid].parent, signal.SIGTERM)
    assert child.wait_cleared(15)
    assert gone_within(pids, 1)
    child.stop()


def test_stopping_returns_when_nothing_is_left(tmp_path: Path, script: Script) -> None:
    child = SupervisedProcess(script(TREE, str(tmp_path / "pids")))
    pids = {int(word) for word in wait_for(tmp_path / "pids").split()}
    child.stop()
    table = process_table()
    assert all(pid not in table or table[pid].zombie for pid in pids)
    assert child.poll() == -signal.SIGINT


def test_what_a_child_leaves_behind_at_its_own_end_is_cleared_too(tmp_path: Path, script: Script) -> None:
    child = SupervisedProcess(script(TREE.removesuffix("time.sleep(600)\n"), str(tmp_path / "pids")))
    pids = {int(word) for word in wait_for(tmp_path / "pids").split()}
    assert child.wait_cleared(15)
    assert gone_within(pids, 1)
    assert child.poll() == 0
    child.stop()


def test_an_exit_code_arrives_as_it_was(script: Script) -> None:
    with SupervisedProcess(script("raise SystemExit(7)")) as child:
        assert child.wait_cleared(10)
        assert child.poll() == 7


def test_stopping_twice_is_harmless(script: Script) -> None:
    child = SupervisedProcess(script("import time; time.sleep(600)"))
    child.stop()
    child.stop()
    assert child.poll() is not None


def test_a_program_that_does_not_exist_is_named(tmp_path: Path) -> None:
    command = Command(("/nonexistent/python",), {}, tmp_path, tmp_path / "log")
    with pytest.raises(LauncherError, match="/nonexistent/python could not be started"):
        SupervisedProcess(command)


def test_the_environment_stays_off_every_command_line(script: Script) -> None:
    command = script("import time; time.sleep(600)", env={"SECRET": "hunter2-token"})
    with SupervisedProcess(command) as child:
        for pid in (child.pid, process_table()[child.pid].parent):
            assert b"hunter2" not in Path(f"/proc/{pid}/cmdline").read_bytes()
        assert b"hunter2" in Path(f"/proc/{child.pid}/environ").read_bytes()


def test_interrupts_reach_a_child_although_the_app_ignores_them(script: Script) -> None:
    earlier = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with SupervisedProcess(script("import signal; print(signal.getsignal(2) is signal.SIG_IGN)")) as child:
            child.wait_cleared(10)
    finally:
        signal.signal(signal.SIGINT, earlier)
    assert script("").log.read_text(encoding="utf-8") == "False\n"


def test_a_lock_handed_over_is_held_until_the_child_is_gone(tmp_path: Path, script: Script) -> None:
    path = tmp_path / "lock"
    held = os.open(path, os.O_RDWR | os.O_CREAT)
    fcntl.flock(held, fcntl.LOCK_EX)
    child = SupervisedProcess(script("import time; time.sleep(600)"), keep_open=(held,))
    os.close(held)
    with path.open() as other:
        with pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        child.stop()
        fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_descendants_are_found_across_sessions_and_the_dead_are_not_counted(tmp_path: Path, script: Script) -> None:
    with SupervisedProcess(script(TREE, str(tmp_path / "pids"))) as child:
        _, grandchild, away = (int(word) for word in wait_for(tmp_path / "pids").split())
        found = {entry.pid for entry in descendants(child.pid, process_table())}
        assert found == {grandchild, away}


def test_a_stop_that_takes_too_long_kills(tmp_path: Path, script: Script) -> None:
    child = SupervisedProcess(script(STUBBORN, str(tmp_path / "pids")))
    wait_for(tmp_path / "pids")
    began = time.monotonic()
    child.stop(timeout_s=0.5)
    assert gone_within({child.pid}, 2)
    assert time.monotonic() - began < process_module.INTERRUPT_S
