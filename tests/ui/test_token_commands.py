"""The token cursor in the chat: the keys and commands that lead to it, and the inspector below the transcript."""

import pytest
from rich.style import Style

from chat_pilot import HELLO, backend_for, open_chat
from specchat.theming import LOOKS
from specchat.ui.commands.table import COMMANDS
from specchat.ui.cursor import Spot
from specchat.ui.token_keys import COMMAND_LETTERS
from told_replies import Steps

STEPS: Steps = [("One",), (" two", " three"), (" four", " five", " six", " seven"), (" eight",)]
STYLES = {
    **{prefix + look: Style(bold=True) for look in LOOKS for prefix in ("", "thinking/")},
    "mark-cursor": Style(reverse=True),
    "mark-step": Style(underline=True),
    "mark-find": Style(italic=True),
    "mark-found": Style(italic=True),
}


def test_every_letter_of_the_mode_runs_a_command_that_there_is() -> None:
    assert set(COMMAND_LETTERS.values()) <= {command.name for command in COMMANDS}


async def test_f7_goes_to_the_tokens_and_back() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        await chat.pilot.press("f7")
        await chat.pilot.pause()
        assert chat.screen.transcript.spot == Spot(0, 6)
        await chat.pilot.press("f7")
        await chat.pilot.pause()

        assert chat.screen.prompt.has_focus


@pytest.mark.parametrize(
    ("typed", "spot"),
    [("/tokens", Spot(0, 6)), ("/step 2", Spot(0, 3)), ("/step", Spot(0, 6)), ("/step 1", Spot(0, 1))],
)
async def test_commands_go_to_tokens(typed: str, spot: Spot) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        await chat.type(typed)
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.screen.transcript.spot is not None)

        assert chat.screen.transcript.spot == spot


@pytest.mark.parametrize(
    ("typed", "sentence"),
    [("/step 9", "/step needs a number from 1 to 2."), ("/rejection", "No proposal was rejected behind this token.")],
)
async def test_what_cannot_be_gone_to_is_said(typed: str, sentence: str) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.type(typed)
        await chat.pilot.press("enter")
        await chat.pilot.pause()
        assert any("No tokens are shown yet." in notice for notice in chat.notices)
        chat.screen.prompt.text = ""
        await chat.ask("Hi")
        await chat.type(typed)
        await chat.pilot.press("enter")
        await chat.pilot.pause()

        assert any(sentence in notice for notice in chat.notices)


@pytest.mark.parametrize(("size", "rows"), [((120, 40), 6), ((80, 24), 5), ((60, 20), 4)])
async def test_the_inspector_has_its_height_from_the_first_moment(size: tuple[int, int], rows: int) -> None:
    async with open_chat(backend_for(HELLO), size=size) as chat:
        await chat.ask("Hi")
        await chat.pilot.press("f7")

        assert chat.screen.inspector.size.height == rows
        assert len(chat.screen.inspector.lines) == rows


async def test_where_all_answers_are_markdown_it_is_said_how_to_see_their_tokens() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("hi")
        await chat.pilot.press("f5")
        await chat.until(lambda: not chat.screen.transcript.document.shown_tokens(0))
        await chat.pilot.press("f7")

        assert chat.notices == [
            "No tokens are shown now. F5 shows them in place of Markdown, F6 opens folded thinking."
        ]
