"""Writing never holds up a reply, and what cannot be written now is written later."""

import resource
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes import FixedClock
from recorded import Talk, all_shown, said, shown
from replies import chunk
from specchat.core.events import ChunkArrived, NoteAdded, PiecesLearned
from specchat.core.recording import EventCame
from specchat.core.reply import Outcome
from specchat.storage.codec import records_of
from specchat.storage.errors import StoreError, StoreUnavailable
from specchat.storage.journal import lines_of
from storing import Kept, opened


def in_time(condition: Callable[[], object], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_what_came_is_in_the_file_within_a_second(kept: Kept) -> None:
    talk = kept.talk()
    talk.begin("one")
    assert in_time(lambda: kept.sql("SELECT 1 FROM journal"), 1.0)
    talk.come(*said("zanzibar it goes")[:3])
    assert in_time(lambda: any(b"zanzibar" in bytes(row[0]) for row in kept.sql("SELECT records FROM journal")), 1.0)  # type: ignore[call-overload]


def test_a_reply_that_is_over_is_one_recording_and_no_journal(kept: Kept) -> None:
    talk = kept.talk()
    talk.ask("one", *said("first"))
    assert kept.recorders[0].flush()
    assert kept.sql("SELECT count(*) FROM journal") == [(0,)]
    assert kept.sql("SELECT count(*) FROM recordings") == [(1,)]


def test_a_note_that_comes_late_is_kept_with_its_reply(kept: Kept) -> None:
    talk = kept.talk()
    talk.ask("one", *said("first"))
    kept.recorders[0].flush()
    talk.note("an afterthought")
    kept.recorders[0].flush()
    session = kept.recorders[0].session or ""
    assert shown(kept.store.load(session).conversation.turns[0]) == shown(talk.turn)
    kept.recorders[0].close()
    assert kept.sql("SELECT count(*) FROM journal") == [(0,)]
    assert "an afterthought" in kept.store.load(session).conversation.turns[0].reply.notes


def test_events_without_a_time_are_given_the_clock_s(kept: Kept) -> None:
    kept.recorders.append(kept.store.recorder(kept.troubles.append, clock=lambda: 77.5))
    talk = Talk(kept.recorders[0])
    talk.ask("one", chunk(1.0, "a", 1), PiecesLearned({1: "a"}), NoteAdded("n"))
    kept.recorders[0].flush()
    records = list(records_of(lines_of(kept.store._connections.here(), 1)))
    came = [(type(record.event), record.at) for record in records if isinstance(record, EventCame)]
    assert came == [(ChunkArrived, None), (PiecesLearned, 77.5), (NoteAdded, 77.5)]


def test_a_file_that_another_program_holds_is_waited_for_and_said_once(path: Path) -> None:
    kept = opened(path, busy_seconds=0.02)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    talk = kept.talk(interval=0.01, retry_seconds=0.02)
    talk.begin("one")
    talk.come(*said("first")[:2])
    assert in_time(lambda: kept.troubles)
    assert not kept.recorders[0].flush(5)
    talk.come(*said("first")[2:])
    talk.end()
    assert len(kept.troubles) == 1
    assert "another program holds the file" in str(kept.troubles[0])
    other.execute("COMMIT")
    other.close()
    assert in_time(lambda: len(kept.troubles) == 2)
    assert kept.troubles[1] is None
    assert kept.recorders[0].flush(5)
    session = kept.recorders[0].session or ""
    assert all_shown(kept.store.load(session).conversation.turns) == all_shown(talk.conversation.turns)
    kept.close()


def test_a_full_disk_is_said_once_and_nothing_is_lost_when_there_is_room_again(kept: Kept) -> None:
    kept.session(("before", "x"))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    talk = kept.talk(interval=0.01, retry_seconds=0.05)
    log = kept.store.path.with_name("sessions.db-wal")
    try:
        # The system refuses every byte beyond this, as a disk without room does.
        resource.setrlimit(resource.RLIMIT_FSIZE, (log.stat().st_size + 10_000, before[1]))
        talk.begin("much")
        talk.come(*said("word " * 3_000))
        assert in_time(lambda: kept.troubles)
        talk.end()
        assert not kept.recorders[-1].flush(5)
        assert kept.store.sessions("before")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert in_time(lambda: kept.troubles[-1] is None)
    assert [type(trouble) for trouble in kept.troubles] == [StoreUnavailable, type(None)]
    assert kept.recorders[-1].flush(5)
    session = kept.recorders[-1].session or ""
    assert all_shown(kept.store.load(session).conversation.turns) == all_shown(talk.conversation.turns)


def test_what_cannot_be_written_at_the_end_is_said_and_does_not_hang(path: Path) -> None:
    kept = opened(path, busy_seconds=0.02)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    kept.talk(retry_seconds=0.02).ask("one", *said("first"))
    start = time.monotonic()
    assert not kept.recorders[0].close(5)
    assert time.monotonic() - start < 4
    other.close()
    kept.close()


def test_a_session_that_was_removed_under_a_recorder_is_said_once_and_the_chat_goes_on(kept: Kept) -> None:
    talk = kept.talk(interval=0.01)
    talk.begin("one")
    kept.recorders[0].flush()
    kept.sql("DELETE FROM sessions")
    talk.come(*said("first"))
    kept.recorders[0].flush()
    talk.end()
    kept.recorders[0].flush()
    assert [type(trouble) for trouble in kept.troubles] == [StoreError]
    assert "was removed" in str(kept.troubles[0])


def test_a_trouble_that_nobody_can_be_told_ends_nothing(path: Path) -> None:
    kept = opened(path)

    def closed_loop(_: StoreError | None) -> None:
        raise RuntimeError("Event loop is closed")

    recorder = kept.store.recorder(closed_loop)
    talk = Talk(recorder)
    talk.begin("one")
    recorder.flush()
    kept.sql("DELETE FROM sessions")
    talk.come(*said("first"))
    talk.end()
    assert recorder.flush(5)
    assert recorder.close(5)
    kept.close()


def test_two_stores_of_one_file_write_at_the_same_time(path: Path) -> None:
    stores = [opened(path, FixedClock(now)) for now in (1.0, 2.0)]

    def chat(kept: Kept) -> None:
        for n in range(8):
            talk = kept.talk(interval=0.001)
            talk.ask(f"prompt {n}", *said("some words here " * 20))
            kept.recorders[-1].close(10)

    threads = [threading.Thread(target=chat, args=(kept,)) for kept in stores]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [kept.troubles for kept in stores] == [[], []]
    lines = stores[0].store.sessions()
    assert len(lines) == 16
    texts = {stores[0].store.load(line.id).conversation.turns[0].reply.text for line in lines}
    assert texts == {"some words here " * 20}
    for kept in stores:
        kept.close()


def test_telling_the_recorder_takes_no_time_while_the_disk_is_busy(path: Path) -> None:
    kept = opened(path, busy_seconds=2.0)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    talk = kept.talk(interval=0.01)
    talk.begin("one")
    time.sleep(0.05)
    events = said("word " * 200)
    longest = 0.0
    for event in events:
        start = time.perf_counter()
        kept.recorders[0].event(event)
        longest = max(longest, time.perf_counter() - start)
    assert longest < 1.0
    other.execute("COMMIT")
    other.close()
    kept.close()


def test_a_reply_that_was_stopped_before_it_was_sent_is_kept(kept: Kept) -> None:
    talk = kept.talk()
    talk.begin("one")
    talk.end(Outcome.STOPPED)
    kept.recorders[0].flush()
    turn = kept.store.load(kept.recorders[0].session or "").conversation.turns[0]
    assert shown(turn) == shown(talk.turn)


@pytest.mark.parametrize("recorded", [0, 1])
def test_flushing_and_closing_without_anything_said_is_no_work(kept: Kept, recorded: int) -> None:
    talk = kept.talk()
    if recorded:
        talk.ask("one", *said("first"))
    assert kept.recorders[0].flush(1)
    assert kept.recorders[0].close(1)
    assert kept.recorders[0].close(1)
