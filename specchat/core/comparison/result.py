"""Samples to results: for each prompt and in total, ratios with their interval, acceptance, first token, divergence."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from specchat.core.comparison.bootstrap import Estimate, estimate
from specchat.core.comparison.divergence import Divergence, divergence_of
from specchat.core.comparison.pairs import Pair, latest, pairs_of
from specchat.core.comparison.plan import Plan
from specchat.core.comparison.samples import Failure, Sample, Side, mean_of_requests, pooled_counts


@dataclass(frozen=True, slots=True)
class Acceptance:
    """What speculation did in some replies. Every figure is pooled over their steps unless its name says otherwise."""

    length: float | None
    """Acceptance length, 1 + accepted/steps, pooled over steps."""
    length_mean_of_requests: float | None
    """The mean of the acceptance lengths of the single replies: another figure."""
    rate: float | None
    """Accepted over drafted."""
    per_position_rate: tuple[float, ...] | None
    """Share of steps in which position i + 1 was accepted."""
    steps: int | None
    drafted: int | None
    accepted: int | None
    evidence: str
    """The weakest among the replies'."""


@dataclass(frozen=True, slots=True)
class SideResult:
    """One side of a prompt, or of all."""

    decode_rate: float | None
    """Median decode tokens per second of its samples."""
    first_token_s: float | None
    """Median seconds to the first token."""
    tokens: int
    """All tokens of its whole samples."""
    samples: int
    """Whole samples."""
    failed: int
    acceptance: Acceptance
    differing_repeats: int
    """Samples whose ids differ from those of the same side's first sample of that prompt: the noise of the texts
    themselves."""
    unrated: int
    """Whole samples that show no decode rate: a single token, or all of them at once."""
    disturbed: int
    """Whole samples during which the server served others too, as far as its counters tell."""
    disobeyed: int
    """Whole samples in which a server that was to be off drafted all the same."""
    throughput: float | None
    """Tokens per second of all requests beside each other, over the time in which any of them ran."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """One prompt, or all."""

    speed: Estimate
    """Decode rate, on over off: the median of the pairs."""
    end_to_end: Estimate
    """The same with prefill and waiting."""
    first_token_difference_s: float | None
    """Median over the pairs of on minus off."""
    on: SideResult
    off: SideResult
    pairs: int
    """Pairs that are whole on both sides."""
    differing: int
    """Those of them whose texts or ids differ."""


@dataclass(frozen=True, slots=True)
class PromptResult:
    """One prompt."""

    number: int
    """In its file, counted from 0."""
    figures: Comparison
    divergence: Divergence | None
    """Of the first pair that parts; None where none does."""
    refused: tuple[Side, ...]
    """The sides that refuse it."""
    failure: Failure | None
    """The first one."""
    prompt_tokens: tuple[int | None, int | None]
    """As the two servers count them, on and off."""


@dataclass(frozen=True, slots=True)
class Result:
    """A whole comparison, as far as it went."""

    prompts: tuple[PromptResult, ...]
    """Those of which there is any sample, in the order of their file."""
    total: Comparison
    samples: int
    """Samples that need not be asked for again: whole ones, and those that a server refuses."""
    wanted: int
    """Samples that the plan asks for."""

    @property
    def is_complete(self) -> bool:
        """Was everything asked for?"""
        return self.samples >= self.wanted


def result_of(plan: Plan, samples: Iterable[Sample]) -> Result:
    """What the samples say, however few there are. Never fails for what a server may have sent.

    Args:
        plan: What was to be done.
        samples: What was done; of those that were asked for again the last counts.
    """
    kept = latest(samples)
    by_prompt: dict[int, list[Sample]] = defaultdict(list)
    for sample in kept:
        by_prompt[sample.prompt].append(sample)
    prompts = tuple(_prompt(plan, number, of) for number, of in sorted(by_prompt.items()))
    return Result(prompts, _comparison(plan, kept), sum(one.is_final for one in kept), plan.total)


def _prompt(plan: Plan, number: int, samples: list[Sample]) -> PromptResult:
    pairs = pairs_of(samples)
    parted = (pair.divergence for pair in pairs)
    failures = [sample.failure for sample in samples if sample.failure is not None]
    refusing = {sample.side for sample in samples if sample.failure is not None and sample.failure.is_refusal}
    return PromptResult(
        number,
        _comparison(plan, samples),
        next((one for one in parted if one is not None), None),
        tuple(side for side in Side if side in refusing),
        failures[0] if failures else None,
        (_prompt_tokens(samples, Side.ON), _prompt_tokens(samples, Side.OFF)),
    )


def _comparison(plan: Plan, samples: list[Sample]) -> Comparison:
    pairs = pairs_of(samples)
    differences = [pair.first_token_difference_s for pair in pairs]
    return Comparison(
        speed=_estimate(plan, pairs, lambda pair: pair.speed_ratio),
        end_to_end=_estimate(plan, pairs, lambda pair: pair.end_to_end_ratio),
        first_token_difference_s=_median(differences),
        on=_side([sample for sample in samples if sample.side is Side.ON]),
        off=_side([sample for sample in samples if sample.side is Side.OFF]),
        pairs=sum(not pair.failed for pair in pairs),
        differing=sum(pair.divergence is not None for pair in pairs),
    )


def _estimate(plan: Plan, pairs: list[Pair], figure: Callable[[Pair], float | None]) -> Estimate:
    groups: dict[int, list[float]] = defaultdict(list)
    for pair in pairs:
        value = figure(pair)
        if value is not None:
            groups[pair.prompt].append(value)
    return estimate(groups, seed=plan.seed)


def _side(samples: list[Sample]) -> SideResult:
    whole = [sample for sample in samples if sample.failure is None]
    return SideResult(
        decode_rate=_median([sample.decode_rate for sample in whole]),
        first_token_s=_median([sample.first_token_s for sample in whole]),
        tokens=sum(sample.tokens or 0 for sample in whole),
        samples=len(whole),
        failed=len(samples) - len(whole),
        acceptance=_acceptance(whole),
        differing_repeats=_differing(whole),
        unrated=sum(sample.decode_rate is None for sample in whole),
        disturbed=sum(any(reply.was_alone is False for reply in sample.replies) for sample in whole),
        disobeyed=sum(any(reply.obeyed is False for reply in sample.replies) for sample in whole),
        throughput=_throughput(whole),
    )


def _acceptance(samples: list[Sample]) -> Acceptance:
    replies = [reply for sample in samples for reply in sample.replies]
    counts, evidence = pooled_counts(replies)
    if counts is None:
        return Acceptance(None, None, None, None, None, None, None, evidence)
    return Acceptance(
        length=counts.acceptance_length,
        length_mean_of_requests=mean_of_requests(replies),
        rate=counts.acceptance_rate,
        per_position_rate=counts.per_position_rate,
        steps=counts.steps,
        drafted=counts.drafted,
        accepted=counts.accepted,
        evidence=evidence,
    )


def _differing(samples: list[Sample]) -> int:
    first: dict[int, Sample] = {}
    for sample in sorted(samples, key=lambda one: one.repeat):
        first.setdefault(sample.prompt, sample)
    return sum(divergence_of(sample.replies, first[sample.prompt].replies) is not None for sample in samples)


def _throughput(samples: Sequence[Sample]) -> float | None:
    """Tokens over the time in which at least one of these was asked for."""
    spans = sorted((one.started_at, one.started_at + one.total_s) for one in samples if one.total_s is not None)
    busy, until = 0.0, float("-inf")
    for start, end in spans:
        busy += max(0.0, end - max(start, until))
        until = max(until, end)
    tokens = sum(sample.tokens or 0 for sample in samples if sample.total_s is not None)
    return tokens / busy if busy > 0 and tokens else None


def _prompt_tokens(samples: list[Sample], side: Side) -> int | None:
    """Of the first turn, which alone is the same on both sides for certain."""
    found = (one.replies[0].prompt_tokens for one in samples if one.side is side and one.replies)
    return next((count for count in found if count is not None), None)


def _median(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return median(known) if known else None
