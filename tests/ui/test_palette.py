"""The command palette: it offers the table, runs what needs no argument and begins what needs one."""

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
