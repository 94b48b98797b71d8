"""A profile whose server is the fake one, and what tests need to see its life: its processes, and what is left."""

import os
import pty
import select
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import specchat_launcher
from specchat_launcher.registry import ServerRecord, members, recorded, servers
from specchat_launcher.stopping import stop
from specchat_launcher.supervisor import process_table

LAUNCHER = Path(specchat_launcher.__file__).parents[1]
FAKE = Path(__file__).with_name("fake_served_engine.py")
PROFILE = "fake"
LEFT_AFTER_S = 15
T = TypeVar("T")


@dataclass
class FakePlace:
    """A machine in a folder: a data directory, an interpreter with a fake vLLM, and a profile for it."""

    folder: Path
    root: Path = field(init=False)
    profiles: Path = field(init=False)

    def __post_init__(self) -> None:
        self.root = self.folder / "data"
        self.profiles = self.folder / "profiles"
        self.root.mkdir()
        self.profiles.mkdir()
        self.python = fake_vllm_python(self.folder / "venv")
        self.write_profile()

    def write_profile(
        self, name: str = PROFILE, *, environment: Mapping[str, str] | None = None, speculates: bool = False
    ) -> None:
        """A profile of the fake server, with variables of its own."""
        lines = [
            'title = "A fake server"',
            'summary = "For tests."',
            'server = "vllm"',
            'runs_in = "python"',
            f'python = "{self.python}"',
            'model = "somebody/tiny"',
            'served_name = "tiny"',
            "hook = false",
            "[environment]",
            *(f'{key} = "{value}"' for key, value in (environment or {}).items()),
            *(("[speculation]", 'method = "eagle3"', 'draft = "somebody/draft"', "tokens = 3") if speculates else ()),
        ]
        (self.profiles / f"{name}.toml").write_text("\n".join(lines) + "\n", encoding="utf-8")

    def environ(self) -> dict[str, str]:
        """The environment of a command."""
        kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
        return {**kept, "PYTHONPATH": str(LAUNCHER), "SPECCHAT_PROFILES": str(self.profiles), "PYTHONUNBUFFERED": "1"}

    def argv(self, *arguments: str) -> list[str]:
        """A command of the launcher."""
        return [sys.executable, "-m", "specchat_launcher", "--data-dir", str(self.root), *arguments]

    def run(self, *arguments: str, environ: Mapping[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """A command of the launcher, to its end."""
        return subprocess.run(
            self.argv(*arguments), env={**self.environ(), **(environ or {})}, text=True, capture_output=True,
            timeout=60, check=False,
        )  # fmt: skip

    def start(self, *arguments: str) -> "subprocess.Popen[str]":
        """A command of the launcher, while it runs."""
        return subprocess.Popen(
            self.argv(*arguments), env=self.environ(), text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )

    def record(self, *, state: str | None = None, within: float = 30) -> ServerRecord:
        """The one server there is, as soon as there is one and it has got so far."""
        return wait_until(lambda: self._one(state), within)

    def _one(self, state: str | None) -> ServerRecord | None:
        found = servers(self.root)
        return found[0] if found and found[0].leader is not None and state in {None, found[0].state} else None

    def in_log(self, words: str, within: float = 30) -> ServerRecord:
        """The one server there is, as soon as its log has these words."""
        record = self.record(within=within)
        wait_until(lambda: words in record.log.read_text(errors="replace"), within)
        return record

    def stop_all(self) -> None:
        """End what a test has left, so that a failing one harms no other."""
        for record in recorded(self.root):
            stop(record, self.root)


class Terminal:
    """A terminal in which a command runs, until it hangs up."""

    BEGIN = """
import fcntl, os, sys, termios
fcntl.ioctl(0, termios.TIOCSCTTY, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""

    def __init__(self, argv: Sequence[str], environ: Mapping[str, str]) -> None:
        self._primary, secondary = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-c", self.BEGIN, *argv], env=dict(environ),
            stdin=secondary, stdout=secondary, stderr=secondary, start_new_session=True,
        )  # fmt: skip
        os.close(secondary)
        self._ended = threading.Event()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        # What is drawn must go somewhere. Never in the middle of a read when it hangs up, which would keep it open.
        while not self._ended.is_set():
            if select.select([self._primary], [], [], 0.05)[0]:
                try:
                    os.read(self._primary, 4096)
                except OSError:
                    return

    def hang_up(self) -> None:
        """Close the terminal, and wait for the end of the command."""
        self._ended.set()
        self._reader.join()
        os.close(self._primary)
        self.process.wait(timeout=30)


@contextmanager
def fake_place(folder: Path) -> Iterator[FakePlace]:
    """Such a machine, with nothing of it left afterwards."""
    place = FakePlace(folder)
    try:
        yield place
    finally:
        place.stop_all()


def fake_vllm_python(environment: Path) -> Path:
    """The interpreter of an environment in which vLLM seems to be installed: it runs the fake server."""
    packages = environment / "lib" / "python3.11" / "site-packages" / "vllm-0.32.0.dist-info"
    packages.mkdir(parents=True)
    (packages / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0.32.0\n", encoding="utf-8")
    (environment / "pyvenv.cfg").write_text("home = /usr/bin\n", encoding="utf-8")
    python = environment / "bin" / "python"
    python.parent.mkdir()
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{FAKE}" "$@"\n', encoding="utf-8")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return python


def wait_until(look: Callable[[], T | None], seconds: float) -> T:
    """What a look finds, as soon as it finds something."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := look():
            return found
        time.sleep(0.05)
    raise AssertionError("it never came to that")


def pids_of(record: ServerRecord) -> set[int]:
    """The living processes of a server, and its supervisor."""
    return {entry.pid for entry in members(record)} | {record.supervisor.pid}


def living(pids: set[int]) -> set[int]:
    """Those of these processes that are alive."""
    table = process_table()
    return {pid for pid in pids if pid in table and not table[pid].zombie}


def left_of(pids: set[int], seconds: float = LEFT_AFTER_S) -> set[int]:
    """Those that are still alive after so long, or none as soon as none is."""
    deadline = time.monotonic() + seconds
    while (left := living(pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    return left


def engine_of(record: ServerRecord) -> int:
    """The process of the engine, which is not the front end."""
    assert record.leader is not None
    return next(entry.pid for entry in members(record) if entry.pid != record.leader.pid)


def kill(*pids: int) -> None:
    """SIGKILL, to all of them in the same moment."""
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    assert not left_of(set(pids), 5)
