"""The server of a chat launched anew from the chat: the question, the start, what fails, and the chat that goes on."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chat_pilot import HELLO, Chat, backend_for, reply_of
from fake_local_servers import NO_KV_ROOM, READY_VIEW, Doors, FakeLocalServers, Moment, Wait, surroundings, view
from fakes import FixedClock, ScriptedBackend, server_info
from specchat.core.errors import ServerUnreachable, SpecchatError
from specchat.core.switching import BY_ITSELF, Speculation, Way
from specchat.session.chat import ChatSession
from specchat.session.local_servers import LaunchedServer
from specchat.ui.app import ChatApp
from specchat.ui.choosing import Chooser
from specchat.ui.screens.asks import AskScreen
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.screens.relaunch import RelaunchScreen

OFF = Speculation(0, Way.RELAUNCH)
KNOWN = LaunchedServer("mi355x-minimax-m3-8000", "http://gpu01:8000", "mi355x-minimax-m3", start_seconds=754.0)
STOPPING = view("stopping", seconds=2.0, detail=KNOWN.id)


class Launched(Chat):
    """A chat whose server can be launched anew."""

    def __init__(
        self, app: ChatApp, session: ChatSession, pilot: Pilot[None], local: FakeLocalServers, doors: Doors
    ) -> None:
        super().__init__(app, session, pilot, FixedClock())
        self.local, self.doors = local, doors

    async def command(self, text: str) -> None:
        await self.type(text)
        await self.pilot.press("enter")
        await self.pilot.pause()

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def asks(self) -> str:
        """The question, once it is there."""
        await self.until(lambda: isinstance(self.app.screen, AskScreen))
        return " ".join(self.overlay.split())

    async def back(self) -> None:
        """Until the chat is what is shown."""
        await self.until(lambda: isinstance(self.app.screen, ChatScreen))


@asynccontextmanager
async def launched(
    *start: Moment,
    known: LaunchedServer | None = KNOWN,
    refusals: tuple[SpecchatError, ...] = (),
    standing: Speculation = BY_ITSELF,
    backend: ScriptedBackend | None = None,
) -> AsyncGenerator[Launched]:
    backend = backend or backend_for(HELLO, server=server_info(draft_length=0 if standing.is_off else 3))
    session = ChatSession(backend, backend.server, FixedClock(), standing=standing, can_relaunch=True)
    local, doors = FakeLocalServers(start=start, launched=known), Doors(*refusals)
    doors.anew = OFF
    doors.answer = reply_of(*((f" word{n}",) for n in range(6)))
    app = ChatApp(session, theme="dark", export_directory=Path("exports"), clock=FixedClock())
    app.chooser = Chooser(app, surroundings(local, doors))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        yield Launched(app, session, pilot, local, doors)


@pytest.mark.parametrize("typed", ["/spec off", "/spec off relaunch", "/switch"])
async def test_it_is_asked_first_with_what_happens_and_how_long_it_took(typed: str) -> None:
    async with launched(STOPPING, READY_VIEW) as chat:
        await chat.command(typed)
        asked = await chat.asks()
        for words in ("mi355x-minimax-m3 at gpu01:8000 is stopped", "without speculation", "Whoever else uses it",
                      "12 min 34 s", "This conversation stays"):  # fmt: skip
            assert words in asked.replace(" │ │ ", " "), asked
        await chat.press("escape")
        await chat.back()

        assert chat.local.count("relaunch") == 0
        assert chat.session.speculation == BY_ITSELF


async def test_a_first_launch_says_that_a_large_model_takes_minutes() -> None:
    known = LaunchedServer("a-1", "http://gpu01:8000", "a")
    async with launched(known=known) as chat:
        await chat.command("/spec k=2 relaunch")
        asked = await chat.asks()
        assert "with k = 2" in asked
        assert "takes minutes" in asked.replace(" │ │ ", " ")


async def test_the_same_chat_goes_on_with_the_server_that_was_launched_anew() -> None:
    async with launched(STOPPING, READY_VIEW) as chat:
        await chat.ask("One")
        await chat.command("/spec off")
        await chat.asks()
        await chat.press("enter")
        await chat.back()
        assert ("relaunch", KNOWN.id, 0) in chat.local.asked
        assert "speculation ○ off · relaunch" in chat.line("head")
        assert chat.notices[-1] == "Speculation is off: the server was launched anew."
        await chat.ask("Two")

        (renewed,) = chat.doors.renewed
        assert [(m.role, m.content) for m in renewed.requests[0].messages] == [
            ("user", "One"), ("assistant", "Hello there, how are you?"), ("user", "Two"),
        ]  # fmt: skip
        document = chat.screen.transcript.document
        assert document.turns[0].heading.facts.startswith("● on · ")
        assert document.turns[1].heading.facts.startswith("○ off · relaunch · ")
        assert "off: http://gpu01:8000 was launched anew without a draft" in chat.whole
        await chat.command("/spec")
        assert chat.notices[-1] == (
            "Speculation is off: the server was launched anew. It can be switched by launching the server anew."
        )


async def test_on_again_is_the_launch_as_it_was_first() -> None:
    async with launched(READY_VIEW, standing=OFF) as chat:
        chat.doors.anew = BY_ITSELF
        await chat.press("f2")
        assert "as it was first launched" in (await chat.asks()).replace(" │ │ ", " ")
        await chat.press("enter")
        await chat.back()

        assert ("relaunch", KNOWN.id, None) in chat.local.asked
        assert "speculation ● on" in chat.line("head")


async def test_a_failure_says_why_and_offers_to_start_it_as_it_was() -> None:
    async with launched(STOPPING, NO_KV_ROOM) as chat:
        await chat.ask("One")
        await chat.command("/spec off")
        await chat.asks()
        await chat.press("enter")
        await chat.until(lambda: "no room" in chat.overlay)
        assert "Enter starts it as it was before" in chat.overlay
        assert "Start it as before" in chat.overlay
        chat.local.start, chat.doors.anew = [READY_VIEW], BY_ITSELF
        await chat.press("enter")
        await chat.back()

        assert [asked for asked in chat.local.asked if asked[0] == "relaunch"] == [
            ("relaunch", KNOWN.id, 0), ("relaunch", KNOWN.id, None),
        ]  # fmt: skip
        assert chat.session.speculation == BY_ITSELF
        assert len(chat.session.conversation.turns) == 1


@pytest.mark.parametrize("key", ["escape", "ctrl+c"])
async def test_a_start_can_be_stopped_in_the_middle_and_the_conversation_stays(key: str) -> None:
    wait = Wait()
    async with launched(STOPPING, wait) as chat:
        await chat.ask("One")
        await chat.command("/spec off")
        await chat.asks()
        await chat.press("enter")
        await chat.until(lambda: isinstance(chat.app.screen, RelaunchScreen))
        await chat.press(key)
        assert "What was loaded until now is lost" in await chat.asks()
        await chat.press("enter")
        await chat.until(lambda: "so the server is not running" in chat.overlay)
        assert chat.local.ended == ["relaunch"]
        await chat.press("escape")
        await chat.back()

        assert "The server is not running; the conversation stays." in chat.notices[-1]
        assert chat.whole.count("Hello there") == 1
        assert "speculation ● on" in chat.line("head")
        await chat.command("/spec on relaunch")  # the way back that was named
        assert "as it was first launched" in (await chat.asks()).replace(" │ │ ", " ")


async def test_a_server_that_cannot_be_talked_to_is_said_and_tried_again() -> None:
    async with launched(READY_VIEW, refusals=(ServerUnreachable("Nothing answers.", "Wait."),)) as chat:
        await chat.command("/spec off")
        await chat.asks()
        await chat.press("enter")
        await chat.until(lambda: "Nothing answers." in chat.overlay)
        await chat.press("enter")
        await chat.back()
        assert chat.session.speculation == OFF


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (None, "it has ended"),
        (LaunchedServer("a-1", "u", "a", why_not="It belongs to another specchat."), "belongs to another specchat"),
    ],
)
async def test_what_cannot_be_launched_anew_is_said_without_a_question(
    known: LaunchedServer | None, words: str
) -> None:
    async with launched(known=known) as chat:
        await chat.command("/spec off")
        await chat.until(lambda: bool(chat.notices))
        assert words in chat.notices[-1]
        assert isinstance(chat.app.screen, ChatScreen)


async def test_nothing_is_launched_anew_while_a_reply_runs() -> None:
    from fakes import Hang, Script

    hang = Hang()
    script = Script().step("Hel").then(hang).end()
    async with launched(backend=backend_for(script)) as chat:
        await chat.type("One")
        await chat.press("enter")
        await chat.until(lambda: chat.session.current is not None)
        await chat.command("/spec off")
        assert "A reply is running." in chat.notices[-1]
        hang.released.set()
        await chat.ended()
        await asyncio.sleep(0)
