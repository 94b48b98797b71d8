"""Makes the store's file ready: new, brought up to date, set aside where it is damaged, refused where it is newer.

Owns what happens before the first query. Never empties a file and never writes into one that it refuses.
"""

import contextlib
import sqlite3
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from specchat.core.harmless import one_line
from specchat.storage import schema
from specchat.storage.connections import BESIDE, beside, connect, connect_read_only, make_private, transaction
from specchat.storage.errors import StoreError, StoreTooNew
from specchat.storage.salvage import copy_readable, set_aside
from specchat.storage.writer import unavailable

_MAGIC = b"SQLite format 3\x00"
_BUSY_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Shape:
    """What a file has to be, for this version of the program."""

    version: int = schema.SCHEMA_VERSION
    migrations: Mapping[int, schema.Migration] = field(default_factory=lambda: schema.MIGRATIONS)


def prepare(path: Path, now: datetime, shape: Shape | None = None) -> tuple[str, ...]:
    """See to it that the file is there, whole and of this version; returns what the user should know, in sentences.

    Args:
        path: The store's file.
        now: For the name of a file that is set aside.
        shape: Of this program's files.

    Raises:
        StoreTooNew: If a newer specchat wrote it; it was not touched.
        StoreUnavailable: If it cannot be opened now.
        StoreError: If it is somebody else's, or cannot be brought up to date; it was not touched.
    """
    shape = shape or Shape()
    try:
        _refuse_newer(path, shape)
        make_private(path)
        if _is_ready(path, shape):
            return ()
        with _alone(path):  # the first of two programs that start at once does it
            return _made_ready(path, now, shape)
    except (sqlite3.Error, OSError) as error:
        raise unavailable(error, "opened") from error


def suspect(path: Path) -> None:
    """Remember that reading the file failed: the next start looks through all of it."""
    with contextlib.suppress(OSError):
        _suspicion(path).touch(mode=0o600)


def _suspicion(path: Path) -> Path:
    return beside(path, ".suspect")


def _refuse_newer(path: Path, shape: Shape) -> None:
    """Look at the header without SQLite, which writes beside the file even to read it."""
    try:
        with path.open("rb") as file:
            head = file.read(100)
    except FileNotFoundError:
        return
    if len(head) == 100 and head.startswith(_MAGIC):
        version, application = struct.unpack_from(">I", head, 60)[0], struct.unpack_from(">I", head, 68)[0]
        if application == schema.APPLICATION_ID:
            _refuse(path, version, shape)
        elif application:
            raise _foreign(path)


def _refuse(path: Path, version: int, shape: Shape) -> None:
    if version > shape.version:
        raise StoreTooNew(
            f"The conversations in {one_line(str(path), 200)} were written by a newer specchat: the file has version "
            f"{version}, and this specchat knows versions up to {shape.version}.",
            "Update specchat, or name another folder for its data.",
        )


def _foreign(path: Path) -> StoreError:
    return StoreError(f"{one_line(str(path), 200)} is a database of another program.", "Name another folder.")


def _is_ready(path: Path, shape: Shape) -> bool:
    """Is it whole, as far as a look tells, and of this version?"""
    if path.stat().st_size == 0 or _suspicion(path).exists():
        return False
    try:
        return _version(path, shape) == shape.version
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return False


def _version(path: Path, shape: Shape) -> int:
    """The version of a file that can be read; 0 for one without tables.

    Raises:
        sqlite3.DatabaseError: If it is damaged.
    """
    # What a newer program wrote may still lie beside the file: a reader of it changes neither.
    source = connect_read_only(path)
    try:
        version = int(source.execute("PRAGMA user_version").fetchone()[0])
        application = int(source.execute("PRAGMA application_id").fetchone()[0])
        tables = int(source.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        if application != schema.APPLICATION_ID and tables:
            raise _foreign(path)
        _refuse(path, version, shape)
        if tables:
            # The inner pages that every use of the store begins with.
            source.execute("SELECT max(key), max(updated), count(id) FROM sessions").fetchone()
            source.execute("SELECT max(key) FROM turns").fetchone()
            source.execute("SELECT max(key) FROM journal").fetchone()
        return version if tables else 0
    finally:
        source.close()


def _made_ready(path: Path, now: datetime, shape: Shape) -> tuple[str, ...]:
    if _is_ready(path, shape):
        return ()
    damage = _damage(path, shape)
    if damage:
        return (_replaced(path, now, shape),)
    db = connect(path, busy_seconds=_BUSY_SECONDS)
    try:
        version = int(db.execute("PRAGMA user_version").fetchone()[0])
        if version == 0:
            _create(db)
            version = schema.SCHEMA_VERSION
        _migrate(db, version, shape)
    finally:
        db.close()
    _suspicion(path).unlink(missing_ok=True)
    return ()


def _damage(path: Path, shape: Shape) -> bool:
    """Look through the whole file: is anything of it broken?"""
    if path.stat().st_size == 0:
        # A file that was just made; but a log of changes has no meaning without the file that it belongs to.
        return any(beside(path, end).exists() and beside(path, end).stat().st_size for end in BESIDE)
    try:
        _version(path, shape)
        source = connect_read_only(path)
        try:
            return [row[0] for row in source.execute("PRAGMA quick_check(1)")] != ["ok"]
        finally:
            source.close()
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        return True


def _replaced(path: Path, now: datetime, shape: Shape) -> str:
    """Begin anew with what can be read of a damaged file; returns the sentence about it."""
    kept = set_aside(path, now)
    make_private(path)
    db = connect(path, busy_seconds=_BUSY_SECONDS)
    try:
        _create(db)
        rescued = copy_readable(kept, db)
        _migrate(db, schema.SCHEMA_VERSION, shape)
    finally:
        db.close()
    _suspicion(path).unlink(missing_ok=True)
    what = {0: "nothing of it could be read", 1: "one conversation of it could be read and is here"}.get(
        rescued, f"{rescued} conversations of it could be read and are here"
    )
    return f"The file of conversations was damaged: it is kept as {one_line(str(kept), 300)}, and {what}."


def _create(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    db.execute("PRAGMA journal_mode = WAL")
    with transaction(db):
        schema.create(db)


def _migrate(db: sqlite3.Connection, version: int, shape: Shape) -> None:
    """Bring a file up to date, one version after the other, or leave it as it was."""
    if version == shape.version:
        return
    try:
        with transaction(db):
            for step in range(version, shape.version):
                shape.migrations[step](db)
            schema.stamp(db, shape.version)
    except (sqlite3.Error, KeyError) as error:
        if isinstance(error, sqlite3.OperationalError) and "locked" in str(error):
            raise
        raise StoreError(
            f"The file of conversations has version {version} and could not be brought to {shape.version}: {error}. "
            "It is as it was.",
            "Report it, and use the specchat that wrote it meanwhile.",
        ) from error


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other programs from doing the same at the same time; a crash lets go."""
    beside(path, ".lock").touch(mode=0o600)
    lock = sqlite3.connect(beside(path, ".lock"), timeout=_BUSY_SECONDS, isolation_level=None)
    try:
        lock.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        lock.close()
