"""Reads a session back: the conversation as it was shown, and what of it cannot be read any more."""

import json
import sqlite3
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

from specchat.core.conversation import Conversation
from specchat.core.events import ChunkArrived
from specchat.core.recording import (
    EventCame,
    NoteKept,
    Rebuilding,
    Record,
    SystemSet,
    TurnBegan,
    TurnEnded,
    TurnReplaced,
)
from specchat.core.reply import Outcome
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel
from specchat.storage.codec import records_of
from specchat.storage.journal import lines_of
from specchat.storage.lines import SessionLine
from specchat.storage.searching import readable

DAMAGED = "the recording of this reply is damaged: its text is what the search knew of it"
ELSEWHERE = "this reply was still growing in another window when it was read"


@dataclass(frozen=True, slots=True)
class Stored:
    """A session that was read back."""

    line: SessionLine
    conversation: Conversation
    notices: tuple[str, ...] = ()
    """What the user should know, a sentence each."""


def stored(db: sqlite3.Connection, line: SessionLine) -> Stored:
    """Read a session.

    Args:
        db: In a transaction, so that nothing changes meanwhile.
        line: Of the session.

    Raises:
        RecordingRefused: If a newer specchat recorded something in it that this one does not know.
    """
    rebuilding = Rebuilding()
    rebuilding.add(SystemSet(_system(db, line.id)))
    damaged = 0
    rows = db.execute(
        "SELECT turns.key, number, replaced FROM turns JOIN sessions ON sessions.key = turns.session WHERE id = ?"
        " ORDER BY number",
        (line.id,),
    ).fetchall()
    for key, _, replaced in rows:
        records = _records(db, key)
        if records is None:
            damaged += 1
            records = list(_remains(db, key, line))
        for record in records:
            rebuilding.add(record)
        if replaced:
            rebuilding.add(TurnReplaced())
    turns = rebuilding.conversation.turns
    if turns and turns[-1].reply.is_running and line.live_in is not None:
        rebuilding.add(TurnEnded(Outcome.STOPPED))
        rebuilding.add(NoteKept(ELSEWHERE))
    notices = [f"The recordings of {damaged} replies are damaged: their text is shown, without colours."] * bool(
        damaged
    )
    return Stored(line, rebuilding.finish(), tuple(notices))


def _records(db: sqlite3.Connection, turn: int) -> list[Record] | None:
    """The records of a turn; None where they are damaged."""
    try:
        records = list(records_of(lines_of(db, turn)))
    except (ValueError, zlib.error):
        return None
    return records if records and isinstance(records[0], TurnBegan) else None


def _remains(db: sqlite3.Connection, turn: int, line: SessionLine) -> Iterator[Record]:
    """What the search knows of a turn, as records."""
    found = db.execute("SELECT prompt, reply, thinking FROM texts WHERE turn = ?", (turn,)).fetchone()
    prompt, reply, thinking = map(readable, found or ("", "", ""))
    yield TurnBegan(prompt, ServerInfo(line.server, line.version, model=line.model), 0.0, model=line.model)
    spans = tuple(span for span in ((Channel.REASONING, thinking), (Channel.CONTENT, reply)) if span[1])
    if spans:
        yield EventCame(ChunkArrived(0.0, spans))
    yield TurnEnded(Outcome.STOPPED)
    yield NoteKept(DAMAGED)


def _system(db: sqlite3.Connection, session: str) -> str:
    return str(json.loads(db.execute("SELECT system FROM sessions WHERE id = ?", (session,)).fetchone()[0]))
