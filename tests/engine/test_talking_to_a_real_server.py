"""Asking again and going on, on both vLLM versions: what the session's verbs make a real server do."""

import time
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path

import pytest

from examined import examined
from real_prompts import greedy
from specchat.backends.address import Address
from specchat.backends.openai_compatible import OpenAICompatibleBackend
from specchat.core.reply import Outcome
from specchat.session.chat import ChatSession
from specchat.session.ports import Sampling
from specchat_launcher import RunningServer, start_profile

pytestmark = pytest.mark.engine

PROMPT = "Name four fruits and say one thing about each."


@pytest.fixture(scope="module")
def server(newest_first: str, engine_root: Path) -> Iterator[RunningServer]:
    with start_profile("cpu-smollm2", root=engine_root, engine=newest_first, report=lambda _: None) as running:
        yield running


@pytest.fixture
async def session(server: RunningServer) -> AsyncGenerator[ChatSession, None]:
    backend = OpenAICompatibleBackend(Address.parse(server.url), clock=time.monotonic)
    yield ChatSession(backend, await backend.connect(), time.monotonic, sampling=greedy(20))
    await backend.close()


async def done(growth: AsyncGenerator[int, None]) -> None:
    async for _ in growth:
        pass


async def test_a_reply_cut_at_its_limit_and_continued_is_the_longer_reply(session: ChatSession) -> None:
    await done(session.ask(PROMPT))
    await done(session.go_on())
    first, more = session.conversation.turns
    assert (first.reply.finish_reason, more.reply.outcome, more.reply.error) == ("length", Outcome.FINISHED, None)
    assert more.reply.notes == [] or "anew" not in " ".join(more.reply.notes)
    joined = session.conversation.history()[-1][1]
    assert joined == first.reply.text + more.reply.text

    session.clear()
    session.sampling = greedy(40)
    await done(session.ask(PROMPT))
    whole = session.conversation.turns[0].reply.text
    # A cut may fall where the tokenizer would have joined, so only most of it must agree.
    shared = next((i for i, (a, b) in enumerate(zip(joined, whole, strict=False)) if a != b), len(joined))
    assert shared >= len(first.reply.text) + 20, (joined, whole)


async def test_a_continued_answer_is_one_message_for_the_next_prompt(session: ChatSession) -> None:
    await done(session.ask(PROMPT))
    await done(session.go_on())
    await done(session.ask("Which of them is yellow?"))
    assert [role for role, _ in session.conversation.history()] == ["user", "assistant", "user", "assistant"]
    assert session.conversation.turns[-1].reply.outcome is Outcome.FINISHED


async def test_a_greedy_reply_asked_again_is_the_same_and_a_changed_prompt_forgets_it(session: ChatSession) -> None:
    await done(session.ask(PROMPT))
    await done(session.regenerate())
    first, second = session.conversation.turns
    assert (first.replaced, second.replaced) == (True, False)
    assert second.reply.text == first.reply.text
    await done(session.resend(1, "Say hello."))
    assert [turn.replaced for turn in session.conversation.turns] == [True, True, False]
    assert session.conversation.history()[0] == ("user", "Say hello.")


async def test_every_parameter_is_taken_by_the_server(session: ChatSession) -> None:
    # Greedy: on a CPU, vLLM loses the temperature and top_k of a sampled request with speculation, and may end of it.
    session.sampling = Sampling(
        8, 0.0, 0.9, 1, ("zzz",), top_k=20, presence_penalty=0.1, frequency_penalty=0.1, repetition_penalty=1.05,
        thinking=False,
    )  # fmt: skip
    await done(session.ask(PROMPT))
    turn = session.conversation.turns[0]
    assert turn.reply.error is None
    assert not [note for note in turn.reply.notes if "refuses" in note]
    assert turn.request == session.sampling.given()


async def test_min_p_which_vllm_refuses_with_speculation_is_left_out_and_said(session: ChatSession) -> None:
    session.sampling = Sampling(4, 0.7, min_p=0.05)  # which greedy ignores
    await done(session.ask(PROMPT))
    reply = session.conversation.turns[0].reply
    assert (reply.error, reply.outcome) == (None, Outcome.FINISHED)
    assert any("refuses min_p" in note for note in reply.notes)


def test_a_server_of_the_speculating_profile_has_the_whole_hook(server: RunningServer) -> None:
    checks = examined(server.url)
    assert server.notices == ()
    assert checks["hook"]["state"] == "ok"
    assert "trace works, switch works" in checks["hook"]["evidence"]
    assert "eagle3, k = 3, from the hook" in checks["speculation"]["evidence"]
