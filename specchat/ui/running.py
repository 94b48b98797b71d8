"""Runs the app to its end, whatever that is: the user, a signal or an error of its own. The terminal is as before."""

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from types import FrameType

from specchat.ui.app import ChatApp
from specchat.ui.crash import Reporter

_WATCH_SECONDS = 2.0
"""How soon a terminal that went without a word is missed."""


async def run_to_the_end(app: ChatApp, reporter: Reporter) -> int:
    """Run an app until it is left.

    Args:
        app: Not yet running.
        reporter: Takes errors of the program's own.

    Returns:
        The exit code: 0 if the user left, 128 and its number after a signal, 1 after an error of the program's own.
    """
    crash: Exception | None = None
    with _left_when_told(app), _background_errors_kept(app, reporter):
        try:
            await app.run_async()
        except Exception as error:  # noqa: BLE001 - whatever it is, the terminal gets a sentence and a file the rest
            crash = error
    crash = app.crash or crash
    if crash is None:
        return app.return_code or 0
    print(reporter.keep(crash, ended=True), file=sys.stderr)
    return 1


@contextmanager
def _left_when_told(app: ChatApp) -> Iterator[None]:
    """While open, SIGTERM and SIGHUP leave the app by its own door, so that the terminal is as it was.

    Where the terminal itself is gone, SIGHUP ends the program at once, also under `nohup`: a chat without one would
    wait for ever, and there is nothing to restore.
    """
    loop = asyncio.get_running_loop()

    def hang_up(_: int, __: FrameType | None) -> None:
        if _terminal_is_there():
            loop.call_soon_threadsafe(partial(app.exit, return_code=128 + signal.SIGHUP))
        else:
            _die_of_hangup()

    try:
        loop.add_signal_handler(signal.SIGTERM, partial(app.exit, return_code=128 + signal.SIGTERM))
        # Not the loop's handler, which a loop that waits for a terminal that is gone would never call.
        before = signal.signal(signal.SIGHUP, hang_up)
    except (NotImplementedError, RuntimeError, ValueError):
        yield  # no signals on this platform or in this thread
        return
    watch = asyncio.create_task(_watch_terminal())
    try:
        yield
    finally:
        watch.cancel()
        signal.signal(signal.SIGHUP, before)
        loop.remove_signal_handler(signal.SIGTERM)


async def _watch_terminal() -> None:
    """End when the terminal is gone: one that does not control the program sends no signal when it goes."""
    while _terminal_is_there():  # noqa: ASYNC110 - nothing tells
        await asyncio.sleep(_WATCH_SECONDS)
    _die_of_hangup()


def _die_of_hangup() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.kill(os.getpid(), signal.SIGHUP)


def _terminal_is_there() -> bool:
    try:
        os.get_terminal_size(0)
    except OSError:
        return False
    return True


@contextmanager
def _background_errors_kept(app: ChatApp, reporter: Reporter) -> Iterator[None]:
    """While open, errors in the event loop's callbacks and in threads go to a file instead of over the screen.

    They end nothing: what they broke is not known, and the conversation is worth more than a clean end.
    """
    loop = asyncio.get_running_loop()
    hook = threading.excepthook

    def keep(error: BaseException) -> None:
        if reporter.is_new(error):
            app.tell_of_error(reporter.keep(error, ended=False))

    def from_loop(_: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
        error = context.get("exception")
        if isinstance(error, BaseException):
            keep(error)

    def from_thread(arguments: threading.ExceptHookArgs) -> None:
        if arguments.exc_value is not None:
            # After the end of the loop there is nobody left to tell.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(keep, arguments.exc_value)

    loop.set_exception_handler(from_loop)
    threading.excepthook = from_thread
    try:
        yield
    finally:
        threading.excepthook = hook
        loop.set_exception_handler(None)
