"""A comparison as one JSON object, `specchat.compare/1`. See docs/comparison-method.md for what its figures are."""

from dataclasses import asdict

from specchat import __version__
from specchat.core.comparison.bootstrap import DRAWS, LEVEL, Estimate
from specchat.core.comparison.divergence import Divergence
from specchat.core.comparison.pairs import Pair, latest, pairs_of
from specchat.core.comparison.plan import Prompt
from specchat.core.comparison.record import Record
from specchat.core.comparison.result import Acceptance, Comparison, PromptResult, SideResult
from specchat.core.comparison.samples import AL_OF_REQUESTS, AL_POOLED, Side
from specchat.core.comparison.verdict import is_within_noise
from specchat.core.harmless import one_line
from specchat.exports.reply_json import server_object
from specchat.exports.sample_json import sample_object

SCHEMA = "specchat.compare/1"
"""Name and version of the schema: a change that readers must know of raises the number."""

EXCERPT = 60
"""Characters of a prompt that has no name of its own."""

DEFINITIONS = {
    "decode_rate": "(tokens - 1) over the seconds from the first token to the last; over several turns, the sums",
    "end_to_end_rate": "tokens over the seconds from sending the request to the last token",
    "speed_ratio": "median over pairs of decode_rate on / decode_rate off; a pair is one prompt at one repeat",
    "end_to_end_ratio": "the same of end_to_end_rate",
    "interval": f"{LEVEL:.0%} percentile interval of a two-stage bootstrap: prompts, then repeats of a prompt; up to"
    f" {DRAWS} draws, by the seed",
    "first_token_difference_s": "median over pairs of on - off, in seconds from sending to the first token",
    "acceptance_length": f"1 + accepted/steps, {AL_POOLED}: every step counts the same",
    "acceptance_length_mean_of_requests": f"1 + accepted/steps of each reply, {AL_OF_REQUESTS}: every reply counts"
    " the same",
    "per_position_rate": "share of steps in which position i was accepted, pooled over steps (unconditional)",
    "throughput": "tokens of all requests over the seconds in which at least one of them ran",
    "divergence.token": "index of the first id that differs, from 0: so many ids are equal",
    "divergence.character": "index of the first character that differs, from 0",
    "unrated": "replies that show no decode rate: a single token, or all tokens at once",
    "disturbed": "replies during which the server served others too, by its counters",
    "disobeyed": "replies that were to be off and in which the server drafted all the same",
    "differing_repeats": "replies whose text differs from that of the same side's first reply to the same prompt",
}


def compare_object(record: Record) -> dict[str, object]:
    """The whole of a comparison, ready for `json.dumps`. Holds no key; of prompts their name or their beginning."""
    plan, error = record.plan, record.error
    settings = {name: value for name, value in asdict(plan).items() if name != "prompts"}
    return {
        "schema": SCHEMA,
        "specchat": __version__,
        "started": record.started,
        "finished": record.finished,
        "ending": record.ending,
        "error": None
        if error is None
        else {"kind": type(error).__name__, "message": error.message, "hint": error.hint},
        "settings": {**settings, "prompts": len(plan.prompts), "file": record.source},
        "fingerprint": record.fingerprint,
        "servers": {str(side): server_object(server) for side, server in record.servers.items()},
        "off": {
            "way": str(record.way),
            "is_true_baseline": record.is_true_baseline,
            "meant": record.off_meant or None,
        },
        "names": {str(side): name for side, name in record.names.items()},
        "verdict": record.verdict,
        "notes": list(record.notes),
        "total": {**_comparison(record.result.total), "samples": record.result.samples, "wanted": record.result.wanted},
        "prompts": [_prompt(one, plan.prompts[one.number]) for one in record.result.prompts],
        "pairs": [_pair(pair) for pair in pairs_of(record.samples)],
        "samples": [sample_object(sample) for sample in latest(record.samples)],
        "definitions": DEFINITIONS,
    }


def prompt_label(number: int, prompt: Prompt, width: int = EXCERPT) -> str:
    """How a prompt is shown: its number and its name, or else its beginning."""
    return one_line(f"{number + 1} {prompt.name or prompt.turns[0]}", width)


def _prompt(one: PromptResult, prompt: Prompt) -> dict[str, object]:
    return {
        "number": one.number,
        "name": prompt.name or None,
        "category": prompt.category or None,
        "begins": None if prompt.name else one_line(prompt.turns[0], EXCERPT),
        "turns": len(prompt.turns),
        **_comparison(one.figures),
        "divergence": _divergence(one.divergence),
        "refused_by": [str(side) for side in one.refused],
        "failure": None if one.failure is None else asdict(one.failure),
        "prompt_tokens": dict(zip(map(str, Side), one.prompt_tokens, strict=True)),
    }


def _comparison(one: Comparison) -> dict[str, object]:
    return {
        "speed_ratio": one.speed.value,
        "interval": _interval(one.speed),
        "within_noise": is_within_noise(one.speed),
        "ratio_pairs": one.speed.pairs,
        "end_to_end_ratio": one.end_to_end.value,
        "end_to_end_interval": _interval(one.end_to_end),
        "first_token_difference_s": one.first_token_difference_s,
        "pairs": one.pairs,
        "differing_pairs": one.differing,
        "on": _side(one.on),
        "off": _side(one.off),
    }


def _side(one: SideResult) -> dict[str, object]:
    return {
        "decode_rate": one.decode_rate,
        "first_token_s": one.first_token_s,
        "throughput": one.throughput,
        "tokens": one.tokens,
        "samples": one.samples,
        "failed": one.failed,
        "differing_repeats": one.differing_repeats,
        "unrated": one.unrated,
        "disturbed": one.disturbed,
        "disobeyed": one.disobeyed,
        **_acceptance(one.acceptance),
    }


def _acceptance(one: Acceptance) -> dict[str, object]:
    def length(value: float | None, aggregation: str) -> dict[str, object]:
        return {"value": value, "aggregation": aggregation, "evidence": one.evidence}

    return {
        "acceptance_length": length(one.length, AL_POOLED),
        "acceptance_length_mean_of_requests": length(one.length_mean_of_requests, AL_OF_REQUESTS),
        "acceptance_rate": one.rate,
        "per_position_rate": one.per_position_rate,
        "steps": one.steps,
        "drafted": one.drafted,
        "accepted": one.accepted,
    }


def _pair(pair: Pair) -> dict[str, object]:
    return {
        "prompt": pair.prompt,
        "repeat": pair.repeat,
        "speed_ratio": pair.speed_ratio,
        "end_to_end_ratio": pair.end_to_end_ratio,
        "first_token_difference_s": pair.first_token_difference_s,
        "divergence": _divergence(pair.divergence),
        "failed": [str(side) for side in pair.failed],
    }


def _interval(one: Estimate) -> dict[str, float] | None:
    return None if one.interval is None else {"low": one.interval.low, "high": one.interval.high, "level": LEVEL}


def _divergence(one: Divergence | None) -> dict[str, object] | None:
    return None if one is None else asdict(one)
