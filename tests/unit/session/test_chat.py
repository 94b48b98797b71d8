"""One conversation with scripted servers."""

from collections.abc import Mapping, Sequence

import pytest

from fakes import FixedClock, Hang, ScriptedBackend
from specchat.core.counters import CounterReading, Verdict
from specchat.core.errors import ServerRefused
from specchat.core.events import ChunkArrived, SpeculationReported, StreamEnded
from specchat.core.reply import Outcome
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel, Origin
from specchat.session.chat import ChatSession
from specchat.session.ports import Message, Sampling

SERVER = ServerInfo("http://h:1", model="m", draft_length=3)
DONE = StreamEnded(9.0, done=True)


def chunk(text: str, *ids: int, at: float = 1.0, finish: str | None = None) -> ChunkArrived:
    return ChunkArrived(at, ((Channel.CONTENT, text),) if text else (), token_ids=ids, finish_reason=finish)


def session_of(backend: ScriptedBackend, **more: object) -> ChatSession:
    return ChatSession(backend, SERVER, FixedClock(), **more)  # type: ignore[arg-type]


async def asked(session: ChatSession, prompt: str = "hi") -> None:
    async for _ in session.ask(prompt):
        pass


async def test_a_reply_grows_and_ends_finished() -> None:
    session = session_of(ScriptedBackend([chunk("A", 1), chunk(" b c", 2, 3, finish="stop"), DONE]))
    seen = [session.conversation.turns[-1].reply.text async for _ in session.ask("hi")]
    reply = session.conversation.turns[-1].reply
    assert seen[0] == ""
    assert seen[-1] == "A b c"
    assert reply.outcome is Outcome.FINISHED
    assert session.current is None


async def test_texts_of_tokens_arrive_beside_the_stream() -> None:
    backend = ScriptedBackend(
        [chunk("A", 1), chunk(" b c", 2, 3, finish="stop"), DONE], pieces={1: "A", 2: " b", 3: " c"}
    )
    session = session_of(backend)
    await asked(session)
    assert [token.text for token in session.conversation.turns[-1].reply.tokens] == ["A", " b", " c"]


async def test_stopping_keeps_the_text_already_received() -> None:
    backend = ScriptedBackend([chunk("Hel", 1), Hang()])
    session = session_of(backend)
    async for _ in session.ask("hi"):
        if session.conversation.turns[-1].reply.text:
            session.stop()
    reply = session.conversation.turns[-1].reply
    assert (reply.text, reply.outcome, reply.error) == ("Hel", Outcome.STOPPED, None)
    assert backend.closed_streams == 1


async def test_stopping_before_the_first_byte_ends_the_request() -> None:
    backend = ScriptedBackend([Hang()])
    session = session_of(backend)
    async for _ in session.ask("hi"):
        session.stop()
    assert session.conversation.turns[-1].reply.outcome is Outcome.STOPPED


async def test_a_reader_that_goes_away_closes_the_request() -> None:
    backend = ScriptedBackend([chunk("Hel", 1), Hang()])
    session = session_of(backend)
    asking = session.ask("hi")
    while not session.conversation.turns or not session.conversation.turns[-1].reply.text:
        await anext(asking)
    await asking.aclose()
    assert backend.closed_streams == 1
    assert not session.conversation.turns[-1].reply.is_running


async def test_a_failure_keeps_what_came_and_the_next_prompt_works() -> None:
    backend = ScriptedBackend(
        [chunk("Half", 1), ServerRefused("No.", status=500)], [chunk("Whole", 2, finish="stop"), DONE]
    )
    session = session_of(backend)
    await asked(session)
    failed = session.conversation.turns[-1].reply
    assert (failed.text, failed.outcome, str(failed.error)) == ("Half", Outcome.FAILED, "No.")
    await asked(session, "again")
    assert session.conversation.turns[-1].reply.text == "Whole"


async def test_stopping_a_reply_that_nobody_waits_for_yet_stops_it() -> None:
    session = session_of(ScriptedBackend([chunk("Said", 1), DONE]))
    changes = session.ask("hi")
    session.stop()
    async for _ in changes:
        pass
    reply = session.conversation.turns[-1].reply
    assert (reply.text, reply.outcome) == ("", Outcome.STOPPED)
    await asked(session)
    assert session.conversation.turns[-1].reply.text == "Said"


async def test_a_stream_that_only_stops_coming_is_a_failure() -> None:
    session = session_of(ScriptedBackend([chunk("Half", 1), StreamEnded(2.0, done=False)]))
    await asked(session)
    reply = session.conversation.turns[-1].reply
    assert reply.outcome is Outcome.FAILED
    assert "ended before the reply did" in str(reply.error)


@pytest.mark.parametrize(("finish", "done"), [("stop", False), (None, True)])
async def test_a_finish_reason_or_done_is_an_end(finish: str | None, done: bool) -> None:
    session = session_of(ScriptedBackend([chunk("All", 1, finish=finish), StreamEnded(2.0, done=done)]))
    await asked(session)
    assert session.conversation.turns[-1].reply.outcome is Outcome.FINISHED


async def test_silence_beyond_the_limit_is_a_failure_that_keeps_the_text() -> None:
    session = session_of(ScriptedBackend([chunk("Half", 1), Hang()]))
    async for _ in session.ask("hi", idle_limit_seconds=0.05):
        pass
    reply = session.conversation.turns[-1].reply
    assert (reply.text, reply.outcome) == ("Half", Outcome.FAILED)
    assert "Nothing came" in str(reply.error)


async def test_history_holds_answers_without_thinking_and_leaves_out_turns_without_one() -> None:
    thinking = ChunkArrived(1.0, ((Channel.REASONING, "Hm."), (Channel.CONTENT, "Yes")), token_ids=(1,))
    backend = ScriptedBackend([thinking, DONE], [ServerRefused("No.")], [chunk("c", 1), DONE])
    session = session_of(backend, system="Be brief.")
    for prompt in ("one", "two", "three"):
        await asked(session, prompt)
    assert backend.requests[-1].messages == (
        Message("system", "Be brief."), Message("user", "one"), Message("assistant", "Yes"), Message("user", "three"),
    )  # fmt: skip
    session.clear()
    assert session.conversation.history() == [("system", "Be brief.")]


async def test_the_switch_sends_the_next_prompt_to_the_other_server() -> None:
    fast, slow = ScriptedBackend([chunk("fast", 1), DONE]), ScriptedBackend([chunk("slow", 1), DONE])
    session = session_of(fast, baseline=(slow, ServerInfo("http://h:2", draft_length=0)), sampling=Sampling(8))
    await asked(session)
    assert session.switch() is False
    await asked(session)
    assert [turn.reply.speculating for turn in session.conversation.turns] == [True, False]
    assert [turn.reply.text for turn in session.conversation.turns] == ["fast", "slow"]
    assert session.server.url == "http://h:2"
    assert session.conversation.turns[0].request == {"max_tokens": 8}


async def test_without_a_baseline_there_is_nothing_to_switch() -> None:
    session = session_of(ScriptedBackend([chunk("a", 1), DONE]))
    assert session.switch() is True
    await asked(session)
    assert session.conversation.turns[-1].reply.speculating is None


async def test_the_draft_length_that_a_report_tells_is_used_from_the_next_reply_on() -> None:
    report = SpeculationReported(1, 1, 3, 3, (1,), (3,), None, 2.0)
    backend = ScriptedBackend([chunk("A", 1), chunk("bc", 2, 3, finish="stop"), report, DONE])
    session = ChatSession(backend, ServerInfo("http://h:1", model="m"), FixedClock())
    await asked(session)
    assert session.server.draft_length == 3


class Counters:
    """Counters that move when the reply has ended, or one reading later."""

    def __init__(self, *readings: CounterReading | None) -> None:
        self.readings = list(readings)

    def __call__(self) -> CounterReading | None:
        return self.readings.pop(0) if len(self.readings) > 1 else self.readings[0]


def reading(drafts: int, accepted: int, generated: int) -> CounterReading:
    return CounterReading(drafts, drafts * 3, accepted, (), 0, 0, int(generated > 0), generated)


async def test_counters_that_lag_are_waited_for_and_settle_the_last_token() -> None:
    counters = Counters(reading(0, 0, 0), reading(0, 0, 0), reading(1, 2, 3))
    backend = ScriptedBackend([chunk("A", 1), chunk("bc", 2, 3, finish="length"), DONE], counters=counters)
    session = session_of(backend)
    await asked(session)
    reply = session.conversation.turns[-1].reply
    assert reply.check is not None
    assert (reply.check.verdict, reply.check.excess) == (Verdict.AGREES, 1)
    assert reply.tokens[-1].label.origin is Origin.ACCEPTED


async def test_where_others_are_served_too_nothing_is_waited_for() -> None:
    busy = CounterReading(5, 15, 5, (), running=1, waiting=0, finished=7, generated=90)
    seen = []

    def counters() -> CounterReading:
        seen.append(busy)
        return busy

    session = session_of(ScriptedBackend([chunk("A", 1, finish="stop"), DONE], counters=counters))
    await asked(session)
    check = session.conversation.turns[-1].reply.check
    assert check is not None
    assert check.verdict is Verdict.NOT_ALONE
    assert len(seen) == 2


async def test_without_counters_the_check_is_unavailable() -> None:
    session = session_of(ScriptedBackend([chunk("A", 1, finish="stop"), DONE]))
    await asked(session)
    check = session.conversation.turns[-1].reply.check
    assert check is not None
    assert check.verdict is Verdict.UNAVAILABLE


class SlowTokenizer(ScriptedBackend):
    """Tells texts of tokens only from the second question on."""

    def __init__(self, *scripts: Sequence[object]) -> None:
        super().__init__(*scripts)  # type: ignore[arg-type]
        self.questions = 0

    async def learn_pieces(
        self, ids: Sequence[int], runs: Sequence[tuple[int, ...]]
    ) -> tuple[Mapping[int, str], Mapping[tuple[int, ...], str]] | None:
        self.questions += 1
        whole = {(1, 2): "é", (1,): "\ufffd", (2,): "\ufffd"}
        return {i: whole[i,] for i in ids}, {run: whole[run] for run in runs}


async def test_a_character_of_two_tokens_is_asked_for_as_a_run() -> None:
    backend = SlowTokenizer([chunk("", 1), chunk("é", 2, finish="length"), DONE])
    session = session_of(backend)
    await asked(session)
    reply = session.conversation.turns[-1].reply
    assert [token.text for token in reply.tokens] == ["é", ""]
    assert reply.aligner.matches
    assert backend.questions >= 2
