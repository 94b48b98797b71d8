"""One row of a trace, as the scheduler sends it and as a client reads it. Pure."""

import json
from collections.abc import Iterator
from typing import Any, NamedTuple


class Row(NamedTuple):
    """What one step gave one request; in the order in which the scheduler sends the fields, and the step's own two."""

    request_id: str
    key: str
    """The trace's key in the first row of a request, "" in the others."""
    number: int
    drafted: int
    accepted: int
    proposed: list[int] | None
    padded: int
    emitted: list[int]
    at: float
    """Seconds on the engine's monotonic clock."""
    width: int | None
    graph: str | None

    @property
    def rejected(self) -> list[int]:
        """Ids that were proposed and not kept."""
        return [] if self.proposed is None else self.proposed[self.accepted :]

    def as_step(self, started: float) -> dict[str, Any]:
        """The row as the protocol has it.

        Args:
            started: When row 0 was.
        """
        step = {
            "n": self.number,
            "t": round(self.at - started, 6),
            "drafted": self.drafted,
            "proposed": self.proposed,
            "accepted": self.accepted,
            "emitted": self.emitted,
            "width": self.width,
            "graph": self.graph,
        }
        return step | {"padded": self.padded} if self.padded else step


def rows_of(text: str) -> Iterator[Row]:
    """The rows of one step.

    Args:
        text: As the scheduler wrote it.
    """
    at, width, graph, rows = json.loads(text)
    for row in rows:
        yield Row._make((*row, at, width, graph))
