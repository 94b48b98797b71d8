"""What a long operation tells its caller while it runs.

Owns the phases and their order. Holds no timing and draws nothing.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """The stages from nothing to a server that answers, in the order in which they happen."""

    CHECKING = "checking"
    WAITING = "waiting"
    CREATING = "creating"
    INSTALLING = "installing"
    FETCHING = "fetching"
    CONVERTING = "converting"
    VERIFYING = "verifying"
    STARTING = "starting"
    LOADING = "loading"
    WARMING = "warming"
    READY = "ready"


@dataclass(frozen=True, slots=True)
class Progress:
    """One moment of a long operation.

    Attributes:
        phase: The stage it is in.
        detail: What is happening, as words for the user.
        fraction: Share of this phase that is done, 0 to 1; None where it is unknown.
    """

    phase: Phase
    detail: str
    fraction: float | None = None


Report = Callable[[Progress], None]
"""Receives progress several times a second. An exception it raises cancels the operation and cleans up."""
