"""What a full or unwritable disk means to the user.

Owns the wording. Measures nothing by itself.
"""

import contextlib
import errno
from collections.abc import Iterator
from pathlib import Path

from specchat_launcher.errors import DiskSpaceError, LauncherError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
FORBIDDEN = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})


def disk_full(what: str, directory: Path, needed_bytes: int, free_bytes: int | None) -> DiskSpaceError:
    """Say that the disk is too full, and where to go.

    Args:
        what: What needs the space, as words for the user.
        directory: Where it would go.
        needed_bytes: How much it needs.
        free_bytes: How much there is; None where that was only found out by running into the end.
    """
    has = "too little" if free_bytes is None else f"{free_bytes / 1e9:.1f} GB"
    return DiskSpaceError(
        f"{what[:1].upper()}{what[1:]} needs {needed_bytes / 1e9:.1f} GB free in {directory}, and there is {has}.",
        "Free some space, or set SPECCHAT_DATA_DIR to a folder on a larger disk.",
    )


def says_disk_full(log_text: str) -> bool:
    """Whether a log says that a disk or a quota is full."""
    return "No space left on device" in log_text or "Disk quota exceeded" in log_text


@contextlib.contextmanager
def disk_errors_explained(what: str, directory: Path, needed_bytes: int) -> Iterator[None]:
    """Turn a disk that fills up, or that may not be written, into an error the user can act on.

    Raises:
        LauncherError: In place of the `OSError`; every other `OSError` passes unchanged.
    """
    try:
        yield
    except OSError as error:
        if error.errno in FULL:
            raise disk_full(what, directory, needed_bytes, None) from error
        if error.errno in FORBIDDEN:
            raise LauncherError(
                f"{error.filename or directory} cannot be written: {error.strerror}.",
                "Mend its permissions, or set SPECCHAT_DATA_DIR to a folder that you may write to.",
            ) from error
        raise
