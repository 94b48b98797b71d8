"""Pictures of the compare screen in the middle of a race; the same script draws the same picture."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chat_pilot import make_app, reply_of
from fakes import Hang, ScriptedBackend, server_info
from specchat.core.comparison.samples import Side
from specchat.ui.app import ChatApp
from specchat.ui.screens.race import RaceScreen

Compare = Callable[..., bool]
WORDS = (
    "A compiler",
    " reads",
    " the text",
    " of a program",
    ",",
    " checks",
    " it",
    ",",
    " and writes",
    " another",
    ".",
)
ON = reply_of(("A compiler",), (" reads", " the text"), (" of a program", ",", " checks", " it"), (",", " and writes"),
              (" another", "."))  # fmt: skip


def app(theme: str = "dark") -> ChatApp:
    off = reply_of(*((word,) for word in WORDS))
    backend = ScriptedBackend(ON.events, pieces=ON.pieces, server=server_info())
    baseline = ScriptedBackend(
        [*off.events[:6], Hang()], pieces=off.pieces, server=server_info(draft_length=0, url="http://gpu02:8000")
    )
    made, _, _ = make_app(backend, baseline=baseline, theme=theme)
    return made


def is_in_the_middle(screen: object) -> bool:
    """Has one side ended, and come the other half the way?"""
    replies = screen.race.replies if isinstance(screen, RaceScreen) else {}
    return len(replies) == len(Side) and not replies[Side.ON].is_running and len(replies[Side.OFF].rows) == 6


def racing(folder: Path) -> Callable[[Pilot[None]], Awaitable[None]]:
    async def race(pilot: Pilot[None]) -> None:
        chat = pilot.app
        assert isinstance(chat, ChatApp)
        chat.comparisons_directory = folder
        assert chat.chat is not None
        async with asyncio.timeout(20):
            while not chat.chat.prompt.has_focus:
                await pilot.pause(0.02)
            chat.chat.prompt.insert("/compare Explain what a compiler does.")
            await pilot.press("enter")
            while not is_in_the_middle(pilot.app.screen):
                await pilot.pause(0.02)
        await pilot.pause(0.3)

    return race


@pytest.mark.parametrize(
    ("theme", "size"),
    [("dark", (120, 40)), ("light", (80, 24)), ("dark", (60, 20))],
    ids=["dark-wide", "light-lower", "dark-lowest"],
)
def test_looks_of_a_race(snap_compare: Compare, tmp_path: Path, theme: str, size: tuple[int, int]) -> None:
    assert snap_compare(app(theme), terminal_size=size, run_before=racing(tmp_path))


def test_looks_of_a_race_without_colour(snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    assert snap_compare(app(), terminal_size=(100, 30), run_before=racing(tmp_path))
