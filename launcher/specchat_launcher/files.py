"""Small file operations that stay whole when the process is killed in the middle.

Owns atomic writes, removal by way of a rename, and checksums. Knows nothing of what the files mean.
"""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

CHUNK = 4 * 1024 * 1024
TRASH_PREFIX = ".trash-"


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file that is either absent, the old one or the new one, never half of it."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    with temporary.open("w", encoding="utf-8") as file:
        json.dump(content, file, indent=2, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)


def read_json(path: Path) -> dict[str, Any] | None:
    """The object in a JSON file; None where the file is missing or holds something else."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return content if isinstance(content, dict) else None


def sha256(path: Path, on_chunk: Callable[[int], None] = lambda _size: None) -> str:
    """A file's SHA-256 as hex.

    Args:
        path: The file.
        on_chunk: Called with the number of bytes after each chunk; an exception from it gives up.
    """
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while chunk := file.read(CHUNK):
            digest.update(chunk)
            on_chunk(len(chunk))
    return digest.hexdigest()


def discard(directory: Path) -> None:
    """Remove a directory so that it is gone at once under its own name, however large it is."""
    if not directory.exists() and not directory.is_symlink():
        return
    trash = directory.with_name(f"{TRASH_PREFIX}{directory.name}-{os.getpid()}")
    shutil.rmtree(trash, ignore_errors=True)
    directory.rename(trash)
    shutil.rmtree(trash, ignore_errors=True)


def sweep(parent: Path, prefix: str) -> None:
    """Remove what earlier, killed processes left behind under a prefix. Call it under the lock of `parent`."""
    for left in parent.glob(f"{prefix}*"):
        shutil.rmtree(left, ignore_errors=True)


def tree_bytes(directory: Path) -> int:
    """Bytes of all files below a directory. Files that vanish meanwhile count as nothing."""
    total = 0
    waiting = [str(directory)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    elif entry.is_file(follow_symlinks=False):
                        total += entry.stat(follow_symlinks=False).st_size
        except OSError:
            continue
    return total
