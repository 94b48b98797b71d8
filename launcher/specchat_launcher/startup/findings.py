"""What the log of a server says about its health, told to the user.

Owns the shape of a diagnosis. Reads nothing.
"""

from dataclasses import dataclass
from typing import Literal

Severity = Literal["fatal", "warning", "info"]


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One thing that is wrong with a server, or worth knowing.

    Attributes:
        cause: Its name for programs, such as `port-in-use`.
        severity: `fatal` when the server cannot work, `warning` when it works badly, `info` for a tip.
        title: What is wrong, as a sentence.
        remedy: What to do about it, in a sentence or two; empty where nothing needs doing.
        lines: The lines of the log that say so, without the names of processes, each once.
    """

    cause: str
    severity: Severity
    title: str
    remedy: str
    lines: tuple[str, ...] = ()
