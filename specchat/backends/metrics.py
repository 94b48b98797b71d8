"""Reads a server's Prometheus page into a CounterReading. Pure; knows the names that each server uses.

Counters are summed over engines (data parallel), shares averaged, and both taken for one model. `_created` series,
which hold times, are never counted, and a page that only speaks of other models is no reading at all.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from specchat.core.counters import CounterReading

_WANTED = re.compile(
    r"^[^\S\n]*((?:vllm|llamacpp|sglang)[:_]"
    r"(?:spec_decode_num_|num_re|num_ru|num_qu|request_success|generation_tokens|requests_"
    r"|kv_cache_usage_|gpu_cache_usage_perc|token_usage|gen_throughput)"
    # The creation times of counters, and the parts of a sum, are half of what would be left.
    r"(?!\w*(?:_created|_by_reason)\b).*)",
    re.MULTILINE,
)
"""Lines worth parsing: a page is read every second, and most of it is histograms."""
_PREFIX = re.compile(r"^[a-z]+[:_]")
_VLLM = re.compile(r"^\ufeff?\s*vllm[:_]\w", re.MULTILINE)

_NAMES = {
    "spec_decode_num_drafts": "drafts",
    "spec_decode_num_draft_tokens": "drafted",
    "spec_decode_num_accepted_tokens": "accepted",
    "num_requests_running": "running",
    "num_requests_waiting": "waiting",
    "request_success": "finished",
    "generation_tokens": "generated",
    "num_running_reqs": "running",
    "num_queue_reqs": "waiting",
    "num_requests": "finished",
    "requests_processing": "running",
    "requests_deferred": "waiting",
    "kv_cache_usage_perc": "kv_cache_usage",
    "kv_cache_usage_ratio": "kv_cache_usage",
    "gpu_cache_usage_perc": "kv_cache_usage_before",
    "token_usage": "kv_cache_usage",
    "gen_throughput": "tokens_per_second",
}
"""Without the `_total` of counters, which some collectors cut off."""
_PER_POSITION = "spec_decode_num_accepted_tokens_per_pos"
_MODEL_LABEL = "model_name"


@dataclass(frozen=True, slots=True)
class _Sample:
    name: str
    labels: dict[str, str]
    value: float


@dataclass(slots=True)
class _Sums:
    totals: dict[str, float] = field(default_factory=dict)
    series: dict[str, int] = field(default_factory=dict)
    """How many samples each total is the sum of."""
    positions: dict[int, float] = field(default_factory=dict)

    def add(self, sample: _Sample) -> None:
        name = _PREFIX.sub("", sample.name).removesuffix("_total")
        if name == _PER_POSITION:
            position = sample.labels.get("position", "")
            if position.isascii() and position.isdigit():
                self.positions[int(position)] = self.positions.get(int(position), 0) + sample.value
        elif (key := _NAMES.get(name)) is not None:
            self.totals[key] = self.totals.get(key, 0) + sample.value
            self.series[key] = self.series.get(key, 0) + 1

    def by_position(self) -> tuple[int, ...]:
        """The sums in order; empty where one is missing, since the others would then stand at a wrong place."""
        found = [self.positions[i] for i in sorted(self.positions)]
        return tuple(map(round, found)) if sorted(self.positions) == list(range(len(found))) else ()

    def whole(self, key: str) -> int | None:
        value = self.totals.get(key)
        return None if value is None else round(value)

    def share(self, *keys: str) -> float | None:
        """The mean over engines, from 0 to 1, of the first key that the page has."""
        key = next((key for key in keys if key in self.totals), None)
        return None if key is None else min(1.0, self.totals[key] / self.series[key])


def is_vllm_page(page: str) -> bool:
    """Does the page come from vLLM?"""
    return _VLLM.search(page) is not None


def parse_counters(page: str, model: str | None) -> CounterReading | None:
    """The counters of one model.

    Args:
        page: The text of /metrics.
        model: The model's name; None takes the page's only one.

    Returns:
        None where the page has none of the counters, or only those of other models.
    """
    samples = list(_samples(page))
    names = {sample.labels[_MODEL_LABEL] for sample in samples if _MODEL_LABEL in sample.labels}
    if model is None and len(names) > 1:
        return None
    if model is not None and names and model not in names:
        return None
    sums = _Sums()
    for sample in samples:
        if model is None or sample.labels.get(_MODEL_LABEL, model) == model:
            sums.add(sample)
    if not sums.totals:
        return None
    return CounterReading(
        drafts=sums.whole("drafts"),
        drafted=sums.whole("drafted"),
        accepted=sums.whole("accepted"),
        per_position=sums.by_position(),
        running=sums.whole("running"),
        waiting=sums.whole("waiting"),
        finished=sums.whole("finished"),
        generated=sums.whole("generated"),
        kv_cache_usage=sums.share("kv_cache_usage", "kv_cache_usage_before"),
        tokens_per_second=sums.totals.get("tokens_per_second"),
    )


def _samples(page: str) -> Iterator[_Sample]:
    """The samples worth reading, each series once; a line that is none is skipped, the others still count."""
    from prometheus_client.parser import text_string_to_metric_families

    series: dict[object, _Sample] = {}
    for line in _WANTED.findall(page.removeprefix("\ufeff")):
        try:
            families = text_string_to_metric_families(line.strip() + "\n")
            found = [sample for family in families for sample in family.samples]
        except (ValueError, IndexError, KeyError):
            continue
        for sample in found:
            # A count below 0 is as little a count as NaN.
            if math.isfinite(sample.value) and sample.value >= 0:
                series[sample.name, frozenset(sample.labels.items())] = _Sample(
                    sample.name, dict(sample.labels), sample.value
                )
    yield from series.values()
