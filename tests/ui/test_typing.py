"""What the prompt does with keys, earlier prompts and pastes."""

import pytest
from textual import events

from chat_pilot import HELLO, backend_for, open_chat


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "alt+enter", "shift+\r"])
async def test_newline_keys_make_a_line_and_send_nothing(key: str) -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.type("one")
        await chat.pilot.press(key)
        await chat.type("two")

        assert chat.screen.prompt.text == "one\ntwo"
        assert not backend.requests


async def test_the_prompt_grows_with_its_lines_up_to_six() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        heights = [chat.screen.prompt.size.height]
        for _ in range(9):
            await chat.pilot.press("ctrl+j")
            heights.append(chat.screen.prompt.size.height)

        assert heights[:6] == [1, 2, 3, 4, 5, 6]
        assert heights[-1] == 6


async def test_a_prompt_of_spaces_asks_nothing_and_leaves_none_behind() -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.type("  ")
        await chat.pilot.press("enter")
        await chat.pilot.pause()

        assert not backend.requests
        assert not chat.screen.prompt.text


async def test_control_c_copies_what_is_selected_in_the_prompt() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.type("copy me")
        await chat.pilot.press("shift+home", "ctrl+c")

        assert chat.app.clipboard == "copy me"
        assert not chat.app._exit


async def test_arrows_walk_through_earlier_prompts_and_back_to_the_draft() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("first")
        await chat.ask("second")
        await chat.type("draft")
        walked = []
        for key in ("up", "up", "up", "down", "down"):
            await chat.pilot.press(key)
            walked.append(chat.screen.prompt.text)

        assert walked == ["second", "first", "first", "second", "draft"]


async def test_a_large_paste_arrives_whole() -> None:
    backend = backend_for(HELLO)
    text = "a line of text to paste\n" * 4200
    async with open_chat(backend) as chat:
        chat.app.post_message(events.Paste(text))
        await chat.pilot.pause()
        await chat.pilot.press("enter")
        await chat.ended()

        assert backend.requests[0].messages[-1].content == text
