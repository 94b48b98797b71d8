"""What the server hook saw: each step's proposals, laid over the ids of a reply as both arrive.

Admits a row only where its ids are the reply's own, in place and without a gap. The two come over different
connections, so either may be ahead; a trace that contradicts the reply is refused whole.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from specchat.core.speculation import UNKNOWN_LABEL, Evidence, Label, Origin, Step, origins_of_step


class TracedStep(NamedTuple):
    """One row of the hook's trace. Row 0 is the prefill, which nothing was proposed for."""

    number: int
    """0, 1, 2 … without gaps."""
    at: float
    """Seconds since row 0, on the server's clock."""
    drafted: int
    """Tokens proposed."""
    proposed: tuple[int, ...] | None
    """Their ids, kept ones included, in order; None where the server's worker did not deliver them."""
    accepted: int
    """Leading proposals kept, as the server counts them: some may lie past the end of the reply."""
    emitted: tuple[int, ...]
    """Ids that the step gave to the reply."""
    width: int | None = None
    """Tokens that the draft computed at the end of this step, for the next one; None unknown, 0 drafting skipped."""
    graph: str | None = None
    """Graph mode of the target's forward: FULL, PIECEWISE or NONE; None unknown."""
    padded: int = 0
    """Placeholders that vLLM put where proposals would be, as it does for a request that joins with one token. Its
    counters and its report take them for proposals, all rejected; nobody proposed them."""


class Trace:
    """The trace of one reply, as far as it fits."""

    def __init__(self) -> None:
        self.steps: list[Step] = []
        """Of the rows that are admitted, without the prefill."""
        self.rows: list[TracedStep] = []
        """The admitted rows, row 0 included: `rows[i + 1]` is of `steps[i]`."""
        self.labels: list[Label] = []
        """One for each id that arrived: `traced` where a row is admitted, behind it the live guess without a step."""
        self.texts: dict[int, str] = {}
        """Texts of ids that were proposed and not kept."""
        self.contradiction = ""
        """Why the trace is refused; "" while it fits."""
        self.beyond: list[Step] = []
        """Steps past the reply's end, as the server counted them: the reply holds nothing of them."""
        self.padding: list[Step] = []
        """The steps that vLLM's counters saw where it padded."""
        self._waiting: list[TracedStep] = []
        self._taken = 0
        """Waiting rows that are admitted; cut off now and then, since cutting costs the length of the list."""
        self._ids: list[int] = []
        self._covered = 0

    @property
    def covered(self) -> int:
        """Ids of the reply that admitted rows account for."""
        return self._covered

    @property
    def holds(self) -> bool:
        """Is there anything that fits?"""
        return bool(self.rows) and not self.contradiction

    @property
    def is_whole(self) -> bool:
        """Does the trace account for every id that arrived?"""
        return self.holds and self._covered == len(self._ids)

    def add_ids(self, ids: Sequence[int], guesses: Sequence[Label]) -> int:
        """Take ids that arrived, with the live guess of each; returns the first id whose label changed."""
        first = len(self._ids)
        self._ids += ids
        self.labels += [_without_step(guess) for guess in guesses]
        return min(first, self._admit())

    def add_rows(self, rows: Sequence[TracedStep], texts: Mapping[int, str]) -> int | None:
        """Take rows of the hook; returns the first id whose label changed, None if none did."""
        self.texts.update(texts)
        if self.contradiction:
            return None
        self._waiting += rows
        before = self._covered
        first = self._admit()
        return first if self._covered > before or self.contradiction else None

    def end(self) -> None:
        """No more ids come: clip the row in which the reply ends, and keep what lies beyond apart."""
        waiting, self._waiting = self._waiting[self._taken :], []
        self._taken = 0
        left = self._ids[self._covered :]
        if waiting and left and not self.contradiction:
            row = waiting.pop(0)
            if row.emitted[: len(left)] != tuple(left):
                self._refuse(f"step {row.number} holds other ids than the reply")
            elif fault := self._fault(row):
                self._refuse(fault)
            else:
                self._take(row._replace(emitted=row.emitted[: len(left)]))
        if self.holds:
            # What the reply holds nothing of cannot be checked against it.
            self.beyond = [_step(row) for row in waiting if 0 <= row.accepted <= row.drafted]

    def _admit(self) -> int:
        """Admit waiting rows whose ids have all arrived; returns the first id that they cover."""
        first = self._covered
        while self._taken < len(self._waiting) and not self.contradiction:
            row = self._waiting[self._taken]
            if row.number < len(self.rows):
                self._taken += 1  # sent again after a reconnect
                continue
            end = self._covered + len(row.emitted)
            if (end > len(self._ids) or not row.emitted) and row.number == len(self.rows):
                break  # more ids may come, or the reply has ended
            fault = self._fault(row)
            if not fault and tuple(self._ids[self._covered : end]) != row.emitted:
                fault = f"step {row.number} holds other ids than the reply"
            if fault:
                self._refuse(fault)
                break
            self._taken += 1
            self._take(row)
        if self._taken > 64:
            del self._waiting[: self._taken]
            self._taken = 0
        return first

    def _fault(self, row: TracedStep) -> str:
        """What shows that this cannot be the next row; "" if nothing does."""
        if row.number != len(self.rows):
            return f"step {len(self.rows)} is missing"
        kept = min(row.accepted, len(row.emitted))
        if row.proposed is not None and row.proposed[:kept] != row.emitted[:kept]:
            return f"step {row.number} keeps other tokens than were proposed"
        # The engine cuts a step short at the end of a reply alone.
        cut_before = bool(self.rows) and len(self.rows[-1].emitted) <= self.rows[-1].accepted
        adds_up = 0 < len(row.emitted) <= row.accepted + 1 <= row.drafted + 1
        if cut_before or not adds_up or (row.number == 0 and row.drafted):
            return f"step {row.number} does not add up"
        return ""

    def _take(self, row: TracedStep) -> None:
        start = self._covered
        self._covered += len(row.emitted)
        self.rows.append(row)
        if row.padded:
            self.padding.append(Step(row.padded, 0, 1, Evidence.TRACED))
        if row.number == 0:
            self.labels[start : self._covered] = [Label(Origin.PREFILL, evidence=Evidence.TRACED)]
            return
        step = len(self.steps)
        self.steps.append(_step(row))
        self.labels[start : self._covered] = [
            Label(origin, position, step, Evidence.TRACED)
            for origin, position in origins_of_step(row.drafted, row.accepted, len(row.emitted))
        ]

    def _refuse(self, why: str) -> None:
        self.contradiction = why


def _step(row: TracedStep) -> Step:
    return Step(row.drafted, row.accepted, max(1, len(row.emitted)), Evidence.TRACED, row.proposed)


def _without_step(guess: Label) -> Label:
    """Live guesses number other steps than the trace does."""
    return UNKNOWN_LABEL if guess.origin is Origin.UNKNOWN else guess._replace(step=None)
