"""A command and its environment as text for a shell, to be read, copied and kept.

Owns how `--dry-run` looks. Shows no secret.
"""

import shlex
import textwrap
from collections.abc import Mapping, Sequence

from specchat_launcher.secret_names import is_secret

MASK = "***"
WIDTH = 100
WITHOUT_LINE = frozenset({"-P", "-s", "-m", "-I"})
"""Python's own options, which stay beside the interpreter."""


def command_text(argv: Sequence[str], image: str | None = None) -> str:
    """A command with one argument a line, each but the last with a backslash at its end.

    Args:
        argv: The command.
        image: The word that begins a line of its own; None for none.
    """
    lines: list[list[str]] = [[]]
    for position, word in enumerate(argv):
        starts = word.startswith("-") and word not in WITHOUT_LINE
        if position and (starts or word == image):
            lines.append([])
        hides = position > 0 and argv[position - 1].startswith("--") and is_secret(argv[position - 1])
        lines[-1].append(MASK if hides and not starts else word)
    return " \\\n    ".join(" ".join(shlex.quote(word) for word in line) for line in lines)


def exports(environment: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """A line for each variable that the server has and the user's shell has not.

    Args:
        environment: The server's whole environment.
        environ: The user's.
    """
    return [
        f"export {name}={MASK if is_secret(name) else shlex.quote(value)}"
        for name, value in environment.items()
        if environ.get(name) != value
    ]


def comment(text: str) -> str:
    """A sentence as a comment, in lines that fit a page."""
    return textwrap.fill(
        text, WIDTH, initial_indent="# ", subsequent_indent="#   ", break_long_words=False, break_on_hyphens=False
    )
