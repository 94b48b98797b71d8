"""`specchat demo` as a user meets it: in a real terminal, on a real engine, ended politely and not."""

import fcntl
import os
import pty
import random
import re
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest

from specchat_launcher.supervisor import descendants, process_table

pytestmark = pytest.mark.engine


LEFT_AFTER_S = 15
START_S = 180
_ESCAPES = re.compile(r"\x1b(\[[0-9;?<>=]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_=>])")


@dataclass
class Terminal:
    """A program in a pseudo-terminal of 120x40, and what it has written."""

    pid: int
    fd: int
    raw: bytearray = field(default_factory=bytearray)

    @classmethod
    def run(cls, *arguments: str) -> "Terminal":
        pid, fd = pty.fork()
        if pid == 0:
            environment = {**os.environ, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
            os.execve(sys.executable, [sys.executable, "-m", "specchat", *arguments], environment)
        fcntl.ioctl(fd, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        return cls(pid, fd)

    @property
    def text(self) -> str:
        return _ESCAPES.sub("", self.raw.decode("utf-8", "replace"))

    def read_for(self, seconds: float, until: str | None = None) -> bool:
        """Read; returns whether `until` was seen. Ends early when it is, or when the program has gone."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if not select.select([self.fd], [], [], min(left, 0.2))[0]:
                continue
            try:
                got = os.read(self.fd, 65536)
            except OSError:
                break
            if not got:
                break
            self.raw += got
            if until is not None and until in self.text:
                return True
        return until is not None and until in self.text

    def type(self, keys: str) -> None:
        os.write(self.fd, keys.encode())

    def below(self) -> set[int]:
        return {entry.pid for entry in descendants(self.pid, process_table())}


@pytest.fixture
def demo(newest_first: str) -> Iterator[Terminal]:
    terminal = Terminal.run("demo", "--engine", newest_first, "--prompt", "Count to twenty.", "--max-tokens", "60")
    yield terminal
    if terminal.pid in process_table():
        os.kill(terminal.pid, signal.SIGKILL)
        os.waitpid(terminal.pid, 0)
    os.close(terminal.fd)


def nothing_is_left_of(pids: set[int]) -> bool:
    deadline = time.monotonic() + LEFT_AFTER_S
    while time.monotonic() < deadline:
        table = process_table()
        if not any(pid in table and not table[pid].zombie for pid in pids):
            return True
        time.sleep(0.1)
    return False


def test_the_demo_reaches_a_coloured_reply_with_nothing_typed_and_leaves_nothing(demo: Terminal) -> None:
    assert demo.read_for(START_S, until="traced in the server"), demo.text[-3000:]
    assert b"38;2;" in demo.raw
    pids = demo.below()
    assert pids
    demo.type("\x11")
    demo.read_for(20)
    _, status = os.waitpid(demo.pid, 0)
    assert os.waitstatus_to_exitcode(status) == 0
    assert nothing_is_left_of(pids)
    assert "\x1b[?1049l" in demo.raw.decode("utf-8", "replace")


@pytest.mark.parametrize("moment", ["starting", "in the chat"])
def test_killing_the_demo_leaves_no_server(demo: Terminal, moment: str) -> None:
    assert demo.read_for(START_S, until=moment if moment == "starting" else "speculation"), demo.text[-3000:]
    demo.read_for(1)
    kill_and_look(demo)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(15))
def test_killing_the_demo_at_any_moment_leaves_no_server(demo: Terminal, seed: int) -> None:
    demo.read_for(random.Random(seed).uniform(0.3, 45))
    kill_and_look(demo)


def kill_and_look(demo: Terminal) -> None:
    pids = demo.below()
    os.kill(demo.pid, signal.SIGKILL)
    os.waitpid(demo.pid, 0)
    assert nothing_is_left_of(pids)
