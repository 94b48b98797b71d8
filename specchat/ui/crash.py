"""Reports of errors that are the program's own. Writes files; draws nothing.

A report holds no values of variables, since those hold prompts, replies and keys, and no secret that it is told of.
"""

import os
import platform
import shutil
import traceback
from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_PACKAGES = ("specchat", "textual", "rich", "openai", "httpx2")
_TERMINAL = ("TERM", "COLORTERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "NO_COLOR", "LANG", "LC_ALL")
_LINE = 400
"""Characters of one line: messages of errors quote what they are about, and that can be a whole reply."""
_SHORTEST_SECRET = 4


def report(
    error: BaseException,
    *,
    now: datetime,
    size: tuple[int, int],
    environment: Mapping[str, str],
    secrets: Collection[str] = (),
) -> str:
    """Everything about an error that helps to mend it.

    Args:
        error: With its traceback.
        now: When it happened.
        size: The terminal's, columns and rows.
        environment: The process's.
        secrets: Texts to blot out: keys, prompts.
    """
    traced = "".join(traceback.TracebackException.from_exception(error, capture_locals=False).format())
    for secret in sorted((secret for secret in secrets if len(secret) >= _SHORTEST_SECRET), key=len, reverse=True):
        traced = traced.replace(secret, "[left out]").replace(repr(secret)[1:-1], "[left out]")
    lines = [line if len(line) <= _LINE else f"{line[:_LINE]} [cut]" for line in traced.splitlines()]
    inside = [name for name in ("TMUX", "STY", "SSH_CONNECTION", "WSL_DISTRO_NAME") if environment.get(name)]
    return "\n".join(
        (
            f"An error of specchat's own, at {now:%Y-%m-%d %H:%M:%S}.",
            "Values of variables, keys and prompts are left out; look through it before you send it to anyone.",
            "",
            *(f"{name} {_version(name)}" for name in _PACKAGES),
            f"Python {platform.python_version()} on {platform.platform()}",
            f"terminal {size[0]}x{size[1]}",
            *(f"{name}={environment[name]}" for name in _TERMINAL if name in environment),
            f"inside {', '.join(inside) or 'none of tmux, screen, ssh and WSL'}",
            "",
            *lines,
            "",
        )
    )


def write_report(text: str, directory: Path, now: datetime) -> Path:
    """Put a report into a new file that only its owner can read.

    Raises:
        OSError: If it cannot be written.
    """
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"crash-{now:%Y%m%d-%H%M%S}-{os.getpid()}.txt"
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    return path


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "of unknown version"


class Reporter:
    """Keeps reports in a directory and says so in one sentence."""

    def __init__(self, directory: Path, secrets: Callable[[], Collection[str]], environment: Mapping[str, str]) -> None:
        """Keep nothing yet.

        Args:
            directory: Where reports go; made when there is one.
            secrets: What no report may hold, asked when there is one.
            environment: The process's.
        """
        self._directory = directory
        self._secrets = secrets
        self._environment = environment
        self._seen: set[tuple[type[BaseException], str]] = set()

    def is_new(self, error: BaseException) -> bool:
        """Whether this is the first error of its kind from its place."""
        frames = traceback.extract_tb(error.__traceback__)
        mark = (type(error), f"{frames[-1].filename}:{frames[-1].lineno}" if frames else "")
        known = mark in self._seen
        self._seen.add(mark)
        return not known

    def keep(self, error: BaseException, *, ended: bool) -> str:
        """Write a report, and return the sentence for the user.

        Args:
            error: What happened.
            ended: Whether the program ends by it.
        """
        now = datetime.now().astimezone()
        size = shutil.get_terminal_size()
        text = report(
            error, now=now, size=(size.columns, size.lines), environment=self._environment, secrets=self._secrets()
        )
        what = f"specchat {'stopped because of' if ended else 'goes on after'} an error of its own"
        what += f" ({type(error).__name__})"
        try:
            path = write_report(text, self._directory, now)
        except OSError as failure:
            return f"{what}, and no report could be written to {self._directory}: {failure.strerror}."
        return f"{what}: please report it with the file {path}."
