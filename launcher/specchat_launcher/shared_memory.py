"""Removes what killed servers left in shared memory.

Owns one kind of file: the mark that Intel's OpenMP library makes for each process and removes only at a tidy end,
which vLLM does not grant its engine processes.
"""

import re
from pathlib import Path

MARK = re.compile(r"__KMP_REGISTERED_LIB_(\d+)_(\d+)")


def sweep_openmp(folder: Path, user: int, proc: Path = Path("/proc")) -> None:
    """Remove the marks of processes of this user that are gone.

    Args:
        folder: Where shared memory is.
        user: The user's id; marks of others stay.
        proc: Where processes are listed.
    """
    for path in folder.glob("__KMP_REGISTERED_LIB_*"):
        mark = MARK.fullmatch(path.name)
        if mark is not None and int(mark[2]) == user and not (proc / mark[1]).exists():
            path.unlink(missing_ok=True)
