"""Opens the real chat on a scripted server, and reads what its screen shows."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

from textual.pilot import Pilot

from fakes import FixedClock, Script, ScriptedBackend, server_info
from specchat.core.server import ServerInfo
from specchat.session.chat import ChatSession
from specchat.ui.app import ChatApp
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.widgets.lines import LinesWidget


def reply_of(*steps: tuple[str, ...]) -> Script:
    script = Script()
    for step in steps:
        script.step(*step)
    return script.end()


HELLO = reply_of(("Hello",), (" there", ","), (" how", " are", " you", "?"))


def backend_for(*scripts: Script, clock: FixedClock | None = None, server: ServerInfo | None = None) -> ScriptedBackend:
    pieces = {token: text for script in scripts for token, text in script.pieces.items()}
    return ScriptedBackend(*(script.events for script in scripts), pieces=pieces, clock=clock, server=server)


class Chat:
    """The application under test."""

    def __init__(self, app: ChatApp, session: ChatSession, pilot: Pilot[None], clock: FixedClock) -> None:
        self.app, self.session, self.pilot, self.clock = app, session, pilot, clock

    @property
    def screen(self) -> ChatScreen:
        screen = self.app.screen_stack[0]
        assert isinstance(screen, ChatScreen)
        return screen

    async def ask(self, text: str) -> None:
        """Type, press Enter, and wait for the reply's end."""
        turns = len(self.session.conversation.turns)
        await self.type(text)
        await self.pilot.press("enter")
        await self.until(lambda: len(self.session.conversation.turns) > turns)
        await self.ended()

    async def type(self, text: str) -> None:
        self.screen.prompt.insert(text)
        await self.pilot.pause()

    async def ended(self) -> None:
        await self.until(lambda: not self.screen.asker.running)

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                await self.pilot.pause(0.01)
        await self.pilot.pause()

    @property
    def shown(self) -> str:
        """The rows of the transcript that are in sight."""
        transcript = self.screen.transcript
        return "\n".join(transcript.render_line(y).text.rstrip() for y in range(transcript.size.height)).rstrip()

    @property
    def whole(self) -> str:
        """All rows of the transcript."""
        document = self.screen.transcript.document
        rows = (document.row(index) for index in range(document.height))
        return "\n".join("".join(span.text for span in row.spans) for row in rows)

    def line(self, name: str) -> str:
        """What a widget of lines shows."""
        return "\n".join(line.text for line in self.screen.query_one(f"#{name}", LinesWidget).lines)

    @property
    def overlay(self) -> str:
        """What the screen shows that lies on top."""
        strips = self.app.screen._compositor.render_strips()
        return "\n".join(strip.text for strip in strips)

    @property
    def notices(self) -> list[str]:
        return [notification.message for notification in self.app._notifications]


@asynccontextmanager
async def open_chat(
    backend: ScriptedBackend,
    *,
    baseline: ScriptedBackend | None = None,
    size: tuple[int, int] = (120, 40),
    theme: str = "dark",
    theme_directories: tuple[Path, ...] = (),
    exports: Path = Path("exports"),
    opening_prompt: str | None = None,
) -> AsyncGenerator[Chat]:
    app, session, clock = make_app(
        backend,
        baseline=baseline,
        theme=theme,
        theme_directories=theme_directories,
        exports=exports,
        opening_prompt=opening_prompt,
    )
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Chat(app, session, pilot, clock)


def make_app(
    backend: ScriptedBackend,
    *,
    baseline: ScriptedBackend | None = None,
    theme: str = "dark",
    theme_directories: tuple[Path, ...] = (),
    exports: Path = Path("exports"),
    opening_prompt: str | None = None,
) -> tuple[ChatApp, ChatSession, FixedClock]:
    clock = backend.clock or FixedClock()
    second = None if baseline is None else (baseline, baseline.server)
    session = ChatSession(backend, backend.server, clock, baseline=second)
    app = ChatApp(
        session,
        theme=theme,
        theme_directories=theme_directories,
        export_directory=exports,
        opening_prompt=opening_prompt,
        clock=clock,
    )
    return app, session, clock


def without_speculation() -> ScriptedBackend:
    """A baseline."""
    return backend_for(
        reply_of(*((f" word{n}",) for n in range(20))), server=server_info(draft_length=0, url="http://gpu01:8001")
    )
