"""Begins a log anew while a server writes it.

Run as a script by the supervisor (`python -I -S log_rotation.py LOG BYTES`), so it uses the standard library only and
imports nothing of its package.
"""

import sys
from pathlib import Path

KEPT = 3
"""How many parts a log has at most."""
CHUNK = 1024 * 1024


def rotate(log: Path, limit: int, kept: int = KEPT) -> bool:
    """Begin a log anew when it has grown past a size, with the older parts beside it as `.1`, `.2` and so on.

    The file stays the same one, because the server's processes hold it open. They append, so they go on at its new
    beginning.

    Args:
        log: The file.
        limit: Bytes above which it begins anew.
        kept: How many parts there are at most, the file itself among them.

    Returns:
        Whether it began anew.
    """
    if log.stat().st_size <= limit:
        return False
    for number in range(kept - 1, 1, -1):
        newer = log.with_name(f"{log.name}.{number - 1}")
        if newer.exists():
            newer.replace(log.with_name(f"{log.name}.{number}"))
    half = log.with_name(f"{log.name}.half")
    half.unlink(missing_ok=True)
    half.touch(mode=0o600)
    with log.open("r+b") as source, half.open("wb") as copy:
        while chunk := source.read(CHUNK):
            copy.write(chunk)
        copy.flush()
        half.replace(log.with_name(f"{log.name}.1"))
        # To the very end: what is written between the last read and the cut is lost.
        while chunk := source.read(CHUNK):
            copy.write(chunk)
        source.truncate(0)
    return True


if __name__ == "__main__":
    rotate(Path(sys.argv[1]), int(sys.argv[2]))
