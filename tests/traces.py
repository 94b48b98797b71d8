"""Traces of the server hook, made from steps."""

from dataclasses import dataclass
from itertools import pairwise

from hypothesis import strategies as st

from replies import chunk
from specchat.core.events import ChunkArrived, StepsTraced
from specchat.core.speculation import Label, Origin
from specchat.core.trace import TracedStep

PREFILL = TracedStep(0, 0.0, 0, (), 0, (1000,), 3, "NONE")


def row(number: int, proposed: tuple[int, ...], emitted: tuple[int, ...], **more: object) -> TracedStep:
    """A row whose accepted count follows from its ids, unless it is given."""
    kept = 0
    while kept < len(proposed) and kept < len(emitted) and proposed[kept] == emitted[kept]:
        kept += 1
    given = {"accepted": kept, "width": 3, "graph": "NONE"} | more
    return TracedStep(number, number / 10, len(proposed), proposed, emitted=emitted, **given)  # type: ignore[arg-type]


def traced(*rows: TracedStep, texts: dict[int, str] | None = None) -> StepsTraced:
    return StepsTraced(rows, texts or {})


@dataclass(frozen=True)
class Generation:
    """What an engine did for one reply."""

    rows: tuple[TracedStep, ...]

    @property
    def ids(self) -> tuple[int, ...]:
        return tuple(token for one in self.rows for token in one.emitted)

    @property
    def truth(self) -> list[tuple[Origin, int | None, int | None]]:
        """Origin, position and step of each id, by the definitions and not by the program's own code."""
        found: list[tuple[Origin, int | None, int | None]] = [(Origin.PREFILL, None, None)]
        for step, one in enumerate(self.rows[1:]):
            for place, _ in enumerate(one.emitted):
                if place < one.accepted:
                    found.append((Origin.ACCEPTED, place + 1, step))
                elif not one.drafted:
                    found.append((Origin.PLAIN, None, step))
                else:
                    found.append((Origin.BONUS if one.accepted == one.drafted else Origin.CORRECTION, None, step))
        return found

    def chunks(self, cuts: list[int]) -> list[ChunkArrived]:
        """The stream, cut at these places; its chunks need not be steps."""
        edges = sorted({0, len(self.ids), *(cut % len(self.ids) for cut in cuts)})
        return [chunk(1.0 + at, "x" * (end - at), *self.ids[at:end]) for at, end in pairwise(edges)]

    def events(self, cuts: list[int]) -> list[StepsTraced]:
        """The trace, cut at these places."""
        edges = sorted({0, len(self.rows), *(cut % len(self.rows) for cut in cuts)})
        return [traced(*self.rows[at:end]) for at, end in pairwise(edges)]


def kinds(labels: list[Label]) -> list[tuple[Origin, int | None, int | None]]:
    return [(label.origin, label.position, label.step) for label in labels]


@st.composite
def generations(draw: st.DrawFn, *, cut_end: bool = True) -> Generation:
    """Steps with few different ids, so that a wrong place is easily mistaken for the right one."""
    rows = [PREFILL._replace(emitted=(draw(st.integers(1, 3)),))]
    for number in range(1, draw(st.integers(1, 12)) + 1):
        proposed = tuple(draw(st.lists(st.integers(1, 3), max_size=4)))
        accepted = draw(st.integers(0, len(proposed)))
        emitted = (*proposed[:accepted], draw(st.integers(1, 3)))
        hidden = draw(st.booleans())
        rows.append(
            TracedStep(number, number / 10, len(proposed), None if hidden else proposed, accepted, emitted, 3, "NONE")
        )
    if cut_end:
        last = rows[-1]
        rows[-1] = last._replace(emitted=last.emitted[: draw(st.integers(1, len(last.emitted)))])
    return Generation(tuple(rows))
