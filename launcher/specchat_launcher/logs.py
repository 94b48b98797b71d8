"""Log files in the data directory: their names, how many stay, and their last lines.

Owns nothing of their content.
"""

import codecs
import os
import time
from collections.abc import Collection
from pathlib import Path

from specchat_launcher import log_rotation
from specchat_launcher.paths import ensure

KEPT_LOGS = 10
TAIL_BYTES = 256 * 1024
HEAD_BYTES = 512


def new_log(directory: Path, kind: str, now: float, in_use: Collection[Path] = ()) -> Path:
    """The path of a new, empty log, after removing the oldest of its kind.

    Args:
        directory: The folder of logs.
        kind: What it is a log of, part of its name.
        now: Seconds since the epoch.
        in_use: Logs that stay, however old, because somebody writes them.
    """
    ensure(directory)
    old = sorted((path for path in directory.glob(f"{kind}-*.log") if path not in in_use), key=_modified)
    for path in old[: max(0, len(old) - KEPT_LOGS + 1)]:
        for part in (path, *earlier_parts(path)):
            part.unlink(missing_ok=True)
    stamp = time.strftime("%Y%m%d-%H%M%S", time.localtime(now))
    path = directory / f"{kind}-{stamp}-{os.getpid()}.log"
    suffix = 1
    while path.exists():
        suffix += 1
        path = directory / f"{kind}-{stamp}-{os.getpid()}-{suffix}.log"
    path.touch(mode=0o600)
    return path


def last_lines(path: Path, count: int) -> list[str]:
    """The last lines of a log, without control characters of progress bars."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            file.seek(max(0, size - TAIL_BYTES))
            text = file.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    # A progress bar redraws its line with a carriage return.
    return [line for line in text.replace("\r", "\n").split("\n") if line.strip()][-count:]


def earlier_parts(log: Path) -> tuple[Path, ...]:
    """The parts of a log that its supervisor put aside when it began anew, the oldest first."""
    parts = []
    for number in range(1, log_rotation.KEPT):
        part = log.with_name(f"{log.name}.{number}")
        if not part.exists():
            break
        parts.append(part)
    return tuple(reversed(parts))


class LogFollower:
    """Reads a log from its beginning, and then what is added, also across its new beginnings."""

    def __init__(self, log: Path) -> None:
        """Begin at the oldest part that is kept."""
        self._log = log
        self._at = 0
        self._seen: int | None = None
        self._decode = codecs.getincrementaldecoder("utf-8")(errors="replace").decode

    def read(self) -> str:
        """The text since the last call; empty where there is none."""
        received = b""
        for part in self._new_parts():
            # The first of them holds what the log held when it was read last.
            received += _bytes_from(part, self._at)
            self._at = 0
        fresh = _bytes_from(self._log, self._at)
        self._at += len(fresh)
        return self._decode(received + fresh)

    def _new_parts(self) -> list[Path]:
        """The parts that were put aside since the last call, the oldest first."""
        parts = [(part, status.st_ino) for part in earlier_parts(self._log) if (status := _status(part)) is not None]
        # The copy is there a moment before the log is cut, and until then the log begins with it.
        if parts and _begins_with(self._log, parts[-1][0]):
            parts.pop()
        known = next((place + 1 for place, (_, number) in enumerate(parts) if number == self._seen), 0)
        if parts:
            self._seen = parts[-1][1]
        return [part for part, _ in parts[known:]]


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except OSError:
        return None


def _begins_with(log: Path, part: Path) -> bool:
    one, other = _status(log), _status(part)
    if one is None or other is None or one.st_size < other.st_size:
        return False
    return _bytes_from(log, 0, HEAD_BYTES) == _bytes_from(part, 0, HEAD_BYTES)


def _bytes_from(path: Path, offset: int, count: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            file.seek(offset)
            return file.read(count)
    except OSError:
        return b""


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
