"""Writes a conversation down as it happens. Every method of a recorder's only puts something into a queue."""

import sqlite3
import time
from collections.abc import Callable
from dataclasses import dataclass

from specchat.core.conversation import Conversation
from specchat.core.counters import CounterCheck
from specchat.core.errors import SpecchatError
from specchat.core.events import ChunkArrived, Event, StreamEnded
from specchat.core.on_off import on_off
from specchat.core.recording import EventCame, NoteKept, Record, TurnBegan, TurnChecked, TurnEnded, TurnSent
from specchat.core.reply import Outcome
from specchat.storage import journal
from specchat.storage.codec import joined
from specchat.storage.owners import this_program
from specchat.storage.summary import TurnSummary
from specchat.storage.writer import Job, Writer


class StoreRecorder:
    """A `Recorder` whose records go to a store.

    Attributes:
        session: Id of the session that is recorded; None before its first turn.
    """

    def __init__(
        self,
        writer: Writer,
        *,
        session: str | None,
        new_id: Callable[[], str],
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        """Record nothing yet.

        Args:
            writer: Writes to the store; this recorder's own.
            session: Go on in this one, which the store has been told of; None for a new one.
            new_id: Makes ids of sessions.
            clock: The session's clock, for events that bear no time.
            now: Seconds since 1970.
        """
        self._writer = writer
        self.session = session
        self._number = -1
        self._new_id = new_id
        self._clock = clock
        self._now = now

    def begin(self, conversation: Conversation) -> None:
        """The last turn of the conversation began; nothing was added to its reply yet."""
        if self.session is None:
            self.session = self._new_id()
        self._number = len(conversation.turns) - 1
        began = TurnBegan.of(conversation.turns[-1])
        beginning = journal.Beginning(
            self.session, self._number, conversation.system, began, self._now(), this_program()
        )
        # A prompt took a person's time: it is in the file before anything comes.
        self._writer.put(_Begin(beginning), at_once=True)

    def sent(self, at: float) -> None:
        """The request of the last turn goes out now."""
        self._record(TurnSent(at))

    def event(self, event: Event) -> None:
        """The event was added to the last turn's reply."""
        timed = isinstance(event, ChunkArrived | StreamEnded)
        self._record(EventCame(event, None if timed else self._clock()))

    def note(self, text: str) -> None:
        """The last turn's reply was given a note that is in no event."""
        self._record(NoteKept(text))

    def end(self, outcome: Outcome, error: SpecchatError | None) -> None:
        """The last turn's reply was closed."""
        self._record(TurnEnded(outcome, error))

    def check(self, check: CounterCheck) -> None:
        """The last turn's reply was given the counters' verdict."""
        self._record(TurnChecked(check))

    def settled(self, conversation: Conversation) -> None:
        """The last turn is over: nothing more of it is expected, though a note may still come."""
        if self.session is None or not conversation.turns:
            return
        speeds = on_off(conversation.turns)
        summary = TurnSummary.of(conversation.turns[-1])
        self._writer.put(_Settle(self.session, self._number, summary, (speeds.on, speeds.off), self._now()))

    def replaced(self, first: int) -> None:
        """The turn at that index and all after it were marked as replaced."""
        if self.session is not None:
            self._writer.put(_Replace(self.session, first))

    def left(self) -> None:
        """The conversation was left: what begins next belongs to a new one."""
        if self.session is not None:
            self._writer.put(_Leave(self.session))
        self.session, self._number = None, -1

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until everything is written; False if it could not be, or not within so many seconds."""
        return self._writer.flush(timeout)

    def close(self, timeout: float | None = 5.0) -> bool:
        """Leave the conversation and write what is left; False if something was not written in so many seconds."""
        self.left()
        return self._writer.close(timeout)

    def _record(self, record: Record) -> None:
        if self.session is not None and self._number >= 0:
            self._writer.put(_Append(self.session, self._number, [record]))


@dataclass(frozen=True, slots=True)
class _Begin:
    beginning: journal.Beginning

    def write(self, db: sqlite3.Connection) -> None:
        journal.begin_turn(db, self.beginning)

    def takes(self, _: Job) -> bool:
        return False


@dataclass(slots=True)
class _Append:
    """Records of a turn. They become lines where they are written, which is not where the reply is drawn."""

    session: str
    number: int
    records: list[Record]
    lines: bytes = b""

    def write(self, db: sqlite3.Connection) -> None:
        records, self.records = self.records, []
        self.lines += joined(records)
        journal.append(db, self.session, self.number, self.lines)

    def takes(self, later: Job) -> bool:
        if isinstance(later, _Append) and (later.session, later.number) == (self.session, self.number):
            self.records += later.records
            return True
        return False


@dataclass(frozen=True, slots=True)
class _Settle:
    session: str
    number: int
    summary: TurnSummary
    rates: tuple[float | None, float | None]
    now: float

    def write(self, db: sqlite3.Connection) -> None:
        journal.settle(db, self.session, self.number, self.summary, rates=self.rates, now=self.now)

    def takes(self, _: Job) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class _Replace:
    session: str
    first: int

    def write(self, db: sqlite3.Connection) -> None:
        journal.replace_from(db, self.session, self.first)

    def takes(self, _: Job) -> bool:
        return False


@dataclass(frozen=True, slots=True)
class _Leave:
    session: str

    def write(self, db: sqlite3.Connection) -> None:
        journal.leave(db, self.session)

    def takes(self, _: Job) -> bool:
        return False
