"""Finding on the screen: while a text is typed, from match to match, while a reply grows and in what is folded."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from chat_pilot import Chat, backend_for, open_chat
from fakes import Hang, Script, ScriptedBackend
from specchat.core.speculation import Channel
from specchat.theming import load_theme
from specchat.ui.layout.marks import Mark
from specchat.ui.theme import token_styles
from specchat.ui.widgets.find_bar import LOOK_AGAIN_SECONDS, FindBar


def long_reply() -> Script:
    script = Script().step("Need", "le first")
    for number in range(100):
        script.step(f"\nline {number}", " of hay")
    return script.step("\na need", "le", " at the", " end", " STRASSE").end()


@asynccontextmanager
async def finding(backend: ScriptedBackend, text: str = "") -> AsyncGenerator[tuple[Chat, FindBar]]:
    async with open_chat(backend, size=(100, 30)) as chat:
        await chat.ask("Hay?")
        await chat.pilot.press("ctrl+f")
        await type_in(chat, text)
        yield chat, chat.screen.query_one(FindBar)


async def type_in(chat: Chat, text: str) -> None:
    await chat.pilot.press(*(" " if char == " " else char for char in text))
    await chat.pilot.pause()


def count(bar: FindBar) -> str:
    return str(bar.count.content)


def marked(chat: Chat) -> list[Mark]:
    layers = chat.screen.transcript._marks._layers["find"]
    return [mark for marks in layers.values() for mark in marks]


async def test_matches_are_found_while_the_text_is_typed() -> None:
    async with finding(backend_for(long_reply()), "needle") as (chat, bar):
        assert count(bar) == "2 of 2"
        assert "a needle at the end" in chat.shown
        assert [mark.style for mark in marked(chat)] == ["mark-find", "mark-found"]
        assert chat.screen.prompt.text == ""


async def test_enter_and_the_arrows_go_from_match_to_match_and_round() -> None:
    async with finding(backend_for(long_reply()), "needle") as (chat, bar):
        await chat.pilot.press("enter")
        assert count(bar) == "1 of 2 · from the top again"
        assert "Needle first" in chat.shown
        await chat.pilot.press("down")
        assert count(bar) == "2 of 2"
        await chat.pilot.press("down", "up")
        assert count(bar) == "2 of 2 · from the end again"
        await chat.pilot.press("shift+enter")
        assert count(bar) == "1 of 2"


async def test_a_match_is_drawn_in_its_look() -> None:
    async with finding(backend_for(long_reply()), "needle") as (chat, _):
        transcript = chat.screen.transcript
        look = token_styles(load_theme("dark").at(chat.app.depth))["mark-found"]
        strips = [transcript.render_line(y) for y in range(transcript.size.height)]
        segments = [(segment.text, segment.style) for strip in strips for segment in strip]
        drawn = [text for text, style in segments if style is not None and style.bgcolor == look.bgcolor]

        assert "".join(drawn) == "needle"


async def test_escape_closes_the_bar_stays_at_the_match_and_stops_nothing() -> None:
    async with finding(backend_for(long_reply()), "first") as (chat, bar):
        await chat.pilot.press("escape")
        assert not bar.is_open
        assert marked(chat) == []
        assert "Needle first" in chat.shown
        assert chat.screen.prompt.has_focus
        await chat.pilot.press("ctrl+f")
        assert (bar.text.value, count(bar)) == ("first", "1 of 1")


async def test_what_is_not_there_is_not_found() -> None:
    async with finding(backend_for(long_reply()), "nowhere") as (chat, bar):
        assert count(bar) == "no match"
        await chat.pilot.press("enter")
        assert count(bar) == "no match"


async def test_a_reply_that_grows_is_searched_again_and_carries_no_match_away() -> None:
    hang = Hang()
    script = Script().step("a needle").then(hang)
    for _ in range(60):
        script.step("\nanother", " needle")
    async with open_chat(backend_for(script.end()), size=(100, 30)) as chat:
        await chat.type("Hay?")
        await chat.pilot.press("enter")
        await chat.until(lambda: "a needle" in chat.shown)
        await chat.pilot.press("ctrl+f")
        await type_in(chat, "needle")
        bar = chat.screen.query_one(FindBar)
        assert count(bar) == "1 of 1"
        hang.released.set()
        await chat.ended()
        await chat.pilot.pause(LOOK_AGAIN_SECONDS * 1.5)
        assert count(bar) == "1 of 61"
        assert "a needle" in chat.shown


async def test_thinking_that_is_folded_opens_where_a_match_in_it_is_gone_to() -> None:
    script = Script().step("deep", " thought", channel=Channel.REASONING).step("shallow", " answer").end()
    async with open_chat(backend_for(script)) as chat:
        await chat.ask("Well?")
        chat.screen.transcript.set_view(None, folded=True)
        await chat.pilot.press("ctrl+f")
        await type_in(chat, "answer")
        assert "deep thought" not in chat.shown
        chat.screen.query_one(FindBar).text.value = "thought"
        await chat.pilot.pause()
        assert "deep thought" in chat.shown
        assert count(chat.screen.query_one(FindBar)) == "1 of 1"


async def test_the_command_looks_for_its_argument() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Hay?")
        await chat.type("/find strasse")
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert count(chat.screen.query_one(FindBar)) == "1 of 1"


async def test_pages_scroll_the_transcript_from_the_bar() -> None:
    async with finding(backend_for(long_reply()), "first") as (chat, _):
        top = chat.screen.transcript.scroll_offset.y
        await chat.pilot.press("pagedown")
        assert chat.screen.transcript.scroll_offset.y > top


async def test_another_view_is_searched_again() -> None:
    async with finding(backend_for(Script().step("**bo", "ld** and ", "`bold`").end()), "d** a") as (chat, bar):
        assert count(bar) == "1 of 1"
        await chat.pilot.press("f5")
        await chat.pilot.pause(LOOK_AGAIN_SECONDS * 1.5)
        assert count(bar) == "no match"
        bar.text.value = "bold"
        await chat.pilot.pause()
        assert count(bar) == "1 of 2"
        assert len(marked(chat)) == 2
