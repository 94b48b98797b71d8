"""Which phase a start is in, from its lines in their order. Pure.

Owns the order of phases: a start goes forward, except that weights are downloaded and kernels compiled in between.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from specchat_launcher.startup.bars import Bar, number
from specchat_launcher.startup.jit import JitBuilds
from specchat_launcher.startup.lines import LogLine
from specchat_launcher.startup.milestones import BARS, CHECKPOINT_SIZE, milestone
from specchat_launcher.startup.phases import ORDER, StartPhase

PLACE: Mapping[StartPhase, int] = MappingProxyType({phase: place for place, phase in enumerate(ORDER)})
GB_PER_GIB = 1.073741824
BEFORE_DOWNLOADS = frozenset({StartPhase.STARTING, StartPhase.LOADING, StartPhase.DRAFT})


@dataclass(frozen=True, slots=True)
class Position:
    """Where a start is.

    Attributes:
        phase: The phase.
        detail: What happens in it, as words for the user.
        fraction: Share of the phase that is done, 0 to 1; None where it is unknown.
    """

    phase: StartPhase
    detail: str
    fraction: float | None = None


LAUNCHED = Position(StartPhase.STARTING, "loading the server's program")


class PhaseTracker:
    """Follows a start line by line."""

    def __init__(self) -> None:
        self.jit = JitBuilds()
        self._at = LAUNCHED
        self._before_download = LAUNCHED
        self._compiling: Position | None = None
        self._checkpoint_gib: float | None = None

    @property
    def position(self) -> Position:
        """Where the start is now."""
        return self._compiling if self._compiling is not None else self._at

    @property
    def is_ready(self) -> bool:
        """Whether the server has said that it is up."""
        return self._at.phase is StartPhase.READY

    def read_line(self, line: LogLine) -> None:
        """Take one line that is no bar."""
        if self.is_ready:
            return
        if self.jit.read(line):
            if PLACE[self._at.phase] < PLACE[StartPhase.OPENING]:
                self._compiling = Position(StartPhase.JIT, self.jit.detail())
            return
        if found := CHECKPOINT_SIZE.search(line.text):
            self._checkpoint_gib = number(found["gib"])
        if line.text.startswith("JIT kernel warmup starting"):
            self._compiling = Position(StartPhase.JIT, "kernels")
        elif line.text.startswith("JIT kernel warmup f"):
            self._compiling = None
        mark = milestone(line.text, line.level)
        if mark is None:
            return
        found = mark.pattern.search(line.text)
        self._go(mark.phase, mark.detail.format(**(found.groupdict() if found else {})), None)

    def read_bar(self, bar: Bar) -> None:
        """Take one drawing of a progress bar."""
        at = None if self.is_ready else self.at_bar(bar)
        if at is None:
            return
        if at.phase is StartPhase.JIT:
            if PLACE[self._at.phase] < PLACE[StartPhase.OPENING]:
                self._compiling = at
        else:
            self._go(at.phase, at.detail, at.fraction)

    def at_bar(self, bar: Bar) -> Position | None:
        """Where a bar puts the start; None for a bar that says nothing about it. Changes nothing."""
        for pattern, phase, item in BARS:
            if not pattern.search(bar.name):
                continue
            if phase is StartPhase.LOADING and self._at.phase is StartPhase.DRAFT:
                return Position(StartPhase.DRAFT, self._shards(bar), bar.share)
            if phase is StartPhase.LOADING:
                return Position(phase, self._shards(bar), bar.share)
            if phase is StartPhase.DOWNLOADING:
                return Position(phase, _download(bar), bar.share)
            return Position(phase, f"{item} {bar.done} of {bar.total}", bar.share)
        return None

    def _go(self, phase: StartPhase, detail: str, fraction: float | None) -> None:
        at = self._at.phase
        if phase is StartPhase.DOWNLOADING:
            if at in BEFORE_DOWNLOADS:
                self._before_download = self._at
            elif at is not StartPhase.DOWNLOADING:
                return
        elif at is StartPhase.DOWNLOADING:
            back = self._before_download.phase
            phase = phase if PLACE[phase] >= PLACE[back] else back
        elif PLACE[phase] < PLACE[at]:
            return
        if phase is StartPhase.STARTING and at is StartPhase.STARTING and _is_earlier(detail, self._at.detail):
            return
        self._at = Position(phase, detail, fraction)
        if PLACE[phase] >= PLACE[StartPhase.OPENING]:
            self.jit.end()
        if not self.jit.is_busy:
            self._compiling = None

    def _shards(self, bar: Bar) -> str:
        words = f"shard {bar.done} of {bar.total}"
        if self._checkpoint_gib and bar.elapsed and bar.share:
            rate = self._checkpoint_gib * GB_PER_GIB * bar.share / bar.elapsed
            return f"{words}, {rate:.1f} GB/s"
        if bar.seconds_each is not None:
            return f"{words}, {bar.seconds_each:.1f} s each"
        return words


def _download(bar: Bar) -> str:
    words = f"{bar.name}, {bar.done} of {bar.total}"
    return f"{words}, {bar.rate}" if bar.rate else words


STARTING_ORDER = ("loading", "starting the container", "reading", "starting the engine", "starting the workers")


def _is_earlier(detail: str, current: str) -> bool:
    def place(words: str) -> int:
        return next((i for i, start in enumerate(STARTING_ORDER) if words.startswith(start)), 0)

    return place(detail) < place(current)
