"""The phases of a server's start, in their order, and how long each may take.

Owns the names and the limits. Recognises nothing in a log.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType


class StartPhase(StrEnum):
    """What a server does between its start and its first answer, in the usual order.

    `JIT` is the exception: kernels are compiled when they are first needed, so it comes up inside several others.
    """

    STARTING = "starting"
    DOWNLOADING = "downloading"
    JIT = "compiling kernels"
    LOADING = "loading weights"
    DRAFT = "loading the draft"
    COMPILING = "compiling"
    MEMORY = "reserving memory"
    CAPTURING = "capturing graphs"
    OPENING = "opening the API"
    READY = "ready"


ORDER: tuple[StartPhase, ...] = tuple(StartPhase)

MINUTE = 60.0
HOUR = 60 * MINUTE
TIMEOUTS = MappingProxyType(
    {
        StartPhase.STARTING: 10 * MINUTE,
        # 230 GiB at 15 MB/s take four and a half hours.
        StartPhase.DOWNLOADING: 6 * HOUR,
        # Measured on an MI355X: 944 s for 23 modules one after the other, 551 s of them for a single one.
        StartPhase.JIT: HOUR,
        StartPhase.LOADING: HOUR,
        StartPhase.DRAFT: 10 * MINUTE,
        StartPhase.COMPILING: HOUR,
        StartPhase.MEMORY: 20 * MINUTE,
        StartPhase.CAPTURING: 30 * MINUTE,
        StartPhase.OPENING: 5 * MINUTE,
    }
)
"""Seconds that a phase may take before the start counts as overdue, unless the profile says otherwise."""


def timeouts_of(changes: Mapping[str, float]) -> dict[StartPhase, float]:
    """The limit of each phase, in seconds.

    Args:
        changes: Other limits, by the name of a phase (`loading weights`) or its short one (`loading`); names that no
            phase has are passed over, since the profile's reader has checked them.
    """
    names = {key: phase for phase in StartPhase for key in (phase.value, phase.name.lower())}
    changed = {names[key]: float(seconds) for key, seconds in changes.items() if key in names}
    return {**TIMEOUTS, **changed}
