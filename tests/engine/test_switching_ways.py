"""All three ways to switch speculation in a chat, on real engines: the hook, a pair, and a launch anew."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from specchat.backends.local_servers import LauncherServers
from specchat.backends.sessions import Sessions
from specchat.core.counters import CounterReading
from specchat.core.errors import RelaunchNeeded
from specchat.core.reply import Outcome, Reply
from specchat.core.switch_meaning import meaning_of
from specchat.core.switching import BY_ITSELF, Speculation, Way
from specchat.session.chat import ChatSession
from specchat.session.local_servers import LaunchedServer, LaunchView
from specchat.wiring import connection_from

pytestmark = [pytest.mark.engine, pytest.mark.long, pytest.mark.timeout(900)]

FIRST, SECOND = "Name three colours.", "Now name three animals, one on each line."
LIMITS = {"max_tokens": 60, "temperature": 0.0}


async def asked(session: ChatSession, prompt: str) -> Reply:
    async for _ in session.ask(prompt):
        pass
    reply = session.conversation.turns[-1].reply
    assert reply.outcome is Outcome.FINISHED, reply.error
    return reply


async def last_of(views: AsyncGenerator[LaunchView, None]) -> LaunchView:
    return [view async for view in views][-1]


async def counters(session: ChatSession, *, speculating: bool = True) -> CounterReading:
    reading = await session.read_counters(speculating=speculating)
    assert reading is not None
    return reading


@asynccontextmanager
async def chat_with(
    profile: str, version: str, root: Path, folder: Path
) -> AsyncIterator[tuple[ChatSession, Sessions, LauncherServers]]:
    """A chat with a profile's server that dies with it, on a machine where nothing else was launched."""
    own = folder / "data"
    own.mkdir()
    for name in ("engines", "models"):
        (own / name).symlink_to(root / name)
    local = LauncherServers(own, folder / "profiles")
    try:
        view = await last_of(local.launch(profile, (f"engine={version}",), owned=True))
        sessions = Sessions(connection_from({"url": view.url, **LIMITS}), remember_server=False)
        sessions.local = local
        try:
            yield await sessions.first(), sessions, local
        finally:
            await sessions.close()
    finally:
        await local.close()


async def launched_anew(
    session: ChatSession, sessions: Sessions, local: LauncherServers, tokens: int | None
) -> LaunchedServer:
    """The server of a chat launched anew, and the chat going on with it."""
    known = await local.launched(session.speculating_server.url)
    assert known is not None
    assert known.why_not == ""
    view = await last_of(local.relaunch(known.id, tokens))
    assert view.url == known.url
    print("RELAUNCH", known.profile, session.server.version, tokens, f"{view.seconds:.1f} s",
          [(phase.name, phase.seconds and round(phase.seconds, 1)) for phase in view.phases])  # fmt: skip
    await sessions.renew(session)
    return known


async def test_a_chat_is_switched_by_the_hook_then_by_two_launches_anew_and_goes_on(
    newest_first: str, engine_root: Path, tmp_path: Path
) -> None:
    async with chat_with("cpu-smollm2", newest_first, engine_root, tmp_path) as (session, sessions, local):
        assert session.ways() == (Way.HOOK, Way.RELAUNCH)
        on = await asked(session, FIRST)
        assert on.tally.steps > 0
        assert on.is_traced

        session.set_speculation(0)
        off = await asked(session, SECOND)
        meant = meaning_of(off, session.server)
        print("HOOK", newest_first, meant and meant.sentence)
        assert (off.speculation.way, off.tally.steps) == (Way.HOOK, 0)
        assert meant is not None
        assert meant.obeyed

        with pytest.raises(RelaunchNeeded):
            session.set_speculation(0, Way.RELAUNCH)
        known = await launched_anew(session, sessions, local, 0)
        assert session.speculation == session.speculation == Speculation(0, Way.RELAUNCH)
        assert [turn.prompt for turn in session.conversation.turns] == [FIRST, SECOND]
        assert (session.server.hook, session.server.draft_length) == (None, 0)
        session.conversation.replace_from(1)
        without = await asked(session, SECOND)
        page = await counters(session)
        print("OFF", newest_first, repr(off.text), repr(without.text), page.drafts)
        assert not page.drafts
        assert (without.speculating, without.speculation.way, without.tally.steps) == (False, Way.RELAUNCH, 0)
        assert without.usage is not None
        assert off.usage is not None
        assert without.usage.prompt_tokens == off.usage.prompt_tokens  # the whole history went with it
        assert without.text == off.text

        with pytest.raises(RelaunchNeeded):
            session.set_speculation(None)
        back = await launched_anew(session, sessions, local, None)
        assert (back.id, back.tokens, known.tokens) == (known.id, 0, None)
        assert session.speculation == BY_ITSELF
        assert session.ways() == (Way.HOOK, Way.RELAUNCH)
        again = await asked(session, "Thank you. Say goodbye.")
        assert again.is_traced
        assert again.tally.steps > 0
        assert (await counters(session)).drafts

        await launched_anew(session, sessions, local, 1)
        one = await asked(session, "One more word, please: a fruit.")
        assert session.speculation == Speculation(1, Way.RELAUNCH)
        assert (one.draft_length, max(step.accepted for step in one.steps)) <= (1, 1)


async def test_a_pair_that_is_launched_together_is_switched_by_its_second_server(
    newest_first: str, engine_root: Path, tmp_path: Path
) -> None:
    async with chat_with("cpu-smollm2-pair", newest_first, engine_root, tmp_path) as (session, _, _):
        assert session.ways() == (Way.HOOK, Way.SERVER, Way.RELAUNCH)
        assert "one of a pair" in session.remarks[0]
        on = await asked(session, FIRST)
        session.set_speculation(0, Way.SERVER)
        off = await asked(session, SECOND)
        meant = meaning_of(off, session.server)
        print("PAIR", newest_first, session.remarks, session.server.url, meant and meant.sentence)
        assert on.tally.steps > 0
        assert off.tally.steps == 0
        assert session.server.draft_length == 0
        assert not (await counters(session, speculating=False)).drafts
        session.set_speculation(None)
        assert (await asked(session, "Say goodbye.")).tally.steps > 0
