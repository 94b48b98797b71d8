"""Text files for a prompt: finds them, reads them whole, refuses what is no text. Shows nothing."""

import os
import re
import shlex
import stat
from dataclasses import dataclass
from pathlib import Path

from specchat.core.errors import SpecchatError
from specchat.core.harmless import harmless, one_line
from specchat.ui.folding import size_of

LIMIT_BYTES = 1_000_000
_MOST_PATHS = 200
_FENCES = re.compile(r"`{3,}")


@dataclass(frozen=True, slots=True)
class Attachment:
    """A text file that was read."""

    name: str
    """Without its folder; harmless to show."""
    size: int
    """Bytes."""
    text: str

    @property
    def fenced(self) -> str:
        """Its name and its text between fences that are longer than any inside."""
        fence = "`" * max([3, *(len(found) + 1 for found in _FENCES.findall(self.text))])
        end = "" if self.text.endswith("\n") else "\n"
        return f"{self.name}:\n{fence}\n{self.text}{end}{fence}\n"


def read_attachment(written: str) -> Attachment:
    """Read a text file.

    Args:
        written: Its path as a user writes it: with `~`, with quotes, or with backslashes before its spaces.

    Raises:
        SpecchatError: If there is no such file, it is too large, or no text in UTF-8.
    """
    path = _path_of(written)
    shown = one_line(str(path), 200)
    try:
        found = path.stat()
        if stat.S_ISDIR(found.st_mode):
            raise SpecchatError(f"{shown} is a folder.", "Attach a file in it.")
        if not stat.S_ISREG(found.st_mode):
            raise SpecchatError(f"{shown} is no regular file.", "Attach a text file.")
        if found.st_size > LIMIT_BYTES:
            raise SpecchatError(
                f"{shown} has {size_of(found.st_size)}, and at most {size_of(LIMIT_BYTES)} can be attached.",
                "Attach a part of it.",
            )
        data = path.read_bytes()
    except FileNotFoundError:
        raise SpecchatError(f"There is no file {shown}.", "Tab completes names after /attach.") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise SpecchatError(f"{shown} cannot be read: {reason}.", "Attach another file.") from None
    return Attachment(one_line(path.name, 60), len(data), _text_of(data, shown))


def matching_paths(written: str) -> list[str]:
    """Paths that begin as what is written, in its own style; folders end with a slash and come first.

    Args:
        written: The beginning of a path; "" for all of the current folder.
    """
    folder, _, begun = written.rpartition("/")
    base = f"{folder}/" if "/" in written else ""
    try:
        with os.scandir(Path(base or ".").expanduser()) as entries:
            found = [
                (not entry.is_dir(), f"{base}{entry.name}{'/' if entry.is_dir() else ''}")
                for entry in entries
                if entry.name.startswith(begun) and (begun or not entry.name.startswith("."))
            ]
    except (OSError, RuntimeError, ValueError):
        return []
    return [path for _, path in sorted(found) if path == harmless(path)][:_MOST_PATHS]


def _path_of(written: str) -> Path:
    """Taken as it stands if there is such a file: a name may itself hold quotes and backslashes."""
    plain = written.strip()
    try:
        as_it_stands = Path(plain).expanduser()
        if as_it_stands.exists():
            return as_it_stands
        words = shlex.split(plain)
        return Path(words[0]).expanduser() if len(words) == 1 else as_it_stands
    except (OSError, RuntimeError, ValueError):
        return Path(plain)


def _text_of(data: bytes, shown: str) -> str:
    if b"\0" in data:
        raise SpecchatError(f"{shown} is no text file.", "Only text in UTF-8 can be attached.")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise SpecchatError(f"{shown} is no text in UTF-8.", "Convert it to UTF-8 first.") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")
