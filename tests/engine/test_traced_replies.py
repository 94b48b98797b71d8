"""The app's own session on a real engine with the hook: replies are traced, and each message is switched by itself."""

import time

import pytest

from specchat.backends.address import Address
from specchat.backends.openai_compatible import OpenAICompatibleBackend
from specchat.core.counters import Verdict
from specchat.core.reply import Reply
from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Evidence, Origin
from specchat.core.switch_meaning import meaning_of
from specchat.session.chat import ChatSession
from specchat.session.ports import Sampling
from watched_engine import Watched

pytestmark = pytest.mark.engine


async def replies(hooked: Watched, *limits: int | None, prompt: str, sampling: Sampling) -> list[tuple[Reply, str]]:
    """One reply for each limit, with the sentence on what switching meant."""
    backend = OpenAICompatibleBackend(Address.parse(hooked.running.url), clock=time.monotonic)
    session = ChatSession(backend, await backend.connect(), time.monotonic, sampling=sampling)
    assert session.server.gaps == ()
    found = []
    for limit in limits:
        session.clear()
        session.set_speculation(limit)
        async for _ in session.ask(prompt):
            pass
        turn = session.conversation.turns[-1]
        meaning = meaning_of(turn.reply, turn.server)
        found.append((turn.reply, "" if meaning is None else meaning.sentence))
    await backend.close()
    return found


@pytest.mark.parametrize(
    "sampling", [Sampling(70, 0.0), Sampling(200, 0.0), Sampling(120, 0.0, stop=(".",))], ids=["length", "eos", "stop"]
)
async def test_a_reply_is_traced_to_its_end_and_the_counters_agree(hooked: Watched, sampling: Sampling) -> None:
    [(reply, _)] = await replies(hooked, None, prompt="What is 17 times 6? Show your reasoning.", sampling=sampling)
    assert reply.is_traced, reply.notes
    assert {token.label.evidence for token in reply.tokens} == {Evidence.TRACED}
    assert Origin.UNKNOWN not in {token.label.origin for token in reply.tokens}
    assert figures_of(reply).evidence["acceptance_length"] == "traced"
    assert reply.check is not None
    # After a stop string the engine may do another step before it hears of the end.
    assert reply.check.verdict in ({Verdict.AGREES, Verdict.NOT_COMPARABLE} if sampling.stop else {Verdict.AGREES})
    rejected = {token for step in reply.steps for token in step.rejected}
    assert rejected or sampling.stop  # the first sentence may be all the draft's
    assert all(reply.text_of_proposal(token) for token in rejected)
    for step in reply.steps:
        assert step.proposed is not None
        assert len(step.proposed) == step.drafted


async def test_each_message_is_switched_by_itself(hooked: Watched) -> None:
    asked = (None, 0, 1, None)
    made = await replies(hooked, *asked, prompt="List ten fruits.", sampling=Sampling(50, 0.0))
    most = [max((step.drafted or 0 for step in reply.steps), default=0) for reply, _ in made]
    assert most == [3, 0, 1, 3]
    assert all(reply.is_traced for reply, _ in made)
    assert "nothing was proposed" in made[1][1]
    assert "one draft forward remained" in made[1][1]
    assert made[2][1] == "at most 1 proposal a step, by the hook: no step had more"
