"""Labels that follow from steps, each made when it is asked for: a long reply has hundreds of thousands of them."""

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, chain, islice
from operator import itemgetter
from typing import overload

from specchat.core.speculation import Evidence, Label, Origin, Step, origins_of_step

Kind = tuple[Origin, int | None]
"""Origin and draft position."""
_PREFILL: Kind = (Origin.PREFILL, None)
_origin_of: Callable[[Label | Kind], Origin] = itemgetter(0)
_kind_of: Callable[[Label], Kind] = itemgetter(0, 1)


class StepLabels(Sequence[Label]):
    """The label of a reply's first token, and those of the tokens of steps that follow it without a gap."""

    def __init__(self, steps: Sequence[Step], evidence: Evidence) -> None:
        """Number the tokens of steps.

        Args:
            steps: All of the reply, in order; they do not change any more.
            evidence: Of every label.
        """
        self._evidence = evidence
        self._starts = array("q", accumulate((step.emitted for step in steps), initial=1))
        """Entry i: tokens before step i; behind the last step, all tokens."""
        self._kinds: list[Sequence[Kind]] = []
        """Of the tokens of each step; those of steps that are alike are one object."""
        known: dict[tuple[int | None, int, int], Sequence[Kind]] = {}
        for step in steps:
            like = (step.drafted, step.accepted, step.emitted)
            if like not in known:
                known[like] = origins_of_step(*like)
            self._kinds.append(known[like])

    def __len__(self) -> int:
        return self._starts[-1]

    @overload
    def __getitem__(self, index: int) -> Label: ...
    @overload
    def __getitem__(self, index: slice) -> list[Label]: ...
    def __getitem__(self, index: int | slice) -> Label | list[Label]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        step = bisect_right(self._starts, at) - 1
        if step < 0:
            return Label(*_PREFILL, evidence=self._evidence)
        return Label(*self._kinds[step][at - self._starts[step]], step, self._evidence)

    def __iter__(self) -> Iterator[Label]:
        yield Label(*_PREFILL, evidence=self._evidence)
        for step, kinds in enumerate(self._kinds):
            for origin, position in kinds:
                yield Label(origin, position, step, self._evidence)

    def kinds(self) -> Iterator[Kind]:
        """Origin and draft position of each token."""
        return chain((_PREFILL,), chain.from_iterable(self._kinds))


def kinds_of(labels: Sequence[Label], first: int = 0) -> Iterator[Kind]:
    """Origin and draft position of each label from index `first` on."""
    if isinstance(labels, StepLabels):
        return islice(labels.kinds(), first, None)
    return map(_kind_of, labels[first:])


def origins_of(labels: Sequence[Label]) -> Iterator[Origin]:
    """Origin of each label."""
    return map(_origin_of, labels.kinds() if isinstance(labels, StepLabels) else labels)
