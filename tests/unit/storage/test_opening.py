"""The file is made, brought up to date, refused or set aside; it is never emptied."""

import sqlite3
import struct
import threading
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pytest

from fakes import FixedClock
from recorded import all_shown
from specchat.storage import schema
from specchat.storage.errors import StoreError, StoreTooNew, StoreUnavailable
from specchat.storage.opening import Shape
from storing import Kept, opened

LATER = FixedClock(datetime(2026, 5, 4, 12, tzinfo=UTC).timestamp())


def everything(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir()}


def filled(path: Path, sessions: int = 3) -> dict[str, list[str]]:
    """A store with conversations in it; returns what they show."""
    kept = opened(path)
    ids = [kept.session((f"prompt {n}", f"reply {n} " * 50), ("more", "of it")) for n in range(sessions)]
    shown = {one: all_shown(kept.store.load(one).conversation.turns) for one in ids}
    kept.close()
    return shown


def set_header(path: Path, offset: int, number: int) -> None:
    data = bytearray(path.read_bytes())
    struct.pack_into(">I", data, offset, number)
    path.write_bytes(data)


def shown_in(kept: Kept) -> dict[str, list[str]]:
    return {line.id: all_shown(kept.store.load(line.id).conversation.turns) for line in kept.store.sessions()}


def test_a_new_file_is_made_with_its_folder_and_says_nothing(path: Path) -> None:
    kept = opened(path)
    assert kept.notices == ()
    assert kept.store.sessions() == []
    assert kept.sql("PRAGMA journal_mode") == [("wal",)]
    kept.close()


def test_what_was_kept_is_there_at_the_next_start(path: Path) -> None:
    shown = filled(path)
    kept = opened(path)
    assert kept.notices == ()
    assert shown_in(kept) == shown
    kept.close()


def test_a_newer_file_is_refused_with_both_versions_and_not_touched(path: Path) -> None:
    filled(path)
    set_header(path, 60, schema.SCHEMA_VERSION + 3)
    before = everything(path)
    with pytest.raises(StoreTooNew, match=r"has version 4, and this specchat knows versions up to 1"):
        opened(path)
    assert everything(path) == before


def test_a_newer_file_is_refused_even_if_its_version_is_still_in_the_log(path: Path) -> None:
    filled(path)
    # Its program was killed: nothing was moved from the log into the file.
    newer = sqlite3.connect(path)
    newer.execute("PRAGMA user_version = 9")
    newer.commit()
    before = path.read_bytes()
    with pytest.raises(StoreTooNew, match="version 9"):
        opened(path)
    assert path.read_bytes() == before
    newer.close()


def test_another_program_s_database_is_refused_and_not_touched(path: Path) -> None:
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (x)")
    other.commit()
    other.close()
    before = everything(path)[path.name]
    with pytest.raises(StoreError, match="another program"):
        opened(path)
    assert path.read_bytes() == before


def broken_beginning(data: bytes) -> bytes:
    return b"garbage!" * 12 + data[96:]


def broken_half(data: bytes) -> bytes:
    return data[: len(data) // 2]


def noise(data: bytes) -> bytes:
    return b"\x17" * len(data)


def text(_: bytes) -> bytes:
    return b"this is no database"


@pytest.mark.parametrize("damage", [broken_beginning, broken_half, noise, text])
def test_a_damaged_file_is_set_aside_whole_and_said(path: Path, damage: object) -> None:
    filled(path)
    data = damage(path.read_bytes())  # type: ignore[operator]
    path.write_bytes(data)
    kept = opened(path, LATER)
    stamp = datetime.fromtimestamp(LATER.now).astimezone().strftime("%Y%m%d-%H%M%S")
    aside = path.with_name(f"sessions.db.damaged-{stamp}")
    assert aside.read_bytes() == data
    assert len(kept.notices) == 1
    assert str(aside) in kept.notices[0]
    kept.session(("new", "life"))
    assert kept.store.search("life")
    kept.close()
    assert opened(path).notices == ()


def test_two_damaged_files_of_one_second_are_both_kept(path: Path) -> None:
    for _ in range(2):
        filled(path)
        path.write_bytes(b"\x17" * 5000)
        opened(path, LATER).close()
    assert len(list(path.parent.glob("sessions.db.damaged-*"))) == 2


def spoil_page_of(path: Path, table: str) -> None:
    db = sqlite3.connect(path)
    page_size = db.execute("PRAGMA page_size").fetchone()[0]
    page = db.execute("SELECT rootpage FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]
    db.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * page_size : page * page_size] = b"\xee" * page_size
    path.write_bytes(data)


def test_what_can_be_read_of_a_damaged_file_is_copied_and_found(path: Path) -> None:
    shown = filled(path)
    spoil_page_of(path, "journal")
    kept = opened(path, LATER)
    assert "3 conversations of it could be read and are here" in kept.notices[0]
    assert shown_in(kept) == shown
    assert len(kept.store.search("reply")) == 3
    kept.close()


def test_turns_whose_session_is_lost_are_rescued_under_a_name_of_their_own(path: Path) -> None:
    shown = filled(path)
    spoil_page_of(path, "sessions")
    kept = opened(path, LATER)
    assert {line.title for line in kept.store.sessions()} == {"Rescued conversation"}
    assert sorted(shown_in(kept).values()) == sorted(shown.values())
    kept.close()


def test_damage_that_shows_while_reading_is_said_and_seen_to_at_the_next_start(path: Path) -> None:
    shown = filled(path)
    spoil_page_of(path, "recordings")
    kept = opened(path)
    assert kept.notices == ()
    with pytest.raises(StoreError, match="is damaged"):
        kept.store.load(next(iter(shown)))
    kept.close()
    kept = opened(path, LATER)
    assert "3 conversations" in kept.notices[0]
    texts = [turn.reply.text for line in kept.store.sessions() for turn in kept.store.load(line.id).conversation.turns]
    assert len(texts) == 6
    assert all(texts)
    kept.close()
    assert opened(path).notices == ()


def test_an_empty_file_beside_a_log_is_damage_and_not_a_beginning(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    path.with_name("sessions.db-wal").write_bytes(b"something")
    kept = opened(path, LATER)
    assert "nothing of it could be read" in kept.notices[0]
    assert next(path.parent.glob("*.damaged-*-wal")).read_bytes() == b"something"
    kept.close()


def add_column(db: sqlite3.Connection) -> None:
    db.execute("ALTER TABLE sessions ADD COLUMN colour TEXT")


def fill_column(db: sqlite3.Connection) -> None:
    db.execute("UPDATE sessions SET colour = 'blue'")


def fail(db: sqlite3.Connection) -> None:
    db.execute("UPDATE sessions SET colour = 'red'")
    db.execute("SELECT nothing FROM nowhere")


def test_an_older_file_is_brought_up_to_date_one_version_after_the_other(path: Path) -> None:
    shown = filled(path)
    newest = Shape(3, MappingProxyType({1: add_column, 2: fill_column}))
    kept = opened(path, shape=newest)
    assert kept.sql("SELECT DISTINCT colour FROM sessions") == [("blue",)]
    assert kept.sql("PRAGMA user_version") == [(3,)]
    assert shown_in(kept) == shown
    kept.close()
    assert opened(path, shape=newest).notices == ()


def test_a_new_file_of_a_later_version_is_made_by_the_same_steps(path: Path) -> None:
    kept = opened(path, shape=Shape(3, MappingProxyType({1: add_column, 2: fill_column})))
    assert kept.sql("PRAGMA user_version") == [(3,)]
    kept.close()


def test_a_step_that_fails_leaves_the_file_as_it_was(path: Path) -> None:
    shown = filled(path)
    with pytest.raises(StoreError, match=r"has version 1 and could not be brought to 3.*It is as it was"):
        opened(path, shape=Shape(3, MappingProxyType({1: add_column, 2: fail})))
    kept = opened(path)
    assert kept.sql("PRAGMA user_version") == [(1,)]
    assert shown_in(kept) == shown
    kept.close()


def test_a_file_that_was_just_being_made_is_made(path: Path) -> None:
    path.parent.mkdir()
    path.touch()
    kept = opened(path)
    assert kept.notices == ()
    assert kept.store.sessions() == []
    kept.close()


def test_several_that_open_at_once_make_one_file(path: Path) -> None:
    kept: list[Kept] = []
    failures: list[BaseException] = []

    def start() -> None:
        try:
            kept.append(opened(path))
        except BaseException as error:  # noqa: BLE001 - shown by the test
            failures.append(error)

    threads = [threading.Thread(target=start) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert len(kept) == 6
    for one in kept:
        one.close()


def test_a_folder_in_the_file_s_place_is_said_in_a_sentence(path: Path) -> None:
    path.mkdir(parents=True)
    with pytest.raises(StoreUnavailable, match="Conversations cannot be opened"):
        opened(path)
