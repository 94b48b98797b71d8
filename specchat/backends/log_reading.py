"""Reads a log that grows, is rotated, or is longer than anybody wants to see. Keeps nothing between two calls."""

from pathlib import Path

from specchat.core.errors import ConfigurationError
from specchat.session.local_servers import LogPart

MOST_BYTES = 4_000_000
"""Of one part: a longer log is read from near its end."""
_LONGEST_LINE = 65_536
"""Bytes without a line's end that are taken as a line."""


def read_log(path: Path, since: int) -> LogPart:
    """Whole lines of a log, from a place on.

    Args:
        path: The log.
        since: 0, or `next` of the part before.

    Raises:
        ConfigurationError: If it cannot be read.
    """
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            restarted = since > size
            start = 0 if restarted else since
            skipped = size - start > MOST_BYTES
            if skipped:
                start = size - MOST_BYTES
            file.seek(start)
            data = file.read(MOST_BYTES)
    except OSError as error:
        raise ConfigurationError(f"The log {path} cannot be read: {error.strerror}.", "Was it removed?") from error
    end = data.rfind(b"\n") + 1
    if not end and len(data) > _LONGEST_LINE:
        end = len(data)
    lines = data[:end].decode("utf-8", "replace").replace("\r\n", "\n").split("\n")[: -1 if end else None]
    # A bar is drawn again and again over itself; only how it ends says something.
    shown = [line.rstrip("\r").rsplit("\r", 1)[-1] for line in lines] if end else []
    return LogPart(tuple(shown[1:] if skipped and since == 0 else shown), start + end, restarted)
