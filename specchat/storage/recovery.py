"""Closes what a crash left open: the last reply is as long as it was written, and says so."""

import sqlite3
import zlib

from specchat.core.on_off import on_off
from specchat.core.recording import Rebuilding, TurnEnded, closing_of
from specchat.storage import journal
from specchat.storage.codec import joined, records_of
from specchat.storage.errors import RecordingRefused
from specchat.storage.lines import SessionLine
from specchat.storage.loading import stored
from specchat.storage.owners import Program
from specchat.storage.summary import TurnSummary


def left_open(db: sqlite3.Connection, now: float) -> list[str]:
    """Ids of the sessions whose program is gone at a moment, in seconds since 1970."""
    owned = db.execute("SELECT id, owner, updated FROM sessions WHERE owner IS NOT NULL").fetchall()
    return [session for session, owner, seen in owned if not Program.of(owner).is_running(seen=seen, now=now)]


def close_left(db: sqlite3.Connection, line: SessionLine, now: float) -> None:
    """Close the turns of a session that nobody closed, and set it free; no-op where somebody was faster.

    Args:
        db: In a transaction.
        line: Of the session.
        now: Seconds since 1970.
    """
    if line.id not in left_open(db, now):
        return
    turns = db.execute(
        "SELECT turns.key, number FROM turns JOIN sessions ON sessions.key = session WHERE id = ? AND"
        " (outcome = 'running' OR turns.key IN (SELECT turn FROM journal)) ORDER BY number",
        (line.id,),
    ).fetchall()
    try:
        for key, number in turns:
            _close_turn(db, line.id, key, number)
        conversation = stored(db, line).conversation if turns else None
    except RecordingRefused:
        conversation = None  # a newer specchat's: it stays in the journal until that one reads it
    if conversation is not None:
        speeds = on_off(conversation.turns)
        # Two turns of one number there cannot be, but a damaged file may have lost some.
        places = _numbers(db, line.id)
        for _, number in turns:
            summary = TurnSummary.of(conversation.turns[places.index(number)])
            journal.settle(db, line.id, number, summary, rates=(speeds.on, speeds.off), now=None)
    journal.disown(db, line.id)


def _close_turn(db: sqlite3.Connection, session: str, turn: int, number: int) -> None:
    """Write the end of a turn into its records, if they have none."""
    rebuilding = Rebuilding()
    try:
        records = list(records_of(journal.lines_of(db, turn)))
        for record in records:
            rebuilding.add(record)
    except (ValueError, zlib.error):
        return  # damaged: reading it says so
    if records and not any(isinstance(record, TurnEnded) for record in records):
        journal.append(db, session, number, joined(closing_of(rebuilding.conversation.turns[-1].reply)))


def _numbers(db: sqlite3.Connection, session: str) -> list[int]:
    rows = db.execute(
        "SELECT number FROM turns JOIN sessions ON sessions.key = session WHERE id = ? ORDER BY number", (session,)
    )
    return [row[0] for row in rows]
