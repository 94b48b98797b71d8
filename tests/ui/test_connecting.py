"""The screen that comes before the server's answer: it waits, keeps what is typed, and makes room or ends."""

import asyncio
from pathlib import Path

from chat_pilot import HELLO, backend_for
from fakes import FixedClock
from specchat.core.errors import ServerUnreachable
from specchat.session.chat import ChatSession
from specchat.ui.app import ChatApp
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.screens.connecting import ConnectingScreen


class Door:
    """A server that answers when it is told to."""

    def __init__(self, refusal: ServerUnreachable | None = None) -> None:
        self.opened = asyncio.Event()
        self._refusal = refusal

    async def connect(self) -> ChatSession:
        await self.opened.wait()
        if self._refusal is not None:
            raise self._refusal
        backend = backend_for(HELLO)
        return ChatSession(backend, backend.server, FixedClock())


def app_behind(door: Door, opening_prompt: str | None = None) -> ChatApp:
    return ChatApp(
        door.connect,
        destination="gpu01:8000",
        theme="dark",
        export_directory=Path("exports"),
        opening_prompt=opening_prompt,
        clock=FixedClock(),
    )


async def test_who_waits_sees_for_whom_and_what_is_typed_goes_into_the_prompt() -> None:
    door = Door()
    app = app_behind(door)
    async with app.run_test() as pilot:
        await pilot.press(*"helo", "backspace", *"lo there")
        shown = "\n".join(strip.text for strip in app.screen._compositor.render_strips())
        assert "connecting to gpu01:8000" in shown
        assert "> hello there" in shown
        door.opened.set()
        async with asyncio.timeout(10):
            while not (isinstance(app.screen, ChatScreen) and app.screen.prompt.text):
                await pilot.pause(0.02)
        await pilot.pause()

        assert app.screen.prompt.text == "hello there"
        assert app.focused is app.screen.prompt


async def test_the_opening_prompt_is_asked_once_there_is_a_server() -> None:
    door = Door()
    app = app_behind(door, opening_prompt="Say hello")
    async with app.run_test() as pilot:
        door.opened.set()
        async with asyncio.timeout(10):
            while app.session is None or not app.session.conversation.turns:
                await pilot.pause(0.02)

        assert app.session.conversation.turns[0].prompt == "Say hello"


async def test_a_server_that_refuses_ends_the_app_with_the_reason() -> None:
    door = Door(ServerUnreachable("Nothing answers.", "Is it running?"))
    app = app_behind(door)
    async with app.run_test() as pilot:
        door.opened.set()
        async with asyncio.timeout(10):
            while app.is_running:
                await pilot.pause(0.02)

    assert str(app.refusal) == "Nothing answers. Is it running?"
    assert app.return_code == 1


async def test_a_server_that_never_answers_can_be_left() -> None:
    app = app_behind(Door())
    async with app.run_test() as pilot:
        assert isinstance(app.screen, ConnectingScreen)
        await pilot.press("ctrl+c")
        await pilot.pause()

    assert app.refusal is None
    assert app.return_code in {0, None}
