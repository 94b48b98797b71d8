"""Ends a container whose client has ended, and says whether it is gone.

Run as a script by the supervisor (`python -I -S container_end.py JSON`), so it uses the standard library only and
imports nothing of its package. It exits with 0 when the container is gone, and with 1 when it is not or nobody says:
its daemon may not answer.
"""

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence

STOP_S, REMOVE_S, INSPECT_S = 3.0, 3.0, 1.5
"""How long the tool may take for each of its commands."""
PATIENCE_S = STOP_S + REMOVE_S + 2 * INSPECT_S


def end_container(
    stop: Sequence[str], remove: Sequence[str], inspect: Sequence[str], environ: Mapping[str, str] = os.environ
) -> bool:
    """Stop a container, remove it, and look whether it is gone.

    Args:
        stop: The command that asks it to end.
        remove: The command that kills and removes it.
        inspect: The command that succeeds while it exists.
        environ: The environment of these commands.
    """
    if exists(inspect, environ) is False:
        return True
    _run(stop, STOP_S, environ)
    _run(remove, REMOVE_S, environ)
    return exists(inspect, environ) is False


def exists(inspect: Sequence[str], environ: Mapping[str, str] = os.environ) -> bool | None:
    """Whether a container exists; None where the tool or its daemon did not answer."""
    code, said = _run(inspect, INSPECT_S, environ)
    if code == 0:
        return True
    # Docker says "No such container" or "No such object", Podman "no such container".
    return False if code is not None and "no such" in said.lower() else None


def _run(argv: Sequence[str], patience_s: float, environ: Mapping[str, str]) -> tuple[int | None, str]:
    """Run one of the commands. Returns its exit code, None where it took too long or is missing, and its words."""
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=patience_s,
            check=False,
            cwd="/",
            env=dict(environ),
        )
        return done.returncode, done.stdout.decode(errors="replace")
    return None, ""


if __name__ == "__main__":
    commands = json.loads(sys.argv[1])
    sys.exit(0 if end_container(commands["stop"], commands["remove"], commands["inspect"]) else 1)
