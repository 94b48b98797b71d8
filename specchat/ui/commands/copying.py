"""Commands that copy a message or a block of code."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from specchat.core.conversation import Turn
from specchat.core.errors import SpecchatError
from specchat.core.reply import Reply
from specchat.core.speculation import Channel
from specchat.ui.commands.command import Command
from specchat.ui.layout.code_blocks import CodeBlock, block_at, code_blocks

if TYPE_CHECKING:
    from specchat.ui.screens.chat import ChatScreen


def copy(chat: "ChatScreen", _: str) -> None:
    """Copy the message under the token cursor, else the last answer."""
    turns, spot = chat.session.conversation.turns, chat.transcript.spot
    if spot is not None:
        reply = turns[spot.turn].reply
        channel = reply.tokens[spot.token].channel
        text = reply.reasoning if channel is Channel.REASONING else reply.text
        what = "thinking" if channel is Channel.REASONING else "answer"
    else:
        text = _text_of(chat.session.conversation.last_answer())
        what = "last answer"
    if not text:
        raise SpecchatError("There is no answer to copy.", "Ask something first.")
    _copy(chat, f"The {what}", text)


def copy_code(chat: "ChatScreen", _: str) -> None:
    """Copy the block of code under the token cursor, else the last one, else the one before what was copied last."""
    answers = chat.session.conversation.answers()
    blocks = [block for answer in answers for block in code_blocks(_text_of(answer))]
    if not blocks:
        raise SpecchatError("There is no block of code to copy.", "/copy copies the last answer.")
    pointed = _pointed_at(chat)
    if pointed is not None:
        _copy(chat, f"This {_named(pointed)}", pointed.code)
        return
    copied = [number for number, block in enumerate(blocks) if block.code == chat.app.clipboard]
    number = ((copied[-1] if copied else 0) - 1) % len(blocks)
    _copy(chat, f"{_named(blocks[number]).capitalize()}, {number + 1} of {len(blocks)}", blocks[number].code)


def _pointed_at(chat: "ChatScreen") -> CodeBlock | None:
    """The block that the token cursor stands in."""
    spot = chat.transcript.spot
    if spot is None:
        return None
    conversation = chat.session.conversation
    reply = conversation.turns[spot.turn].reply
    if reply.tokens[spot.token].channel is not Channel.CONTENT:
        return None
    # A block may begin in one reply and end in another that continues it.
    first = conversation.question_of(spot.turn)
    before = len(_text_of(conversation.turns[first : spot.turn]))
    answer = next(answer for answer in conversation.answers() if answer[0] is conversation.turns[first])
    return block_at(code_blocks(_text_of(answer)), before + _end_of(reply, spot.token) - 1)


def _text_of(answer: Sequence[Turn]) -> str:
    return "".join(turn.reply.text for turn in answer)


def _end_of(reply: Reply, index: int) -> int:
    """Where a token's text ends in the answer."""
    return sum(len(text) for channel, text in reply.rows[: index + 1] if channel is Channel.CONTENT)


def _named(block: CodeBlock) -> str:
    lines = block.code.count("\n") + 1
    return f"block of {block.language or 'code'} ({lines} line{'s' if lines != 1 else ''})"


def _copy(chat: "ChatScreen", what: str, text: str) -> None:
    chat.tell(f"{what}: {chat.app.copy(text)}")


COMMANDS = (
    Command(
        "copy", "copy the last answer, or the message under the token cursor", "Copying", copy,
        keys="F9", binding="f9", priority=True,
    ),
    Command(
        "copy-code", "copy the last block of code, or the one under the token cursor; again: the one before",
        "Copying", copy_code, keys="Ctrl+B", binding="ctrl+b", priority=True,
    ),
)  # fmt: skip
