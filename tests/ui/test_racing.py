"""The compare screen: one prompt with and without speculation, side by side."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from chat_pilot import HELLO, Chat, backend_for, open_chat, reply_of
from fakes import Hang, Script, ScriptedBackend, server_info
from proposing import proposing
from specchat.core.comparison.samples import Side
from specchat.core.errors import StreamBroken
from specchat.core.events import ChunkArrived
from specchat.exports.sample_file import read_samples
from specchat.session.ports import Sampling
from specchat.ui.screens.race import RaceScreen
from specchat.ui.widgets.lines import LinesWidget
from specchat.ui.widgets.page import Page


def parting() -> Script:
    """Parts from HELLO in its fourth token."""
    script = Script()
    for word in ("Hello", " there", ","):
        script.step(word)
    script.pieces |= {900: "", 901: ""}  # so that the ids that follow are others
    for word in (" who", " is", " this", "?"):
        script.step(word)
    return script.end()


PARTS = parting()
OFF_SERVER = server_info(draft_length=0, url="http://gpu02:8000")


def off_side() -> ScriptedBackend:
    return backend_for(PARTS, server=OFF_SERVER)


@asynccontextmanager
async def race(
    tmp_path: Path,
    *,
    backend: ScriptedBackend | None = None,
    baseline: ScriptedBackend | None = None,
    size: tuple[int, int] = (120, 40),
    begin: Callable[[Chat], object] | None = None,
) -> AsyncGenerator[tuple[Chat, RaceScreen]]:
    """The chat with a race on top that has made its first run."""
    async with open_chat(backend or backend_for(HELLO), baseline=baseline or off_side(), size=size) as chat:
        chat.app.comparisons_directory = tmp_path / "comparisons"
        chat.screen.export_directory = tmp_path / "exports"
        await chat.type("/compare Say hello")
        await chat.pilot.press("enter")
        await chat.until(lambda: isinstance(chat.app.screen, RaceScreen))
        screen = chat.app.screen
        assert isinstance(screen, RaceScreen)
        if begin is None:
            await ended(chat, screen, 1)
        yield chat, screen


async def ended(chat: Chat, screen: RaceScreen, runs: int) -> None:
    await chat.until(lambda: not screen.race.runs and screen.race.done >= runs)
    await chat.pilot.pause(0.2)


def text_of(screen: RaceScreen, name: str) -> str:
    return "\n".join(line.text for line in screen.query_one(f"#{name}", LinesWidget).lines)


def verdict_of(screen: RaceScreen) -> str:
    lines = screen.query_one("#race-verdict", Page).query_one(LinesWidget).lines
    return "\n".join(line.text for line in lines)


def column_of(screen: RaceScreen, side: Side) -> str:
    column = screen.column(side)
    return "\n".join(column.render_line(y).text.rstrip() for y in range(column.size.height)).rstrip()


async def test_a_prompt_races_and_both_texts_stand_side_by_side(tmp_path: Path) -> None:
    async with race(tmp_path) as (chat, screen):
        assert "Hello there, how are you?" in column_of(screen, Side.ON)
        assert "Hello there, who is this?" in column_of(screen, Side.OFF)
        assert "Say hello" in text_of(screen, "race-prompt")
        assert "on · k=3 · gpu01:8000" in text_of(screen, "race-head-on")
        assert "AL " in text_of(screen, "race-head-on")
        assert "no draft · gpu02:8000" in text_of(screen, "race-head-off")
        assert "AL " not in text_of(screen, "race-head-off")
        assert "at once" in text_of(screen, "race-head")
        assert not chat.session.conversation.turns


async def test_the_verdict_has_its_figures_and_names_their_aggregation(tmp_path: Path) -> None:
    async with race(tmp_path) as (_, screen):
        said = " ".join(verdict_of(screen).split())
        assert "times as fast as with speculation off, from 1 pair over 1 prompt: too few to say how sure" in said
        assert "This first run warmed both sides up: it does not count once there are more" in said
        for figure in ("decode speed", "end to end", "first token", "tokens 7 / 7 on / off"):
            assert figure in said
        assert "pooled over steps, mean of requests" in said
        assert "texts part at token 3 …Hello there, how are you? / who is this?" in said
        assert "At temperature 0 texts may part all the same" in said
        assert "Every run is kept in" in said


async def test_the_place_where_the_texts_part_is_marked_in_both(tmp_path: Path) -> None:
    async with race(tmp_path) as (_, screen):
        for side, word in ((Side.ON, " how"), (Side.OFF, " who")):
            column = screen.column(side)
            place = column.document.place_of_token(0, 3)
            assert place is not None
            (mark,) = column._marks.within(place.block, place.start, place.end)
            part = next(part for part in column.document.parts() if part.block == place.block)
            assert part.text[mark.start : mark.end] == word


async def test_the_place_where_long_texts_part_is_brought_into_sight_in_both(tmp_path: Path) -> None:
    shared = [(f"\n\nline {number}",) for number in range(12)]
    on, off = Script(), Script()
    for words in shared:
        on.step(*words)
        off.step(*words)
    off.pieces[900] = ""  # so that the ids that follow are others
    for number in range(40):
        on.step(f"\n\nfast {number}")
        off.step(f"\n\nslow {number}")
    baseline = backend_for(off.end(), server=OFF_SERVER)
    async with race(tmp_path, backend=backend_for(on.end()), baseline=baseline) as (_, screen):
        assert "fast 0" in column_of(screen, Side.ON)
        assert "slow 0" in column_of(screen, Side.OFF)


async def test_more_runs_say_how_they_scatter_and_all_are_kept(tmp_path: Path) -> None:
    async with race(tmp_path) as (chat, screen):
        await chat.pilot.press("3")
        await ended(chat, screen, 3)
        await chat.pilot.press("enter")
        await ended(chat, screen, 4)
        said = " ".join(verdict_of(screen).split())
        assert "in 4 runs" in said
        assert "does not count" not in said
        assert "Compared with itself, no side gave another text" in said
        assert "95 % interval" in said
        assert "The interval is of the runs of this one prompt" in said
        assert text_of(screen, "race-head").rstrip().endswith("4 runs")
        (file,) = (tmp_path / "comparisons").iterdir()
        kept = read_samples(file)
        assert kept is not None
        assert len(kept.samples) == 10
        assert kept.head["prompt"] == "Say hello"


@pytest.mark.parametrize(("key", "runs"), [("5", 5), ("0", 10)])
async def test_keys_ask_for_many_runs(tmp_path: Path, key: str, runs: int) -> None:
    async with race(tmp_path) as (chat, screen):
        await chat.pilot.press(key)
        await ended(chat, screen, runs)
        assert screen.race.done == runs


async def test_one_after_the_other_is_another_comparison_in_a_file_of_its_own(tmp_path: Path) -> None:
    async with race(tmp_path) as (chat, screen):
        await chat.pilot.press("m")
        await chat.until(lambda: not screen.race.together)
        await ended(chat, screen, 1)
        assert "in turn" in text_of(screen, "race-head")
        assert len(screen.race.samples) == 2
        assert len(list((tmp_path / "comparisons").iterdir())) == 2


async def test_one_server_races_with_itself_by_its_hook(tmp_path: Path) -> None:
    async with open_chat(proposing()) as chat:
        chat.app.comparisons_directory = tmp_path
        await chat.ask("Go")
        await chat.pilot.press("f11")
        await chat.until(lambda: isinstance(chat.app.screen, RaceScreen))
        screen = chat.app.screen
        assert isinstance(screen, RaceScreen)
        assert screen.race.prompt == "Go"
        assert screen.check_action("mode", ()) is False
        await chat.pilot.press("escape")
        await chat.until(lambda: not screen.race.runs)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.screen)
        assert len(chat.session.conversation.turns) == 1


async def test_escape_stops_the_runs_and_then_goes_back(tmp_path: Path) -> None:
    hang = Hang()
    stuck = ScriptedBackend([*HELLO.events[:2], hang], server=server_info())
    async with race(tmp_path, backend=stuck, begin=lambda _: None) as (chat, screen):
        await chat.until(lambda: Side.ON in screen.race.replies)
        await chat.pilot.press("escape")
        await chat.until(lambda: not screen.race.runs)
        assert chat.app.screen is screen
        assert "Hello there" in column_of(screen, Side.ON)
        await chat.pilot.press("ctrl+c")
        await chat.until(lambda: chat.app.screen is chat.screen)


async def test_a_side_that_fails_is_told_and_the_other_stays(tmp_path: Path) -> None:
    broken = ScriptedBackend(
        [PARTS.events[0], StreamBroken("The connection broke.", "Is it alive?")], server=OFF_SERVER
    )
    async with race(tmp_path, baseline=broken, begin=lambda _: None) as (chat, screen):
        await chat.until(lambda: not screen.race.runs and bool(screen.race.samples))
        await chat.pilot.pause(0.2)
        assert "Hello there, how are you?" in column_of(screen, Side.ON)
        said = " ".join(verdict_of(screen).split())
        assert said.count("off: The connection broke. Is it alive?") == 1
        assert "equal" not in said
        assert "Nothing can be said of the speed" in said


async def test_the_columns_scroll_in_step(tmp_path: Path) -> None:
    long = reply_of(*((f"\n\nline {number}",) for number in range(60)))
    async with race(
        tmp_path, backend=backend_for(long), baseline=backend_for(long, server=OFF_SERVER)
    ) as (chat, screen):  # fmt: skip
        on, off = screen.column(Side.ON), screen.column(Side.OFF)
        await chat.pilot.press("home")
        await chat.pilot.pause()
        assert (on.scroll_offset.y, off.scroll_offset.y) == (0, 0)
        await chat.pilot.press("pagedown", "down", "down", "up")
        await chat.pilot.pause()
        assert on.scroll_offset.y == off.scroll_offset.y > 1
        off.action_move(3)
        await chat.pilot.pause()
        assert on.scroll_offset.y == off.scroll_offset.y
        await chat.pilot.press("pageup", "end")
        await chat.pilot.pause()
        assert on.scroll_offset.y == on.max_scroll_y


async def test_the_comparison_is_exported(tmp_path: Path) -> None:
    async with race(tmp_path) as (chat, screen):
        await chat.pilot.press("ctrl+s")
        await chat.until(lambda: bool(chat.notices))
        assert "Written: " in chat.notices[-1]
        names = sorted(path.suffix for path in (tmp_path / "exports").iterdir())
        assert names == [".json", ".md"]
        assert screen.race.done == 1


async def test_without_a_prompt_or_a_way_there_is_a_sentence() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.type("/compare")
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert "There is no prompt to compare with yet." in chat.notices[-1]
        await chat.pilot.press("ctrl+a", "delete")
        chat.screen.prompt.clear()
        await chat.type("/compare Why?")
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert "Speculation cannot be switched here" in chat.notices[-1]


@pytest.mark.parametrize("width", [60, 80, 81, 120])
async def test_equal_texts_have_equal_lines(tmp_path: Path, width: int) -> None:
    async with race(tmp_path, size=(width, 30)) as (_, screen):
        on, off = screen.column(Side.ON), screen.column(Side.OFF)
        assert on.document.width == off.document.width
        assert on.region.right + 1 == off.region.x


@pytest.mark.parametrize("size", [(80, 24), (60, 20)])
async def test_it_can_be_used_in_a_small_terminal(tmp_path: Path, size: tuple[int, int]) -> None:
    async with race(tmp_path, size=size) as (chat, screen):
        assert "Hello there" in column_of(screen, Side.ON)
        assert "Hello there" in column_of(screen, Side.OFF)
        assert "7 tokens" in text_of(screen, "race-bars")
        assert "times as fast" in verdict_of(screen)
        await chat.pilot.press("f3")
        await chat.pilot.pause()
        assert "Hello there" in column_of(screen, Side.ON)


async def test_a_run_that_was_stopped_marks_no_place_where_it_did_not_part(tmp_path: Path) -> None:
    stuck = ScriptedBackend(PARTS.events, [*PARTS.events[:2], Hang()], pieces=PARTS.pieces, server=OFF_SERVER)
    async with race(tmp_path, baseline=stuck) as (chat, screen):
        await chat.pilot.press("enter")
        await chat.until(lambda: screen.race.runs and len(stuck.requests) == 2)
        await chat.until(lambda: len(screen.race.replies[Side.OFF].rows) == 2)
        await chat.pilot.press("escape")
        await chat.until(lambda: not screen.race.runs)
        await chat.pilot.pause(0.2)
        assert column_of(screen, Side.OFF).splitlines()[1].strip() == "Hello there"
        place = screen.column(Side.OFF).document.place_of_token(0, 1)
        assert place is not None
        assert not screen.column(Side.OFF)._marks.within(place.block, 0, 99)


async def test_what_makes_a_figure_doubtful_is_said(tmp_path: Path) -> None:
    at_once = reply_of(("Hello",), (" there",), (",",))
    events = [
        replace(event, at=1.0 + number * 1e-6) if isinstance(event, ChunkArrived) else event
        for number, event in enumerate(at_once.events)
    ]
    held_back = ScriptedBackend(events, pieces=at_once.pieces, server=OFF_SERVER)
    async with race(tmp_path, baseline=held_back) as (_, screen):
        said = " ".join(verdict_of(screen).split())
        assert "1 of 1 replies with speculation off show no decode rate" in said


async def test_servers_of_one_machine_that_are_asked_at_once_are_not_said_to_take_turns(tmp_path: Path) -> None:
    beside = server_info(draft_length=0, url="http://gpu01:9000")
    async with race(tmp_path, baseline=backend_for(PARTS, server=beside)) as (chat, screen):
        assert "never asked at the same time" in " ".join(verdict_of(screen).split())
        await chat.pilot.press("m")
        await chat.until(lambda: screen.race.together)
        await ended(chat, screen, 1)
        said = " ".join(verdict_of(screen).split())
        assert "never asked at the same time" not in said
        assert "asked at the same time: each slows the other" in said


async def test_a_chat_that_allows_one_token_is_told_so_and_no_race_begins() -> None:
    async with open_chat(backend_for(HELLO), baseline=off_side()) as chat:
        chat.session.sampling = Sampling(max_tokens=1)
        await chat.type("/compare Why?")
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert "max-tokens 1 is too small" in chat.notices[-1]
        assert chat.app.screen is chat.screen
