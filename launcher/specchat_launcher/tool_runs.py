"""Runs a small tool for its output, and never waits long for it.

Owns the time-out and the reading of what came. Knows no tool.
"""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

LARGEST_OUTPUT = 8_000_000
"""Bytes of output that are read at most: what a tool says about eight GPUs is a hundredth of it."""
LAST_WAIT_S = 1.0


@dataclass(frozen=True, slots=True)
class Ran:
    """How a tool ended.

    Attributes:
        code: Its exit code, negative for a signal.
        output: What it wrote to stdout.
        errors: What it wrote to stderr.
    """

    code: int
    output: str
    errors: str = ""


Run = Callable[[Sequence[str], float], Ran | None]
"""Runs a command, given with its time-out in seconds; None where it could not be started or took too long."""


def run_tool(argv: Sequence[str], timeout_s: float, environ: Mapping[str, str] | None = None) -> Ran | None:
    """Run a command without a terminal and without input.

    Args:
        argv: The program and its arguments.
        timeout_s: Seconds after which it is killed.
        environ: Its whole environment; None for this process's.
    """
    try:
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=None if environ is None else dict(environ),
            # A Ctrl-C in the terminal is for the chat, not for a tool that it asks in the background.
            start_new_session=True,
        )
    except (OSError, ValueError):
        return None
    try:
        output, errors = process.communicate(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        _abandon(process)
        return None
    return Ran(process.returncode, _text(output), _text(errors))


def _abandon(process: subprocess.Popen[bytes]) -> None:
    """Kill it and what it started. A tool that hangs inside the driver cannot be killed, and must not hang us too."""
    with contextlib.suppress(OSError):
        os.killpg(process.pid, signal.SIGKILL)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(LAST_WAIT_S)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _text(raw: bytes) -> str:
    return raw[:LARGEST_OUTPUT].decode("utf-8", "replace")
