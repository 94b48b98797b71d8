"""Watches a server start: its log goes in, and where it is, how long it takes, and what is wrong come out.

Owns the state of one start. Pure: it reads no file and no clock of its own.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from specchat_launcher.spec import Expected
from specchat_launcher.startup.bars import read_bar
from specchat_launcher.startup.diagnosis import diagnosis_of, notes_in, stuck_lock
from specchat_launcher.startup.findings import Diagnosis
from specchat_launcher.startup.health import AcceptanceLine, Backends, read_acceptance
from specchat_launcher.startup.jit import STILL
from specchat_launcher.startup.lines import LineFeed, LogLine, read_line
from specchat_launcher.startup.phases import StartPhase, timeouts_of
from specchat_launcher.startup.record import Entry, Record
from specchat_launcher.startup.tracking import PhaseTracker, Position

STALLED_AFTER_S = 180.0


@dataclass(frozen=True, slots=True)
class StartState:
    """One moment of a start.

    Attributes:
        phase: The phase it is in.
        detail: What happens there, as words for the user, such as `shard 21 of 50, 1.4 GB/s`.
        fraction: Share of this phase that is done, 0 to 1; None where it is unknown.
        phase_seconds: Seconds since the phase began.
        seconds: Seconds since the start.
        last_lines: The last lines of the log, at most 200, without colours and secrets.
        warnings: What is wrong and does not end the start.
        passed: The phases before this one in their order, each with the seconds it took in all.
    """

    phase: StartPhase
    detail: str
    fraction: float | None
    phase_seconds: float
    seconds: float
    last_lines: tuple[str, ...]
    warnings: tuple[Diagnosis, ...]
    passed: tuple[tuple[StartPhase, float], ...] = ()


class StartWatcher:
    """Follows the log of one server, from its start and for as long as it is fed."""

    def __init__(
        self,
        clock: Callable[[], float],
        *,
        expected: Expected | None = None,
        timeouts: Mapping[str, float] | Sequence[tuple[str, float]] = (),
        age: float = 0.0,
    ) -> None:
        """Begin to watch.

        Args:
            clock: Seconds that never go back.
            expected: What the profile says a healthy start shows.
            timeouts: Seconds that phases may take, by name; the others keep their usual ones.
            age: Seconds since the server was started, for one that has been running before anybody watched. Phases
                are then timed by the stamps in the log.
        """
        self._clock = clock
        self._expected = expected
        self._timeouts = timeouts_of(dict(timeouts))
        self._began = clock() - age
        self._by_stamps = age > 0
        self._first_stamp: float | None = None
        self._phase_began = self._began
        self._passed: dict[StartPhase, float] = {}
        self._moved = clock()
        self._feed = LineFeed()
        self._tracker = PhaseTracker()
        self._record = Record()
        self._backends = Backends()
        self._notes: dict[str, Diagnosis] = {}
        self._acceptance: AcceptanceLine | None = None
        self._stalled = 0.0

    @property
    def acceptance(self) -> AcceptanceLine | None:
        """The last figures of speculation in the log, of all replies of a few seconds; None before the first."""
        return self._acceptance

    def feed(self, text: str) -> None:
        """Take the next piece of the log, split anywhere."""
        for line in self._feed.lines(text):
            self._read(line)

    def state(self) -> StartState:
        """Where the start is now."""
        at = self._at()
        now = self._clock()
        return StartState(
            phase=at.phase,
            detail=at.detail,
            fraction=at.fraction,
            phase_seconds=max(0.0, now - self._phase_began),
            seconds=max(0.0, now - self._began),
            last_lines=self._record.tail(),
            warnings=self._warnings(now),
            passed=tuple(self._passed.items()),
        )

    def overdue(self) -> str | None:
        """What to say when the phase takes longer than it may; None while it does not."""
        at = self._tracker.position
        phase = at.phase
        if phase is StartPhase.LOADING and at.fraction is None:
            # vLLM fetches weights that are not on the disk without a word, before the first shard is loaded.
            phase = max(StartPhase.LOADING, StartPhase.DOWNLOADING, key=lambda one: self._timeouts[one])
        limit = self._timeouts.get(phase)
        seconds = self._clock() - self._phase_began
        if limit is None or seconds <= limit:
            return None
        key = phase.name.lower()
        return (
            f"The start has been {phase.value} for {_minutes(seconds)}, longer than the {_minutes(limit)} it may "
            f"take. Wait longer with --set timeouts.{key}={max(1, round(limit * 2))} (seconds), or look at the last "
            "lines of the log."
        )

    def diagnosis(self, exit_code: int | None) -> Diagnosis:
        """Why the server ended, or does not get on.

        Args:
            exit_code: How its process ended, negative for a signal; None while it runs or where it is not known.
        """
        entries = list(self._record)
        pending = read_line(self._feed.pending)
        if pending.text.strip() and read_bar(pending.text) is None:
            entries.append(Entry(pending, self._tracker.position.phase))
        return diagnosis_of(entries, exit_code, self._tracker.jit)

    def health(self) -> tuple[Diagnosis, ...]:
        """What a server that is up works badly with, and tips; nothing before it is up."""
        if not self._tracker.is_ready:
            return ()
        return (*self._unexpected(), *self._notes.values())

    def _read(self, line: LogLine) -> None:
        before = self._tracker.position.phase
        self._moved = self._clock()
        bar = read_bar(line.text)
        if bar is None:
            self._tracker.read_line(line)
            self._note(line)
        else:
            self._tracker.read_bar(bar[0])
            self._record.add(Entry(line, self._tracker.position.phase, bar[0]))
        self._turn(before, line)
        if bar is not None and bar[1]:
            # A crash prints its reason right behind a bar that was not finished.
            self._read(read_line(bar[1]))

    def _note(self, line: LogLine) -> None:
        self._backends.read(line)
        entry = Entry(line, self._tracker.position.phase)
        self._record.add(entry)
        for note in notes_in(entry):
            self._notes.setdefault(note.cause, note)
        self._acceptance = read_acceptance(line.text) or self._acceptance
        self._watch_stalls(line.text)

    def _watch_stalls(self, text: str) -> None:
        found = STILL.search(text)
        if found is None:
            self._stalled = 0.0
        elif self._tracker.is_ready:
            self._stalled += int(found["seconds"])

    def _turn(self, before: StartPhase, line: LogLine) -> None:
        if self._first_stamp is None:
            self._first_stamp = _stamp_seconds(line.stamp)
        after = self._tracker.position.phase
        if after is before:
            return
        stamp = _stamp_seconds(line.stamp)
        now = self._clock()
        if self._by_stamps and stamp is not None and self._first_stamp is not None:
            now = min(now, self._began + max(0.0, stamp - self._first_stamp))
        self._passed[before] = self._passed.get(before, 0.0) + max(0.0, now - self._phase_began)
        self._phase_began = max(self._phase_began, now)

    def _at(self) -> Position:
        at = self._tracker.position
        bar = read_bar(read_line(self._feed.pending).text)
        if bar is not None:
            drawn = self._tracker.at_bar(bar[0])
            if drawn is not None and drawn.phase is at.phase:
                return drawn
        return at

    def _unexpected(self) -> tuple[Diagnosis, ...]:
        found = self._backends.health(self._expected) if self._expected is not None else ()
        if "slow-moe-backend" in self._notes:
            # The same choice of the server, told once.
            return tuple(finding for finding in found if finding.cause != "moe-backend-unexpected")
        return found

    def _warnings(self, now: float) -> tuple[Diagnosis, ...]:
        found = [note for note in self._notes.values() if note.severity == "warning"]
        stuck = stuck_lock(self._record, self._tracker.jit, now - self._moved)
        if stuck is not None:
            found.append(stuck)
        if self._tracker.is_ready:
            found.extend(self._unexpected())
        if self._stalled >= STALLED_AFTER_S:
            found.append(
                Diagnosis(
                    "engine-stalled",
                    "warning",
                    f"The engine has been waiting for its workers for {_minutes(self._stalled)}.",
                    "While kernels are compiled this is normal; otherwise a worker hangs: stop the server and start it "
                    "again.",
                )
            )
        return tuple(found)


def diagnose(lines: Sequence[str], exit_code: int | None = None) -> Diagnosis:
    """Why a server ended, from the lines of its log.

    Args:
        lines: The log.
        exit_code: How its process ended, negative for a signal; None where it is not known.
    """
    watcher = StartWatcher(lambda: 0.0)
    watcher.feed("".join(f"{line}\n" for line in lines))
    return watcher.diagnosis(exit_code)


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} minutes"


def _stamp_seconds(stamp: str) -> float | None:
    if not stamp:
        return None
    try:
        # A year with 29 February, since the log does not name its year.
        moment = time.strptime(f"2000-{stamp}", "%Y-%m-%d %H:%M:%S")
    except ValueError:
        return None
    return ((moment.tm_yday * 24 + moment.tm_hour) * 60 + moment.tm_min) * 60.0 + moment.tm_sec
