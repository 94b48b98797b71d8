"""Asking again, sending anew and going on: nothing received is lost, and the server hears of what holds now."""

from functools import partial

import pytest

from fakes import FixedClock, Hang, Scripted, ScriptedBackend
from specchat.core.errors import FieldRefused, NothingToRepeat
from specchat.core.events import ChunkArrived, StreamEnded, ToolCallPart
from specchat.core.reply import Outcome
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel
from specchat.session.chat import ChatSession
from specchat.session.ports import Message, Sampling

SERVER = ServerInfo("http://h:1", "0.32.0", model="m", draft_length=3)


def says(text: str, channel: Channel = Channel.CONTENT) -> list[Scripted]:
    chunk = ChunkArrived(1.0, ((channel, text),), token_ids=(1, 2), finish_reason="length")
    return [chunk, StreamEnded(9.0, done=True)]


def session_of(*scripts: list[Scripted], server: ServerInfo = SERVER) -> tuple[ChatSession, ScriptedBackend]:
    backend = ScriptedBackend(*scripts)
    return ChatSession(backend, server, FixedClock()), backend


async def ask(session: ChatSession, *prompts: str) -> None:
    for prompt in prompts:
        async for _ in session.ask(prompt):
            pass


async def regenerate(session: ChatSession) -> None:
    async for _ in session.regenerate():
        pass


async def go_on(session: ChatSession) -> None:
    async for _ in session.go_on():
        pass


def said_to(backend: ScriptedBackend) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in backend.requests[-1].messages]


async def test_a_regenerated_reply_stays_and_the_server_hears_only_of_the_new_one() -> None:
    session, backend = session_of(says("one"), says("bad"), says("good"), says("end"))
    await ask(session, "1", "2")
    await regenerate(session)
    assert said_to(backend) == [("user", "1"), ("assistant", "one"), ("user", "2")]
    await ask(session, "3")
    assert said_to(backend)[2:] == [("user", "2"), ("assistant", "good"), ("user", "3")]
    turns = session.conversation.turns
    assert [(turn.reply.text, turn.replaced) for turn in turns] == [
        ("one", False), ("bad", True), ("good", False), ("end", False),
    ]  # fmt: skip


async def test_a_reply_can_be_regenerated_again_and_again() -> None:
    session, backend = session_of(says("a"), says("b"), says("c"))
    await ask(session, "1")
    await regenerate(session)
    await regenerate(session)
    assert said_to(backend) == [("user", "1")]
    assert [turn.replaced for turn in session.conversation.turns] == [True, True, False]


async def test_regenerating_replaces_a_reply_with_all_that_continues_it() -> None:
    session, backend = session_of(says("a"), says("b"), says("c"))
    await ask(session, "1")
    await go_on(session)
    await regenerate(session)
    assert said_to(backend) == [("user", "1")]
    assert [turn.replaced for turn in session.conversation.turns] == [True, True, False]
    assert session.conversation.turns[-1].prompt == "1"


async def test_an_earlier_prompt_sent_anew_replaces_all_that_came_after_it() -> None:
    session, backend = session_of(says("a"), says("b"), says("c"), says("d"))
    await ask(session, "1", "2", "3")
    async for _ in session.resend(1, "two"):
        pass
    assert said_to(backend) == [("user", "1"), ("assistant", "a"), ("user", "two")]
    assert [turn.replaced for turn in session.conversation.turns] == [False, True, True, False]
    assert session.conversation.turns[-1].prompt == "two"


async def test_sending_anew_from_a_continuation_replaces_the_reply_it_continues() -> None:
    session, backend = session_of(says("a"), says("b"), says("c"))
    await ask(session, "1")
    await go_on(session)
    async for _ in session.resend(1, "one"):
        pass
    assert said_to(backend) == [("user", "one")]


async def test_a_stopped_reply_goes_on_where_it_ended_and_is_one_message_from_then_on() -> None:
    session, backend = session_of([says("Hel")[0], Hang()], says("lo"), says("!"), says("Bye"))
    backend.scripts[0][0] = ChunkArrived(1.0, ((Channel.CONTENT, "Hel"),), token_ids=(1,))  # type: ignore[index]
    async for _ in session.ask("Say hello"):
        if session.conversation.turns[-1].reply.text:
            session.stop()
    await go_on(session)
    assert said_to(backend) == [("user", "Say hello"), ("assistant", "Hel")]
    await go_on(session)
    assert said_to(backend)[-1] == ("assistant", "Hello")
    await ask(session, "And now?")
    assert [request.continues for request in backend.requests] == [False, True, True, False]
    assert said_to(backend) == [("user", "Say hello"), ("assistant", "Hello!"), ("user", "And now?")]
    turns = session.conversation.turns
    assert [(turn.prompt, turn.continues) for turn in turns] == [
        ("Say hello", False), ("", True), ("", True), ("And now?", False),
    ]  # fmt: skip
    assert turns[0].reply.outcome is Outcome.STOPPED


async def test_a_server_that_refuses_to_continue_is_told_in_a_sentence_and_nothing_is_lost() -> None:
    refusal = FieldRefused("The server refuses x.", status=400, fields=("continue_final_message",))
    session, backend = session_of(says("Half"), [refusal], says("more"))
    await ask(session, "1")
    await go_on(session)
    failed = session.conversation.turns[-1].reply
    assert failed.outcome is Outcome.FAILED
    assert "cannot continue a reply" in str(failed.error)
    assert "/regenerate" in str(failed.error)
    assert session.conversation.history() == [("user", "1"), ("assistant", "Half")]
    await go_on(session)
    assert said_to(backend) == [("user", "1"), ("assistant", "Half")]


async def test_another_failure_of_a_continuation_keeps_its_own_words() -> None:
    session, _ = session_of(says("Half"), [FieldRefused("No seed.", fields=("seed",))])
    await ask(session, "1")
    await go_on(session)
    assert str(session.conversation.turns[-1].reply.error) == "No seed."


async def test_a_server_that_begins_anew_is_caught() -> None:
    session, _ = session_of(says("Once upon a time there was a"), says("Once upon a time there was a cat."))
    await ask(session, "1")
    await go_on(session)
    assert any("began its answer anew" in note for note in session.conversation.turns[-1].reply.notes)


async def test_where_the_server_may_not_know_how_to_continue_it_is_said() -> None:
    session, _ = session_of(says("a"), says("b"), server=ServerInfo("http://h:1"))
    await ask(session, "1")
    await go_on(session)
    assert any("may ignore the wish" in note for note in session.conversation.turns[-1].reply.notes)


async def test_a_server_known_to_continue_gets_no_note() -> None:
    session, _ = session_of(says("a"), says("b"))
    await ask(session, "1")
    await go_on(session)
    assert not any("anew" in note for note in session.conversation.turns[-1].reply.notes)


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (says("Hm", Channel.REASONING), "while it was thinking"),
        ([ChunkArrived(1.0, tool_calls=(ToolCallPart(0, "f", "{}"),)), StreamEnded(2.0, done=True)], "calls a tool"),
        (says("  "), "no text to continue"),
    ],
)
async def test_what_cannot_be_continued_is_said_and_changes_nothing(script: list[Scripted], words: str) -> None:
    session, backend = session_of(script)
    await ask(session, "1")
    with pytest.raises(NothingToRepeat, match=words):
        session.go_on()
    assert len(session.conversation.turns) == len(backend.requests) == 1


async def test_without_a_reply_there_is_nothing_to_repeat() -> None:
    session, _ = session_of(says("a"))
    for verb in (session.regenerate, session.go_on, partial(session.resend, 0, "x")):
        with pytest.raises(NothingToRepeat, match="Ask something first"):
            verb()


async def test_while_a_reply_runs_nothing_is_replaced() -> None:
    session, _ = session_of([says("a")[0], Hang()])
    growth = session.ask("1")
    await anext(growth)
    for verb in (session.regenerate, session.go_on, partial(session.resend, 0, "x")):
        with pytest.raises(NothingToRepeat, match="A reply is running"):
            verb()
    assert not session.conversation.turns[0].replaced
    await growth.aclose()
    assert session.conversation.turns[0].reply.outcome is Outcome.STOPPED


async def test_while_the_figures_of_a_reply_are_checked_it_is_not_replaced_either() -> None:
    session, _ = session_of(says("a"))
    growth = session.ask("1")
    async for _ in growth:
        if not session.conversation.turns[0].reply.is_running:
            with pytest.raises(NothingToRepeat, match="A reply is running"):
                session.regenerate()
            break
    await growth.aclose()
    assert session.current is None
    await regenerate(session)


async def test_a_prompt_that_failed_can_be_regenerated() -> None:
    session, backend = session_of([FieldRefused("No.")], says("Yes"))
    await ask(session, "1")
    await regenerate(session)
    assert said_to(backend) == [("user", "1")]
    assert session.conversation.turns[-1].reply.text == "Yes"


async def test_all_parameters_that_are_set_are_kept_with_the_turn() -> None:
    session, backend = session_of(says("a"))
    session.sampling = Sampling(stop=("END",), top_k=5, repetition_penalty=1.1, thinking=False)
    await ask(session, "1")
    kept = {"stop": ["END"], "top_k": 5, "repetition_penalty": 1.1, "thinking": False}
    assert session.conversation.turns[0].request == kept
    assert backend.requests[0].messages == (Message("user", "1"),)
