"""What may be done with conversations that were kept."""

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import FixedClock
from recorded import all_shown, said
from specchat.core.counters import CounterCheck, Verdict
from specchat.core.recording import NullRecorder
from specchat.core.reply import Outcome
from specchat.storage import owners
from specchat.storage.errors import SessionInUse, SessionNotFound, StoreError
from specchat.storage.loading import DAMAGED, ELSEWHERE
from specchat.storage.owners import Program, _start_of, this_program
from specchat.storage.searching import terms_of
from storing import Kept, opened


def test_a_conversation_is_read_back_as_it_was_shown(kept: Kept) -> None:
    talk = kept.talk()
    talk.conversation.system = "Be brief."
    talk.ask("One?", *said("the first answer"))
    talk.begin("Two?", request={"temperature": 0.0})
    talk.come(*said("the second one"))
    talk.end(check=CounterCheck(Verdict.AGREES, 1, 3, 1, 0, "agrees"))
    talk.note("from elsewhere")
    session = kept.recorders[0].session
    assert session
    assert kept.recorders[0].close()
    again = kept.store.load(session)
    assert all_shown(again.conversation.turns) == all_shown(talk.conversation.turns)
    assert again.conversation.system == "Be brief."
    assert again.notices == ()


def test_a_line_tells_model_tokens_acceptance_and_parameters(kept: Kept) -> None:
    talk = kept.talk()
    talk.begin("Tell me  about\nthe sea", request={"temperature": 0.5})
    talk.come(*said("one two three four five"))
    talk.end()
    kept.recorders[0].flush()
    line = kept.store.sessions()[0]
    assert (line.title, line.model, line.server) == ("Tell me about the sea", "m", talk.server.url)
    assert (line.turns, line.tokens, line.steps, line.drafted, line.accepted) == (1, 5, 2, 6, 2)
    assert (line.acceptance_length, line.evidence, line.parameters) == (2.0, "reported", {"temperature": 0.5})
    assert (line.rate_on, line.speed_up) == (None, None)


def test_the_acceptance_length_of_a_session_is_pooled_over_the_steps_of_all_replies(kept: Kept) -> None:
    session = kept.session(("a", "one two three four five"), ("b", "one two"))
    line = kept.store.line(session)
    assert (line.steps, line.accepted, line.acceptance_length) == (3, 2, 1 + 2 / 3)


def test_a_sum_of_which_a_part_is_unknown_is_unknown(kept: Kept) -> None:
    session = kept.session(("a", "one two three"), ("b", "one two"))
    kept.sql("UPDATE turns SET drafted = NULL WHERE number = 0")
    talk = kept.talk(session)
    talk.ask("c", *said("one two three"))
    kept.recorders[-1].flush()
    line = kept.store.line(session)
    assert (line.drafted, line.steps, line.acceptance_rate) == (None, 3, None)


def test_sessions_come_with_the_one_last_talked_in_first(kept: Kept) -> None:
    first = kept.session(("first", "x"))
    second = kept.session(("second", "x"))
    assert [line.id for line in kept.store.sessions()] == [second, first]
    kept.clock.advance(10)
    kept.talk(first).ask("more", *said("y"))
    kept.recorders[-1].flush()
    assert [line.id for line in kept.store.sessions()] == [first, second]
    assert [line.id for line in kept.store.sessions(limit=1, offset=1)] == [second]


def test_a_continued_session_goes_on_behind_its_last_turn(kept: Kept) -> None:
    session = kept.session(("one", "first"))
    talk = kept.talk(session)
    talk.ask("two", *said("second"))
    kept.recorders[-1].close()
    turns = kept.store.load(session).conversation.turns
    assert [(turn.prompt, turn.reply.text) for turn in turns] == [("one", "first"), ("two", "second")]
    assert all_shown(turns) == all_shown(talk.conversation.turns)


def test_replaced_turns_stay_and_are_marked(kept: Kept) -> None:
    talk = kept.talk()
    talk.ask("one", *said("first"))
    talk.replace_from(0)
    talk.ask("one", *said("second"))
    session = kept.recorders[0].session or ""
    kept.recorders[0].close()
    assert [turn.replaced for turn in kept.store.load(session).conversation.turns] == [True, False]
    assert kept.store.load(session).conversation.history() == [("user", "one"), ("assistant", "second")]


def test_a_conversation_that_was_left_is_one_session_and_the_next_another(kept: Kept) -> None:
    talk = kept.talk()
    talk.ask("one", *said("first"))
    kept.recorders[0].left()
    talk.conversation.turns.clear()
    talk.ask("two", *said("second"))
    kept.recorders[0].flush()
    assert {line.title: line.turns for line in kept.store.sessions()} == {"one": 1, "two": 1}


def test_nothing_is_kept_before_something_is_asked(kept: Kept) -> None:
    kept.talk()
    kept.recorders[0].note("nobody asked")
    kept.recorders[0].left()
    assert kept.recorders[0].close()
    assert kept.store.sessions() == []


def test_a_name_is_kept_and_found(kept: Kept) -> None:
    session = kept.session()
    kept.store.rename(session, "  Sea \n stories \x1b[31m ")
    assert kept.store.line(session).title == "Sea stories ␛[31m"
    assert [line.id for line in kept.store.sessions("stor")] == [session]
    assert kept.store.sessions("What") == kept.store.sessions()
    with pytest.raises(StoreError, match="needs a title"):
        kept.store.rename(session, " \n ")


def test_a_deleted_session_can_be_brought_back_until_it_is_purged(kept: Kept) -> None:
    session = kept.session()
    kept.store.delete(session)
    assert kept.store.sessions() == []
    assert kept.store.search("That") == []
    assert [line.deleted_at for line in kept.store.sessions(include_deleted=True)] == [kept.clock.now]
    assert kept.store.purge(deleted_before=kept.clock.now) == 0
    kept.store.undelete(session)
    assert [line.id for line in kept.store.sessions()] == [session]
    kept.store.delete(session)
    assert kept.store.purge(deleted_before=kept.clock.now + 1) == 1
    with pytest.raises(SessionNotFound, match=session):
        kept.store.undelete(session)


def test_what_was_purged_is_nowhere_in_the_files(kept: Kept) -> None:
    session = kept.session(("Where is the xylophone?", "behind the zeppelin"))
    other = kept.session(("stays", "here"))
    kept.store.rename(session, "vuvuzela")
    kept.store.delete(session)
    kept.store.purge(deleted_before=kept.clock.now + 1)
    kept.store.close()
    folder = kept.store.path.parent
    left = b"".join(file.read_bytes() for file in folder.iterdir()).lower()
    assert not [word for word in (b"xylophon", b"zeppelin", b"vuvuzela") if word in left]
    assert b"stays" in left
    assert [line.id for line in kept.store.sessions()] == [other]


def test_purging_by_age_spares_what_was_touched_and_what_is_open(kept: Kept) -> None:
    old = kept.session(("old", "x"))
    talk = kept.talk()
    talk.ask("open", *said("x"))
    kept.recorders[-1].flush()
    kept.clock.advance(100)
    young = kept.session(("young", "x"))
    assert kept.store.purge(deleted_before=None, untouched_before=kept.clock.now - 50) == 1
    assert {line.title for line in kept.store.sessions()} == {"open", "young"}
    assert kept.store.line(young)
    with pytest.raises(SessionNotFound):
        kept.store.load(old)


def test_a_copy_is_equal_and_goes_its_own_way(kept: Kept) -> None:
    session = kept.session(("one", "first"), ("two", "second"))
    copy = kept.store.duplicate(session)
    original, other = kept.store.load(session), kept.store.load(copy)
    assert all_shown(original.conversation.turns) == all_shown(other.conversation.turns)
    assert other.line.title == "one (copy)"
    kept.talk(copy).ask("three", *said("third"))
    kept.recorders[-1].close()
    assert (kept.store.line(session).turns, kept.store.line(copy).turns) == (2, 3)
    assert {hit.session for hit in kept.store.search("second")} == {session, copy}


def test_a_session_that_is_open_here_is_neither_deleted_nor_opened_twice(kept: Kept) -> None:
    talk = kept.talk()
    talk.ask("one", *said("first"))
    kept.recorders[0].flush()
    session = kept.recorders[0].session or ""
    assert (kept.store.line(session).live_in, kept.store.line(session).live_here) == (os.getpid(), True)
    with pytest.raises(SessionInUse, match="open in this window"):
        kept.store.delete(session)
    with pytest.raises(SessionInUse, match="cannot be continued"):
        kept.store.recorder(print, session=session)
    kept.recorders[0].close()
    assert kept.store.line(session).live_in is None
    kept.store.delete(session)


def test_a_session_that_is_open_in_another_program_is_left_alone_until_that_is_gone(kept: Kept) -> None:
    session = kept.session(("one", "first"))
    other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        owner = str(Program(other.pid, _start_of(other.pid)))
        kept.sql("UPDATE sessions SET owner = ?", owner)
        line = kept.store.line(session)
        assert (line.live_in, line.live_here) == (other.pid, False)
        for act in (kept.store.delete, lambda s: kept.store.recorder(print, session=s)):
            with pytest.raises(SessionInUse, match=f"another window \\(process {other.pid}\\)") as caught:
                act(session)
            assert caught.value.process_id == other.pid
        assert kept.store.recover() == 0
        assert kept.store.load(session).conversation.turns[0].reply.text == "first"
    finally:
        other.kill()
        other.communicate()
    assert kept.store.line(session).live_in is None
    kept.store.delete(session)


def test_a_process_id_that_is_used_again_is_not_the_program_of_before(kept: Kept) -> None:
    session = kept.session()
    started = _start_of(os.getpid())
    kept.sql("UPDATE sessions SET owner = ?", f"{os.getpid()} {started}0")
    assert kept.store.line(session).live_in is None


def test_a_program_in_another_container_counts_as_running_while_it_writes(kept: Kept) -> None:
    session = kept.session()
    boot, _, ticks = this_program().started.split()
    kept.sql("UPDATE sessions SET owner = ?", f"{os.getpid()} {boot} pid:[1] {ticks}")
    kept.clock.advance(60)
    assert kept.store.line(session).live_in == os.getpid()
    assert not kept.store.line(session).live_here
    assert kept.store.recover() == 0
    kept.clock.advance(3600)
    assert kept.store.line(session).live_in is None
    assert kept.store.recover() == 1


def test_a_reply_that_grows_in_another_window_is_read_as_far_as_it_is(kept: Kept) -> None:
    talk = kept.talk()
    talk.begin("one")
    talk.come(*said("so far")[:2])
    kept.recorders[0].flush()
    reply = kept.store.load(kept.recorders[0].session or "").conversation.turns[0].reply
    assert (reply.text, reply.outcome) == ("so", Outcome.STOPPED)
    assert ELSEWHERE in reply.notes
    with pytest.raises(SessionInUse, match="cannot be copied"):
        kept.store.duplicate(kept.recorders[0].session or "")


def test_what_a_crash_left_is_closed_at_the_next_start(kept: Kept, path: Path) -> None:
    talk = kept.talk()
    talk.ask("one", *said("whole"))
    talk.begin("two")
    talk.come(*said("only a begin")[:2])
    kept.recorders[0].flush()
    kept.sql("UPDATE sessions SET owner = '1 long ago'")
    next_start = opened(path, FixedClock(2_000_000.0))
    line = next_start.store.sessions()[0]
    assert (line.live_in, line.turns, line.tokens) == (None, 2, 2)
    turns = next_start.store.load(line.id).conversation.turns
    assert [(turn.reply.text, turn.reply.outcome) for turn in turns] == [
        ("whole", Outcome.FINISHED),
        ("only", Outcome.FAILED),
    ]
    assert next_start.sql("SELECT count(*) FROM journal") == [(0,)]
    assert [hit.turn for hit in next_start.store.search("only")] == [1]
    assert line.updated == kept.clock.now
    next_start.close()


def test_a_damaged_recording_costs_its_colours_and_not_its_text(kept: Kept) -> None:
    session = kept.session(("one", "the first"), ("two", "the second"))
    kept.sql("UPDATE recordings SET records = x'00' WHERE turn = (SELECT min(turn) FROM recordings)")
    again = kept.store.load(session)
    assert [turn.reply.text for turn in again.conversation.turns] == ["the first", "the second"]
    assert again.conversation.turns[0].reply.notes == [DAMAGED]
    assert "1 repl" in again.notices[0]


def test_numbers_that_no_column_can_hold_do_not_cost_the_reply(kept: Kept) -> None:
    from specchat.core.events import ChunkArrived, UsageReported
    from specchat.core.speculation import Channel

    session = kept.session(
        ("huge", "x"),
        events=lambda text: [
            UsageReported(1, 10**40),
            ChunkArrived(1.0, ((Channel.CONTENT, text),), finish_reason="s"),
        ],
    )
    assert kept.store.line(session).tokens == 2**63 - 1
    assert kept.store.load(session).conversation.turns[0].reply.output_tokens == 10**40
    assert kept.troubles == []


HOSTILE = [
    "\ud800 lone",
    "nul\0nul",
    "\x1b[31mred\x1b[0m",
    "'; DROP TABLE sessions; --",
    "\u202eright",
    "日本語のテキスト",
    "🧑‍🚀" * 40,
]


@pytest.mark.parametrize("text", HOSTILE, ids=ascii)
def test_hostile_texts_come_back_as_they_were(kept: Kept, text: str) -> None:
    session = kept.session((text, text))
    turn = kept.store.load(session).conversation.turns[0]
    assert (turn.prompt, turn.reply.text) == (text, text)
    assert kept.store.line(session).title
    assert kept.troubles == []


def test_files_and_folder_are_for_their_owner_alone(kept: Kept) -> None:
    kept.talk().ask("one", *said("first"))
    kept.recorders[0].flush()
    folder = kept.store.path.parent
    names = {file.name for file in folder.iterdir()}
    assert {"sessions.db", "sessions.db-wal", "sessions.db-shm"} <= names
    modes = {stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir()}
    assert modes == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_a_file_that_others_could_read_is_closed_to_them(path: Path) -> None:
    opened(path).close()
    path.chmod(0o644)
    path.parent.chmod(0o755)
    opened(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


def test_the_private_mode_has_the_recorder_s_methods_and_no_file() -> None:
    from specchat.storage.recorder import StoreRecorder

    asked = {name for name in vars(NullRecorder) if not name.startswith("_")}
    assert asked <= set(vars(StoreRecorder))


def test_terms_are_words_whatever_is_typed() -> None:
    assert terms_of('say "hello there" wor* -x:y) NEAR(') == [
        '"say"*', '"hello there"', '"wor*"*', '"-x:y)"*', '"NEAR("*',
    ]  # fmt: skip
    assert terms_of("!!! ?") == []


@pytest.mark.skipif(shutil.which("ps") is None, reason="this system has no ps")
def test_without_a_process_file_system_starts_are_asked_of_ps(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(owners, "_PROC", tmp_path)
    assert _start_of(os.getpid())
    assert _start_of(os.getpid()) == _start_of(os.getpid())
    assert not _start_of(2**22 + 5)
