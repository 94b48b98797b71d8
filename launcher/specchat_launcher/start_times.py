"""How long the last start of a profile took, from its first process until it answered.

Owns the files that keep it. It is a help for whoever decides whether to wait, so a file that cannot be written or read
is as good as none.
"""

import contextlib
from pathlib import Path

from specchat_launcher.errors import LauncherError
from specchat_launcher.files import read_json, write_json
from specchat_launcher.paths import DataLayout, ensure


def remember_start(root: Path, profile: str, seconds: float) -> None:
    """Keep how long a start took.

    Args:
        root: The data directory.
        profile: The profile's name.
        seconds: From its first process until it answered.
    """
    with contextlib.suppress(OSError, LauncherError):
        write_json(_file(root, profile, folder=ensure(DataLayout(root).starts)), {"seconds": round(seconds, 1)})


def last_start(root: Path, profile: str) -> float | None:
    """Seconds that the last start of a profile took; None where none is known."""
    seconds = (read_json(_file(root, profile)) or {}).get("seconds")
    return float(seconds) if isinstance(seconds, int | float) and not isinstance(seconds, bool) else None


def _file(root: Path, profile: str, folder: Path | None = None) -> Path:
    return (folder or DataLayout(root).starts) / f"{profile}.json"
