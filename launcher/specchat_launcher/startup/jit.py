"""The kernels that AITER compiles when they are first needed. Pure.

Owns the counting of modules and of the workers that wait for another one's lock. One worker builds a module and the
others wait for its baton, so a first start looks like a hang for a quarter of an hour, and rarely is one.
"""

import re

from specchat_launcher.startup.bars import number
from specchat_launcher.startup.lines import LogLine

START = re.compile(r"\[aiter\]\s+start build \[(?P<module>[\w.-]{1,100})\]")
FINISH = re.compile(r"\[aiter\]\s+finish build \[(?P<module>[\w.-]{1,100})\](?:, cost (?P<cost>[\d.]+)\s?s)?")
FAILED = re.compile(r"\[aiter\]\s+failed jit build \[(?P<module>[\w.-]{1,100})\]")
IMPORT = re.compile(r"\[aiter\]\s+import \[(?P<module>[\w.-]{1,100})\]")
WAITING = re.compile(r"\[aiter\]\s+waiting for baton release at (?P<lock>\S{1,300})")
BROKEN = re.compile(r"broke stale lock at")
STILL = re.compile(r"No available shared memory broadcast block found in (?P<seconds>\d{1,6}) seconds")

MOST = 64
STUCK_AFTER_S = 20 * 60.0


class JitBuilds:
    """What is being compiled, what is done, and who waits.

    Attributes:
        finished: Modules that were built.
        last: The module that was mentioned last; empty before the first.
        last_cost: Seconds its build took; None while it runs or where the log does not say.
    """

    def __init__(self) -> None:
        self.finished = 0
        self.last = ""
        self.last_cost: float | None = None
        self._building: dict[str, None] = {}
        self._waiting: dict[str, str] = {}
        self._quiet_seconds = 0.0

    @property
    def building(self) -> tuple[str, ...]:
        """Modules whose build has begun and not ended."""
        return tuple(self._building)

    @property
    def waiting(self) -> int:
        """How many processes wait for a lock."""
        return len(self._waiting)

    @property
    def locks(self) -> tuple[str, ...]:
        """The lock files that are waited for, each once."""
        return tuple(dict.fromkeys(self._waiting.values()))

    @property
    def quiet_seconds(self) -> float:
        """Seconds in which nothing moved, as the server itself reports them since the last sign of life."""
        return self._quiet_seconds

    @property
    def is_busy(self) -> bool:
        """Whether a build is open or somebody waits for one."""
        return bool(self._building or self._waiting)

    def read(self, line: LogLine) -> bool:
        """Take one line of the log; True when it was about these builds."""
        if found := STILL.search(line.text):
            self._quiet_seconds += int(found["seconds"])
            return False
        if "[aiter]" not in line.text and not BROKEN.search(line.text):
            self._forget_wait(line.process)
            return False
        self._quiet_seconds = 0.0
        return self._read_build(line) or self._read_wait(line)

    def end(self) -> None:
        """The start is past every build, whatever the log has left out."""
        self._building.clear()
        self._waiting.clear()

    def detail(self) -> str:
        """The builds as words for the user."""
        parts = []
        if self._building:
            parts.append(", ".join(tuple(self._building)[:2]))
        elif self.last:
            parts.append(f"{self.last}{f' took {self.last_cost:.0f} s' if self.last_cost is not None else ''}")
        if self.finished:
            parts.append(f"{self.finished} built")
        if self._waiting:
            parts.append(f"{len(self._waiting)} {'process waits' if len(self._waiting) == 1 else 'processes wait'}")
        words = ", ".join(parts) if parts else "kernels"
        return f"{words}; this is normal, about 15 minutes the first time" if self.is_busy else words

    def _read_build(self, line: LogLine) -> bool:
        if found := START.search(line.text):
            if len(self._building) < MOST:
                self._building[found["module"]] = None
            self.last, self.last_cost = found["module"], None
        elif found := FINISH.search(line.text):
            self._building.pop(found["module"], None)
            self.finished += 1
            self.last, self.last_cost = found["module"], number(found["cost"]) if found["cost"] else None
            # Whoever waited for this module goes on, and some of them do not say so.
            self._waiting = {who: lock for who, lock in self._waiting.items() if found["module"] not in lock}
        elif found := FAILED.search(line.text):
            self._building.pop(found["module"], None)
        elif found := IMPORT.search(line.text):
            self._forget_wait(line.process)
            # A later start only imports what the first one built.
            return self.is_busy or self.finished > 0
        else:
            return False
        return True

    def _read_wait(self, line: LogLine) -> bool:
        if found := WAITING.search(line.text):
            if len(self._waiting) < MOST:
                self._waiting[line.process or found["lock"]] = found["lock"]
            return True
        if BROKEN.search(line.text):
            self._waiting.clear()
            return True
        return False

    def _forget_wait(self, process: str) -> None:
        if process:
            self._waiting.pop(process, None)
