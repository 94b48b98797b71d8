"""Connections to the store's file: one a thread, each set up alike, the file readable by its owner alone.

Refuses nothing and knows no table.
"""

import contextlib
import os
import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

BESIDE = ("-wal", "-shm")
"""What SQLite keeps beside a file in WAL mode."""
_SET_UP = (
    "PRAGMA foreign_keys = ON",
    # A commit is in the system's hands then, which outlives this process; only a power cut may take the last ones.
    "PRAGMA synchronous = NORMAL",
    # What was deleted is overwritten, and not only forgotten.
    "PRAGMA secure_delete = ON",
    # After a burst the log of changes is cut back to this.
    "PRAGMA journal_size_limit = 4194304",
)


def connect(path: Path, *, busy_seconds: float) -> sqlite3.Connection:
    """Open the file for reading and writing; transactions are the caller's.

    Args:
        path: It exists, or is made.
        busy_seconds: How long to wait for another writer.
    """
    db = sqlite3.connect(path, timeout=busy_seconds, isolation_level=None, check_same_thread=False)
    try:
        for statement in _SET_UP:
            db.execute(statement)
    except sqlite3.Error:
        db.close()
        raise
    return db


def connect_read_only(path: Path) -> sqlite3.Connection:
    """Open the file so that nothing in it can change."""
    return sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None)


@contextlib.contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Write all or nothing; waits for another writer as long as the connection was told to."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        # A disk that is full has ended the transaction already.
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def make_private(path: Path) -> None:
    """Make the file and its folder if they are missing, and keep others of this machine out of both.

    Raises:
        OSError: If they cannot be made.
    """
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    for one, mode in [(path.parent, 0o700), (path, 0o600), *((beside(path, end), 0o600) for end in BESIDE)]:
        # What belongs to somebody else, or lies on a file system without modes, cannot be changed and is used as it is.
        with contextlib.suppress(OSError):
            if one.stat().st_mode & 0o077:
                one.chmod(mode)


def beside(path: Path, end: str) -> Path:
    """The file of that ending beside the store's."""
    return path.with_name(path.name + end)


class Connections:
    """The connections of one program to one file."""

    def __init__(self, path: Path, *, busy_seconds: float) -> None:
        """Open none yet."""
        self._path = path
        self._busy_seconds = busy_seconds
        self._here = threading.local()
        self._all: list[sqlite3.Connection] = []
        self._lock = threading.Lock()

    def here(self) -> sqlite3.Connection:
        """The one of this thread."""
        db: sqlite3.Connection | None = getattr(self._here, "db", None)
        if db is None:
            db = self._here.db = connect(self._path, busy_seconds=self._busy_seconds)
            with self._lock:
                self._all.append(db)
        return db

    def close_here(self) -> None:
        """Close the one of this thread."""
        db: sqlite3.Connection | None = getattr(self._here, "db", None)
        if db is not None:
            self._here.db = None
            with self._lock:
                if db in self._all:
                    self._all.remove(db)
            db.close()

    def close(self) -> None:
        """Close all of them; no thread may be using one."""
        with self._lock:
            for db in self._all:
                db.close()
            self._all.clear()
        self._here = threading.local()
