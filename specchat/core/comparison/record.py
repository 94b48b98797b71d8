"""A comparison with all that belongs to it, as exports and screens are given it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from specchat.core.comparison.plan import Plan
from specchat.core.comparison.result import Result, result_of
from specchat.core.comparison.samples import Sample, Side
from specchat.core.comparison.verdict import names_of, remarks, sentences
from specchat.core.errors import SpecchatError
from specchat.core.server import ServerInfo
from specchat.core.switching import Way


@dataclass(frozen=True, slots=True)
class Record:
    """What was planned, who answered, what was measured and how it ended."""

    plan: Plan
    servers: Mapping[Side, ServerInfo]
    way: Way
    """How speculation was off: another server, or the hook in the same one."""
    samples: Sequence[Sample]
    fingerprint: str
    """Which comparison it is: see `Plan.fingerprint`."""
    source: str = ""
    """Name of the file of prompts, without its folder."""
    off_meant: str = ""
    """What switching off turned out to be, where a trace told."""
    notes: Sequence[str] = ()
    ending: str = "complete"
    """`complete`, `interrupted` or `lost` (a server)."""
    error: SpecchatError | None = None
    """Why it is not complete, unless the user stopped it."""
    started: str = ""
    """Time of the first sample's run, as ISO 8601."""
    finished: str = ""
    result: Result = field(init=False)

    def __post_init__(self) -> None:
        """Compute the result once: it takes a moment where there are very many samples."""
        object.__setattr__(self, "result", result_of(self.plan, self.samples))

    @property
    def names(self) -> dict[Side, str]:
        """What to call the two sides."""
        off = self.servers[Side.OFF].draft_length if self.way is Way.SERVER else 0
        return names_of(self.servers[Side.ON].draft_length, off)

    @property
    def is_true_baseline(self) -> bool:
        """Is the off side a server that is known to have no draft?"""
        return self.way is Way.SERVER and self.servers[Side.OFF].speculates is False

    @property
    def verdict(self) -> list[str]:
        """All that is to be said."""
        return sentences(self.plan, self.result, self.names)

    @property
    def remarks(self) -> list[str]:
        """What is to be said where figures and failures are shown already."""
        return remarks(self.plan, self.result, self.names)
