"""Reads the small files of /sys and /proc, where anything may be missing, forbidden or nonsense.

Owns the forgiving reading. Knows no meaning.
"""

from collections.abc import Iterator
from pathlib import Path

LARGEST_FILE = 65_536
"""Bytes that are read at most; a file of the kernel's has a few hundred."""


def read_text(path: Path) -> str | None:
    """A file's text without the blanks around it; None where it cannot be read or is empty."""
    try:
        with path.open("rb") as file:
            raw = file.read(LARGEST_FILE)
    except (OSError, ValueError):
        return None
    return raw.decode("utf-8", "replace").replace("\0", "").strip() or None


def read_int(path: Path) -> int | None:
    """A file's only number, not negative; None where there is no such number."""
    return as_int(read_text(path))


def as_int(text: str | None) -> int | None:
    """A number, decimal or 0x…, that fits 64 bits and is not negative; None for anything else."""
    if text is None or len(text) > 20 or not text.isascii():
        return None
    try:
        number = int(text, 16) if text.startswith("0x") else int(text)
    except ValueError:
        return None
    return number if 0 <= number < 1 << 64 else None


def read_properties(path: Path) -> dict[str, int]:
    """The lines “name number” of a file; what is no such line is left out."""
    found = {}
    for line in (read_text(path) or "").splitlines():
        name, _, value = line.strip().partition(" ")
        if (number := as_int(value.strip())) is not None:
            found[name] = number
    return found


def folders(path: Path) -> Iterator[Path]:
    """What is in a folder, in the order of names, numbers as numbers; nothing where it cannot be read."""
    try:
        entries = sorted(path.iterdir(), key=lambda entry: (len(entry.name), entry.name))
    except (OSError, ValueError):
        return
    yield from entries
