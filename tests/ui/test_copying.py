"""Copying messages and blocks of code, by key and by command."""

import pytest

from chat_pilot import HELLO, Chat, backend_for, open_chat
from fakes import Hang, Script
from specchat.core.speculation import Channel
from specchat.ui.cursor import Spot

CODE = (
    Script()
    .step("First:", "\n\n", "```python\n", "x = 1", "\ny = 2\n", "```", "\n\nthen:\n\n", "```sh\n", "ls\n", "```", "\n")
    .end()
)
THOUGHT = Script().step("Let me", " see", channel=Channel.REASONING).step("It is", " four.").end()


async def copied(chat: Chat, key: str) -> str:
    await chat.pilot.press(key)
    return chat.app.clipboard


async def test_f9_copies_the_last_answer_without_its_thinking() -> None:
    async with open_chat(backend_for(THOUGHT)) as chat:
        await chat.ask("One")
        await chat.ask("Two")

        assert await copied(chat, "f9") == "It is four."
        assert chat.notices[-1].startswith("The last answer: ")


async def test_f9_copies_the_message_under_the_token_cursor() -> None:
    async with open_chat(backend_for(THOUGHT)) as chat:
        await chat.ask("One")
        await chat.ask("Two")
        chat.screen.transcript.focus()
        await chat.pilot.pause()
        assert chat.screen.transcript.mode.go_to(Spot(0, 1))
        assert await copied(chat, "f9") == "Let me see"
        assert chat.screen.transcript.mode.go_to(Spot(0, 2))
        assert await copied(chat, "f9") == "It is four."


async def test_an_answer_that_still_grows_is_copied_as_far_as_it_came() -> None:
    hang = Hang()
    async with open_chat(backend_for(Script().step("half").then(hang).step(" whole").end())) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "half" in chat.whole)
        assert await copied(chat, "f9") == "half"
        hang.released.set()


@pytest.mark.parametrize("key", ["f9", "ctrl+b"])
async def test_where_there_is_nothing_to_copy_a_sentence_says_so(key: str) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        assert await copied(chat, key) == ""
        assert chat.notices[-1].startswith("There is no ")


async def test_ctrl_b_copies_the_last_block_of_code_and_then_those_before() -> None:
    async with open_chat(backend_for(CODE)) as chat:
        await chat.ask("Code!")

        assert await copied(chat, "ctrl+b") == "ls"
        assert chat.notices[-1].startswith("Block of sh (1 line), 2 of 2: ")
        assert await copied(chat, "ctrl+b") == "x = 1\ny = 2"
        assert chat.notices[-1].startswith("Block of python (2 lines), 1 of 2: ")
        assert await copied(chat, "ctrl+b") == "ls"
        chat.app.copy("something else")
        assert await copied(chat, "ctrl+b") == "ls"


async def test_ctrl_b_copies_the_block_under_the_token_cursor() -> None:
    async with open_chat(backend_for(CODE)) as chat:
        await chat.ask("Code!")
        transcript = chat.screen.transcript
        transcript.focus()
        await chat.pilot.pause()
        for token, code in ((3, "x = 1\ny = 2"), (5, "x = 1\ny = 2"), (8, "ls")):
            assert transcript.mode.go_to(Spot(0, token))
            assert await copied(chat, "ctrl+b") == code


async def test_a_block_that_goes_on_in_the_reply_that_continues_it_is_one() -> None:
    begun = Script().step("So:\n", "```py\n", "a = 1", "\n").end("length")
    rest = Script()
    rest.pieces.update(begun.pieces)  # so that its ids are others
    rest.step("b = 2", "\n```", "\ndone").end()
    async with open_chat(backend_for(begun, rest)) as chat:
        await chat.ask("Code!")
        await chat.pilot.press("ctrl+g")
        await chat.until(lambda: "done" in chat.whole and not chat.screen.asker.running)
        assert await copied(chat, "ctrl+b") == "a = 1\nb = 2"
        chat.screen.transcript.focus()
        await chat.pilot.pause()
        chat.app.copy("something else")
        assert chat.screen.transcript.mode.go_to(Spot(1, 0))
        assert await copied(chat, "ctrl+b") == "a = 1\nb = 2"


async def test_the_prompt_that_is_typed_is_left_alone() -> None:
    async with open_chat(backend_for(CODE)) as chat:
        await chat.ask("Code!")
        await chat.type("half a thought")
        await copied(chat, "ctrl+b")
        await copied(chat, "f9")
        assert chat.screen.prompt.text == "half a thought"


@pytest.mark.parametrize(("command", "text"), [("/copy", "".join(CODE.pieces.values())), ("/copy-code", "ls")])
async def test_commands_can_be_typed(command: str, text: str) -> None:
    async with open_chat(backend_for(CODE)) as chat:
        await chat.ask("Code!")
        await chat.type(command)
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.app.clipboard != "")
        assert chat.app.clipboard == text
