"""Commands that put the keyboard at the tokens, and go from one to another."""

from typing import TYPE_CHECKING

from specchat.core.errors import SpecchatError
from specchat.ui.commands.command import Command

if TYPE_CHECKING:
    from specchat.ui.cursor import Spot
    from specchat.ui.screens.chat import ChatScreen


def tokens(chat: "ChatScreen", _: str) -> None:
    """Put the keyboard at the tokens, or back at the prompt."""
    if chat.transcript.has_focus:
        chat.prompt.focus()
    else:
        _enter(chat)


def step(chat: "ChatScreen", argument: str) -> None:
    """Go to a step by its number, or to the next one.

    Raises:
        SpecchatError: If it is no number, or the reply has no such step.
    """
    spot = _enter(chat)
    if not argument:
        chat.transcript.mode.move("next-step")
        return
    reply = chat.session.conversation.turns[spot.turn].reply
    number = int(argument) if argument.isascii() and argument.isdecimal() else 0
    if not reply.steps:
        raise SpecchatError("No step of this reply is known.", "A server that speculates and sends token ids has them.")
    if not 1 <= number <= len(reply.steps):
        raise SpecchatError(f"/step needs a number from 1 to {len(reply.steps)}.", "Without one it goes to the next.")
    if not chat.transcript.mode.go_to_step(number - 1):
        raise SpecchatError(f"Step {number} shows no token here.", "F6 opens folded thinking; F5 shows tokens.")


def rejection(chat: "ChatScreen", _: str) -> None:
    """Go to the next place where the target rejected a proposal.

    Raises:
        SpecchatError: If there is none behind the cursor.
    """
    before = _enter(chat)
    chat.transcript.mode.move("next-rejection")
    if chat.transcript.spot == before:
        raise SpecchatError("No proposal was rejected behind this token.", "R goes back to the one before.")


def go_to(chat: "ChatScreen", spot: "Spot") -> bool:
    """Put the keyboard at a token; False where none is shown, or that one is not."""
    if not chat.transcript.document.place_of_token(*spot):
        return False
    chat.transcript.focus()
    chat.transcript.mode.enter()
    return chat.transcript.mode.go_to(spot)


def _enter(chat: "ChatScreen") -> "Spot":
    """Put the keyboard at the tokens; returns the token under the cursor."""
    document = chat.transcript.document
    if not any(document.shown_tokens(turn) for turn in range(len(document.turns))):
        if any(turn.reply.tokens for turn in chat.session.conversation.turns):
            raise SpecchatError(
                "No tokens are shown now.", "F5 shows them in place of Markdown, F6 opens folded thinking."
            )
        raise SpecchatError("No tokens are shown yet.", "Ask something first.")
    chat.transcript.focus()
    chat.transcript.mode.enter()
    spot = chat.transcript.spot
    if spot is None:
        raise SpecchatError("No tokens are shown yet.", "Ask something first.")
    return spot


COMMANDS = (
    Command(
        "tokens", "a cursor at the tokens, which says everything about each; again: back to the prompt", "Tokens",
        tokens, keys="F7, Tab", binding="f7", label="Tokens",
    ),
    Command(
        "step", "the token cursor to step N of the reply, without N to the next", "Tokens", step, argument="N",
    ),
    Command("rejection", "the token cursor to the next rejected proposal", "Tokens", rejection),
)  # fmt: skip
