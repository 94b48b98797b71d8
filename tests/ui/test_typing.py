"""What the prompt does with keys, earlier prompts and pastes."""

import time

import pytest
from textual import events

from chat_pilot import HELLO, Chat, backend_for, open_chat


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


async def keys_that_waited(chat: Chat, *keys: str) -> None:
    """Keys that a person pressed one after the other while the program was busy: all are there at once."""
    now = time.monotonic()
    for number, key in enumerate(keys):
        event = events.Key(key, {"enter": "\r"}.get(key, key))
        event.time = now + 0.1 * number
        chat.app.post_message(event)
    await chat.until(lambda: bool(chat.session.conversation.turns))
    await chat.pilot.pause(0.1)
    await chat.ended()


async def test_what_is_typed_behind_enter_while_the_program_is_busy_is_of_the_next_prompt() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await keys_that_waited(chat, *"one", "enter", *"two", "enter", *"three")

        assert [turn.prompt for turn in chat.session.conversation.turns] == ["one", "two"]
        assert chat.screen.prompt.text == "three"


async def test_enter_pressed_again_while_the_program_is_busy_asks_once() -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await keys_that_waited(chat, *"one", "enter", "enter", "enter")

        assert len(backend.requests) == 1


async def test_a_terminal_without_room_for_the_prompt_ends_nothing() -> None:
    async with open_chat(backend_for(HELLO), size=(80, 24)) as chat:
        for width in (7, 6, 4, 1):
            await chat.pilot.resize_terminal(width, 5)
        await chat.pilot.resize_terminal(80, 24)

        await chat.ask("hi")
        assert "how are you?" in chat.shown
