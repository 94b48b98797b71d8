"""What the servers screen, a start and the GPUs look like: at every size, dark and light, and without colour."""

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest
from textual.app import App
from textual.pilot import Pilot

from chat_pilot import HELLO, backend_for, make_app
from fake_local_servers import (
    BIG,
    CHECKS,
    DEMO,
    DONE,
    ELSEWHERE,
    FOUND,
    LAUNCHED,
    LEFT,
    LOADING_VIEW,
    MI355X,
    NO_KV_ROOM,
    FakeGpus,
    FakeLocalServers,
    Wait,
    surroundings,
    view,
)
from fakes import FixedClock, server_info
from specchat.ui.app import ChatApp
from specchat.ui.choosing import Chooser
from specchat.ui.panels.server_rows import SavedServer

SIZES = {"wide": (120, 40), "folded": (80, 24), "narrow": (60, 20)}
LOG = [f"INFO 11-30 21:{number:02}:00 [loader.py:12] step {number}" for number in range(40)]
LOG += [
    "(EngineCore pid=812) WARNING 11-30 21:40:01 [x.py:1] slow",
    "(EngineCore pid=812) ERROR 11-30 [core.py:1] died",
]


class Compare(Protocol):
    def __call__(
        self, app: App[None], *, terminal_size: tuple[int, int], run_before: Callable[[Pilot[None]], Awaitable[None]]
    ) -> bool: ...


def app(local: FakeLocalServers, *, saved: bool = False, gpus: bool = False, theme: str = "dark") -> ChatApp:
    made = ChatApp(None, theme=theme, export_directory=Path("exports"), clock=FixedClock())
    server = SavedServer("http://gpu01:8000", "amd/MiniMax-M3-MXFP4") if saved else None
    made.chooser = Chooser(made, surroundings(local, gpus=FakeGpus(MI355X if gpus else None), saved=server))
    return made


async def press(keys: Sequence[str], pilot: Pilot[None]) -> None:
    for _ in range(30):
        await pilot.pause(0.02)
    for key in keys:
        await pilot.press(key)
        await pilot.pause(0.1)
    await pilot.pause(0.7)  # the command is worked out a moment after the last change
    pilot.app.clear_notifications()
    await pilot.pause(0.1)


TO_BIG = ("home", "down", "enter")
VIEWS: dict[str, tuple[Callable[[], ChatApp], tuple[str, ...]]] = {
    "first-run": (lambda: app(FakeLocalServers()), ()),
    "servers": (lambda: app(FakeLocalServers(servers=(LAUNCHED, LEFT, FOUND)), saved=True, gpus=True), ()),
    "setup": (lambda: app(FakeLocalServers(checks=CHECKS, profiles=(DEMO, BIG, ELSEWHERE))), TO_BIG),
    "starting": (lambda: app(FakeLocalServers(start=[LOADING_VIEW, Wait()])), (*TO_BIG, "enter")),
    "failed": (lambda: app(FakeLocalServers(start=[view("reserving memory", *DONE), NO_KV_ROOM])), (*TO_BIG, "enter")),
    "log": (lambda: app(FakeLocalServers(servers=(LAUNCHED,), log=LOG)), ("l", "slash", *"step 3", "enter")),
    "question": (lambda: app(FakeLocalServers(servers=(LAUNCHED,))), ("s",)),
}


@pytest.mark.parametrize("shown", VIEWS)
@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_looks_of_servers(snap_compare: Compare, shown: str, size: tuple[int, int]) -> None:
    make, keys = VIEWS[shown]

    assert snap_compare(make(), terminal_size=size, run_before=partial(press, keys))


def test_looks_of_servers_in_the_light_theme(snap_compare: Compare) -> None:
    local = FakeLocalServers(servers=(LAUNCHED, LEFT, FOUND))

    assert snap_compare(
        app(local, saved=True, gpus=True, theme="light"), terminal_size=(120, 40), run_before=partial(press, ())
    )


def test_looks_of_servers_without_colour(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    local = FakeLocalServers(servers=(LAUNCHED, LEFT, FOUND))

    assert snap_compare(app(local, saved=True, gpus=True), terminal_size=(80, 24), run_before=partial(press, ()))


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["wide", "folded"])
def test_looks_of_gpus_beside_the_chat(snap_compare: Compare, size: tuple[int, int]) -> None:
    made, _, _ = make_app(backend_for(HELLO, server=server_info(url="http://127.0.0.1:8000")))
    made.chooser = Chooser(made, surroundings(FakeLocalServers(), gpus=FakeGpus(MI355X)))

    assert snap_compare(made, terminal_size=size, run_before=partial(press, ()))
