"""Sums over the steps of a reply, kept while it grows, so that a figure costs the same at any length."""

from array import array
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, islice
from operator import attrgetter

from specchat.core.figures import SpeculationCounts
from specchat.core.speculation import Step

_kind_of: Callable[[Step], tuple[int | None, int, int]] = attrgetter("drafted", "accepted", "emitted")


class StepTally:
    """What the steps of a list add up to.

    Attributes:
        emitted: Tokens that the reply holds from its steps.
        yields: For steps with something drafted, by how many tokens the reply holds of them.
    """

    def __init__(self, steps: Sequence[Step]) -> None:
        """Count a list of steps, to which others may be appended; one that is replaced is noticed at the end alone.

        Args:
            steps: The list itself, not a copy.
        """
        self._steps = steps
        self._last: Step | None = None
        self.emitted = 0
        self.yields: Counter[int] = Counter()
        self._drafted = 0
        self._drafted_known = 0
        self._widest = 0
        self._accepted: Counter[int] = Counter()
        self._accepted_before = array("q", [0])
        """Entry i: tokens accepted in the first i steps."""
        self._steps_before = array("q", [0])
        """Entry i: steps with something drafted among the first i."""

    def is_of(self, steps: Sequence[Step]) -> bool:
        """Is this the tally of that list, as far as it goes?"""
        counted = len(self._accepted_before) - 1
        return steps is self._steps and (not counted or (counted <= len(steps) and steps[counted - 1] is self._last))

    def catch_up(self) -> None:
        """Count the steps that were appended."""
        added = self._steps[len(self._accepted_before) - 1 :]
        if not added:
            return
        self._last = added[-1]
        # A report that is laid over a long reply brings all of its steps at once, and there are few kinds of them.
        kinds = list(map(_kind_of, added))
        accepted = (accepted if drafted != 0 else 0 for drafted, accepted, _ in kinds)
        self._accepted_before.extend(islice(accumulate(accepted, initial=self._accepted_before[-1]), 1, None))
        steps = (drafted != 0 for drafted, _, _ in kinds)
        self._steps_before.extend(islice(accumulate(steps, initial=self._steps_before[-1]), 1, None))
        for kind, count in Counter(kinds).items():
            self._add(*kind, count)

    def _add(self, drafted: int | None, accepted: int, emitted: int, count: int) -> None:
        self.emitted += emitted * count
        if drafted == 0:
            return
        self.yields[emitted] += count
        self._accepted[accepted] += count
        self._widest = max(self._widest, drafted or accepted)
        if drafted is not None:
            self._drafted += drafted * count
            self._drafted_known += count

    @property
    def steps(self) -> int:
        """Steps with something drafted."""
        return self._steps_before[-1]

    def counts(self, draft_length: int | None = None) -> SpeculationCounts:
        """As `SpeculationCounts.of_steps` of these steps."""
        width = max(draft_length or 0, self._widest)
        return SpeculationCounts(
            steps=self.steps,
            drafted=self._drafted if self._drafted_known == self.steps else None,
            accepted=self._accepted_before[-1],
            per_position=tuple(
                sum(count for accepted, count in self._accepted.items() if accepted > i) for i in range(width)
            ),
        )

    def mean_yield(self, start: int, stop: int) -> float | None:
        """The acceptance length of some neighbouring steps; None where nothing was drafted in them."""
        stop = min(stop, len(self._steps_before) - 1)
        start = max(0, min(start, stop))
        steps = self._steps_before[stop] - self._steps_before[start]
        return 1 + (self._accepted_before[stop] - self._accepted_before[start]) / steps if steps else None
