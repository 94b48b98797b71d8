"""Writes what happens: a turn's records line by line while it grows, and as one compressed recording once it is over.

Every function runs in a transaction of the caller's. A turn's records are its recording, if it has one, and the journal
behind it; both hold the same lines.
"""

import json
import sqlite3
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from specchat.core.harmless import one_line
from specchat.core.recording import TurnBegan
from specchat.core.speculation import Evidence
from specchat.storage.codec import line_of
from specchat.storage.owners import Program
from specchat.storage.searching import searchable, storable
from specchat.storage.summary import TurnSummary

TITLE_LENGTH = 80
_LARGEST = 2**63 - 1


class Lost(Exception):
    """The session or the turn that something belongs to is not there any more."""


@dataclass(frozen=True, slots=True)
class Beginning:
    """A turn that begins."""

    session: str
    """The session's id; one that is not there is made."""
    number: int
    """Index of the turn in it."""
    system: str
    began: TurnBegan
    now: float
    """Seconds since 1970."""
    owner: Program
    """Who talks in the session."""


def begin_turn(db: sqlite3.Connection, beginning: Beginning) -> None:
    """Write down that a turn began, and whose turn it is."""
    began = beginning.began
    facts = {
        "id": beginning.session,
        "title": searchable(one_line(began.prompt, TITLE_LENGTH) or "(no words)"),
        "system": json.dumps(beginning.system),
        "now": beginning.now,
        "model": began.model and storable(began.model),
        "server": storable(began.server.url),
        "version": began.server.version and storable(began.server.version),
        "parameters": json.dumps(began.request),
        "owner": str(beginning.owner),
    }
    db.execute(
        "INSERT INTO sessions (id, title, system, created, updated, model, server, version, parameters, owner)"
        " VALUES (:id, :title, :system, :now, :now, :model, :server, :version, :parameters, :owner)"
        " ON CONFLICT (id) DO UPDATE SET system = :system, updated = :now, model = :model, server = :server,"
        " version = :version, parameters = :parameters",
        facts,
    )
    session = session_key(db, beginning.session)
    turn = db.execute(
        "INSERT INTO turns (session, number, began) VALUES (?, ?, ?)", (session, beginning.number, beginning.now)
    ).lastrowid
    db.execute("INSERT INTO texts (turn, prompt) VALUES (?, ?)", (turn, searchable(began.prompt)))
    db.execute("INSERT INTO journal (turn, records) VALUES (?, ?)", (turn, line_of(began)))
    db.execute("UPDATE sessions SET turns = turns + 1 WHERE key = ?", (session,))


def append(db: sqlite3.Connection, session: str, number: int, lines: bytes) -> None:
    """Add lines to the records of a turn.

    Raises:
        Lost: If there is no such turn.
    """
    db.execute("INSERT INTO journal (turn, records) VALUES (?, ?)", (turn_key(db, session, number), lines))


def settle(
    db: sqlite3.Connection,
    session: str,
    number: int,
    summary: TurnSummary,
    *,
    rates: tuple[float | None, float | None],
    now: float | None,
) -> None:
    """Fold the records of a turn that is over, and write what the list and the search show of it.

    Args:
        db: In a transaction.
        session: The session's id.
        number: Index of the turn.
        summary: Of the turn.
        rates: Tokens per second of the session with speculation and without; None unknown.
        now: Seconds since 1970; None leaves the session's time as it is.

    Raises:
        Lost: If there is no such turn.
    """
    turn = turn_key(db, session, number)
    fold(db, turn)
    db.execute(
        "UPDATE texts SET reply = ?, thinking = ? WHERE turn = ?",
        (searchable(summary.reply), searchable(summary.thinking), turn),
    )
    db.execute(
        "UPDATE turns SET outcome = ?, tokens = ?, steps = ?, drafted = ?, accepted = ?, evidence = ? WHERE key = ?",
        (
            summary.outcome,
            summary.tokens,
            summary.steps,
            summary.drafted,
            summary.accepted,
            summary.evidence,
            turn,
        ),
    )
    add_up(db, session_key(db, session))
    db.execute(
        "UPDATE sessions SET rate_on = ?, rate_off = ?, updated = coalesce(?, updated) WHERE id = ?",
        (*rates, now, session),
    )


def fold(db: sqlite3.Connection, turn: int) -> None:
    """Make one recording of a turn's records."""
    packed = zlib.compress(lines_of(db, turn), 6)
    db.execute("INSERT OR REPLACE INTO recordings (turn, records) VALUES (?, ?)", (turn, packed))
    db.execute("DELETE FROM journal WHERE turn = ?", (turn,))


def lines_of(db: sqlite3.Connection, turn: int) -> bytes:
    """The records of a turn.

    Raises:
        zlib.error: If its recording is damaged.
    """
    folded = db.execute("SELECT records FROM recordings WHERE turn = ?", (turn,)).fetchone()
    rest = db.execute("SELECT records FROM journal WHERE turn = ? ORDER BY key", (turn,))
    return (zlib.decompress(folded[0]) if folded else b"") + b"".join(row[0] for row in rest)


def replace_from(db: sqlite3.Connection, session: str, first: int) -> None:
    """Mark the turn at that index and all after it as replaced."""
    db.execute(
        "UPDATE turns SET replaced = 1 WHERE session = (SELECT key FROM sessions WHERE id = ?) AND number >= ?",
        (session, first),
    )


def own(db: sqlite3.Connection, session: str, owner: Program) -> None:
    """Say who talks in a session."""
    db.execute("UPDATE sessions SET owner = ? WHERE id = ?", (str(owner), session))


def leave(db: sqlite3.Connection, session: str) -> None:
    """Nobody talks in a session any more: fold what came late, and set it free."""
    late = (
        "SELECT DISTINCT journal.turn FROM journal JOIN turns ON turns.key = journal.turn"
        " JOIN sessions ON sessions.key = turns.session WHERE id = ?"
    )
    for (turn,) in db.execute(late, (session,)).fetchall():
        fold(db, turn)
    disown(db, session)


def disown(db: sqlite3.Connection, session: str) -> None:
    """Say that nobody talks in a session."""
    db.execute("UPDATE sessions SET owner = NULL WHERE id = ?", (session,))


def copy_session(db: sqlite3.Connection, session: str, copy: str, *, title: str, now: float) -> None:
    """Copy a session with all of its turns.

    Args:
        db: In a transaction.
        session: Its id.
        copy: The copy's id.
        title: The copy's, in the form that is looked through.
        now: Seconds since 1970.
    """
    facts = (
        "system, model, server, version, parameters, turns, tokens, steps, drafted, accepted, evidence,"
        " rate_on, rate_off"
    )
    new = db.execute(
        f"INSERT INTO sessions (id, title, created, updated, {facts})"  # noqa: S608 - own names
        f" SELECT ?, ?, created, ?, {facts} FROM sessions WHERE id = ?",
        (copy, title, now, session),
    ).lastrowid
    facts = "number, began, replaced, outcome, tokens, steps, drafted, accepted, evidence"
    old = session_key(db, session)
    for turn in [row[0] for row in db.execute("SELECT key FROM turns WHERE session = ? ORDER BY number", (old,))]:
        added = db.execute(
            f"INSERT INTO turns (session, {facts}) SELECT ?, {facts} FROM turns WHERE key = ?",  # noqa: S608 - own names
            (new, turn),
        ).lastrowid
        for table, column in (("texts", "prompt, reply, thinking"), ("recordings", "records"), ("journal", "records")):
            db.execute(
                f"INSERT INTO {table} (turn, {column}) SELECT ?, {column} FROM {table} WHERE turn = ?",  # noqa: S608 - own names
                (added, turn),
            )


def add_up(db: sqlite3.Connection, session: int) -> None:
    """Write the sums over a session's turns."""
    rows = db.execute(
        "SELECT tokens, steps, drafted, accepted, evidence FROM turns WHERE session = ?", (session,)
    ).fetchall()
    stepped = [row for row in rows if row[1]]
    sums = [_sum([row[0] for row in rows]), *(_sum([row[column] for row in stepped]) for column in (1, 2, 3))]
    if any(row[2] is None for row in stepped):
        sums[2] = None  # a sum over a part would pass for the whole
    order = list(Evidence)
    weakest = max((Evidence(row[4]) for row in stepped), key=order.index, default=Evidence.NONE)
    db.execute(
        "UPDATE sessions SET tokens = ?, steps = ?, drafted = ?, accepted = ?, evidence = ? WHERE key = ?",
        (*sums, str(weakest), session),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return min(sum(known), _LARGEST) if known else None


def session_key(db: sqlite3.Connection, session: str) -> int:
    """The key of a session.

    Raises:
        Lost: If there is none of that id.
    """
    row = db.execute("SELECT key FROM sessions WHERE id = ?", (session,)).fetchone()
    if row is None:
        raise Lost(session)
    return int(row[0])


def turn_key(db: sqlite3.Connection, session: str, number: int) -> int:
    """The key of a turn.

    Raises:
        Lost: If there is none.
    """
    row = db.execute(
        "SELECT turns.key FROM turns JOIN sessions ON sessions.key = turns.session WHERE id = ? AND number = ?",
        (session, number),
    ).fetchone()
    if row is None:
        raise Lost(f"{session} {number}")
    return int(row[0])
