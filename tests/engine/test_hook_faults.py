"""Readers, clients and versions that misbehave: the engine serves on, and specchat falls back and says so."""

import asyncio
import json
import time
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from specchat.backends.address import Address
from specchat.backends.openai_compatible import OpenAICompatibleBackend
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Evidence
from specchat.session.chat import ChatSession
from specchat.session.ports import Sampling
from traced_asking import Server, Wish, ask_all, mismatches
from watched_engine import MODEL, Watched, is_alive, watched

pytestmark = pytest.mark.engine


@pytest.fixture(scope="module")
def guarded(newest_first: str, engine_root: Path, tmp_path_factory: pytest.TempPathFactory) -> object:
    """An engine with an API key and room for long replies."""
    folder = tmp_path_factory.mktemp("guarded")
    with watched(newest_first, engine_root, folder, key="right") as running:
        yield running


@pytest.fixture
async def keyed(guarded: Watched) -> AsyncIterator[Server]:
    client = guarded.server("right")
    yield client
    await client.close()


def chat_body(prompt: str, tokens: int, key: str) -> dict[str, object]:
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": prompt}],
        "max_tokens": tokens,
        "temperature": 0,
        "ignore_eos": True,
        "vllm_xargs": {"specchat_trace": key},
    }


@pytest.mark.parametrize("sent", [None, "wrong"])
async def test_without_the_key_both_routes_answer_401(guarded: Watched, sent: str | None) -> None:
    client = guarded.server(sent)
    for path in ("/v1/specchat", f"/v1/specchat/trace/{uuid.uuid4().hex}"):
        assert (await client.client.get(client.url + path)).status_code == 401
    await client.close()


async def test_a_guessed_or_malformed_key_shows_nothing(keyed: Server) -> None:
    answer = await keyed.ask(Wish("Say hello.", 10))
    assert answer.rows
    short = await keyed.client.get(f"{keyed.url}/v1/specchat/trace/short")
    assert short.status_code == 404

    async def listen() -> None:
        async with keyed.client.stream("GET", f"{keyed.url}/v1/specchat/trace/{'0' * 32}", timeout=1.5) as stream:
            async for line in stream.aiter_lines():
                assert not line.startswith("data:")

    with pytest.raises(httpx2.ReadTimeout):
        await listen()


async def test_a_second_reader_of_a_trace_is_turned_away(keyed: Server) -> None:
    url = f"{keyed.url}/v1/specchat/trace/{uuid.uuid4().hex}"
    async with keyed.client.stream("GET", url) as first:
        assert first.status_code == 200
        assert (await keyed.client.get(url)).status_code == 409


async def test_a_key_in_use_is_not_taken_over_by_another_request(keyed: Server) -> None:
    key = uuid.uuid4().hex
    bodies = [chat_body("Count to fifty.", 60, key), chat_body("Name a colour.", 10, key)]
    first, second = await asyncio.gather(
        *(keyed.client.post(f"{keyed.url}/v1/chat/completions", json=body) for body in bodies)
    )
    assert first.status_code == second.status_code == 200
    steps = [step for event in (await read_trace(keyed, key))[:-1] for step in event["steps"]]
    assert [step["n"] for step in steps] == list(range(len(steps)))
    assert sum(len(step["emitted"]) for step in steps) in {60, 10}


async def read_trace(server: Server, key: str, start: int = 0) -> list[dict[str, Any]]:
    async with server.client.stream("GET", f"{server.url}/v1/specchat/trace/{key}?from={start}") as stream:
        return [json.loads(line[6:]) async for line in stream.aiter_lines() if line.startswith("data: {")]


async def test_a_trace_can_be_read_after_the_reply_and_gone_on_with_after_a_break(keyed: Server) -> None:
    key = uuid.uuid4().hex
    asking = asyncio.create_task(
        keyed.client.post(f"{keyed.url}/v1/chat/completions", json=chat_body("Count to fifty.", 60, key))
    )
    seen = 0
    async with keyed.client.stream("GET", f"{keyed.url}/v1/specchat/trace/{key}") as stream:
        async for line in stream.aiter_lines():
            if line.startswith("data: {"):
                seen += len(json.loads(line[6:])["steps"])
                break  # the reader hangs up in mid-reply
    await asking
    rest = await read_trace(keyed, key, seen)
    steps = [step for event in rest[:-1] for step in event["steps"]]
    assert steps[0]["n"] == seen
    assert rest[-1]["end"] == "length"
    assert rest[-1]["steps"] == seen + len(steps)


async def test_readers_who_are_slow_or_never_come_do_not_hold_up_the_server(keyed: Server) -> None:
    """Eight requests of which nobody reads the trace, or one byte a second, beside one that is read."""
    slow = [asyncio.create_task(trickle(keyed, uuid.uuid4().hex)) for _ in range(4)]
    answers = await ask_all(keyed, [Wish("Explain photosynthesis.", 60, traced=index == 0) for index in range(4)], 4)
    assert [text for answer in answers if answer.wish.traced for text in mismatches(answer, None)] == []
    assert all(len(answer.ids) > 10 for answer in answers)
    for task in slow:
        task.cancel()
    await asyncio.gather(*slow, return_exceptions=True)


async def trickle(server: Server, key: str) -> None:
    """Ask for much, and read its trace a byte a second."""
    url = httpx2.URL(server.url)
    asking = asyncio.create_task(
        server.client.post(f"{server.url}/v1/chat/completions", json=chat_body("Tell a story.", 150, key))
    )
    reader, writer = await asyncio.open_connection(url.host, url.port or 80, limit=64)
    head = f"GET /v1/specchat/trace/{key} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer right\r\n\r\n"
    writer.write(head.encode())
    try:
        while True:
            await reader.read(1)
            await asyncio.sleep(1)
    finally:
        writer.close()
        asking.cancel()


async def test_a_reply_of_many_tokens_is_traced_to_its_end(keyed: Server) -> None:
    answer = await keyed.ask(Wish("Count.", 1900, body={"ignore_eos": True}))
    assert len(answer.ids) == 1900
    assert mismatches(answer, None) == []


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_a_reply_of_ten_thousand_tokens_is_traced_to_its_end(
    engine_version: str, engine_root: Path, tmp_path: Path
) -> None:
    longer = {"VLLM_ALLOW_LONG_MAX_MODEL_LEN": "1"}
    with watched(
        engine_version, engine_root, tmp_path, environment=longer, flags=("--max-model-len", "12288")
    ) as engine:
        server = engine.server()
        answer = await server.ask(Wish("Count.", 10_000, body={"ignore_eos": True}))
        await server.close()
    assert len(answer.ids) == 10_000
    assert mismatches(answer, None) == []
    # Past the context of the draft vLLM asks it no more, and proposes token 0: the witness has nothing of those steps.
    (seen,) = (drafts for name, drafts in engine.witness.drafts().items() if name.startswith(answer.request_id))
    proposed = [row["proposed"] for row in answer.rows[1:]]
    assert proposed[: len(seen)] == [one[: len(row)] for one, row in zip(seen, proposed, strict=False)]
    assert {token for row in proposed[len(seen) :] for token in row} <= {0}
    print("LONG", engine_version, len(answer.rows), len(seen), answer.end)


async def replied(url: str, prompt: str, tokens: int = 40) -> Reply:
    backend = OpenAICompatibleBackend(Address.parse(url), clock=time.monotonic)
    session = ChatSession(backend, await backend.connect(), time.monotonic, sampling=Sampling(tokens, 0.0))
    async for _ in session.ask(prompt):
        pass
    await backend.close()
    return session.conversation.turns[-1].reply


@pytest.mark.parametrize(
    ("doctored", "part"),
    [
        ("vllm.v1.core.sched.scheduler:Scheduler:update_from_output", "the scheduler"),
        ("vllm.v1.worker.gpu_model_runner:GPUModelRunner:_sample", "model runner V1"),
    ],
)
async def test_a_version_that_nobody_knows_serves_on_and_the_app_says_what_is_missing(
    engine_root: Path, tmp_path: Path, doctored: str, part: str
) -> None:
    with watched("0.32.0", engine_root, tmp_path, environment={"WITNESS_DOCTOR": doctored}) as engine:
        server = engine.server()
        status = await server.status()
        assert not status["trace"]
        assert any(part in problem for problem in status["problems"])
        reply = await replied(engine.running.url, "Say hello in three languages.")
        assert reply.outcome is Outcome.FINISHED
        assert reply.sources.evidence is Evidence.REPORTED
        assert engine.log().count("specchat: the hook is off in") == 1
        await server.close()


async def test_killing_an_engine_in_mid_reply_ends_its_trace_and_a_new_one_starts_clean(
    engine_root: Path, tmp_path: Path
) -> None:
    with watched("0.32.0", engine_root, tmp_path) as engine:
        server, key = engine.server(), uuid.uuid4().hex
        asking = asyncio.create_task(
            server.client.post(f"{server.url}/v1/chat/completions", json=chat_body("Tell a story.", 800, key))
        )
        reading = asyncio.create_task(read_trace(server, key))
        await asyncio.sleep(3)
        await asyncio.to_thread(engine.running.stop)
        results = await asyncio.gather(asking, reading, return_exceptions=True)
        assert any(isinstance(result, (httpx2.HTTPError, httpx2.Response)) for result in results)
        assert not is_alive(engine.running.pid)
        await server.close()
