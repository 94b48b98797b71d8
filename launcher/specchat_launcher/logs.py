"""Log files in the data directory: their names, how many stay, and their last lines.

Owns nothing of their content.
"""

import os
import time
from pathlib import Path

from specchat_launcher.paths import ensure

KEPT_LOGS = 10
TAIL_BYTES = 256 * 1024


def new_log(directory: Path, kind: str, now: float) -> Path:
    """The path of a new, empty log, after removing the oldest of its kind.

    Args:
        directory: The folder of logs.
        kind: What it is a log of, part of its name.
        now: Seconds since the epoch.
    """
    ensure(directory)
    old = sorted(directory.glob(f"{kind}-*.log"), key=_modified)
    for path in old[: max(0, len(old) - KEPT_LOGS + 1)]:
        path.unlink(missing_ok=True)
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


def _modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0
