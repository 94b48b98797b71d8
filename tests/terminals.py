"""A program in a pseudo-terminal of its own, as a job that a shell can stop, and the screen that it draws."""

import asyncio
import fcntl
import os
import pty
import signal
import struct
import sys
import termios
import time
from collections.abc import Callable
from contextlib import suppress

import pyte

MODES = {
    "alternate screen": (b"\x1b[?1049h", b"\x1b[?1049l"),
    "cursor": (b"\x1b[?25l", b"\x1b[?25h"),
    "mouse": (b"\x1b[?1000h", b"\x1b[?1000l"),
    "all mouse events": (b"\x1b[?1003h", b"\x1b[?1003l"),
    "mouse coordinates": (b"\x1b[?1006h", b"\x1b[?1006l"),
    "bracketed paste": (b"\x1b[?2004h", b"\x1b[?2004l"),
    "focus reports": (b"\x1b[?1004h", b"\x1b[?1004l"),
    "line wrap": (b"\x1b[?7l", b"\x1b[?7h"),
    "kitty keys": (b"\x1b[>25u", b"\x1b[<u"),
}
"""What the program asks of a terminal, and how it takes each back."""


class JobTerminal:
    """A terminal whose leader waits, as a shell does, and whose program is a job in the foreground."""

    def __init__(
        self, command: list[str], environ: dict[str, str], *, columns: int = 100, rows: int = 30, leads: bool = False
    ) -> None:
        """Start a program; one that leads has no shell above it, as in a window of its own."""
        self.raw = b""
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.fd, slave = pty.openpty()
        self.resize(columns, rows)
        told, tell = os.pipe()
        self._shell = os.fork()
        if self._shell == 0:
            os.close(self.fd)
            os.close(told)
            _be_shell(slave, tell, command, _environment(environ), leads=leads)
        os.close(tell)
        os.close(slave)
        self._told = told
        self._news = ""
        self.pid = int(os.read(told, 20))
        os.set_blocking(self.fd, False)
        os.set_blocking(told, False)
        self.before = termios.tcgetattr(self.fd)

    def resize(self, columns: int, rows: int) -> None:
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def type(self, keys: bytes) -> None:
        os.write(self.fd, keys)

    def signal(self, number: signal.Signals) -> None:
        os.kill(self.pid, number)

    def foreground(self) -> None:
        """What `fg` does."""
        os.killpg(self.pid, signal.SIGCONT)

    def hang_up(self) -> None:
        """What closing the window does."""
        os.close(self.fd)
        os.kill(self.pid, signal.SIGHUP)

    @property
    def text(self) -> str:
        return "\n".join(self.rows)

    @property
    def rows(self) -> list[str]:
        """The rows of the screen; a wide character counts once. Also of a frame that is half drawn."""
        cells, width = self.screen.buffer, range(self.screen.columns)
        return ["".join(cells[y][x].data for x in width) for y in range(self.screen.lines)]

    async def shows(self, text: str, seconds: float = 30) -> None:
        await self.until(lambda: text in self.text, seconds)

    async def until(self, holds: Callable[[], bool], seconds: float = 30) -> None:
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, f"{self.text}\n{self.raw[-600:]!r}"
            self.read()
            await asyncio.sleep(0.03)

    async def ended(self) -> int:
        """The exit code, negative for a signal."""
        await self.until(lambda: "exit" in self.news())
        self.read()
        return int(self._news.split("exit ")[1].split()[0])

    def news(self) -> str:
        """What the shell saw of its job: "stop" and "exit CODE"."""
        with suppress(BlockingIOError):
            self._news += os.read(self._told, 100).decode()
        return self._news

    def read(self) -> None:
        try:
            while got := os.read(self.fd, 65536):
                self.raw += got
                self._stream.feed(got)
        except OSError:
            return

    def left_on(self) -> list[str]:
        """What the program asked of the terminal and has not taken back."""
        return [name for name, (on, off) in MODES.items() if self.raw.rfind(on) > self.raw.rfind(off)]

    def close(self) -> None:
        if "exit" not in self.news():
            os.kill(self.pid, signal.SIGKILL)
        os.kill(self._shell, signal.SIGKILL)
        os.waitpid(self._shell, 0)
        os.close(self._told)
        with suppress(OSError):
            os.close(self.fd)


def specchat(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "specchat", *arguments]


def _environment(changes: dict[str, str]) -> dict[str, str]:
    inherited = {
        name: value
        for name, value in os.environ.items()
        if name
        not in {"TMUX", "STY", "SSH_CONNECTION", "SSH_TTY", "DISPLAY", "WAYLAND_DISPLAY", "NO_COLOR", "COLORTERM"}
    }
    return {**inherited, "TERM": "xterm-256color", **changes}


def _be_shell(terminal: int, tell: int, command: list[str], environment: dict[str, str], *, leads: bool) -> None:
    """Start a job in the terminal's foreground and tell of it; never returns."""
    try:
        os.setsid()
        fcntl.ioctl(terminal, termios.TIOCSCTTY, 0)
        if leads:
            os.write(tell, f"{os.getpid()}\n".encode())
            _become(terminal, command, environment)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        job = os.fork()
        if job == 0:
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            os.setpgid(0, 0)
            while os.tcgetpgrp(terminal) != os.getpid():
                time.sleep(0.01)
            _become(terminal, command, environment)
        os.setpgid(job, job)
        os.tcsetpgrp(terminal, job)
        os.write(tell, f"{job}\n".encode())
        while True:
            _, status = os.waitpid(job, os.WUNTRACED)
            if not os.WIFSTOPPED(status):
                os.write(tell, f"exit {os.waitstatus_to_exitcode(status)}\n".encode())
                break
            os.write(tell, b"stop\n")
        # A shell outlives its jobs: the end of the session's leader would hang the terminal up.
        time.sleep(60)
    finally:
        os._exit(0)


def _become(terminal: int, command: list[str], environment: dict[str, str]) -> None:
    for fd in (0, 1, 2):
        os.dup2(terminal, fd)
    os.execve(command[0], command, environment)
