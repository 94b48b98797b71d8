"""One file lock between processes, which a child process can keep alive.

Owns `flock`. The lock belongs to the open file, so a supervisor that inherits the descriptor holds it until it
has cleaned up, also when the process that took the lock was killed.
"""

import fcntl
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from specchat_launcher.paths import ensure

POLL_S = 0.25


def holder(path: Path) -> int | None:
    """The process that wrote its id into the lock file last, None where none did."""
    try:
        return int(path.read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None


def is_locked(path: Path) -> bool:
    """Whether anyone holds the lock, shared or not."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        return not _try_lock(descriptor, fcntl.LOCK_EX)
    finally:
        os.close(descriptor)


@contextmanager
def locked(path: Path, *, shared: bool, on_wait: Callable[[int | None], None]) -> Iterator[int]:
    """Hold the lock at `path` and yield its file descriptor.

    Args:
        path: The lock file; it is created where missing.
        shared: Whether other shared holders are welcome.
        on_wait: Called with the holder's process id (None: unknown) several times a second while the lock is
            taken. An exception from it gives up.
    """
    ensure(path.parent)
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        mode = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        while not _try_lock(descriptor, mode):
            on_wait(holder(path))
            time.sleep(POLL_S)
        if not shared:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, str(os.getpid()).encode("ascii"), 0)
        yield descriptor
    finally:
        # Closing, not unlocking: a supervisor that inherited the descriptor keeps the lock.
        os.close(descriptor)


def _try_lock(descriptor: int, mode: int) -> bool:
    try:
        fcntl.flock(descriptor, mode | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
