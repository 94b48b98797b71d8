"""Asking again, changing a prompt, going on, and what the sampler is asked for: the keys and the commands."""

from pathlib import Path

import pytest

from chat_pilot import HELLO, Chat, backend_for, open_chat, reply_of
from fakes import Hang, Script, ScriptedBackend
from specchat.core.errors import FieldRefused
from specchat.session.ports import Sampling

ONE, TWO, THREE = reply_of(("One",), (".",)), reply_of(("Two",), (".",)), reply_of(("Three",), (".",))


async def command(chat: Chat, text: str) -> None:
    """Type a command and send it."""
    await chat.type(text)
    await chat.pilot.press("enter")
    await chat.pilot.pause()


async def press_or_type(chat: Chat, how: str) -> None:
    if how.startswith("/"):
        await command(chat, how)
    else:
        await chat.pilot.press(how)
        await chat.pilot.pause()


def said_to(backend: ScriptedBackend) -> list[tuple[str, str]]:
    return [(message.role, message.content) for message in backend.requests[-1].messages]


@pytest.mark.parametrize("how", ["ctrl+r", "/regenerate"])
async def test_a_reply_is_asked_for_again_and_the_old_one_stays(how: str) -> None:
    backend = backend_for(ONE, TWO)
    async with open_chat(backend) as chat:
        await chat.ask("Count")
        await press_or_type(chat, how)
        await chat.until(lambda: len(backend.requests) == 2)
        await chat.ended()

        assert said_to(backend) == [("user", "Count")]
        assert "One." in chat.whole
        assert "Two." in chat.whole
        assert [turn.replaced for turn in chat.session.conversation.turns] == [True, False]


@pytest.mark.parametrize("how", ["ctrl+g", "/continue"])
async def test_a_stopped_reply_goes_on(how: str) -> None:
    backend = backend_for(
        Script().step("Once").step(" upon").then(Hang()),
        reply_of(
            (" a", " time"),
        ),
    )
    async with open_chat(backend) as chat:
        await command(chat, "Tell")
        await chat.until(lambda: "Once upon" in chat.whole)
        await chat.pilot.press("escape")
        await chat.ended()
        await press_or_type(chat, how)
        await chat.until(lambda: len(backend.requests) == 2)
        await chat.ended()

        assert backend.requests[-1].continues
        assert said_to(backend) == [("user", "Tell"), ("assistant", "Once upon")]
        assert " a time" in chat.whole


async def test_a_server_that_cannot_continue_is_said_under_the_reply() -> None:
    refusal = Script().then(FieldRefused("No.", fields=("continue_final_message",)))
    async with open_chat(backend_for(ONE, refusal)) as chat:
        await chat.ask("Count")
        await chat.pilot.press("ctrl+g")
        await chat.until(lambda: len(chat.session.conversation.turns) == 2)
        await chat.ended()

        assert "This server cannot continue a reply" in chat.whole.replace("\n", " ")
        assert "One." in chat.whole


@pytest.mark.parametrize("key", ["ctrl+r", "ctrl+g", "f8"])
async def test_where_nothing_was_asked_yet_the_keys_say_so(key: str) -> None:
    backend = backend_for(ONE)
    async with open_chat(backend) as chat:
        await chat.pilot.press(key)
        await chat.pilot.pause()

        assert any("Ask something first" in notice for notice in chat.notices)
        assert not backend.requests


@pytest.mark.parametrize("key", ["ctrl+r", "ctrl+g"])
async def test_while_a_reply_runs_it_is_neither_replaced_nor_continued(key: str) -> None:
    backend = backend_for(Script().step("Wait").then(Hang()))
    async with open_chat(backend) as chat:
        await command(chat, "Go")
        await chat.until(lambda: "Wait" in chat.whole)
        await chat.pilot.press(key)
        await chat.pilot.pause()

        assert any("A reply is running" in notice for notice in chat.notices)
        assert len(backend.requests) == 1
        await chat.pilot.press("escape")
        await chat.ended()


@pytest.mark.parametrize("how", ["f8", "/edit"])
async def test_the_last_prompt_is_changed_and_asked_in_its_place(how: str) -> None:
    backend = backend_for(ONE, TWO, THREE)
    async with open_chat(backend) as chat:
        await chat.ask("First")
        await chat.ask("Secnod")
        await press_or_type(chat, how)
        assert chat.screen.prompt.text == "Secnod"
        chat.screen.prompt.text = "Second"
        await chat.pilot.press("enter")
        await chat.until(lambda: len(backend.requests) == 3)
        await chat.ended()

        assert said_to(backend) == [("user", "First"), ("assistant", "One."), ("user", "Second")]
        assert [turn.replaced for turn in chat.session.conversation.turns] == [False, True, False]
        assert chat.screen.prompt.text == ""


async def test_escape_gives_a_change_up_and_brings_back_what_was_typed() -> None:
    backend = backend_for(ONE)
    async with open_chat(backend) as chat:
        await chat.ask("First")
        await chat.type("half")
        await chat.pilot.press("f8")
        await chat.pilot.pause()
        await chat.pilot.press("escape")

        assert chat.screen.prompt.text == "half"
        assert not chat.session.conversation.turns[0].replaced


async def test_escape_closes_the_popup_before_it_stops_a_reply() -> None:
    async with open_chat(backend_for(Script().step("Wait").then(Hang()))) as chat:
        await command(chat, "Go")
        await chat.until(lambda: "Wait" in chat.whole)
        await chat.pilot.press("/")
        await chat.pilot.pause()
        await chat.pilot.press("escape")
        assert chat.screen.asker.running
        assert chat.screen.prompt.text == "/"
        await chat.pilot.press("escape")
        await chat.ended()


async def test_the_popup_offers_the_commands_of_the_table() -> None:
    async with open_chat(backend_for(HELLO), size=(60, 20)) as chat:
        await chat.pilot.press("/", "r", "e", "g", "tab")

        assert chat.screen.prompt.text == "/regenerate"


async def test_an_attached_file_goes_with_the_next_prompt(tmp_path: Path) -> None:
    backend = backend_for(ONE)
    (tmp_path / "notes.txt").write_text("remember the milk\n")
    async with open_chat(backend) as chat:
        await command(chat, f"/attach {tmp_path / 'notes.txt'}")
        assert chat.screen.prompt.text == "[file notes.txt · 18 B]\n"
        await chat.ask("What is it about?")

        assert said_to(backend) == [("user", "notes.txt:\n```\nremember the milk\n```\n\nWhat is it about?")]


async def test_a_file_that_cannot_be_attached_is_said_and_the_command_stays() -> None:
    async with open_chat(backend_for(ONE)) as chat:
        await command(chat, "/attach /no/such/file")

        assert any("There is no file /no/such/file" in notice for notice in chat.notices)
        assert chat.screen.prompt.text == "/attach /no/such/file"


@pytest.mark.parametrize(
    ("typed", "sentence", "sampling"),
    [
        ("/max 64", "At most 64 tokens a reply.", Sampling(max_tokens=64)),
        ("/temp 0.7", "Temperature 0.7.", Sampling(temperature=0.7)),
        ("/top-p 0.9", "Top-p 0.9.", Sampling(top_p=0.9)),
        ("/top-k 40", "Top-k 40.", Sampling(top_k=40)),
        ("/min-p 0.05", "Min-p 0.05.", Sampling(min_p=0.05)),
        ("/seed -3", "Seed -3.", Sampling(seed=-3)),
        ("/presence -0.5", "Presence penalty -0.5.", Sampling(presence_penalty=-0.5)),
        ("/frequency 1", "Frequency penalty 1.", Sampling(frequency_penalty=1.0)),
        ("/repetition 1.1", "Repetition penalty 1.1.", Sampling(repetition_penalty=1.1)),
        ("/stop END", "Replies end at “END”.", Sampling(stop=("END",))),
        ("/thinking off", "The model is asked not to think, from the next prompt on.", Sampling(thinking=False)),
    ],
)
async def test_a_parameter_is_set_and_said(typed: str, sentence: str, sampling: Sampling) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await command(chat, typed)
        assert chat.notices == [sentence]
        assert chat.session.sampling == sampling
        await command(chat, "/thinking auto" if typed.startswith("/thinking") else typed.split(maxsplit=1)[0])

        assert chat.session.sampling == Sampling()
        assert chat.notices[0].startswith(("The server decides", "No text", "The model thinks"))


@pytest.mark.parametrize(
    ("typed", "words"),
    [
        ("/max many", "a whole number from 1."),
        ("/max 0", "a whole number from 1."),
        ("/max 1.5", "a whole number from 1."),
        ("/temp hot", "a number from 0 to 2."),
        ("/temp 3", "a number from 0 to 2."),
        ("/temp nan", "a number from 0 to 2."),
        ("/top-p 0", "a number above 0 and up to 1."),
        ("/top-k -1", "a whole number from 1."),
        ("/seed x", "a whole number."),
        ("/repetition 0", "a number above 0 and up to 2."),
        ("/thinking maybe", "on, off or auto."),
        ("/thinking", "on, off or auto."),
        ("/attach", "the path of a text file."),
    ],
)
async def test_a_value_that_makes_no_sense_is_explained_and_changes_nothing(typed: str, words: str) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await command(chat, typed)

        assert [notice for notice in chat.notices if f"needs {words}" in notice]
        assert chat.session.sampling == Sampling()
        assert chat.screen.prompt.text == typed


async def test_stop_texts_add_up_to_four_and_may_hold_a_line_end() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        for text in ("a", "b", "b", "c\\n", "d"):
            await command(chat, f"/stop {text}")
        assert chat.session.sampling.stop == ("a", "b", "c\n", "d")
        await command(chat, "/stop e")

        assert any("There are 4" in notice for notice in chat.notices)


async def test_all_that_is_set_is_shown() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await command(chat, "/params")
        assert chat.notices == ["Nothing is set: the server decides everything."]
        for text in ("/temp 0.5", "/top-k 5", "/stop END", "/thinking on", "/system Be brief"):
            await command(chat, text)
        await command(chat, "/params")

        assert chat.notices == ["Set: temperature 0.5, stop “END”, top k 5, thinking on, system prompt “Be brief”."]


async def test_a_conversation_begun_anew_turns_a_change_into_a_new_prompt() -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.ask("first")
        await chat.pilot.press("f8", "!", "ctrl+l")
        await chat.pilot.press("enter")
        await chat.until(lambda: len(backend.requests) == 2)
        await chat.ended()

        assert [turn.prompt for turn in chat.session.conversation.turns] == ["first!"]
        assert not chat.screen.prompt.border_title


async def test_what_waited_comes_back_beside_a_change_and_not_into_it() -> None:
    async with open_chat(backend_for(Script().step("some ").then(Hang()))) as chat:
        await chat.type("first")
        await chat.pilot.press("enter")
        await chat.until(lambda: "some" in chat.shown)
        await chat.type("waits")
        await chat.pilot.press("enter", "f8", "escape", "f8")
        chat.screen.asker.stop()
        await chat.ended()
        await chat.pilot.pause()

        assert chat.screen.prompt.text == "first"
        await chat.pilot.press("escape")
        assert chat.screen.prompt.text == "waits"
