"""The program in a real terminal, told to end: the terminal is as it was, and what came is there."""

import asyncio
import os
import pty
import signal
import sys
import termios
import time
from collections.abc import AsyncIterator

import pytest

from scripted_server import SSE, Pause, ScriptedServer, chunk

HIDE, SHOW = b"\x1b[?25l", b"\x1b[?25h"
ENTER, LEAVE = b"\x1b[?1049h", b"\x1b[?1049l"
HALF_A_REPLY = (SSE + f"data: {chunk('Half a')}\n\n").encode()


class Terminal:
    """A program in a pseudo-terminal."""

    def __init__(self, *arguments: str, **environ: str) -> None:
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = {**os.environ, "TERM": "xterm-256color", **environ}
            os.execve(sys.executable, [sys.executable, "-m", "specchat", *arguments], environment)
        os.set_blocking(self.fd, False)
        self.before = termios.tcgetattr(self.fd)

    async def wait_for(self, text: bytes) -> None:
        deadline = time.monotonic() + 30
        while text not in self.raw:
            assert time.monotonic() < deadline, self.raw[-2000:]
            self._read()
            await asyncio.sleep(0.05)

    async def end(self) -> int:
        """The exit code, negative for a signal."""
        deadline = time.monotonic() + 15
        while True:
            self._read()
            if (code := self._exit_code()) is not None:
                self._read()
                return code
            assert time.monotonic() < deadline, self.raw[-2000:]
            await asyncio.sleep(0.05)

    def is_restored(self) -> bool:
        return (
            self.raw.rfind(SHOW) >= self.raw.rfind(HIDE)
            and self.raw.rfind(LEAVE) >= self.raw.rfind(ENTER)
            and termios.tcgetattr(self.fd) == self.before
        )

    def _exit_code(self) -> int | None:
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return os.waitstatus_to_exitcode(status) if pid else None

    def _read(self) -> None:
        try:
            while got := os.read(self.fd, 65536):
                self.raw += got
        except OSError:
            return


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    async with ScriptedServer({"/v1/chat/completions": [HALF_A_REPLY, Pause()]}) as server:
        yield server


async def test_sigterm_in_the_chat_gives_the_terminal_back(server: ScriptedServer) -> None:
    terminal = Terminal("--url", server.url)
    await terminal.wait_for(b"sk something")
    os.kill(terminal.pid, signal.SIGTERM)
    assert await terminal.end() == 143
    assert terminal.is_restored()
    os.close(terminal.fd)


async def test_sigterm_in_a_reply_prints_what_came_and_gives_the_terminal_back(server: ScriptedServer) -> None:
    terminal = Terminal("ask", "--url", server.url, "hi")
    await terminal.wait_for(b"Half a")
    os.kill(terminal.pid, signal.SIGTERM)
    assert await terminal.end() == 130
    assert terminal.is_restored()
    assert b"stopped" in terminal.raw
    os.close(terminal.fd)


async def test_the_end_of_the_terminal_ends_the_chat_even_where_hangups_are_ignored(server: ScriptedServer) -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        terminal = Terminal("--url", server.url)
    finally:
        signal.signal(signal.SIGHUP, before)
    await terminal.wait_for(b"sk something")
    os.close(terminal.fd)
    assert await terminal.end() == -signal.SIGHUP


async def test_a_width_of_nought_is_an_unknown_width(server: ScriptedServer) -> None:
    terminal = Terminal("ask", "--url", server.url, "hi", COLUMNS="0", LINES="0")
    await terminal.wait_for(b"Half a")
    os.write(terminal.fd, b"\x03")
    assert await terminal.end() == 130
    assert b"Traceback" not in terminal.raw
    os.close(terminal.fd)
