"""Lays a server's per-step report over the ids of a reply, and asserts only what the report proves.

vLLM's arrays leave out steps for which nothing was drafted, and count proposals accepted past the end of the reply.
So `ids = 1 (prefill) + sum(accepted + 1) + undrafted steps - what the end cut off`. Where ids are left over, the place
of the undrafted steps follows from the chunks, since a chunk holds whole steps.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from specchat.core.speculation import UNKNOWN_LABEL, Evidence, Label, Origin, Step, origins_of_step
from specchat.core.step_labels import StepLabels

_WORK_LIMIT = 600_000
"""State transitions after which an alignment is given up: about half a second."""


@dataclass(frozen=True, slots=True)
class Overlay:
    """A report laid over the ids."""

    labels: Sequence[Label]
    """One for each id; UNKNOWN where the report does not decide."""
    steps: list[Step]
    undecided: int
    """Ids whose origin the report leaves open."""


@dataclass(frozen=True, slots=True)
class Unclosed:
    """A report that does not add up to the ids that arrived."""

    reason: str


def lay_over(chunk_sizes: Sequence[int], accepted: Sequence[int], drafted: Sequence[int]) -> Overlay | Unclosed:
    """Lay `accepted` and `drafted` (one entry a step) over a reply that came in chunks of these many ids."""
    total = sum(chunk_sizes)
    if len(accepted) != len(drafted):
        return Unclosed(f"the server lists {len(accepted)} accepted counts for {len(drafted)} steps")
    if any(a < 0 or a > d for a, d in zip(accepted, drafted, strict=True)):
        return Unclosed("the server reports more accepted than drafted in a step")
    if total == 0:
        return Unclosed("no token ids arrived to lay the server's steps over")
    left_over = total - 1 - sum(a + 1 for a in accepted)
    ends = _chunk_ends(chunk_sizes)
    if left_over <= 0:
        direct = _direct(total, accepted, drafted, -left_over)
        if direct is not None and _respects_chunks(direct.steps, ends):
            return direct
    return _aligned(total, ends, accepted, drafted, left_over)


def _chunk_ends(chunk_sizes: Sequence[int]) -> list[int]:
    """For each id index, the index just behind its chunk. The prefill token is a chunk of its own."""
    ends: list[int] = []
    for size in chunk_sizes:
        ends += [len(ends) + size] * size
    if ends:
        ends[0] = 1
    return ends


def _respects_chunks(steps: Iterable[Step], ends: Sequence[int]) -> bool:
    at = 1
    for step in steps:
        if at + step.emitted > ends[at]:
            return False
        at += step.emitted
    return True


def _direct(total: int, accepted: Sequence[int], drafted: Sequence[int], cut: int) -> Overlay | None:
    if cut and (not accepted or cut > accepted[-1]):
        return None
    # There are few kinds of steps and many steps.
    alike = {(a, d): Step(d, a, a + 1, Evidence.REPORTED) for a, d in set(zip(accepted, drafted, strict=True))}
    steps = [alike[kind] for kind in zip(accepted, drafted, strict=True)]
    if cut:
        last = steps[-1]
        steps[-1] = Step(last.drafted, last.accepted, last.emitted - cut, Evidence.REPORTED)
    labels = StepLabels(steps, Evidence.REPORTED)
    return Overlay(labels, steps, 0) if len(labels) == total else None


def _aligned(
    total: int, ends: Sequence[int], accepted: Sequence[int], drafted: Sequence[int], left_over: int
) -> Overlay | Unclosed:
    """Every way of placing undrafted steps; labels are what all ways share.

    What holds only if the end cut nothing off is no stronger than `inferred`.
    """
    tallest_cut = accepted[-1] if accepted else 0
    least_cut = max(0, -left_over)
    shared: list[_Possible] | None = None
    at_least_cut: list[_Possible] | None = None
    for cut in range(least_cut, tallest_cut + 1):
        emits = [a + 1 for a in accepted]
        if cut:
            emits[-1] -= cut
        try:
            possible = _possibilities(total, ends, emits, accepted, drafted, cut=cut)
        except _TooMuchWork:
            return Unclosed("too many steps without a draft to place them")
        if possible is None:
            continue
        if shared is None:
            shared, at_least_cut = [set(p) for p in possible], possible if cut == least_cut else None
        else:
            shared = [a | b for a, b in zip(shared, possible, strict=True)]
    if shared is None:
        return Unclosed(f"the server's {len(accepted)} steps do not add up to the {total} ids that arrived")
    return _assert_shared(shared, at_least_cut, accepted, drafted, left_over + least_cut)


_Possible = set[tuple[Origin, int | None, int | None]]
"""Origin, position and reported step that a token may have."""


class _TooMuchWork(Exception):
    """The alignment has more states than it is worth."""


def _possibilities(
    total: int,
    ends: Sequence[int],
    emits: Sequence[int],
    accepted: Sequence[int],
    drafted: Sequence[int],
    *,
    cut: int,
) -> list[_Possible] | None:
    """What each token may be, over all placements of the undrafted steps; None if there is no placement.

    A state is (ids placed, reported steps placed). Forward reach, then only what also reaches the end.
    """
    count = len(emits)
    forward: list[set[int]] = [set() for _ in range(total + 1)]
    forward[1].add(0)
    work = 0
    for at in range(1, total):
        for i in forward[at]:
            work += 1
            if cut and i == count:
                continue  # a step that the end cut is the last one
            forward[at + 1].add(i)
            if i < count and at + emits[i] <= ends[at]:
                forward[at + emits[i]].add(i + 1)
        if work > _WORK_LIMIT:
            raise _TooMuchWork
    if count not in forward[total]:
        return None
    possible: list[_Possible] = [set() for _ in range(total)]
    possible[0].add((Origin.PREFILL, None, None))
    backward: list[set[int]] = [set() for _ in range(total + 1)]
    backward[total].add(count)
    for at in range(total - 1, 0, -1):
        for i in forward[at]:
            if i in backward[at + 1] and not (cut and i == count):
                backward[at].add(i)
                possible[at].add((Origin.PLAIN, None, None))
            if i < count and at + emits[i] <= ends[at] and i + 1 in backward[at + emits[i]]:
                backward[at].add(i)
                for offset, (origin, position) in enumerate(origins_of_step(drafted[i], accepted[i], emits[i])):
                    possible[at + offset].add((origin, position, i))
    return possible


def _assert_shared(
    shared: list[_Possible],
    at_least_cut: list[_Possible] | None,
    accepted: Sequence[int],
    drafted: Sequence[int],
    undrafted: int,
) -> Overlay:
    labels: list[Label] = []
    for index, in_all in enumerate(shared):
        possible, evidence = in_all, Evidence.REPORTED
        if len({(o, p) for o, p, _ in in_all}) > 1 and at_least_cut is not None:
            possible, evidence = at_least_cut[index], Evidence.INFERRED
        if len({(o, p) for o, p, _ in possible}) > 1:
            labels.append(UNKNOWN_LABEL)
            continue
        origin, position, step = next(iter(possible))
        labels.append(Label(origin, position, step if len(possible) == 1 else None, evidence))
    steps = [Step(d, a, a + 1, Evidence.REPORTED) for a, d in zip(accepted, drafted, strict=True)]
    undecided = sum(label.origin is Origin.UNKNOWN for label in labels)
    if undecided == 0 and sum(label.origin is Origin.PLAIN for label in labels) == undrafted:
        labels, steps = _in_order(labels, steps)
    return Overlay(labels, steps, undecided)


def _in_order(labels: list[Label], reported: list[Step]) -> tuple[list[Label], list[Step]]:
    """Number all steps, drafted or not, in the order of the reply; called when every label is decided."""
    steps: list[Step] = []
    numbered: list[Label] = []
    current: int | None = None
    for label in labels:
        if label.origin is Origin.PREFILL:
            numbered.append(label)
            continue
        if label.origin is Origin.PLAIN:
            steps.append(Step(0, 0, 1, label.evidence))
            current = None
        elif label.step != current or label.step is None:
            if label.step is None:
                return labels, reported
            current = label.step
            emitted = sum(other.step == current for other in labels)
            steps.append(Step(reported[current].drafted, reported[current].accepted, emitted, Evidence.REPORTED))
        numbered.append(Label(label.origin, label.position, len(steps) - 1, label.evidence))
    return numbered, steps
