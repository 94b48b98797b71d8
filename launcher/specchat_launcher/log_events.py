"""What the lines of a vLLM log mean. Pure.

Owns the recognition of start-up milestones and of the line that says why a start failed. vLLM's log also holds the
word "error" in lines that are none, so failures are recognised by the shape of a Python exception.
"""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specchat_launcher.progress import Phase


@dataclass(frozen=True, slots=True)
class Milestone:
    """A point that every start passes.

    Attributes:
        phase: The phase that begins there.
        detail: What the server does from there on, as words for the user.
        fraction: Share of a whole start that is behind it, 0 to 1.
    """

    phase: Phase
    detail: str
    fraction: float


MILESTONES: tuple[tuple[re.Pattern[str], Milestone], ...] = (
    (re.compile(r"non-default args"), Milestone(Phase.STARTING, "reading the configuration", 0.25)),
    (re.compile(r"Initializing a V1 LLM engine"), Milestone(Phase.STARTING, "starting the engine", 0.5)),
    (re.compile(r"Starting to load model"), Milestone(Phase.LOADING, "loading the target model", 0.75)),
    (re.compile(r"Loading drafter model"), Milestone(Phase.LOADING, "loading the draft model", 0.8)),
    (re.compile(r"KV cache size"), Milestone(Phase.WARMING, "reserving memory and warming up", 0.85)),
    (re.compile(r"init engine \("), Milestone(Phase.WARMING, "opening the API", 0.92)),
    (re.compile(r"Application startup complete"), Milestone(Phase.WARMING, "waiting for the first answer", 0.98)),
)
EASING_S = 8.0
LAUNCHED = Milestone(Phase.STARTING, "loading vLLM", 0.0)

PREFIX = re.compile(
    r"^(?:\([^)]*pid=\d+\)\s*)?(?:(?:ERROR|WARNING|INFO|CRITICAL) \d\d-\d\d \d\d:\d\d:\d\d \[[^\]]+\]\s?)?"
)
EXCEPTION = re.compile(r"^(?:[A-Za-z_][\w]*\.)*[A-Z]\w*(?:Error|Exception|Exit|Interrupt)(?::\s.*)?$")
USAGE = re.compile(r"^\S+\.py: error: .+$")
WRAPPER = re.compile(
    r"Engine core initialization failed|WorkerProc initialization failed|died unexpectedly|See root cause above|"
    r"EngineDeadError|KeyboardInterrupt|SystemExit|CancelledError"
)


def milestone(line: str) -> Milestone | None:
    """The milestone that a log line marks; None for all other lines."""
    return next((mark for pattern, mark in MILESTONES if pattern.search(line)), None)


def latest_milestone(lines: Iterable[str]) -> Milestone:
    """The furthest milestone among log lines, `LAUNCHED` before the first."""
    reached = [mark for line in lines if (mark := milestone(line)) is not None]
    return max(reached, key=lambda mark: mark.fraction, default=LAUNCHED)


def eased(mark: Milestone, seconds: float) -> float:
    """Share of a whole start that is done, some seconds after a milestone.

    It creeps towards the next milestone and never reaches it, since how long a machine needs is not known.
    """
    later = [other.fraction for _, other in MILESTONES if other.fraction > mark.fraction]
    room = min(later, default=1.0) - mark.fraction
    return mark.fraction + 0.9 * room * (1 - math.exp(-seconds / EASING_S))


def root_cause(lines: Sequence[str]) -> str | None:
    """The line that says why a server ended; None where none does.

    Several processes fail one after the other, and all but the first only report that another one did.
    """
    bare = [PREFIX.sub("", line).rstrip() for line in lines]
    end = next((i for i, line in enumerate(bare) if WRAPPER.search(line) and EXCEPTION.match(line)), len(bare))
    for scope in (range(end - 1, -1, -1), range(len(bare) - 1, -1, -1)):
        for index in scope:
            line = bare[index]
            if USAGE.match(line) or (EXCEPTION.match(line) and not WRAPPER.search(line)):
                # pydantic puts the reason into the lines below.
                below = bare[index + 2].strip() if "validation error" in line and index + 2 < len(bare) else ""
                return f"{line} {below}".strip()
    return None
