"""The command palette: it offers the table, runs what needs no argument and begins what needs one."""

import pytest
from textual import events

from chat_pilot import HELLO, Chat, backend_for, open_chat


async def choose(chat: Chat, words: str) -> None:
    await chat.pilot.press("ctrl+p")
    await chat.until(lambda: chat.app.screen is not chat.screen)
    await chat.pilot.press(*words)
    await chat.pilot.pause(0.3)
    await chat.pilot.press("enter")
    await chat.until(lambda: chat.app.screen is chat.screen)


async def test_a_command_is_found_by_its_words_and_run() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await choose(chat, "hide the fig")

        assert not chat.screen.panels.display


async def test_a_command_with_an_argument_begins_in_the_prompt_and_loses_nothing_typed() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.type("half a thought")
        await choose(chat, "temp")
        assert chat.screen.prompt.text == "/temp "
        await chat.pilot.press("up")

        assert chat.screen.prompt.text == "half a thought"


async def test_escape_closes_the_palette_and_keeps_the_prompt() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.type("half a thought")
        await chat.pilot.press("ctrl+p")
        await chat.until(lambda: chat.app.screen is not chat.screen)
        await chat.pilot.press("escape")
        await chat.until(lambda: chat.app.screen is chat.screen)

        assert chat.screen.prompt.text == "half a thought"


@pytest.mark.parametrize("key", ["pagedown", "pageup", "down", "enter"])
async def test_keys_in_a_terminal_without_room_for_the_list_end_nothing(key: str) -> None:
    async with open_chat(backend_for(HELLO), size=(80, 24)) as chat:
        await chat.pilot.press("ctrl+p")
        await chat.until(lambda: chat.app.screen is not chat.screen)
        await chat.pilot.resize_terminal(10, 3)
        await chat.pilot.press("z", key, "escape", "escape")
        await chat.pilot.resize_terminal(80, 24)
        await chat.until(lambda: chat.app.screen is chat.screen)

        await chat.ask("hi")
        assert "how are you?" in chat.shown


async def test_a_command_chosen_while_an_earlier_prompt_is_changed_loses_nothing_typed() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("first")
        await chat.type("half a thought")
        await chat.pilot.press("f8", "!")
        await choose(chat, "temp")
        assert chat.screen.prompt.text == "/temp "

        walked = []
        for _ in range(2):
            await chat.pilot.press("up")
            walked.append(chat.screen.prompt.text)
        assert walked == ["half a thought", "first!"]


@pytest.mark.parametrize(("opening", "closing"), [("f1", "escape"), ("f1", "q"), ("ctrl+p", "escape"), ("ctrl+p", "")])
async def test_what_lies_over_the_chat_goes_once_however_often_it_is_told(opening: str, closing: str) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        for _ in range(2):
            await chat.pilot.press(opening)
            await chat.until(lambda: chat.app.screen is not chat.screen)
            if closing:
                for _ in range(3):
                    chat.app.post_message(events.Key(closing, closing if len(closing) == 1 else None))
            else:
                await chat.pilot.click(offset=(1, 30), times=3)
            await chat.pilot.pause(0.2)
            assert chat.app.screen is chat.screen

        await chat.ask("hi")
        assert "how are you?" in chat.shown
