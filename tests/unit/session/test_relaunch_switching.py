"""Speculation switched by launching the server anew: when that is needed, and what a session does after it."""

from collections.abc import Callable

import pytest

from fakes import FixedClock, Hang, Scripted, ScriptedBackend, server_info
from replies import chunk
from specchat.core.errors import CannotSwitch, NothingToRepeat, RelaunchNeeded
from specchat.core.events import StreamEnded
from specchat.core.server import Hook, ServerInfo
from specchat.core.switching import BY_ITSELF, Speculation, Way
from specchat.session.chat import ChatSession

HOOKED = server_info(hook=Hook(trace=False, switch=True, draft_length=3))
PLAIN = server_info(draft_length=0)
SCRIPT: list[Scripted] = [chunk(1.0, "A", 1000, finish_reason="stop"), StreamEnded(9.0, done=True)]
OFF, ONE = Speculation(0, Way.RELAUNCH), Speculation(1, Way.RELAUNCH)
SECOND = server_info(draft_length=0, url="http://gpu01:8001")


def session_of(
    server: ServerInfo, standing: Speculation = BY_ITSELF, *, can_relaunch: bool = True, second: bool = False
) -> ChatSession:
    return ChatSession(
        ScriptedBackend(SCRIPT),
        server,
        FixedClock(),
        baseline=(ScriptedBackend(SCRIPT), SECOND) if second else None,
        standing=standing,
        can_relaunch=can_relaunch,
    )


async def asked(session: ChatSession, prompt: str) -> None:
    async for _ in session.ask(prompt):
        pass


@pytest.mark.parametrize(
    ("server", "second", "ways"),
    [
        (HOOKED, True, (Way.HOOK, Way.SERVER, Way.RELAUNCH)),
        (HOOKED, False, (Way.HOOK, Way.RELAUNCH)),
        (server_info(), True, (Way.SERVER, Way.RELAUNCH)),
        (server_info(), False, (Way.RELAUNCH,)),
    ],
)
def test_a_launch_anew_is_the_last_way(server: ServerInfo, second: bool, ways: tuple[Way, ...]) -> None:
    assert session_of(server, second=second).ways() == ways


@pytest.mark.parametrize(
    ("server", "standing", "limit", "way", "tokens"),
    [
        (server_info(), BY_ITSELF, 0, None, 0),  # nothing else can
        (server_info(), BY_ITSELF, 1, None, 1),
        (HOOKED, BY_ITSELF, 0, Way.RELAUNCH, 0),  # insisted on
        (HOOKED, BY_ITSELF, None, Way.RELAUNCH, None),
        (PLAIN, OFF, None, None, None),  # only a launch brings it back
        (PLAIN, OFF, 2, None, 2),
        (server_info(draft_length=1, hook=HOOKED.hook), ONE, 2, None, 2),  # more than the launch left
    ],
)
def test_where_only_a_launch_anew_can_it_is_said_and_nothing_changes(
    server: ServerInfo, standing: Speculation, limit: int | None, way: Way | None, tokens: int | None
) -> None:
    session = session_of(server, standing)
    with pytest.raises(RelaunchNeeded) as needed:
        session.set_speculation(limit, way)
    assert needed.value.limit == tokens
    assert session.speculation == standing


def test_a_server_that_nobody_here_launched_is_not_launched_anew() -> None:
    with pytest.raises(CannotSwitch, match="cannot launch this server anew"):
        session_of(HOOKED, can_relaunch=False).set_speculation(0, Way.RELAUNCH)
    with pytest.raises(CannotSwitch, match="does not speculate") as caught:
        session_of(PLAIN, OFF, can_relaunch=False).set_speculation(None)
    assert not isinstance(caught.value, RelaunchNeeded)


@pytest.mark.parametrize(("limit", "chosen"), [(None, ONE), (1, ONE), (0, Speculation(0, Way.HOOK))])
def test_after_a_launch_with_less_the_hook_switches_what_is_left(limit: int | None, chosen: Speculation) -> None:
    session = session_of(server_info(draft_length=1, hook=HOOKED.hook), ONE)
    assert session.set_speculation(limit) == chosen


@pytest.mark.parametrize(
    ("server", "standing", "toggled"),
    [(HOOKED, BY_ITSELF, 0), (PLAIN, OFF, None), (server_info(draft_length=1, hook=HOOKED.hook), ONE, 0)],
)
def test_the_key_takes_what_stands_for_on_unless_that_is_off(
    server: ServerInfo, standing: Speculation, toggled: int | None
) -> None:
    session = session_of(server, standing)
    assert session.toggled == toggled
    if standing is not OFF:
        session.set_speculation(0)
        assert session.toggled is None


async def test_the_conversation_goes_on_with_the_server_that_was_launched_anew() -> None:
    session = session_of(server_info())
    await asked(session, "one")
    again = ScriptedBackend(SCRIPT)
    session.take_server(again, PLAIN, OFF)
    await asked(session, "two")

    assert [(m.role, m.content) for m in again.requests[0].messages] == [
        ("user", "one"), ("assistant", "A"), ("user", "two"),
    ]  # fmt: skip
    assert (again.requests[0].limit, again.requests[0].trace_key) == (None, None)
    first, second = session.conversation.turns
    assert (first.reply.speculation, first.reply.speculating) == (BY_ITSELF, True)
    assert (second.reply.speculation, second.reply.speculating, second.server) == (OFF, False, PLAIN)
    assert session.server is PLAIN


async def test_no_server_is_taken_while_a_reply_runs() -> None:
    session = ChatSession(ScriptedBackend([chunk(1.0, "A", 1000), Hang()]), server_info(), FixedClock())
    asking = session.ask("hi")
    await anext(asking)
    with pytest.raises(NothingToRepeat, match="reply is running"):
        session.take_server(ScriptedBackend(), PLAIN, OFF)
    await asking.aclose()
    assert session.server.draft_length == 3


@pytest.mark.parametrize("make", [lambda: session_of(PLAIN, OFF), lambda: session_of(HOOKED)])
async def test_counters_are_those_of_the_one_server(make: Callable[[], ChatSession]) -> None:
    session = make()
    assert await session.read_counters(speculating=True) is None
    assert session.speculating_server is session.server
