"""The page that says what the draft gets wrong."""

import pytest

from chat_pilot import HELLO, Chat, backend_for, open_chat
from proposing import SHORT, Drafted, Proposed, proposing
from specchat.core.draft_errors import errors_of
from specchat.ui.panels.error_lines import error_lines
from specchat.ui.proposals import LEFT, RIGHT
from specchat.ui.screens.draft_errors import DraftErrorsScreen, code_of
from specchat.ui.widgets.lines import LinesWidget

OTHER = (Drafted((), "Once"), Drafted((" upon",), " a", (" the",)))


async def opened(chat: Chat, *keys: str) -> str:
    await chat.pilot.press(*keys)
    await chat.until(lambda: isinstance(chat.app.screen, DraftErrorsScreen))
    return said(chat)


def said(chat: Chat) -> str:
    return "\n".join(line.text for line in chat.app.screen.query_one(LinesWidget).lines)


def title(chat: Chat) -> str:
    return str(chat.app.screen.query_one("VerticalScroll").border_title)


async def test_the_page_counts_kinds_pairs_and_words_and_goes_along_the_reply() -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await chat.type("/errors")
        page = await opened(chat, "enter")

        assert "4 of 10 judged proposals rejected · 40 %" in page
        assert f"1  {LEFT}␣dog{RIGHT}" in page
        assert "→ ␣fox" in page
        assert "1 of 1" in page
        assert "mean of each of 10 parts" in page


async def test_a_key_goes_from_the_reply_to_the_session_and_back() -> None:
    async with open_chat(proposing(SHORT, OTHER)) as chat:
        await chat.ask("Go")
        await chat.ask("Go on")
        assert "1 of 2 judged" in await opened(chat, "f7", "w")
        assert "reply 2 of 2" in title(chat)
        await chat.pilot.press("s")
        await chat.pilot.pause()
        assert "5 of 12 judged" in said(chat)
        assert "2 of 2 replies" in title(chat)
        await chat.pilot.press("s", "escape")
        await chat.until(lambda: not isinstance(chat.app.screen, DraftErrorsScreen))


async def test_without_a_trace_a_sentence_says_why_there_is_nothing() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        await chat.type("/errors")

        assert "Only a trace of the server hook tells" in await opened(chat, "enter")


async def test_before_the_first_reply_there_is_no_page() -> None:
    async with open_chat(proposing()) as chat:
        await chat.type("/errors")
        await chat.pilot.press("enter")
        await chat.pilot.pause()

        assert "There is no reply yet." in chat.notices[-1]


def test_tokens_in_a_fence_are_code() -> None:
    reply = Proposed(
        Drafted((), "Look"),
        Drafted((":", "\n\n"), "```", ("1",)),
        Drafted(("python", "\n"), "x"),
        Drafted((" =", " 1"), "\n", (" +",)),
        Drafted(("```", "\n"), "Done"),
    ).reply()
    in_code = code_of(reply)

    assert [token.text for index, token in enumerate(reply.tokens) if in_code(index)] == [
        "```", "python", "\n", "x", " =", " 1", "\n", "```",
    ]  # fmt: skip


@pytest.mark.parametrize("k", [None, 3])
def test_no_line_is_wider_than_the_page(k: int | None) -> None:
    reply = Proposed(*SHORT, Drafted((), " interminable" * 9, (" word" * 20,))).reply()
    errors = errors_of([(reply, code_of(reply))])

    assert errors is not None
    assert max(len(line.text) for line in error_lines(errors, k)) <= 70
