"""Speculation switched per prompt: by the hook, by the second server, or not at all."""

import asyncio
import time
from collections.abc import AsyncGenerator, Callable

import pytest

from fakes import FixedClock, Hang, Pause, Scripted, ScriptedBackend, server_info
from replies import chunk
from specchat.core.errors import CannotSwitch
from specchat.core.events import StepsTraced, StreamEnded, SwitchRefused, TraceEnded
from specchat.core.reply import Outcome
from specchat.core.server import Hook, ServerInfo
from specchat.core.switching import Speculation, Way
from specchat.session.chat import ChatSession
from traces import PREFILL, row, traced

HOOKED = server_info(hook=Hook(trace=True, switch=True, draft_length=3))
DONE = StreamEnded(9.0, done=True)
SCRIPT: list[Scripted] = [chunk(1.0, "A", 1000), chunk(2.0, "bcd", 2, 3, 4, finish_reason="stop"), DONE]
TRACE: list[Scripted] = [traced(PREFILL, row(1, (2, 3, 9), (2, 3, 4))), TraceEnded("stop")]
SECOND = ServerInfo("http://h:2", model="m", draft_length=0)


def session_of(
    backend: ScriptedBackend, server: ServerInfo = HOOKED, *, second: ScriptedBackend | None = None
) -> ChatSession:
    keys = iter(f"key-{number}" for number in range(99))
    baseline = None if second is None else (second, SECOND)
    return ChatSession(backend, server, FixedClock(), baseline=baseline, new_key=lambda: next(keys))


async def asked(session: ChatSession) -> None:
    async for _ in session.ask("hi"):
        pass


def test_the_hook_is_the_first_way_and_the_second_server_the_other() -> None:
    plain = server_info()
    assert session_of(ScriptedBackend()).ways() == (Way.HOOK,)
    assert session_of(ScriptedBackend(), second=ScriptedBackend()).ways() == (Way.HOOK, Way.SERVER)
    assert session_of(ScriptedBackend(), plain, second=ScriptedBackend()).ways() == (Way.SERVER,)
    assert session_of(ScriptedBackend(), plain).ways() == ()


@pytest.mark.parametrize(
    ("limit", "chosen"),
    [
        (None, Speculation()), (0, Speculation(0, Way.HOOK)), (2, Speculation(2, Way.HOOK)),
        (3, Speculation()), (9, Speculation()),
    ],
)  # fmt: skip
def test_a_limit_of_k_or_more_is_what_the_server_does_by_itself(limit: int | None, chosen: Speculation) -> None:
    session = session_of(ScriptedBackend())
    assert session.set_speculation(limit) == chosen == session.speculation
    assert session.speculating is (limit != 0)


def test_a_way_can_be_insisted_on() -> None:
    session = session_of(ScriptedBackend(), second=ScriptedBackend())
    assert session.set_speculation(0, Way.SERVER) == Speculation(0, Way.SERVER)
    assert session.server is SECOND
    assert session.set_speculation(0).way is Way.HOOK
    assert session.server is HOOKED


@pytest.mark.parametrize(
    ("server", "second", "limit", "way", "words"),
    [
        (server_info(), False, 0, None, ("no specchat hook", "--baseline-url", "operators.md")),
        (server_info(), False, 1, None, ("no specchat hook", "At most 1 proposals a step needs the hook")),
        (server_info(), True, 1, None, ("only be off, on the second server", "operators.md")),
        (server_info(), True, 0, Way.HOOK, ("no specchat hook",)),
        (HOOKED, False, 0, Way.SERVER, ("no second server", "--baseline-url")),
        (server_info(draft_length=0), False, 0, None, ("does not speculate",)),
        (server_info(hook=Hook(trace=True, switch=False, problems=("Old runner.",))), False, 0, None, ("Old runner",)),
        (HOOKED, False, -1, None, ("-1 proposals",)),
    ],
)
def test_what_is_impossible_is_a_sentence_that_says_what_is_possible(
    server: ServerInfo, second: bool, limit: int, way: Way | None, words: tuple[str, ...]
) -> None:
    session = session_of(ScriptedBackend(), server, second=ScriptedBackend() if second else None)
    with pytest.raises(CannotSwitch) as caught:
        session.set_speculation(limit, way)
    assert all(word in str(caught.value) for word in words), caught.value
    assert session.speculation == Speculation()


def test_on_is_always_possible() -> None:
    assert session_of(ScriptedBackend(), server_info()).set_speculation(None) == Speculation()


async def test_the_key_that_toggles_takes_the_hook_and_asks_the_same_server() -> None:
    backend = ScriptedBackend(SCRIPT, traces=[TRACE])
    session = session_of(backend)
    assert session.switch() is False
    await asked(session)
    assert session.switch() is True
    await asked(session)
    assert [request.limit for request in backend.requests] == [0, None]
    assert [turn.reply.speculating for turn in session.conversation.turns] == [False, True]


async def test_every_way_to_ask_again_takes_the_switch_as_it_stands_now() -> None:
    backend = ScriptedBackend(SCRIPT, traces=[TRACE])
    session = session_of(backend)
    await asked(session)
    session.set_speculation(0)
    ways: list[Callable[[], AsyncGenerator[int, None]]]
    ways = [session.regenerate, session.go_on, lambda: session.resend(0, "other")]
    for again in ways:
        async for _ in again():
            session.set_speculation(1)  # what is switched meanwhile is for the next one
        session.set_speculation(0)
    assert [request.limit for request in backend.requests] == [None, 0, 0, 0]
    assert [turn.reply.speculation.limit for turn in session.conversation.turns] == [None, 0, 0, 0]


async def test_the_second_server_gets_no_wishes_for_a_hook() -> None:
    second = ScriptedBackend(SCRIPT)
    session = session_of(ScriptedBackend(SCRIPT), second=second)
    session.set_speculation(0, Way.SERVER)
    await asked(session)
    assert (second.requests[0].limit, second.requests[0].trace_key) == (None, None)
    turn = session.conversation.turns[-1]
    assert (turn.server, turn.reply.speculation.way, turn.reply.speculating) == (SECOND, Way.SERVER, False)


async def test_each_reply_is_traced_by_a_new_key() -> None:
    backend = ScriptedBackend(SCRIPT, traces=[TRACE])
    session = session_of(backend)
    await asked(session)
    await asked(session)
    assert backend.trace_keys == [request.trace_key for request in backend.requests] == ["key-0", "key-1"]
    assert all(turn.reply.is_traced for turn in session.conversation.turns)


async def test_a_reply_that_ends_at_once_does_not_wait_for_a_trace_that_has_ended() -> None:
    session = session_of(ScriptedBackend(SCRIPT, traces=[[TraceEnded(None, "It is lost.")]]))
    started = time.monotonic()
    await asked(session)
    assert time.monotonic() - started < 0.5
    assert "It is lost." in session.conversation.turns[-1].reply.notes


async def test_a_trace_that_stops_without_an_end_is_said_to_be_missing() -> None:
    session = session_of(ScriptedBackend(SCRIPT, traces=[[]]))
    await asked(session)
    reply = session.conversation.turns[-1].reply
    assert reply.outcome is Outcome.FINISHED
    assert any("trace of this reply is missing" in note for note in reply.notes)


async def test_a_whole_trace_without_its_end_needs_no_words() -> None:
    session = session_of(ScriptedBackend(SCRIPT, traces=[[TRACE[0], Hang()]]))
    await asked(session)
    reply = session.conversation.turns[-1].reply
    assert reply.is_traced
    assert reply.notes == []


async def test_a_reply_that_was_refused_waits_for_no_trace() -> None:
    took = []
    for _ in range(3):
        session = session_of(ScriptedBackend([StreamEnded(1.0, done=False)], traces=[[Hang()]]))
        started = time.monotonic()
        await asked(session)
        took.append(time.monotonic() - started)
        reply = session.conversation.turns[-1].reply
    assert min(took) < 0.25  # a busy machine may hold up one of them
    assert (reply.outcome, reply.notes) == (Outcome.FAILED, [])


async def test_a_stop_while_the_trace_hangs_ends_the_reply_soon() -> None:
    session = session_of(ScriptedBackend([chunk(1.0, "Hel", 1000), Hang()], traces=[[Hang()]]))
    started = time.monotonic()
    async for _ in session.ask("hi"):
        if session.conversation.turns[-1].reply.text:
            session.stop()
    assert time.monotonic() - started < 0.9
    assert session.conversation.turns[-1].reply.outcome is Outcome.STOPPED


async def test_a_reader_that_goes_away_closes_the_trace_too() -> None:
    closed: list[str] = []

    class Watched(ScriptedBackend):
        async def trace(self, key: str) -> AsyncGenerator[StepsTraced | TraceEnded, None]:
            try:
                yield traced(PREFILL)
                await asyncio.sleep(60)
            finally:
                closed.append(key)

    session = session_of(Watched([chunk(1.0, "Hel", 1000), Hang()]))
    asking = session.ask("hi")
    while not session.conversation.turns or not session.conversation.turns[-1].reply.is_traced:
        await anext(asking)
    await asking.aclose()
    assert closed == ["key-0"]
    assert not session.conversation.turns[-1].reply.is_running


async def test_a_trace_in_the_middle_of_a_slow_stream_is_shown_as_it_comes() -> None:
    slow: list[Scripted] = [chunk(1.0, "A", 1000), chunk(2.0, "bcd", 2, 3, 4), Pause(1), Hang()]
    session = session_of(ScriptedBackend(slow, traces=[TRACE]))
    async for _ in session.ask("hi"):
        if [step.rejected for step in session.conversation.turns[-1].reply.steps] == [(9,)]:
            session.stop()
    assert session.conversation.turns[-1].reply.is_traced


async def test_a_limit_that_was_refused_is_not_shown_as_one() -> None:
    refused = SwitchRefused("speculation was not switched")
    session = session_of(ScriptedBackend([refused, TraceEnded(None), *SCRIPT], traces=[[Hang()]]))
    session.set_speculation(0)
    await asked(session)
    reply = session.conversation.turns[-1].reply
    assert (reply.speculation, reply.speculating) == (Speculation(), None)
    assert "speculation was not switched" in reply.notes


async def test_the_counters_of_the_server_that_is_asked_are_read() -> None:
    session = session_of(ScriptedBackend(counters=lambda: None), second=ScriptedBackend())
    session.set_speculation(0)
    assert session.server is HOOKED
    assert await session.read_counters(speculating=False) is None
