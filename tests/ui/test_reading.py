"""The transcript as a reader: it follows, stays, scrolls, and fits every size."""

import pytest
from textual import events

from chat_pilot import HELLO, backend_for, open_chat, reply_of, without_speculation
from fakes import Hang, Script
from specchat.ui.commands.table import FOOT
from specchat.ui.widgets.panels import PanelColumn


def long_reply(hang: Hang | None = None) -> Script:
    script = Script()
    for number in range(120):
        script.step(f"line {number}\n")
    return script.then(hang) if hang else script.end()


async def test_the_transcript_follows_its_end() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")

        assert "line 119" in chat.shown
        assert "more below" not in chat.line("status")


async def test_who_scrolls_up_stays_there_while_the_reply_grows() -> None:
    hang = Hang()
    script = long_reply(hang)
    for number in range(120, 160):
        script.step(f"line {number}\n")
    async with open_chat(backend_for(script.end())) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "line 119" in chat.whole)
        await chat.pilot.press("pageup")
        await chat.pilot.press("pageup")
        before = chat.shown
        assert "more below · End" in chat.line("status")
        hang.released.set()
        await chat.ended()

        assert chat.shown == before
        await chat.pilot.press("end")
        assert "line 159" in chat.shown
        assert "more below" not in chat.line("status")


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        (["ctrl+home"], "You"),
        (["pageup", "pagedown"], "line 119"),
        (["ctrl+home", "ctrl+end"], "line 119"),
        (["ctrl+home", "end"], "line 119"),
    ],
)
async def test_the_keyboard_scrolls_from_within_the_prompt(keys: list[str], row: str) -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")
        await chat.pilot.press(*keys)
        await chat.pilot.pause()

        assert row in chat.shown
        assert chat.screen.prompt.has_focus


async def test_end_first_goes_to_the_end_of_the_line_that_is_typed() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")
        await chat.type("abc")
        await chat.pilot.press("ctrl+home", "left", "left", "end")

        assert "You" in chat.shown
        await chat.pilot.press("end")
        assert "line 119" in chat.shown


async def test_the_wheel_scrolls() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")
        transcript = chat.screen.transcript
        before = transcript.scroll_offset.y
        await chat.pilot._post_mouse_events([events.MouseScrollUp], "#transcript", (5, 5))
        await chat.pilot.pause()

        assert transcript.scroll_offset.y == before - 3
        assert not transcript.following


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_every_width_shows_reply_and_figures(width: int) -> None:
    async with open_chat(backend_for(HELLO), size=(width, 24)) as chat:
        await chat.ask("Hi")
        figures = chat.line("panel-acceptance") if width >= 100 else chat.line("status")

        assert "Hello there, how are you?" in chat.shown
        assert "3.00" in figures
        assert chat.screen.panels.display is (width >= 100)
        assert all(len(row) <= width for row in chat.shown.splitlines())


@pytest.mark.parametrize("size", [(120, 40), (120, 30), (100, 24)])
@pytest.mark.parametrize("lines", [1, 9])
async def test_no_panel_is_cut_and_the_comparison_stays(size: tuple[int, int], lines: int) -> None:
    async with open_chat(backend_for(HELLO), baseline=without_speculation(), size=size) as chat:
        await chat.ask("Hi")
        await chat.pilot.press(*["ctrl+j"] * (lines - 1))
        await chat.pilot.pause()
        column = chat.screen.query_one(PanelColumn)
        shown = [panel for panel in column.children if panel.display]

        assert "panel-comparison" in {panel.id for panel in shown}
        assert all(column.region.contains_region(panel.region) for panel in shown)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_no_key_is_cut_at_the_foot(width: int) -> None:
    async with open_chat(backend_for(HELLO), size=(width, 24)) as chat:
        await chat.pilot.pause()
        keys = list(chat.screen.query("FooterKey"))

        assert keys
        assert all(key.region.right - 1 <= width for key in keys)
        await chat.pilot.resize_terminal(120, 24)
        await chat.pilot.pause()
        assert len(chat.screen.query("FooterKey")) == len(FOOT)


async def test_a_resize_in_mid_stream_loses_nothing() -> None:
    hang = Hang()
    words = [f"word{n} " for n in range(400)]
    script = Script()
    for word in words[:200]:
        script.step(word)
    script.then(hang)
    for word in words[200:]:
        script.step(word)
    async with open_chat(backend_for(script.end())) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "word199" in chat.whole)
        await chat.pilot.resize_terminal(70, 24)
        hang.released.set()
        await chat.pilot.pause()
        await chat.pilot.resize_terminal(100, 30)
        await chat.ended()

        assert chat.whole.partition("Assistant")[2].split() == "".join(words).split()
        assert "word399" in chat.shown


async def test_a_resize_keeps_the_place_of_the_reader() -> None:
    script = Script()
    for number in range(200):
        script.step(f"paragraph {number} " + "with words " * 20 + "\n")
    async with open_chat(backend_for(script.end())) as chat:
        await chat.ask("Go")
        for _ in range(4):
            await chat.pilot.press("pageup")
        transcript = chat.screen.transcript
        place = transcript.document.place_of(transcript.scroll_offset.y)
        await chat.pilot.resize_terminal(64, 24)
        await chat.pilot.pause()
        top = transcript.document.row(transcript.scroll_offset.y)

        assert top.spans[0].offset <= place[1] <= top.end
        assert not transcript.following


async def test_dragging_selects_text_and_control_c_copies_it_without_wrapping() -> None:
    words = " ".join(f"word{n}" for n in range(60))
    async with open_chat(backend_for(reply_of((words,)))) as chat:
        await chat.ask("Go")
        row = next(y for y in range(30) if "word0" in chat.screen.transcript.render_line(y).text)
        await chat.pilot.mouse_down("#transcript", offset=(3, row))
        await chat.pilot.hover("#transcript", offset=(9, row + 1))
        await chat.pilot.mouse_up("#transcript", offset=(9, row + 1))
        await chat.pilot.press("ctrl+c")

        assert chat.app.clipboard.startswith("word0 word1")
        assert "\n" not in chat.app.clipboard
        assert len(chat.app.clipboard) > 60
        await chat.pilot.press("escape")
        assert not chat.screen.selections


async def test_the_scroll_bar_is_there_whenever_somebody_may_read_it() -> None:
    hang = Hang()
    async with open_chat(backend_for(long_reply(hang).end())) as chat:
        transcript = chat.screen.transcript
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "line 119" in chat.whole)
        width = transcript.document.width
        hurried = transcript.scrollbar_size_vertical
        await chat.pilot.press("pageup")
        reading = transcript.scrollbar_size_vertical
        await chat.pilot.press("ctrl+end")
        hang.released.set()
        await chat.ended()

        assert (hurried, reading, transcript.scrollbar_size_vertical) == (0, 1, 1)
        assert transcript.document.width == width


async def test_before_its_size_is_known_the_transcript_draws_no_column_of_letters() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        transcript = chat.screen.transcript
        assert transcript.render_line(0).text.strip()

        transcript.document.resize(1)

        assert not transcript.render_line(0).text.strip()


async def test_focus_that_leaves_and_comes_back_restyles_few_widgets() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")
        chat.app.post_message(events.AppBlur())
        await chat.until(lambda: not chat.app.app_focus)
        chat.app.post_message(events.AppFocus())
        await chat.until(lambda: chat.app.app_focus)

        assert "line 119" in chat.shown
        # Textual restyles every widget at a change of focus: the transcript is one, however long it is.
        assert len(list(chat.screen.query("*"))) < 60
