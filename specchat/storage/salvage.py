"""Sets a damaged file aside, whole, and copies what can be read of it into a new one. Deletes nothing."""

import sqlite3
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

from specchat.storage.connections import BESIDE, beside, connect_read_only, transaction

_TABLES = {
    "sessions": "key, id, title, system, created, updated, deleted, model, server, version, parameters, turns, tokens,"
    " steps, drafted, accepted, evidence, rate_on, rate_off",
    "turns": "key, session, number, began, replaced, outcome, tokens, steps, drafted, accepted, evidence",
    "texts": "turn, prompt, reply, thinking",
    "recordings": "turn, records",
    "journal": "key, turn, records",
}
"""In an order in which no row comes before what it refers to; the first column is the row's number."""
_MOST_PROBES = 20_000
"""Rows that are asked for one by one where a table cannot be read through."""


def set_aside(path: Path, now: datetime) -> Path:
    """Give a damaged file, and what SQLite keeps beside it, another name; returns it.

    Raises:
        OSError: If it cannot be renamed.
    """
    stem = f"{path.name}.damaged-{now:%Y%m%d-%H%M%S}"
    target, number = path.with_name(stem), 1
    while target.exists():
        number += 1
        target = path.with_name(f"{stem}-{number}")
    for end in (*BESIDE, ""):
        one = beside(path, end)
        if one.exists():
            one.replace(beside(target, end))
    return target


def copy_readable(damaged: Path, db: sqlite3.Connection) -> int:
    """Copy every row that can be read into empty tables; returns the number of sessions that have a turn.

    Args:
        damaged: The file.
        db: A connection to the new one.
    """
    if not damaged.stat().st_size:
        return 0  # SQLite would throw away the log beside it
    try:
        source = connect_read_only(damaged)
    except sqlite3.Error:
        return 0
    try:
        # A reference to a row that is gone must not cost the rows that are there.
        db.execute("PRAGMA foreign_keys = OFF")
        with transaction(db):
            for table, columns in _TABLES.items():
                marks = ", ".join("?" * (columns.count(",") + 1))
                for row in _rows(source, table, columns):
                    db.execute(f"INSERT OR IGNORE INTO {table} ({columns}) VALUES ({marks})", row)  # noqa: S608 - own names
            _tidy(db)
            return int(db.execute("SELECT count(*) FROM sessions").fetchone()[0])
    finally:
        db.execute("PRAGMA foreign_keys = ON")
        source.close()


def _tidy(db: sqlite3.Connection) -> None:
    """Remove what belongs to nothing, and name what lost its session."""
    db.execute(
        "INSERT INTO sessions (key, id, title, system, created, updated, server, parameters)"
        " SELECT session, 'rescued' || session, 'Rescued conversation', '\"\"', min(began), max(began), '', '{}'"
        " FROM turns WHERE session NOT IN (SELECT key FROM sessions) GROUP BY session"
    )
    for table in ("texts", "recordings", "journal"):
        db.execute(f"DELETE FROM {table} WHERE turn NOT IN (SELECT key FROM turns)")  # noqa: S608 - own names
    db.execute("INSERT INTO texts (turn, prompt) SELECT key, '' FROM turns WHERE key NOT IN (SELECT turn FROM texts)")
    db.execute("UPDATE sessions SET turns = (SELECT count(*) FROM turns WHERE session = sessions.key)")
    db.execute("DELETE FROM sessions WHERE turns = 0")


def _rows(source: sqlite3.Connection, table: str, columns: str) -> Iterator[tuple[object, ...]]:
    """The rows of a table: from its beginning up to the damage, from its end back to it, and one by one between."""
    seen: list[int] = []
    number = columns.partition(",")[0]
    for order in ("ASC", "DESC"):
        reached = 0
        try:
            for row in source.execute(f"SELECT {columns} FROM {table} ORDER BY {number} {order}"):  # noqa: S608 - own names
                yield row
                reached = int(row[0])
        except (sqlite3.Error, TypeError, ValueError):
            seen.append(reached)
            continue
        return
    low, high = seen
    for probe in range(low + 1, min(high, low + _MOST_PROBES)):
        try:
            row = source.execute(f"SELECT {columns} FROM {table} WHERE {number} = ?", (probe,)).fetchone()  # noqa: S608 - own names
        except sqlite3.Error:
            continue
        if row is not None:
            yield row
