"""`specchat ask`: one prompt, one reply. The answer goes to stdout, everything about it to stderr."""

import asyncio
import json
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import TextIO

from rich.console import Console

from specchat.cli.live_reply import LiveReply, PlainReply
from specchat.cli.summary import failure_line, note_lines, summary_line
from specchat.core.conversation import Turn
from specchat.core.errors import SpecchatError
from specchat.core.harmless import one_line
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.exports import reply_object
from specchat.session.chat import ChatSession
from specchat.theming import load_theme
from specchat.wiring import Connection, open_session, theme_directories

_INTERRUPTED = 130
_ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def run_ask(
    connection: Connection,
    prompt: str,
    *,
    as_json: bool,
    idle_limit_seconds: float,
    proposals: bool = False,
    limit: int | None = None,
    out: TextIO | None = None,
    err: TextIO | None = None,
) -> int:
    """Ask once and print; returns the exit code: 0 for a complete reply, 1 for a failure, 130 if stopped.

    Args:
        connection: Where to ask.
        prompt: What.
        as_json: Print one JSON object instead of the text.
        idle_limit_seconds: Give up after so long a silence.
        proposals: Show rejected proposals, where the server tells them.
        limit: At most so many proposals a step: 0 is off, None is what the server does by itself.
        out: Gets the answer; stdout if None.
        err: Gets everything about it; stderr if None.
    """
    asking = _ask(connection, prompt, _Wishes(idle_limit_seconds, limit, as_json, proposals), out or sys.stdout)
    turn = asyncio.run(asking)
    return _tell(turn, as_json=as_json, proposals=proposals, out=out or sys.stdout, err=err or sys.stderr)


@dataclass(frozen=True, slots=True)
class _Wishes:
    idle_limit: float
    limit: int | None
    as_json: bool
    proposals: bool


async def _ask(connection: Connection, prompt: str, wishes: _Wishes, out: TextIO) -> Turn:
    try:
        async with open_session(connection) as session:
            session.set_speculation(wishes.limit)
            return await _stream(session, connection, prompt, wishes, out)
    except SpecchatError as error:
        return _never_begun(connection, prompt, error)


def _tell(turn: Turn, *, as_json: bool, proposals: bool, out: TextIO, err: TextIO) -> int:
    """Print what there is to say after the text; returns the exit code."""
    if as_json:
        out.write(json.dumps(reply_object(turn), indent=1) + "\n")
    else:
        _say(err, *note_lines(turn, proposals=proposals))
        if proposals and not out.isatty():
            _say(err, "note: in a pipe the answer alone is printed; --json holds the proposals")
    if turn.reply.error is not None:
        err.write(failure_line(turn.reply.error) + "\n")
        return 1
    if not as_json:
        _say(err, summary_line(turn))
    return _INTERRUPTED if turn.reply.outcome is Outcome.STOPPED else 0


async def _stream(session: ChatSession, connection: Connection, prompt: str, wishes: _Wishes, out: TextIO) -> Turn:
    loop = asyncio.get_running_loop()
    with _stop_on_signals(loop, session.stop):
        if wishes.as_json:
            show: PlainReply | LiveReply | nullcontext[None] = nullcontext()
        elif out.isatty():
            theme = load_theme(connection.settings.theme, theme_directories())
            show = LiveReply(out, theme, proposals=wishes.proposals)
        else:
            show = PlainReply(out)
        with show as view:
            async for _ in session.ask(prompt, idle_limit_seconds=wishes.idle_limit):
                if view is not None:
                    view.update(session.conversation.turns[-1].reply)
    return session.conversation.turns[-1]


@contextmanager
def _stop_on_signals(loop: asyncio.AbstractEventLoop, stop: Callable[[], None]) -> Iterator[None]:
    """While open, Ctrl-C and SIGTERM stop the reply instead of killing the program, so that what came is printed."""
    try:
        for number in _ENDING_SIGNALS:
            loop.add_signal_handler(number, stop)
    except (NotImplementedError, RuntimeError, ValueError):
        yield  # no signals on this platform or in this thread: Ctrl-C does what it always does
        return
    try:
        yield
    finally:
        for number in _ENDING_SIGNALS:
            loop.remove_signal_handler(number)


def _say(err: TextIO, *lines: str) -> None:
    """Words about the reply: dim and wrapped on a terminal, a line each elsewhere."""
    if not err.isatty():
        err.writelines(line + "\n" for line in lines)
        return
    console = Console(file=err)
    for line in lines:
        console.print(line, style="dim", markup=False, highlight=False, emoji=False)


def _never_begun(connection: Connection, prompt: str, error: SpecchatError) -> Turn:
    reply = Reply(0.0, model=connection.settings.model)
    reply.end(Outcome.FAILED, error)
    return Turn(prompt, reply, ServerInfo(one_line(connection.shown_url)))
