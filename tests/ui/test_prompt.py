"""The prompt alone, in a bare application: keys as they come from a terminal, pastes, long texts, the popup."""

import time
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import ClassVar

import pytest
from textual import events, on
from textual.app import App, ComposeResult
from textual.pilot import Pilot
from textual.widgets import Static

from specchat.ui.attachments import read_attachment
from specchat.ui.key_bursts import HOLD_SECONDS
from specchat.ui.messages import PromptSubmitted
from specchat.ui.widgets.completion import Completion, Suggestion
from specchat.ui.widgets.prompt import Prompt

NAMES = ("/help", "/max ", "/min ", *(f"/word{n} " for n in range(20)))
LONG = "".join(f"line {n} of what was pasted\n" for n in range(30))


def complete(typed: str) -> Sequence[Suggestion]:
    return [Suggestion(name, name.strip(), f"does {name.strip()}") for name in NAMES if name.startswith(typed)]


class Host(App[None]):
    """A transcript, a prompt beneath it, and what the prompt sent."""

    CSS = "#above { height: 1fr; }"
    BINDINGS: ClassVar = [("ctrl+z", "nothing", "")]

    def __init__(self, complete: Callable[[str], Sequence[Suggestion]]) -> None:
        super().__init__()
        self._complete = complete
        self.sent: list[PromptSubmitted] = []

    def compose(self) -> ComposeResult:
        yield Static("transcript", id="above")
        yield Prompt(complete=self._complete, id="prompt")

    def on_mount(self) -> None:
        self.prompt.focus()

    @on(PromptSubmitted)
    def _keep(self, event: PromptSubmitted) -> None:
        self.sent.append(event)
        self.prompt.text = ""

    @property
    def prompt(self) -> Prompt:
        return self.query_one(Prompt)

    @property
    def popup(self) -> Completion:
        return self.screen.query_one(Completion)


class Typist:
    """Presses keys at given times."""

    def __init__(self, app: Host, pilot: Pilot[None]) -> None:
        self.app, self.pilot = app, pilot
        self.now = time.monotonic()

    async def at_once(self, *keys: str, apart: float = 0.0001) -> None:
        """Keys of one read."""
        for key in keys:
            character = {"enter": "\r", "tab": "\t", "ctrl+j": "\n"}.get(key, key)
            event = events.Key(key, character)
            event.time = self.now
            self.now += apart
            self.app.prompt.post_message(event)
        await self.pilot.pause()

    async def paste(self, text: str) -> None:
        self.app.prompt.post_message(events.Paste(text))
        await self.pilot.pause()

    @property
    def sent(self) -> list[str]:
        return [event.text for event in self.app.sent]

    @property
    def offered(self) -> list[str]:
        return [one.shown for one in self.app.popup.suggestions]


@asynccontextmanager
async def typing(size: tuple[int, int] = (80, 24)) -> AsyncGenerator[Typist]:
    app = Host(complete)
    async with app.run_test(size=size) as pilot:
        await pilot.pause()
        yield Typist(app, pilot)


# -- Enter in bursts of keys ---------------------------------------------------------------------------------------


async def test_enter_after_typing_at_any_human_speed_sends() -> None:
    async with typing() as typist:
        await typist.at_once(*"hello", "enter", apart=0.02)

        assert typist.sent == ["hello"]


async def test_a_paste_that_comes_as_keys_is_one_prompt() -> None:
    async with typing() as typist:
        await typist.at_once(*"one", "enter", *"two", "enter", "enter", *"three", "enter")
        await typist.pilot.pause(HOLD_SECONDS * 2)

        assert typist.sent == []
        assert typist.app.prompt.text == "one\ntwo\n\nthree\n"


async def test_a_paste_whose_next_read_comes_a_little_later_is_still_one() -> None:
    async with typing() as typist:
        await typist.at_once(*"one", "enter")
        typist.now += HOLD_SECONDS / 2
        await typist.at_once(*"two", "enter", *"x")

        assert typist.sent == []
        assert typist.app.prompt.text == "one\ntwo\nx"


async def test_one_line_and_enter_that_a_slow_link_or_a_script_delivers_together_are_sent() -> None:
    async with typing() as typist:
        await typist.at_once(*"hello there", "enter")
        assert typist.sent == []
        await typist.pilot.pause(HOLD_SECONDS * 2)

        assert typist.sent == ["hello there"]


async def test_a_key_long_after_a_held_enter_sends_first_even_on_a_busy_machine() -> None:
    async with typing() as typist:
        await typist.at_once(*"hi", "enter")
        typist.now += 1
        await typist.at_once("x")

        assert typist.sent == ["hi"]


async def test_a_tab_inside_a_paste_of_keys_stays_in_the_text() -> None:
    async with typing() as typist:
        await typist.at_once(*"a", "tab", *"b", "enter", "tab", *"c")

        assert typist.app.prompt.text == "a\tb\n\tc"
        assert typist.app.focused is typist.app.prompt


# -- pastes --------------------------------------------------------------------------------------------------------


async def test_a_short_paste_is_text_and_is_not_sent() -> None:
    async with typing() as typist:
        await typist.paste("one\r\ntwo\rthree\n")

        assert typist.app.prompt.text == "one\ntwo\nthree\n"
        assert typist.sent == []


async def test_a_long_paste_is_shown_by_name_and_sent_whole() -> None:
    async with typing() as typist:
        await typist.at_once(*"Look:", apart=1)
        await typist.paste(LONG)

        assert typist.app.prompt.text == "Look:[pasted 1 · 30 lines · 800 B]"
        assert typist.app.prompt.expanded == f"Look:{LONG}"
        await typist.pilot.press("enter")
        assert typist.sent == [f"Look:{LONG}"]


async def test_a_paste_of_100_kb_holds_the_screen_up_for_less_than_a_tenth_of_a_second() -> None:
    text = "a line of some length that somebody pasted\n" * 2400
    async with typing() as typist:
        start = time.perf_counter()
        await typist.app.prompt._on_paste(events.Paste(text))
        held = time.perf_counter() - start

        assert len(text) > 100_000
        assert held < 0.1
        assert typist.app.prompt.text == "[pasted 1 · 2,400 lines · 103 kB]"


@pytest.mark.parametrize(("key", "column"), [("backspace", "end"), ("delete", "home")])
async def test_deleting_at_a_name_deletes_the_paste(key: str, column: str) -> None:
    async with typing() as typist:
        await typist.paste(LONG)
        await typist.pilot.press(column, key)

        assert typist.app.prompt.expanded == ""


async def test_nothing_can_be_typed_into_a_name() -> None:
    async with typing() as typist:
        await typist.paste(LONG)
        await typist.pilot.press("left", "left", "x")

        assert typist.app.prompt.expanded == f"{LONG}x"


async def test_a_name_can_be_unfolded_to_change_its_text() -> None:
    async with typing() as typist:
        await typist.paste(LONG)
        await typist.pilot.press("ctrl+o")

        assert typist.app.prompt.text == LONG


async def test_the_same_paste_twice_has_one_name_and_a_name_in_a_paste_is_only_text() -> None:
    async with typing() as typist:
        await typist.paste(LONG)
        await typist.paste(LONG)
        name = typist.app.prompt.text[: len(typist.app.prompt.text) // 2]
        assert typist.app.prompt.text == name * 2
        typist.app.prompt.text = ""
        await typist.paste(f"{name}\n" * 30)

        assert typist.app.prompt.expanded == f"{name}\n" * 30


async def test_a_paste_that_begins_with_a_slash_is_a_question() -> None:
    async with typing() as typist:
        await typist.paste("/quit\n" + LONG)
        await typist.pilot.press("enter")

        assert typist.sent == ["//quit\n" + LONG]


async def test_an_earlier_prompt_comes_back_with_the_name_of_its_paste() -> None:
    async with typing() as typist:
        await typist.paste(LONG)
        shown = typist.app.prompt.text
        await typist.pilot.press("enter")
        typist.app.prompt.remember(typist.sent[0])
        await typist.pilot.press("up")

        assert typist.app.prompt.text == shown
        assert typist.app.prompt.expanded == LONG


async def test_a_name_has_a_look_of_its_own() -> None:
    async with typing() as typist:
        await typist.paste(LONG)
        spans = typist.app.prompt.get_line(0).spans

        assert [(span.start, span.end) for span in spans] == [(0, len(typist.app.prompt.text))]


# -- files ---------------------------------------------------------------------------------------------------------


async def test_a_file_stands_in_the_prompt_by_name_and_is_sent_in_a_fence(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text("# Notes\n```\ncode\n```")
    async with typing() as typist:
        typist.app.prompt.attach(read_attachment(str(tmp_path / "notes.md")))
        await typist.pilot.pause()
        assert typist.app.prompt.text == "[file notes.md · 20 B]\n"
        await typist.pilot.press("W", "h", "y", "?")

        assert typist.app.prompt.expanded == "notes.md:\n````\n# Notes\n```\ncode\n```\n````\n\nWhy?"


async def test_two_files_of_one_name_are_told_apart(tmp_path: Path) -> None:
    async with typing() as typist:
        for text in ("one", "two"):
            (tmp_path / "a.txt").write_text(text)
            typist.app.prompt.attach(read_attachment(str(tmp_path / "a.txt")))

        assert typist.app.prompt.text == "[file a.txt · 3 B]\n[file a.txt · 3 B · 2]\n"
        assert "one" in typist.app.prompt.expanded
        assert "two" in typist.app.prompt.expanded


# -- undo and keys that belong to the screen -----------------------------------------------------------------------


async def test_control_underscore_undoes_and_control_z_does_not() -> None:
    async with typing() as typist:
        await typist.paste("hello")
        typist.app.action_suspend_process = lambda: None  # type: ignore[method-assign]
        await typist.pilot.press("ctrl+z")
        assert typist.app.prompt.text == "hello"
        await typist.pilot.press("ctrl+underscore")

        assert typist.app.prompt.text == ""


async def test_a_change_of_many_lines_can_be_taken_back_and_done_again() -> None:
    text = "".join(f"line {n}\n" for n in range(18))
    async with typing() as typist:
        await typist.paste(text)
        await typist.pilot.press("ctrl+underscore")
        assert typist.app.prompt.text == ""
        await typist.pilot.press("ctrl+y")
        assert typist.app.prompt.text == text
        await typist.pilot.press("ctrl+y", "x")

        assert typist.app.prompt.text == f"{text}x"


# -- changing an earlier prompt ------------------------------------------------------------------------------------


async def test_changing_an_earlier_prompt_says_so_and_tells_which_it_replaces() -> None:
    async with typing() as typist:
        typist.app.prompt.change(3, "What is it?")
        assert "Esc gives it up" in str(typist.app.prompt.border_title)
        await typist.pilot.press("!", "enter")

        assert [(event.text, event.replaces) for event in typist.app.sent] == [("What is it?!", 3)]


@pytest.mark.parametrize("ending", ["escape", "asked"])
async def test_what_was_being_typed_comes_back_after_a_change(ending: str) -> None:
    async with typing() as typist:
        await typist.paste("half a thought")
        typist.app.prompt.change(0, "What is it?")
        if ending == "escape":
            await typist.pilot.press("escape")
        else:
            await typist.pilot.press("enter")
            typist.app.prompt.remember("What was it?")

        assert typist.app.prompt.text == "half a thought"
        assert typist.app.prompt.editing is None
        assert not typist.app.prompt.border_title
        assert not typist.app.prompt.dismiss()


# -- the popup -----------------------------------------------------------------------------------------------------


async def test_a_slash_offers_what_can_be_typed_above_the_prompt_and_moves_nothing() -> None:
    async with typing() as typist:
        before = typist.app.query_one("#above").region, typist.app.prompt.region
        await typist.pilot.press("/")
        await typist.pilot.pause()

        assert len(typist.offered) == len(NAMES)
        assert typist.app.popup.region.bottom == typist.app.prompt.region.y
        assert typist.app.popup.region.height == 8
        assert (typist.app.query_one("#above").region, typist.app.prompt.region) == before


async def test_what_does_not_match_is_not_offered_and_a_question_gets_no_popup() -> None:
    async with typing() as typist:
        await typist.pilot.press("/", "m")
        assert typist.offered == ["/max", "/min"]
        await typist.pilot.press("x")
        assert not typist.app.popup.display
        typist.app.prompt.text = ""
        await typist.pilot.press("/", "/")
        assert not typist.app.popup.display


async def test_tab_takes_what_is_chosen_and_arrows_choose() -> None:
    async with typing() as typist:
        await typist.pilot.press("/", "m", "down", "tab")
        assert typist.app.prompt.text == "/min "
        await typist.pilot.press("backspace", "backspace", "backspace", "up", "tab")

        assert typist.app.prompt.text == "/min "


async def test_enter_completes_a_part_and_sends_a_whole() -> None:
    async with typing() as typist:
        await typist.pilot.press("/", "h")
        await typist.pilot.press("enter")
        assert (typist.app.prompt.text, typist.sent) == ("/help", [])
        await typist.pilot.press("enter")
        await typist.pilot.pause(HOLD_SECONDS * 2)

        assert typist.sent == ["/help"]
        assert not typist.app.popup.display


async def test_escape_closes_the_popup_and_keeps_the_text() -> None:
    async with typing() as typist:
        await typist.pilot.press("/", "h", "escape")

        assert not typist.app.popup.display
        assert typist.app.prompt.text == "/h"


async def test_the_chosen_row_is_always_in_sight() -> None:
    async with typing((60, 20)) as typist:
        await typist.pilot.press("/", *["down"] * 15)
        popup = typist.app.popup
        rows = [popup.render_line(y).text.split()[0] for y in range(popup.size.height)]

        assert popup.chosen is not None
        assert popup.chosen.shown == "/word12"
        assert "/word12" in rows
        assert popup.region.right <= 60


async def test_a_click_takes_a_suggestion() -> None:
    async with typing() as typist:
        await typist.pilot.press("/", "m")
        await typist.pilot.pause()
        await typist.pilot.click(Completion, offset=(2, 1))

        assert typist.app.prompt.text == "/min "


async def test_walking_to_an_earlier_command_opens_no_popup_that_would_hold_the_arrows() -> None:
    async with typing() as typist:
        for prompt in ("first", "/max 5"):
            typist.app.prompt.remember(prompt)
        await typist.pilot.press("up")
        assert not typist.app.popup.display
        await typist.pilot.press("up")

        assert typist.app.prompt.text == "first"


async def test_when_the_keyboard_goes_elsewhere_the_popup_closes() -> None:
    async with typing() as typist:
        await typist.pilot.press("/")
        typist.app.screen.set_focus(None)
        await typist.pilot.pause()

        assert not typist.app.popup.display


async def test_enter_behind_fast_typing_takes_nothing_that_was_offered_for_less() -> None:
    async with typing() as typist:
        await typist.pilot.press("/", "m")
        await typist.at_once(*"ax 64", "enter", apart=0.02)

        assert typist.sent == ["/max 64"]
