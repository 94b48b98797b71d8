"""Speculation switched from the chat: by its keys, by /spec, and what the screen says of it."""

import pytest

from chat_pilot import HELLO, Chat, backend_for, open_chat, without_speculation
from fakes import server_info
from proposing import SHORT, Drafted, proposing
from specchat.core.server import Hook
from specchat.core.switching import Speculation, Way

OFF = (Drafted((), "Yes"), *(Drafted((), f" word{n}") for n in range(40)))


async def command(chat: Chat, text: str) -> None:
    await chat.type(text)
    await chat.pilot.press("enter")
    await chat.pilot.pause()


@pytest.mark.parametrize(
    ("typed", "limit", "head", "words"),
    [
        ("/spec off", 0, "speculation ○ off · hook", "Speculation is off by the hook, from the next prompt on."),
        ("/spec k=1", 1, "speculation ● k ≤ 1 · hook", "At most 1 proposal a step by the hook, from the next"),
        ("/spec 2", 2, "speculation ● k ≤ 2 · hook", "At most 2 proposals a step by the hook"),
        ("/spec k=3", None, "speculation ● on", "Speculation is on, from the next prompt on."),
        ("/spec on", None, "speculation ● on", "Speculation is on, from the next prompt on."),
        ("/switch", 0, "speculation ○ off · hook", "Speculation is off by the hook"),
    ],
)
async def test_a_limit_goes_with_the_next_prompt(typed: str, limit: int | None, head: str, words: str) -> None:
    backend = proposing()
    async with open_chat(backend) as chat:
        await command(chat, typed)
        assert head in chat.line("head")
        assert words in chat.notices[-1]
        await chat.ask("Go")

        assert backend.requests[-1].limit == limit


@pytest.mark.parametrize("key", ["f2", "ctrl+t"])
async def test_the_key_turns_it_off_and_on_again(key: str) -> None:
    async with open_chat(proposing()) as chat:
        await chat.pilot.press(key)
        await chat.pilot.pause()
        assert chat.session.speculation == Speculation(0, Way.HOOK)
        await chat.pilot.press(key)
        await chat.pilot.pause()
        assert chat.session.speculation == Speculation()


async def test_the_key_turns_a_limit_back_to_on() -> None:
    async with open_chat(proposing()) as chat:
        await command(chat, "/spec k=1")
        await chat.pilot.press("f2")
        await chat.pilot.pause()

        assert chat.session.speculation == Speculation()


async def test_spec_alone_says_how_it_stands_and_what_is_possible() -> None:
    async with open_chat(proposing(), baseline=without_speculation()) as chat:
        await command(chat, "/spec")
        assert chat.notices[-1] == (
            "Speculation is on. It can be switched by the server's hook, for each message or by asking the second"
            " server, which has no draft. Where it is off, one forward remains."
        )


async def test_off_server_asks_the_second_server_where_the_hook_could_switch_too() -> None:
    async with open_chat(proposing(), baseline=without_speculation()) as chat:
        await command(chat, "/spec off server")
        assert chat.session.speculation == Speculation(0, Way.SERVER)
        assert chat.notices[-1] == "Speculation is off: the second server is asked, from the next prompt on."
        await command(chat, "/spec off hook")
        assert chat.session.speculation == Speculation(0, Way.HOOK)
        await command(chat, "/spec k=1 server")
        assert "can only be off" in chat.notices[-1]
        assert chat.session.speculation == Speculation(0, Way.HOOK)


async def test_off_server_without_one_says_how_to_get_one() -> None:
    async with open_chat(proposing()) as chat:
        await command(chat, "/spec off server")

        assert "--baseline-url" in chat.notices[-1]


@pytest.mark.parametrize(
    ("speculates", "words"),
    [
        ({"draft_length": 3}, "Speculation is on. It cannot be switched here."),
        ({"draft_length": 0}, "The server does not speculate."),
        ({"draft_length": None}, "Whether the server speculates is not known. It cannot be switched here."),
    ],
)
async def test_spec_alone_without_a_way(speculates: dict[str, int | None], words: str) -> None:
    async with open_chat(backend_for(HELLO, server=server_info(**speculates))) as chat:
        await command(chat, "/spec")

        assert chat.notices[-1] == words


@pytest.mark.parametrize(
    ("hook", "typed", "words"),
    [
        (None, "/spec off", "--baseline-url"),
        (Hook(trace=True, switch=False, problems=("Its scheduler is unknown.",)), "/spec off", "scheduler is unknown"),
        (None, "/spec k=1", "needs the hook"),
        (None, "/spec loud", "/spec takes on, off or k=N, and by which way."),
    ],
)
async def test_what_is_impossible_is_said_with_what_is_possible(hook: Hook | None, typed: str, words: str) -> None:
    async with open_chat(backend_for(HELLO, server=server_info(hook=hook))) as chat:
        await command(chat, typed)

        assert words in chat.notices[-1]
        assert chat.session.speculation == Speculation()


async def test_each_message_says_how_it_was_made_and_what_off_meant() -> None:
    async with open_chat(proposing(SHORT, OFF)) as chat:
        await chat.ask("Go")
        await command(chat, "/spec off")
        await chat.ask("Again")
        document = chat.screen.transcript.document

        assert document.turns[0].heading.facts.startswith("● on · 13 tokens")
        assert "traced" in document.turns[0].heading.facts
        assert document.turns[1].heading.facts.startswith("○ off · hook · 41 tokens")
        assert "off by the hook: nothing was proposed" in chat.whole
        await chat.pilot.press("f7")
        await chat.pilot.pause()
        assert "nothing was drafted in this step: speculation was off" in chat.line("inspector")


async def test_the_comparison_says_when_off_was_in_the_same_server() -> None:
    on = (Drafted((), "Go"), *(Drafted((" a", " b", " c"), " d") for _ in range(10)))
    async with open_chat(proposing(on, OFF, OFF), size=(120, 60)) as chat:
        await chat.ask("Go")
        await command(chat, "/spec off")
        await chat.ask("Again")
        comparison = chat.screen.panels.view.comparison
        assert (comparison.on_replies, comparison.off_replies, comparison.off_way) == (1, 1, Way.HOOK)
        assert "off by the hook" in chat.line("panel-comparison")
        await command(chat, "/spec k=1")
        await chat.ask("And again")

        assert chat.screen.panels.view.comparison == comparison
