"""What the chat looks like: wide and folded, dark and light, and without colour."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Protocol

import pytest
from textual.app import App
from textual.pilot import Pilot

from chat_pilot import backend_for, make_app, without_speculation
from fakes import FixedClock, Pause, Script
from proposing import Drafted, proposing
from specchat.core.errors import StreamBroken
from specchat.core.events import SpeculationReported
from specchat.core.speculation import Channel
from specchat.ui.app import ChatApp
from specchat.ui.screens.chat import ChatScreen


class Compare(Protocol):
    def __call__(
        self, app: App[None], *, terminal_size: tuple[int, int], run_before: Callable[[Pilot[None]], Awaitable[None]]
    ) -> bool: ...


STEPS = (
    ("A", " small"), (" draft", " model", " proposes"), (" tokens", ",", " and", " the"), (" target",),
    (" checks", " them", " all"), (" at", " once", "."), ("\n\n", "日本語も", " [bold]", "as text"),
    (" 👩‍👩‍👧", " whole", "."),
)  # fmt: skip


COUNTS = [4, *(len(step) for step in STEPS)]
"""Tokens of each step after prefill; the first one is thinking."""
ACCEPTED = tuple(count - 1 for count in COUNTS)
REPORT = SpeculationReported(len(COUNTS), sum(ACCEPTED), 3 * len(COUNTS), 3, ACCEPTED, (3,) * len(COUNTS), None, None)


def app(theme: str = "dark") -> ChatApp:
    script = (
        Script()
        .step("Explain", channel=Channel.REASONING)
        .step(" it", " very", " briefly", ".", channel=Channel.REASONING)
    )
    script.then(Pause(0.3))
    for step in STEPS:
        script.step(*step)
    script.then(REPORT).end()
    made, _, _ = make_app(backend_for(script, clock=FixedClock(0.7)), baseline=without_speculation(), theme=theme)
    return made


async def ask(pilot: Pilot[None]) -> None:
    screen = pilot.app.screen
    assert isinstance(screen, ChatScreen)
    async with asyncio.timeout(20):
        while not screen.prompt.has_focus:
            await pilot.pause(0.02)
        screen.prompt.cursor_blink = False
        screen.prompt.insert("What is speculative decoding?")
        await pilot.press("enter")
        while screen.asker.running or not screen.session.conversation.turns:
            await pilot.pause(0.02)
    await pilot.pause()


SIZES = {"wide": (120, 40), "lower": (120, 30), "lowest": (100, 24), "folded": (80, 24), "narrow": (60, 20)}


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
def test_looks_at_every_size(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(app(), terminal_size=size, run_before=ask)


def test_looks_in_the_light_theme(snap_compare: Compare) -> None:
    assert snap_compare(app("light"), terminal_size=(120, 40), run_before=ask)


def test_looks_without_colour(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert snap_compare(app(), terminal_size=(120, 40), run_before=ask)


def test_looks_with_help(snap_compare: Compare) -> None:
    async def help_over_reply(pilot: Pilot[None]) -> None:
        await ask(pilot)
        await pilot.press("f1")

    assert snap_compare(app(), terminal_size=(100, 34), run_before=help_over_reply)


VIEWS: dict[str, tuple[str, ...]] = {
    "inspector": ("f7", "S"),
    "find": ("ctrl+f", *"em"),
    "markdown": ("f5",),
    "folded": ("f6",),
    "completion": tuple("/t"),
    "hidden": ("f4",),
}


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("size", [(120, 40), (60, 20)], ids=["wide", "narrow"])
def test_looks_of_every_view(snap_compare: Compare, view: str, size: tuple[int, int]) -> None:
    async def open_view(pilot: Pilot[None]) -> None:
        await ask(pilot)
        await pilot.press(*VIEWS[view])
        pilot.app.clear_notifications()
        # Markdown is laid out in a thread.
        await pilot.pause(0.3)

    assert snap_compare(app(), terminal_size=size, run_before=open_view)


TRACED = (
    Drafted((), "A"),
    Drafted((" small",), " model", (" draft",)),
    Drafted((" proposes", " tokens", ","), " and"),
    Drafted((), " the", (" then", " a", "\n")),
    Drafted((" target",), " 日本", (" 漢字", " 👩‍👩‍👧")),
    Drafted((), " checks"),
    Drafted((" 42",), " of", (" times", ".")),
    Drafted((" them", " at", " once"), "."),
)  # fmt: skip
TRACED_VIEWS: dict[str, tuple[str, ...]] = {
    "count": ("ctrl+n",),
    "struck": ("ctrl+n", "ctrl+n"),
    "steps": ("f12", "f", "f", "home"),
    "steps-at-the-cursor": ("f7", "r", "r", "v"),
    "errors": ("f7", "w"),
    "wanted": ("ctrl+n", "ctrl+n", "f7", "R", "R"),
}


def traced_app(theme: str = "dark") -> ChatApp:
    made, _, _ = make_app(proposing(TRACED, clock=FixedClock(0.7)), theme=theme)
    return made


async def open_traced(view: str, pilot: Pilot[None]) -> None:
    await ask(pilot)
    for key in TRACED_VIEWS[view]:
        await pilot.press(key)
        await pilot.pause(0.05)
    pilot.app.clear_notifications()
    await pilot.pause(0.2)


@pytest.mark.parametrize("view", TRACED_VIEWS)
@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["wide", "folded"])
def test_looks_of_what_a_trace_shows(snap_compare: Compare, view: str, size: tuple[int, int]) -> None:
    assert snap_compare(traced_app(), terminal_size=size, run_before=partial(open_traced, view))


@pytest.mark.parametrize("view", ["struck", "steps", "errors"])
def test_looks_of_what_a_trace_shows_in_the_light_theme(snap_compare: Compare, view: str) -> None:
    assert snap_compare(traced_app("light"), terminal_size=(80, 24), run_before=partial(open_traced, view))


def test_looks_of_proposals_without_colour(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")

    assert snap_compare(traced_app(), terminal_size=(60, 20), run_before=partial(open_traced, "struck"))


def test_looks_of_a_failed_reply(snap_compare: Compare) -> None:
    script = Script().step("Half", " a").then(StreamBroken("The stream broke off.", "What came is kept; ask again."))
    made, _, _ = make_app(backend_for(script, clock=FixedClock(0.7)))

    assert snap_compare(made, terminal_size=(80, 24), run_before=ask)


def test_looks_on_a_large_screen(snap_compare: Compare) -> None:
    assert snap_compare(app(), terminal_size=(200, 60), run_before=ask)
