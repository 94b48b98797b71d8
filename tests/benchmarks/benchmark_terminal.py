"""A terminal of 120x40 cells that draws nothing: it reads what a program writes, counts it and answers queries."""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import termios
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

COLUMNS, ROWS = 120, 40
ROOT = Path(__file__).parents[2]
REPORT_VARIABLE = "BENCHMARK_REPORT"
"""Environment variable with the file descriptor for a program's reports, one JSON object a line."""
_SETSID = shutil.which("setsid") or "setsid"
_SYNC_QUERY, _SYNC_ANSWER = b"\x1b[?2026$p", b"\x1b[?2026;1$y"
_CONTROL = re.compile(rb"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]P_^X][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-~])")

Report = dict[str, float]


def environment(**more: str) -> dict[str, str]:
    """Of a truecolor terminal, with the repository importable and the user's settings out of the way."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TEXTUAL", "SPECCHAT_", "NO_COLOR", "OPENAI_"))}
    folders = os.pathsep.join(str(folder) for folder in (ROOT, ROOT / "launcher", ROOT / "tests"))
    return kept | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "PYTHONPATH": folders} | more


def set_size(terminal: int, columns: int, rows: int = ROWS) -> None:
    """Give a terminal another size; the kernel tells the program."""
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


class Terminal:
    """Runs one program on a terminal of its own; use as a context manager."""

    def __init__(self, command: Sequence[str], env: Mapping[str, str], *, until: bytes = b"") -> None:
        """Start it.

        Args:
            command: The program and its arguments.
            env: Its environment.
            until: The text to wait for; any, where it is empty.
        """
        self._until = until
        self.bytes_read = 0
        self.reports: list[Report] = []
        """What the program reported, each with the `bytes` that the terminal had got by then."""
        self.first_text_seconds: float | None = None
        """From the start to the text that was waited for; a space or a control is none."""
        self.drawn = threading.Event()
        self._answered = False
        self._ours, theirs = pty.openpty()
        self._pipe, report = os.pipe()
        set_size(theirs, COLUMNS)
        self._started = time.perf_counter()
        self.process = subprocess.Popen(
            [_SETSID, "--ctty", *command],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env={**env, REPORT_VARIABLE: str(report)},
            pass_fds=[report],
        )
        os.close(theirs)
        os.close(report)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> "Terminal":
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join(5)
        os.close(self._ours)
        os.close(self._pipe)

    def _read(self) -> None:
        drawing, reports = b"", b""
        sources = [self._ours, self._pipe]
        while self._ours in sources:
            ready, _, _ = select.select(sources, [], [], 1.0)
            for source in sorted(ready, key=sources.index):
                try:
                    data = os.read(source, 1 << 16)
                except OSError:
                    data = b""  # the program has closed its end of the terminal
                if not data:
                    sources.remove(source)
                elif source == self._pipe:
                    *lines, reports = (reports + data).split(b"\n")
                    self.reports += [json.loads(line) | {"bytes": self.bytes_read} for line in lines]
                else:
                    self.bytes_read += len(data)
                    if self.first_text_seconds is None:
                        drawing = self._look_at(drawing + data)

    def _look_at(self, data: bytes) -> bytes:
        """Answer a query and note the first text; returns what may be the beginning of more."""
        if not self._answered and _SYNC_QUERY in data:
            self._answered = True
            os.write(self._ours, _SYNC_ANSWER)
        text, _, rest = _CONTROL.sub(b"", data).partition(b"\x1b")
        found = self._until in text if self._until else any(byte > 0x20 and byte != 0x7F for byte in text)
        if found:
            self.first_text_seconds = time.perf_counter() - self._started
            self.drawn.set()
        return text[-len(self._until) :] * bool(self._until) + (b"\x1b" + rest if rest else b"")
