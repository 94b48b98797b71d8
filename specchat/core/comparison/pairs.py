"""Brings together what both sides answered to the same prompt at the same repeat, and compares them one by one."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from specchat.core.comparison.divergence import Divergence, divergence_of
from specchat.core.comparison.samples import Sample, Side


@dataclass(frozen=True, slots=True)
class Pair:
    """Both sides of one prompt at one repeat."""

    on: Sample
    off: Sample

    @property
    def prompt(self) -> int:
        """Number of the prompt."""
        return self.on.prompt

    @property
    def repeat(self) -> int:
        """Which time it was asked."""
        return self.on.repeat

    @property
    def speed_ratio(self) -> float | None:
        """Decode rate on over off: above 1 speculation is faster."""
        return _ratio(self.on.decode_rate, self.off.decode_rate)

    @property
    def end_to_end_ratio(self) -> float | None:
        """Tokens per second from sending on, on over off: prefill and waiting included, lengths evened out."""
        return _ratio(self.on.end_to_end_rate, self.off.end_to_end_rate)

    @property
    def first_token_difference_s(self) -> float | None:
        """Seconds that the first token came later with speculation; negative where it came earlier."""
        on, off = self.on.first_token_s, self.off.first_token_s
        return None if on is None or off is None else on - off

    @property
    def divergence(self) -> Divergence | None:
        """Where the two texts first part; None where they do not, or a side failed."""
        if self.on.failure is not None or self.off.failure is not None:
            return None
        return divergence_of(self.on.replies, self.off.replies)

    @property
    def failed(self) -> tuple[Side, ...]:
        """The sides that have no whole reply."""
        return tuple(sample.side for sample in (self.on, self.off) if sample.failure is not None)


def pairs_of(samples: Iterable[Sample]) -> list[Pair]:
    """The pairs that are complete, by prompt and repeat; of a sample that was asked for again the last one counts."""
    found: dict[tuple[int, int], dict[Side, Sample]] = defaultdict(dict)
    for sample in samples:
        found[sample.prompt, sample.repeat][sample.side] = sample
    whole = [sides for _, sides in sorted(found.items()) if len(sides) == len(Side)]
    return [Pair(sides[Side.ON], sides[Side.OFF]) for sides in whole]


def latest(samples: Iterable[Sample]) -> list[Sample]:
    """Of each prompt, repeat and side the last sample, in the order in which they were first asked for."""
    found = {(sample.prompt, sample.repeat, sample.side): sample for sample in samples}
    return list(found.values())


def _ratio(on: float | None, off: float | None) -> float | None:
    return None if on is None or not off else on / off
