"""The token cursor as its user meets it: keys, mouse, marks, selection and the inspector."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import ClassVar

import pytest
from rich.style import Style
from textual.app import App, ComposeResult
from textual.binding import BindingType
from textual.pilot import Pilot
from textual.screen import Screen
from textual.widgets import Input

from chat_pilot import HELLO, backend_for, open_chat
from specchat.core.conversation import Turn
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel
from specchat.theming import LOOKS
from specchat.ui.cursor import Spot
from specchat.ui.messages import CursorLeft, CursorMoved
from specchat.ui.widgets.inspector import Inspector
from specchat.ui.widgets.transcript import Transcript
from told_replies import Steps, tell, told, turns_of

STEPS: Steps = [("One",), (" two", " three"), (" four", " five", " six", " seven"), (" eight",)]
STYLES = {
    **{prefix + look: Style(bold=True) for look in LOOKS for prefix in ("", "thinking/")},
    "mark-cursor": Style(reverse=True),
    "mark-step": Style(underline=True),
    "mark-find": Style(italic=True),
    "mark-found": Style(italic=True),
}


class TokenScreen(Screen[None]):
    """A transcript with the inspector below it."""

    BINDINGS: ClassVar[list[BindingType]] = []

    def compose(self) -> ComposeResult:
        yield Transcript(STYLES, id="transcript")
        yield Inspector(STYLES, id="inspector")
        yield Input(id="prompt")


class TokenApp(App[None]):
    """Shows turns, and hears of the cursor as the chat does."""

    def __init__(self, turns: list[Turn]) -> None:
        super().__init__()
        self.turns = turns
        self.moves: list[tuple[int, int] | None] = []

    def on_mount(self) -> None:
        self.push_screen(TokenScreen())

    def on_cursor_moved(self, event: CursorMoved) -> None:
        self.moves.append((event.turn, event.token))
        self.screen.query_one(Inspector).show(self.turns[event.turn].reply, event.token)

    def on_cursor_left(self, _: CursorLeft) -> None:
        self.moves.append(None)
        self.screen.query_one(Inspector).hide()


class Shown:
    """What the test sees of it."""

    def __init__(self, app: TokenApp, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self.transcript = app.screen.query_one(Transcript)
        self.inspector = app.screen.query_one(Inspector)

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    @property
    def word(self) -> str:
        spot = self.transcript.spot
        return "" if spot is None else self.app.turns[spot.turn].reply.tokens[spot.token].text.strip()

    def has_cursor(self) -> bool:
        return self.transcript.spot is not None

    def is_inspecting(self) -> bool:
        return bool(self.inspector.display)

    def follows(self) -> bool:
        return self.transcript.following

    @property
    def selected(self) -> str | None:
        return self.app.screen.get_selected_text()

    def marked(self, attribute: str) -> str:
        """The text in sight that has an attribute of a mark."""
        strips = [self.transcript.render_line(y) for y in range(self.transcript.size.height)]
        return "".join(
            segment.text for strip in strips for segment in strip if segment.style and getattr(segment.style, attribute)
        )

    async def grow(self, *pieces: str) -> None:
        first = tell(self.app.turns[-1].reply, *pieces)
        assert first is not None
        self.transcript.show_turns(self.app.turns, first)
        await self.pilot.pause()


@asynccontextmanager
async def tokens_of(*replies: Reply, size: tuple[int, int] = (60, 24), prompt: str = "What?") -> AsyncGenerator[Shown]:
    app = TokenApp(turns_of(*replies, prompt=prompt))
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        shown = Shown(app, pilot)
        shown.transcript.show_turns(app.turns, 0)
        app.screen.query_one(Input).focus()
        await pilot.pause()
        app.moves.clear()
        yield shown


async def test_the_keyboard_at_the_transcript_is_the_cursor_at_the_last_token_in_sight() -> None:
    async with tokens_of(told(STEPS)) as shown:
        assert not shown.has_cursor()
        assert not shown.is_inspecting()
        await shown.press("tab")

        assert shown.word == "eight"
        assert shown.marked("reverse") == " eight"
        assert shown.is_inspecting()
        assert shown.inspector.border_title == " Token 8 of 8 "
        assert shown.app.moves[-1] == (0, 7)
        await shown.press("tab")

        assert not shown.has_cursor()
        assert shown.marked("reverse") == ""
        assert not shown.is_inspecting()
        assert shown.app.moves[-1] is None


@pytest.mark.parametrize(
    ("keys", "word"),
    [
        (["left"], "seven"),
        (["left", "right"], "eight"),
        (["home"], "One"),
        (["home", "end"], "eight"),
        (["home", "s"], "two"),
        (["S"], "four"),
        (["home", "r"], "three"),
        (["R"], "three"),
        (["N"], "One"),
        (["ctrl+home", "n", "right"], "two"),
        (["ctrl+home"], "One"),
        (["ctrl+home", "ctrl+end"], "eight"),
        (["up"], "eight"),
        (["up", "down"], "eight"),
        (["pageup"], "One"),
        (["pageup", "pagedown"], "eight"),
    ],
)
async def test_every_key_moves_the_cursor(keys: list[str], word: str) -> None:
    async with tokens_of(told(STEPS), told(STEPS)) as shown:
        await shown.press("tab", *keys)

        assert shown.word == word
        assert shown.marked("reverse").strip() == word


async def test_the_other_tokens_of_the_step_are_marked() -> None:
    async with tokens_of(told(STEPS)) as shown:
        await shown.press("tab", "left", "left")

        assert shown.marked("reverse") == " six"
        assert shown.marked("underline") == " four five seven"


async def test_a_newline_under_the_cursor_can_be_seen() -> None:
    async with tokens_of(told([("a",), ("\n", "\n", "b")])) as shown:
        await shown.press("tab", "left")
        assert shown.marked("reverse") == " "
        await shown.press("left")
        assert shown.marked("reverse") == " "


async def test_shift_selects_as_the_mouse_does_and_a_move_drops_it() -> None:
    async with tokens_of(told(STEPS)) as shown:
        await shown.press("tab", "left", "shift+left", "shift+left")
        assert shown.selected == " five six seven"
        assert shown.transcript.text_selection is not None

        await shown.press("shift+right", "shift+right", "shift+right")
        assert shown.selected == " seven eight"
        await shown.press("shift+home")
        assert shown.selected == "One two three four five six seven"
        await shown.press("left")
        assert shown.selected is None


async def test_selected_text_can_be_read() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        await chat.pilot.press("f7", "left", "shift+home")
        await chat.pilot.pause()
        transcript = chat.screen.transcript
        segments = [segment for y in range(transcript.size.height) for segment in transcript.render_line(y)]
        styles = [segment.style for segment in segments if segment.text.strip() in {"Hello", "there", "how", "are"}]

        assert len(styles) == 4
        assert all(style and style.bgcolor and style.color != style.bgcolor for style in styles)


async def test_a_selection_by_rows_reaches_over_replies() -> None:
    async with tokens_of(told(STEPS[:2]), told(STEPS[:2])) as shown:
        await shown.press("tab", "shift+up")

        selected = shown.selected
        assert selected is not None
        assert selected.split() == ["three", "You", "What?", "Assistant", "One", "two", "three"]


async def test_control_a_selects_the_message() -> None:
    async with tokens_of(told(STEPS[:2]), told(STEPS)) as shown:
        await shown.press("tab", "ctrl+a")

        assert shown.selected == "One two three four five six seven eight"


async def test_a_click_moves_the_cursor_only_while_it_is_there() -> None:
    async with tokens_of(told(STEPS)) as shown:
        row = shown.transcript.mode._cursor.row_of(Spot(0, 0))
        await shown.pilot.click("#transcript", offset=(4, row))
        assert not shown.has_cursor()
        await shown.press("tab")
        await shown.pilot.click("#transcript", offset=(4, row))
        await shown.pilot.pause()

        assert shown.word == "One"


async def test_two_clicks_select_a_word_and_three_the_message() -> None:
    async with tokens_of(told(STEPS)) as shown:
        row = shown.transcript.mode._cursor.row_of(Spot(0, 0))
        await shown.pilot.click("#transcript", offset=(8, row), times=2)
        assert shown.selected == "two"
        await shown.pilot.click("#transcript", offset=(8, row), times=3)
        assert shown.selected == "One two three four five six seven eight"


async def test_the_cursor_stays_in_sight() -> None:
    reply = told([("first",), *[(f" word{n}\n",) for n in range(200)]])
    async with tokens_of(reply) as shown:
        await shown.press("tab")
        for keys in (["ctrl+home"], ["pagedown"] * 3, ["end"], ["pageup"] * 2, ["s"] * 30):
            await shown.press(*keys)
            row, top = shown.transcript.mode._cursor.row, shown.transcript.scroll_offset.y

            assert row is not None
            assert top <= row < top + shown.transcript.size.height
        await shown.pilot.resize_terminal(30, 14)
        await shown.pilot.pause()
        row, top = shown.transcript.mode._cursor.row, shown.transcript.scroll_offset.y
        assert row is not None
        assert top <= row < top + shown.transcript.size.height


async def test_following_ends_at_the_cursor_and_begins_again_at_the_end() -> None:
    reply = told([("first",), *[(f" word{n}\n",) for n in range(100)]], ended=False)
    async with tokens_of(reply) as shown:
        assert shown.follows()
        await shown.press("tab")
        top = shown.transcript.scroll_offset.y
        for _ in range(10):
            await shown.grow(" more\n", " and\n")

        assert shown.word == "word99"
        assert shown.transcript.scroll_offset.y == top
        assert not shown.follows()
        assert shown.inspector.border_title == " Token 101 "
        await shown.press("end")

        assert shown.follows()
        assert shown.word == "and"


async def test_what_is_known_later_reaches_the_inspector() -> None:
    async with tokens_of(told(STEPS[:1], ended=False)) as shown:
        await shown.press("tab")
        assert shown.inspector.border_title == " Token 1 "
        await shown.grow(" two", " three")
        shown.app.turns[0].reply.end(Outcome.FINISHED)
        shown.transcript.show_turns(shown.app.turns, 3)
        await shown.pilot.pause()

        assert shown.inspector.border_title == " Token 1 of 3 "


async def test_the_first_token_is_under_the_cursor_as_soon_as_it_comes() -> None:
    async with tokens_of(Reply(0.0, draft_length=3, pieces_expected=True)) as shown:
        await shown.press("tab", "up", "left", "pageup", "home", "end")
        assert not shown.has_cursor()
        await shown.grow("Hello")

        assert shown.word == "Hello"


async def test_clearing_leaves_no_mark_and_no_inspector() -> None:
    async with tokens_of(told(STEPS)) as shown:
        await shown.press("tab")
        shown.transcript.clear()
        await shown.pilot.pause()

        assert not shown.has_cursor()
        assert not shown.is_inspecting()
        assert shown.marked("reverse") == ""


async def test_a_move_that_is_heard_of_after_the_conversation_was_cleared_shows_nothing() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        chat.screen.transcript.post_message(CursorMoved(0, 1))
        chat.session.clear()
        chat.screen.show_anew()
        await chat.pilot.pause()

        assert not chat.screen.inspector.has_class("-shown")


async def test_folding_and_opening_brings_the_cursor_back() -> None:
    async with tokens_of(told(STEPS, thinking=[("Hm",), (" well",)])) as shown:
        await shown.press("tab", "ctrl+home")
        assert shown.app.turns[0].reply.tokens[0].channel is Channel.REASONING
        shown.transcript.set_view(None, folded=True)
        await shown.pilot.pause()
        assert shown.word == "One"
        shown.transcript.set_view(None, folded=False)
        await shown.pilot.pause()

        assert shown.word == "Hm"


@pytest.mark.parametrize(("size", "lines"), [((60, 20), 4), ((80, 24), 5), ((120, 40), 6), ((200, 60), 6)])
async def test_the_inspector_is_as_high_for_every_token_and_leaves_room(size: tuple[int, int], lines: int) -> None:
    async with tokens_of(told(STEPS), size=size) as shown:
        await shown.press("tab")
        for _ in range(8):
            await shown.press("left")

            assert shown.inspector.size.height == lines
            assert shown.transcript.size.height >= size[1] // 2


async def test_another_window_before_the_terminal_changes_nothing() -> None:
    async with tokens_of(told(STEPS)) as shown:
        await shown.press("tab", "left")
        shown.app.app_focus = False
        await shown.pilot.pause()
        assert shown.word == "seven"
        shown.app.app_focus = True
        await shown.pilot.pause()

        assert shown.word == "seven"
        assert shown.transcript.has_focus
