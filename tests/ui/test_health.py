"""After the first replies of a launched server: is its acceptance length sane?"""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import pytest

from chat_pilot import Chat, backend_for, make_app
from fake_local_servers import FakeLocalServers, surroundings
from fakes import Script, server_info
from replies import report
from specchat.core.server import is_local
from specchat.session.local_servers import Finding
from specchat.ui.choosing import Chooser

COLLAPSED = Finding("warning", "The acceptance length is 1.05 over 40 steps.", "Usually the draft's backend is wrong.")


def reply_of_steps(steps: int) -> Script:
    """A reply whose server reports that hardly anything was accepted."""
    script = Script().step("A")
    for number in range(steps):
        script.step(*((" b", " c") if number < 2 else (" b",)))
    return script.then(report([1 if number < 2 else 0 for number in range(steps)], [3] * steps)).end()


@asynccontextmanager
async def chat_with(local: FakeLocalServers, steps: int, url: str = "http://127.0.0.1:8000") -> AsyncGenerator[Chat]:
    app, session, clock = make_app(backend_for(reply_of_steps(steps), server=server_info(url=url)))
    app.chooser = Chooser(app, surroundings(local))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        yield Chat(app, session, pilot, clock)


async def test_a_collapsed_acceptance_is_said_under_the_reply_once() -> None:
    local = FakeLocalServers(finding=COLLAPSED)
    async with chat_with(local, 40) as chat:
        await chat.ask("hi")
        await chat.until(lambda: "The acceptance length is 1.05" in chat.whole)
        await chat.ask("again")
        await chat.until(lambda: len(chat.session.conversation.turns) == 2)

        assert ("acceptance", "http://127.0.0.1:8000", 1.05, 40) in local.asked
        assert local.count("acceptance") == 1
        assert any("1.05" in note for note in chat.session.conversation.turns[0].reply.notes)


async def test_a_healthy_server_is_looked_at_after_its_first_replies_only() -> None:
    local = FakeLocalServers()
    async with chat_with(local, 40) as chat:
        for _ in range(7):
            await chat.ask("hi")

        assert 1 <= local.count("acceptance") <= 5
        assert not chat.notices


async def test_too_few_steps_say_nothing() -> None:
    local = FakeLocalServers(finding=COLLAPSED)
    async with chat_with(local, 10) as chat:
        await chat.ask("hi")

        assert not local.count("acceptance")


async def test_a_server_elsewhere_is_nobodys_to_judge() -> None:
    local = FakeLocalServers(finding=COLLAPSED)
    async with chat_with(local, 40, url="http://gpu01:8000") as chat:
        await chat.ask("hi")

        assert not local.count("acceptance")


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://127.0.0.1:8000", True), ("http://localhost:8000/v1", True), ("http://[::1]:8000", True),
        ("http://gpu01:8000", False), ("http://10.0.0.3:8000", False), ("https://example.org", False),
    ],
)  # fmt: skip
def test_which_addresses_are_this_machines(url: str, local: bool) -> None:
    assert is_local(url) is local
