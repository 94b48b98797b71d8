"""The store of conversations: opens it, lists, finds, reads and changes sessions, and gives out recorders.

Owns what may be done with a session that is being talked in: nothing but reading it. Every method may be called from
any thread, and waits for the disk; those that read a whole session or search are better called beside the event loop.
"""

import contextlib
import sqlite3
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from specchat.core.harmless import one_line
from specchat.storage import journal
from specchat.storage.connections import Connections, transaction
from specchat.storage.errors import SessionInUse, SessionNotFound, StoreError
from specchat.storage.finding import hits
from specchat.storage.lines import SessionLine, line, lines
from specchat.storage.loading import Stored, stored
from specchat.storage.opening import Shape, prepare, suspect
from specchat.storage.owners import this_program
from specchat.storage.recorder import StoreRecorder
from specchat.storage.recovery import close_left, left_open
from specchat.storage.searching import Hit, searchable
from specchat.storage.writer import Trouble, Writer, unavailable

_TITLE_LIMIT = 200


@dataclass(frozen=True, slots=True)
class Opened:
    """A store, and what the user should know about its file."""

    store: "Store"
    notices: tuple[str, ...]
    """A sentence each; () where all is well."""


class Store:
    """The conversations in one file."""

    def __init__(
        self,
        path: Path,
        *,
        busy_seconds: float = 5.0,
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid4().hex[:16],
    ) -> None:
        """Use a file that `open` has made ready.

        Args:
            path: The file.
            busy_seconds: How long to wait for another writer.
            now: Seconds since 1970.
            new_id: Makes ids of sessions.
        """
        self.path = path
        self._connections = Connections(path, busy_seconds=busy_seconds)
        self._now = now
        self._new_id = new_id

    @classmethod
    def open(
        cls,
        path: Path,
        *,
        busy_seconds: float = 5.0,
        now: Callable[[], float] = time.time,
        new_id: Callable[[], str] = lambda: uuid4().hex[:16],
        shape: Shape | None = None,
    ) -> Opened:
        """Open the store, and close what a crash left open.

        Args:
            path: Its file; made, with its folder, if it is missing.
            busy_seconds: How long to wait for another writer.
            now: Seconds since 1970.
            new_id: Makes ids of sessions.
            shape: What the file has to be; this program's own if None.

        Raises:
            StoreTooNew: If a newer specchat wrote it.
            StoreUnavailable: If it cannot be opened now.
            StoreError: If it is another program's.
        """
        notices = prepare(path, datetime.fromtimestamp(now(), UTC).astimezone(), shape)
        store = cls(path, busy_seconds=busy_seconds, now=now, new_id=new_id)
        store.recover()
        return Opened(store, notices)

    def close(self) -> None:
        """Close the file. Recorders are closed before, by whoever has them."""
        self._connections.close()

    # -- finding --------------------------------------------------------------------------------------------------

    def sessions(
        self, query: str = "", *, limit: int | None = None, offset: int = 0, include_deleted: bool = False
    ) -> list[SessionLine]:
        """The sessions that hold every word of the query in whatever place, the one last talked in first.

        Args:
            query: As a user types it: beginnings of words, or "a few words in quotation marks"; "" for all sessions.
            limit: At most so many; None for all.
            offset: Leave out so many at the beginning.
            include_deleted: Also those that wait to be removed for good.
        """
        with self._reading() as db:
            return lines(db, now=self._now(), query=query, limit=limit, offset=offset, include_deleted=include_deleted)

    def search(self, text: str, *, limit: int = 50) -> list[Hit]:
        """Places where all words of the query are, the latest first: titles, then turns.

        Args:
            text: As for `sessions`.
            limit: At most so many.
        """
        with self._reading() as db:
            return hits(db, text, limit)

    def line(self, session: str) -> SessionLine:
        """The line of one session, deleted or not.

        Raises:
            SessionNotFound: If there is none of that id.
        """
        with self._reading() as db:
            return self._line(db, session)

    def load(self, session: str) -> Stored:
        """Read a session, deleted or not.

        Raises:
            SessionNotFound: If there is none of that id.
            RecordingRefused: If a newer specchat recorded something in it that this one does not know.
        """
        with self._reading() as db:
            db.execute("BEGIN")
            try:
                return stored(db, self._line(db, session))
            finally:
                db.execute("COMMIT")

    # -- changing -------------------------------------------------------------------------------------------------

    def rename(self, session: str, title: str) -> None:
        """Give a session another title.

        Raises:
            SessionNotFound: If there is none of that id.
            StoreError: If the title has no words.
        """
        title = one_line(title, _TITLE_LIMIT)
        if not title:
            raise StoreError("A session needs a title.", "Type one, or leave the one that it has.")
        with self._writing() as db:
            self._line(db, session)
            db.execute("UPDATE sessions SET title = ? WHERE id = ?", (searchable(title), session))

    def delete(self, session: str) -> None:
        """Put a session away; `undelete` brings it back until `purge` has removed it.

        Raises:
            SessionNotFound: If there is none of that id.
            SessionInUse: If somebody talks in it.
        """
        with self._writing() as db:
            self._refuse_live(self._line(db, session), "deleted")
            db.execute("UPDATE sessions SET deleted = coalesce(deleted, ?) WHERE id = ?", (self._now(), session))

    def undelete(self, session: str) -> None:
        """Bring a deleted session back.

        Raises:
            SessionNotFound: If there is none of that id, or it was removed for good.
        """
        with self._writing() as db:
            self._line(db, session)
            db.execute("UPDATE sessions SET deleted = NULL WHERE id = ?", (session,))

    def duplicate(self, session: str) -> str:
        """Copy a session, for going on in two ways; returns the copy's id.

        Raises:
            SessionNotFound: If there is none of that id.
            SessionInUse: If a reply grows in it.
        """
        with self._writing() as db:
            found = self._line(db, session)
            running = "SELECT count(*) FROM turns JOIN sessions ON sessions.key = session WHERE id = ? AND outcome = ?"
            if db.execute(running, (session, "running")).fetchone()[0]:
                self._refuse_live(found, "copied")
            title = one_line(f"{found.title} (copy)", _TITLE_LIMIT)
            copy = self._new_id()
            journal.copy_session(db, session, copy, title=searchable(title), now=self._now())
            return copy

    def purge(self, *, deleted_before: float | None, untouched_before: float | None = None) -> int:
        """Remove sessions for good, and give their room back; returns how many. What is talked in stays.

        Args:
            deleted_before: Those that were deleted before this moment, in seconds since 1970; None for none.
            untouched_before: Those in which nothing happened since this moment; None for none.
        """
        with self._writing() as db:
            free = [one for one in lines(db, now=self._now(), include_deleted=True) if one.live_in is None]
            gone = [one for one in free if _is_before(one.deleted_at, deleted_before)]
            gone += [one for one in free if _is_before(one.updated, untouched_before) and one not in gone]
            db.executemany("DELETE FROM sessions WHERE id = ?", [(one.id,) for one in gone])
        if gone:
            with self._reading() as db:
                # Only this makes the indexes forget the words, and the file the pages.
                db.execute("INSERT INTO texts_index (texts_index) VALUES ('optimize')")
                db.execute("INSERT INTO titles_index (titles_index) VALUES ('optimize')")
                db.execute("PRAGMA incremental_vacuum").fetchall()
                db.execute("PRAGMA wal_checkpoint (TRUNCATE)").fetchall()
        return len(gone)

    # -- recording ------------------------------------------------------------------------------------------------

    def recorder(
        self,
        trouble: Trouble,
        *,
        session: str | None = None,
        clock: Callable[[], float] = time.monotonic,
        interval: float = 0.25,
        retry_seconds: float = 2.0,
    ) -> StoreRecorder:
        """What a chat tells what happens in it; has a thread of its own, and is to be closed.

        Args:
            trouble: Called in that thread with a failure to write, once, and with None when writing works again.
            session: Go on in this session; None begins one with the first turn.
            clock: The chat's, monotonic seconds.
            interval: Seconds that something may wait before it is written.
            retry_seconds: Between tries while writing fails.

        Raises:
            SessionNotFound: If there is no session of that id.
            SessionInUse: If somebody talks in it already.
        """
        if session is not None:
            with self._writing() as db:
                self._refuse_live(self._line(db, session), "continued")
                journal.own(db, session, this_program())
        writer = Writer(self._connections, trouble, interval=interval, retry_seconds=retry_seconds)
        return StoreRecorder(writer, session=session, new_id=self._new_id, clock=clock, now=self._now)

    def recover(self) -> int:
        """Close the sessions that a crash left open; returns how many. Their last reply keeps what was written."""
        with self._reading() as db:
            left = left_open(db, self._now())
        for session in left:
            with self._writing() as db:
                close_left(db, self._line(db, session), self._now())
        return len(left)

    # -- inside ---------------------------------------------------------------------------------------------------

    def _line(self, db: sqlite3.Connection, session: str) -> SessionLine:
        found = line(db, session, self._now())
        if found is None:
            raise SessionNotFound(
                f"There is no session {one_line(session, 60)}.", "specchat sessions list shows those there are."
            )
        return found

    def _refuse_live(self, found: SessionLine, what: str) -> None:
        if found.live_in is None:
            return
        where = "this window" if found.live_here else f"another window (process {found.live_in})"
        raise SessionInUse(
            f"“{one_line(found.title, 60)}” is open in {where}, so it cannot be {what} now.",
            "Leave it there first, with /clear or by closing the window.",
            process_id=found.live_in,
        )

    @contextlib.contextmanager
    def _reading(self) -> Iterator[sqlite3.Connection]:
        try:
            yield self._connections.here()
        except sqlite3.DatabaseError as error:
            raise self._failure(error, "read") from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        try:
            with transaction(self._connections.here()) as db:
                yield db
        except sqlite3.DatabaseError as error:
            raise self._failure(error, "changed") from error

    def _failure(self, error: sqlite3.DatabaseError, what: str) -> StoreError:
        if isinstance(error, sqlite3.OperationalError):
            return unavailable(error, what)
        suspect(self.path)
        return StoreError(
            f"The file of conversations is damaged: {error}.",
            "Start specchat again: it sets the file aside and copies what can be read.",
        )


def _is_before(moment: float | None, limit: float | None) -> bool:
    return moment is not None and limit is not None and moment < limit
