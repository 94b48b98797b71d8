"""Runs a few supervised commands side by side to their end, or stops them all.

Owns the loop that waits. What the commands are, and what their failure means, is the caller's.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path

from specchat_launcher.process import Command, SupervisedProcess

TICK_S = 0.2
CLEAR_TIMEOUT_S = 20.0


def run_together(
    commands: Sequence[Command], *, keep_open: Sequence[int], on_tick: Callable[[], None]
) -> Command | None:
    """Run commands until all have ended.

    Args:
        commands: What to run, each with a log of its own.
        keep_open: Descriptors that stay open until nothing of the commands is left.
        on_tick: Called several times a second; an exception from it stops everything and passes on.

    Returns:
        The first command that failed, after the others were stopped; None when all succeeded.
    """
    with ExitStack() as stack:
        running = {}
        for command in commands:
            running[stack.enter_context(SupervisedProcess(command, keep_open=keep_open))] = command
        while running:
            on_tick()
            for process in list(running):
                code = process.poll()
                if code is None:
                    continue
                if code != 0:
                    return running[process]
                del running[process]
                process.wait_cleared(CLEAR_TIMEOUT_S)
            time.sleep(TICK_S)
        on_tick()
    return None


def read_log(log: Path) -> str:
    """A log's text so far; nothing where it does not exist yet."""
    try:
        return log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
