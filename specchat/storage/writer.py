"""A thread that writes what it is given, in few transactions, and keeps what cannot be written until it can.

Owns the order of writing and the patience with a full disk or another writer. Knows no table.
"""

import contextlib
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from queue import Empty, SimpleQueue
from typing import Protocol

from specchat.storage.connections import Connections, transaction
from specchat.storage.errors import StoreError, StoreUnavailable
from specchat.storage.journal import Lost

Trouble = Callable[[StoreError | None], None]
"""Called in the writer's thread, once when writing begins to fail and once, with None, when it works again."""


class Job(Protocol):
    """Something to write."""

    def write(self, db: sqlite3.Connection) -> None:
        """Write it, in the caller's transaction; may be called again if the transaction failed."""
        ...

    def takes(self, later: "Job") -> bool:
        """Take over what the next job would write, if both can be written at once."""
        ...


@dataclass(slots=True)
class _Flush:
    """Somebody waits for all that was given before."""

    done: threading.Event = field(default_factory=threading.Event)
    written: bool = False
    last: bool = False
    """Is nothing to come?"""


class Writer:
    """One thread with a queue."""

    def __init__(
        self, connections: Connections, trouble: Trouble, *, interval: float = 0.25, retry_seconds: float = 2.0
    ) -> None:
        """Start no thread before there is something to write.

        Args:
            connections: To the file.
            trouble: Is told when writing fails, and when it works again.
            interval: Seconds that something may wait for more, to be written with it.
            retry_seconds: Between tries while writing fails.
        """
        self._connections = connections
        self._trouble = trouble
        self._interval = interval
        self._retry_seconds = retry_seconds
        self._queue: SimpleQueue[Job | _Flush] = SimpleQueue()
        self._urgent = threading.Event()
        self._thread: threading.Thread | None = None
        # What follows is the thread's own.
        self._pending: list[Job] = []
        self._flushes: list[_Flush] = []
        self._failing = False
        self._told_loss = False

    def put(self, job: Job, *, at_once: bool = False) -> None:
        """Have it written soon, or as soon as can be; waits for nothing."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="specchat-store", daemon=True)
            self._thread.start()
        self._queue.put(job)
        if at_once:
            self._urgent.set()

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that was given is written; False if it could not be, or not in time."""
        return self._waited(_Flush(), timeout)

    def close(self, timeout: float | None = None) -> bool:
        """Write what is left and end the thread; False if something was not written."""
        written = self._waited(_Flush(last=True), timeout)
        if self._thread is not None and written:
            self._thread.join(timeout)
        self._thread = None
        return written

    def _waited(self, flush: _Flush, timeout: float | None) -> bool:
        if self._thread is None:
            return True
        self._queue.put(flush)
        self._urgent.set()
        flush.done.wait(timeout)
        return flush.written

    def _run(self) -> None:
        last = False
        while not last:
            last = self._gather()
            self._write()
            for flush in self._flushes:
                flush.written = not self._pending
                flush.done.set()
            self._flushes.clear()
        self._connections.close_here()

    def _gather(self) -> bool:
        """Take what there is, and what comes within the interval; is nothing to come any more?"""
        try:
            item = self._queue.get(timeout=self._retry_seconds if self._pending else None)
        except Empty:
            return False
        last = self._take(item)
        if not last:
            # Asleep and not at the queue: to wake for every event would cost more than to write it.
            self._urgent.wait(self._interval)
        self._urgent.clear()
        while True:
            try:
                last = self._take(self._queue.get_nowait()) or last
            except Empty:
                return last

    def _take(self, item: Job | _Flush) -> bool:
        if isinstance(item, _Flush):
            self._flushes.append(item)
            return item.last
        if not (self._pending and self._pending[-1].takes(item)):
            self._pending.append(item)
        return False

    def _write(self) -> None:
        if not self._pending:
            return
        lost = 0
        try:
            with transaction(self._connections.here()) as db:
                for job in self._pending:
                    try:
                        job.write(db)
                    except (Lost, sqlite3.IntegrityError, TypeError, ValueError, OverflowError):
                        # Its session was removed, another program writes in it, or it is nothing that a file can
                        # hold: no later try will do, and what follows is not to wait for it.
                        lost += 1
        except (sqlite3.Error, OSError) as error:
            if not self._failing:
                self._failing = True
                self._tell(unavailable(error, "saved"))
            return
        self._pending.clear()
        if self._failing:
            self._failing = False
            self._tell(None)
        if lost and not self._told_loss:
            self._told_loss = True
            self._tell(
                StoreError(
                    "A part of the conversation was not saved: its session was removed, or another window has it.",
                    "Export it with /export if it is needed.",
                )
            )

    def _tell(self, trouble: StoreError | None) -> None:
        with contextlib.suppress(RuntimeError):  # an event loop that is closed cannot be told
            self._trouble(trouble)


def unavailable(error: sqlite3.Error | OSError, what: str) -> StoreUnavailable:
    """Why the store cannot be used now.

    Args:
        error: What SQLite or the system said.
        what: What cannot be done with conversations, a participle.
    """
    said = str(error)
    if "locked" in said or "busy" in said:
        why, hint = "another program holds the file", "It is tried again; close other windows of specchat if it lasts."
    elif "full" in said:
        why, hint = "the disk is full", "Make room; what is said meanwhile is kept in memory and saved then."
    elif "readonly" in said or "unable to open" in said or isinstance(error, PermissionError):
        why, hint = "the file cannot be opened for writing", "Give yourself the right to write there."
    else:
        why, hint = said, "Look at the disk; what is said meanwhile is kept in memory."
    return StoreUnavailable(f"Conversations cannot be {what}: {why}.", hint)
