"""A start as one moment of a longer operation, for displays that also show installing and downloading models. Pure.

Owns how much of a start each phase is. Keeps no state.
"""

import math
from collections.abc import Mapping
from types import MappingProxyType

from specchat_launcher.progress import Phase, Progress
from specchat_launcher.startup.phases import ORDER, StartPhase
from specchat_launcher.startup.watching import StartState

EASING_S = 8.0
PARTS: Mapping[StartPhase, tuple[Phase, float]] = MappingProxyType(
    {
        StartPhase.STARTING: (Phase.STARTING, 0.0),
        StartPhase.DOWNLOADING: (Phase.LOADING, 0.5),
        StartPhase.JIT: (Phase.LOADING, 0.55),
        StartPhase.LOADING: (Phase.LOADING, 0.6),
        StartPhase.DRAFT: (Phase.LOADING, 0.78),
        StartPhase.COMPILING: (Phase.WARMING, 0.8),
        StartPhase.MEMORY: (Phase.WARMING, 0.85),
        StartPhase.CAPTURING: (Phase.WARMING, 0.88),
        StartPhase.OPENING: (Phase.WARMING, 0.92),
        StartPhase.READY: (Phase.WARMING, 0.98),
    }
)
"""The stage of an operation that a phase belongs to, and the share of a whole start that lies before it."""


def as_progress(state: StartState) -> Progress:
    """A start as progress: its stage, words with the seconds so far, and the share of the whole start.

    A phase without figures creeps towards the next one and never reaches it, since how long a machine needs is not
    known.
    """
    phase, begins = PARTS[state.phase]
    place = ORDER.index(state.phase)
    ends = PARTS[ORDER[place + 1]][1] if place + 1 < len(ORDER) else 1.0
    share = state.fraction if state.fraction is not None else 1 - math.exp(-state.phase_seconds / EASING_S)
    words = state.detail if state.phase is StartPhase.STARTING else f"{state.phase}: {state.detail}"
    return Progress(phase, f"{words}, {state.seconds:.0f} s", begins + 0.9 * (ends - begins) * share)
