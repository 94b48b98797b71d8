"""Which programs run, so that a session that is being talked in is told from one that a crash left.

A process is known by its id and its start: ids are used again. One in another container cannot be seen from here; what
it has written lately then stands for it. Signals nobody.
"""

import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

_PROC = Path("/proc")
_UNSEEN_SECONDS = 600.0
"""How long a program that cannot be seen is taken to run after it last wrote something."""


@dataclass(frozen=True, slots=True)
class Program:
    """One running program."""

    process_id: int
    started: str
    """What tells it from others of that id: on Linux the boot, the container, and the moment of its start."""

    def __str__(self) -> str:
        return f"{self.process_id} {self.started}"

    @classmethod
    def of(cls, text: str) -> "Program":
        """The program that was written down."""
        process_id, _, started = text.partition(" ")
        return cls(int(process_id) if process_id.isdecimal() else 0, started)

    def is_running(self, *, seen: float, now: float) -> bool:
        """Does it run on this machine, under this start of the system?

        Args:
            seen: When it last gave a sign of life, in seconds since 1970.
            now: In seconds since 1970.
        """
        theirs, ours = self.started.split(), this_program().started.split()
        if len(theirs) == len(ours) == 3 and theirs[0] == ours[0] and theirs[1] != ours[1]:
            return now - seen < _UNSEEN_SECONDS
        return bool(self.started) and _start_of(self.process_id) == self.started


@cache
def _this(process_id: int) -> Program:
    return Program(process_id, _start_of(process_id))


def this_program() -> Program:
    """The program that asks."""
    return _this(os.getpid())


def _start_of(process_id: int) -> str:
    """When a process started, in whatever form this system tells it; "" where there is no such process."""
    if process_id <= 0:
        return ""
    if (_PROC / "self/stat").exists():
        try:
            stat = (_PROC / str(process_id) / "stat").read_text(encoding="ascii", errors="replace")
            boot = (_PROC / "sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
            container = (_PROC / "self/ns/pid").readlink()
        except OSError:
            return ""
        # The name before it may hold anything, a parenthesis too.
        fields = stat.rpartition(")")[2].split()
        state, ticks = fields[0], fields[19]
        return "" if state == "Z" else f"{boot} {container} {ticks}"
    try:
        told = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(process_id)],  # noqa: S607 - where it lies differs by system
            check=False,
            capture_output=True,
            text=True,
            timeout=5,
            env={**os.environ, "LC_ALL": "C"},
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return " ".join(told.stdout.split())
