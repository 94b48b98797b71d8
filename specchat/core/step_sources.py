"""Who wrote each id of a reply: keeps what the chunks, the hook and the server's report say, and uses the best of it.

The trace replaces the chunks while the reply grows, where it fits. At the end the strongest whole source stays: the
trace, else the report, else the chunks. What does not fit is refused whole, and a note says so.
"""

from collections.abc import Sequence
from operator import is_

from specchat.core.counters import CounterCheck, Verdict
from specchat.core.events import SpeculationReported, StepsTraced
from specchat.core.live_steps import LiveSteps
from specchat.core.overlay import Unclosed, lay_over
from specchat.core.speculation import Evidence, Label, Origin, Step
from specchat.core.step_labels import origins_of
from specchat.core.trace import Trace


class StepSources:
    """The steps of one reply and the labels of its ids, from the best source so far.

    Attributes:
        live: What the chunks show.
        trace: What the server hook saw; None where it sent nothing.
        steps: The steps.
        labels: One for each id that arrived.
        evidence: Where `steps` comes from: TRACED, REPORTED or INFERRED.
        live_guess_accuracy: Share of the decided ids whose live origin was right; None before something better than
            chunks has the last word.
    """

    def __init__(self, draft_length: int | None) -> None:
        """Start a reply.

        Args:
            draft_length: As for `LiveSteps`.
        """
        self.live = LiveSteps(draft_length)
        self.trace: Trace | None = None
        self.steps: list[Step] = self.live.steps
        self.labels: Sequence[Label] = self.live.labels
        self.evidence = Evidence.INFERRED
        self.live_guess_accuracy: float | None = None
        self._trace_broke = False

    def add_ids(self, ids: Sequence[int]) -> int:
        """Take the ids of a chunk; returns the first id, counted from 0, whose label changed."""
        first = len(self.live.labels)
        guesses = self.live.add_chunk(len(ids))
        if self.trace is None:
            return first
        first = min(first, self.trace.add_ids(ids, guesses))
        return 0 if self._follow_trace() else first

    def add_traced(self, event: StepsTraced, ids: Sequence[int]) -> int | None:
        """Take rows of the hook.

        Args:
            event: The rows.
            ids: All ids that arrived so far; read with the first rows alone.

        Returns:
            The first id, counted from 0, whose label changed; None if none did.
        """
        if self.trace is None:
            self.trace = Trace()
            self.trace.add_ids(ids, self.live.labels)
        first = self.trace.add_rows(event.steps, event.texts)
        return 0 if self._follow_trace() else first

    def break_trace(self) -> bool:
        """No more rows come, though the reply may go on; returns whether every label changed."""
        self._trace_broke = True
        return self._follow_trace()

    def _follow_trace(self) -> bool:
        """Use the trace while it fits and is not left behind; returns whether it had to be given up."""
        trace = self.trace
        if trace is not None and trace.holds and (trace.is_whole or not self._trace_broke):
            self.steps, self.labels, self.evidence = trace.steps, trace.labels, Evidence.TRACED
        elif self.evidence is Evidence.TRACED:
            self._fall_back()
            return True
        return False

    def _fall_back(self) -> None:
        self.steps, self.labels, self.evidence = self.live.steps, self.live.labels, Evidence.INFERRED

    def end(self, report: SpeculationReported | None, *, ended_by_engine: bool) -> tuple[bool, list[str]]:
        """No more comes: let the strongest source that accounts for every id have the last word.

        Args:
            report: The server's own.
            ended_by_engine: False where a stop string, the client or a fault ended the reply: vLLM's report of such a
                one is missing or counts other steps.

        Returns:
            Whether labels changed, and sentences for the reader.
        """
        notes: list[str] = []
        changed = self._end_trace(notes)
        if report is not None and report.contradiction:
            notes.append(f"the server's report contradicts itself: {report.contradiction}")
        elif report is not None and self.evidence is Evidence.TRACED and ended_by_engine:
            notes += self._compare(report)
        if report is not None and self.evidence is not Evidence.TRACED:
            changed = self._lay_over(report, notes) or changed
        return changed, notes

    def _end_trace(self, notes: list[str]) -> bool:
        """Decide whether the trace is the last word; is there anything new to draw?"""
        if self.trace is None:
            return False
        self.trace.end()
        if self.trace.contradiction:
            notes.append(f"the server's trace does not fit the reply: {self.trace.contradiction}")
        elif not self.trace.is_whole and self.live.labels:
            notes.append(f"the server's trace covers {self.trace.covered} of {len(self.live.labels)} tokens")
        if self.trace.is_whole:
            self._follow_trace()
            self.live_guess_accuracy = _agreement(self.live.labels, self.labels)
        else:
            self._fall_back()
        return True

    def _lay_over(self, report: SpeculationReported, notes: list[str]) -> bool:
        if report.per_step_accepted is None or report.per_step_drafted is None or not self.live.chunk_sizes:
            return False
        laid = lay_over(self.live.chunk_sizes, report.per_step_accepted, report.per_step_drafted)
        if isinstance(laid, Unclosed):
            notes.append(f"the server's step report does not close: {laid.reason}")
            return False
        if laid.undecided:
            notes.append(f"the origin of {laid.undecided} tokens cannot be told: steps without a draft lie among them")
        self.steps, self.labels, self.evidence = laid.steps, laid.labels, Evidence.REPORTED
        self.live_guess_accuracy = _agreement(self.live.labels, laid.labels)
        return True

    def _compare(self, report: SpeculationReported) -> list[str]:
        """A trace and a report of one reply must say the same."""
        padding = [] if self.trace is None else self.trace.padding
        drafted = [step for step in (*padding, *self.steps) if step.is_drafted]
        accepted = sum(step.accepted for step in drafted)
        if (report.steps, report.accepted) == (len(drafted), accepted):
            return []
        ours, theirs = f"{len(drafted)} steps with {accepted} tokens accepted", f"{report.steps} with {report.accepted}"
        return [f"the trace has {ours}, the server's report {theirs}"]

    @property
    def for_check(self) -> list[Step]:
        """The steps that the server's counters are to show: with those past the reply's end, where they are known."""
        if self.evidence is Evidence.TRACED and self.trace is not None:
            return [*self.trace.padding, *self.steps, *self.trace.beyond]
        return self.live.steps

    def settle_last(self, check: CounterCheck) -> bool:
        """Take the counters' word on whether the last token was the draft's; did that change anything?"""
        if self.evidence is not Evidence.INFERRED:
            return False
        if check.verdict is not Verdict.AGREES or not check.excess or not self.steps:
            return False
        last = self.steps[-1]
        accepted = last.accepted + check.excess
        if not last.is_drafted or (last.drafted is not None and accepted > last.drafted):
            return False
        # Proposals accepted past the end mean that the step's last emitted token was a kept proposal as well.
        self.steps[-1] = Step(last.drafted, accepted, last.emitted, last.evidence)
        self.live.labels[-1] = Label(Origin.ACCEPTED, last.emitted, len(self.steps) - 1, Evidence.INFERRED)
        return True


def _agreement(guesses: Sequence[Label], finals: Sequence[Label]) -> float | None:
    """Share of the decided origins that were guessed."""
    final = list(origins_of(finals))
    decided = len(final) - final.count(Origin.UNKNOWN)
    right = sum(map(is_, origins_of(guesses), final))
    if decided < len(final):
        right -= sum(guess is one is Origin.UNKNOWN for guess, one in zip(origins_of(guesses), final, strict=False))
    return right / decided if decided else None
