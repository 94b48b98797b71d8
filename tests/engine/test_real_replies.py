"""Attribution on real servers: both vLLM versions, every kind of text and every way to end."""

import asyncio
import os
import shlex
import signal
import statistics
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import pytest

from examined import examined
from real_prompts import CASES, SHORT, Case, greedy
from specchat.backends.address import Address
from specchat.backends.openai_compatible import OpenAICompatibleBackend
from specchat.core.counters import CounterReading, Verdict
from specchat.core.events import ChunkArrived, Event, StepsTraced, TraceEnded
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel, Evidence, Origin
from specchat.session.chat import ChatSession
from specchat.session.ports import ChatRequest
from specchat_launcher import RunningServer, start_profile

pytestmark = pytest.mark.engine


class Recording:
    """The real backend, with a record of the text that came through it."""

    def __init__(self, inner: OpenAICompatibleBackend) -> None:
        self._inner = inner
        self.content = ""

    async def connect(self) -> ServerInfo:
        return await self._inner.connect()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Event, None]:
        self.content = ""
        async with aclosing(self._inner.stream(request)) as events:
            async for event in events:
                if isinstance(event, ChunkArrived):
                    self.content += "".join(text for channel, text in event.spans if channel is Channel.CONTENT)
                yield event

    def trace(self, key: str) -> AsyncGenerator[StepsTraced | TraceEnded, None]:
        return self._inner.trace(key)

    async def read_counters(self) -> CounterReading | None:
        return await self._inner.read_counters()

    async def learn_pieces(
        self, ids: Sequence[int], runs: Sequence[tuple[int, ...]]
    ) -> tuple[Mapping[int, str], Mapping[tuple[int, ...], str]] | None:
        return await self._inner.learn_pieces(ids, runs)

    async def close(self) -> None:
        await self._inner.close()


@pytest.fixture(scope="module")
def server(engine_version: str, engine_root: Path) -> Iterator[RunningServer]:
    # As vLLM ships it: what the hook adds has tests of its own.
    with start_profile(
        "cpu-smollm2", root=engine_root, engine=engine_version, hook=False, report=lambda _: None
    ) as running:
        yield running


@pytest.fixture
async def recording(server: RunningServer) -> AsyncGenerator[Recording, None]:
    backend = Recording(OpenAICompatibleBackend(Address.parse(server.url), clock=time.monotonic))
    yield backend
    await backend.close()


async def replied(recording: Recording, case: Case) -> Reply:
    session = ChatSession(recording, await recording.connect(), time.monotonic, sampling=case.sampling)
    async for _ in session.ask(case.prompt):
        reply = session.conversation.turns[-1].reply
        if case.stop_after is not None and reply.is_running and (reply.output_tokens or 0) >= case.stop_after:
            session.stop()
    return session.conversation.turns[-1].reply


async def replied_without_merge(recording: Recording, case: Case) -> Reply:
    """A reply whose chunks were steps. A loaded machine makes the server merge some; then no figure may stand."""
    for _ in range(4):
        reply = await replied(recording, case)
        if reply.check is None or reply.check.verdict is not Verdict.DIFFERS:
            break
        assert reply.check.drafts is not None
        assert reply.check.drafts > sum(step.is_drafted for step in reply.live.steps)
        assert reply.steps_are_reported or figures_of(reply).acceptance_length is None
    return reply


def check_reply(reply: Reply, recording: Recording, case: Case, version: str) -> None:
    assert reply.error is None, reply.error
    assert reply.text == recording.content == "".join(t.text for t in reply.tokens if t.channel is Channel.CONTENT)
    assert reply.aligner.matches, reply.notes
    assert reply.aligner.by_token
    assert all(token.id is not None for token in reply.tokens)
    figures = figures_of(reply)
    ended_by_engine = reply.ended_by_engine
    assert (reply.outcome is Outcome.STOPPED) == (case.stop_after is not None and reply.finish_reason is None)
    if version.startswith("0.32") and ended_by_engine and (reply.output_tokens or 0) > 1:
        assert reply.reported is not None
        assert reply.steps_are_reported, reply.notes
        assert {token.label.evidence for token in reply.tokens} == {Evidence.REPORTED}
        assert Origin.UNKNOWN not in {token.label.origin for token in reply.tokens}
        assert figures.acceptance_length == reply.reported.mean_acceptance_length
        assert sum(step.emitted for step in reply.steps) == (reply.output_tokens or 0) - 1
    else:
        assert {token.label.evidence for token in reply.tokens} <= {Evidence.INFERRED, Evidence.NONE}
    assert reply.check is not None
    if ended_by_engine:
        assert reply.check.verdict is Verdict.AGREES, reply.check
        drafted = [step for step in reply.live.steps if step.is_drafted]
        assert reply.check.drafts == len(drafted)
        assert reply.check.drafted == sum(step.drafted or 0 for step in drafted)
        assert 0 <= (reply.check.excess or 0) <= 3
    else:
        assert reply.check.verdict in {Verdict.AGREES, Verdict.NOT_COMPARABLE}, reply.check


@pytest.mark.parametrize("case", SHORT, ids=lambda case: case.name)
async def test_pieces_join_and_steps_close_on_a_real_server(
    case: Case, recording: Recording, engine_version: str
) -> None:
    check_reply(await replied_without_merge(recording, case), recording, case, engine_version)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
async def test_pieces_join_and_steps_close_for_thirty_varied_prompts(
    case: Case, recording: Recording, engine_version: str
) -> None:
    check_reply(await replied_without_merge(recording, case), recording, case, engine_version)


async def test_the_decode_rate_agrees_with_the_server_s_own_within_two_percent(recording: Recording) -> None:
    ratios = []
    for prompt in ("Give three tips for sleeping well.", "Write HTML for a login form.", "Explain photosynthesis."):
        reply = await replied(recording, Case(prompt, greedy(200)))
        rate = figures_of(reply).tokens_per_second
        assert reply.output_tokens is not None
        assert reply.output_tokens >= 100
        assert reply.server_timing is not None
        assert reply.server_timing.mean_itl_ms is not None
        assert rate is not None
        ratios.append(rate / (1000 / reply.server_timing.mean_itl_ms))
    assert statistics.median(ratios) == pytest.approx(1, abs=0.02), ratios


async def test_two_clients_at_once_claim_no_more_than_they_know(recording: Recording, server: RunningServer) -> None:
    other = Recording(OpenAICompatibleBackend(Address.parse(server.url), clock=time.monotonic))
    try:
        replies = await asyncio.gather(
            replied(recording, Case("Explain what a compiler does.", greedy(120))),
            replied(other, Case("Tell me about the moon.", greedy(120))),
        )
    finally:
        await other.close()
    for reply in replies:
        assert reply.check is not None
        assert reply.check.verdict is Verdict.NOT_ALONE
        figures = figures_of(reply)
        if reply.reported is None:
            assert figures.evidence["acceptance_length"] in {"inferred", "none"}
        else:
            assert reply.steps_are_reported
            assert figures.acceptance_length == reply.reported.mean_acceptance_length


async def test_a_front_end_that_stands_still_merges_chunks_and_this_is_noticed(
    recording: Recording, server: RunningServer
) -> None:
    session = ChatSession(recording, await recording.connect(), time.monotonic, sampling=greedy(160))
    stood_still = False
    async for _ in session.ask("Write a Python function that sorts a list, and explain it."):
        reply = session.conversation.turns[-1].reply
        if not stood_still and (reply.output_tokens or 0) >= 30:
            stood_still = True
            os.kill(server.pid, signal.SIGSTOP)
            await asyncio.sleep(0.4)
            os.kill(server.pid, signal.SIGCONT)
    reply = session.conversation.turns[-1].reply
    figures = figures_of(reply)
    assert stood_still
    assert reply.check is not None
    assert reply.live.merges_proven or reply.check.verdict is Verdict.DIFFERS
    if reply.reported is not None:
        assert reply.steps_are_reported
        assert figures.acceptance_length == reply.reported.mean_acceptance_length
        assert figures.live_guess_accuracy is not None
        assert figures.live_guess_accuracy < 1
    else:
        assert figures.acceptance_length is None
        assert figures.evidence["acceptance_length"] == "none"
        assert reply.check.verdict is Verdict.DIFFERS


def test_a_server_without_the_hook_has_none_of_its_routes(server: RunningServer) -> None:
    checks = examined(server.url)
    assert checks["hook"]["state"] == "missing"
    assert "404" in checks["hook"]["evidence"]
    lines = checks["hook"]["advice"][0]["lines"]
    assert [shlex.split(line)[0] for line in lines] == ["export", "export"]
    assert "k = 3, from its counters" in checks["speculation"]["evidence"]
