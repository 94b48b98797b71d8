"""Samples of a comparison as JSON and back: what a run keeps on disk is what its export holds."""

from collections.abc import Mapping
from dataclasses import asdict, fields

from specchat.core.comparison.samples import Failure, Measured, Sample, Side

_TUPLES = {"ids", "per_position", "notes"}
_KNOWN = {field.name for field in fields(Measured)}


def sample_object(sample: Sample) -> dict[str, object]:
    """A sample, ready for `json.dumps`, with the figures that follow from it."""
    return {
        "prompt": sample.prompt,
        "repeat": sample.repeat,
        "side": str(sample.side),
        "started_at": sample.started_at,
        "block": sample.block,
        "decode_rate": sample.decode_rate,
        "end_to_end_rate": sample.end_to_end_rate,
        "replies": [_reply_object(reply) for reply in sample.replies],
    }


def sample_from(value: Mapping[str, object]) -> Sample:
    """The sample that an object was made of; what a later version added is left out.

    Raises:
        ValueError: If it is none.
    """
    try:
        return Sample(
            prompt=_count(value["prompt"]),
            repeat=_count(value["repeat"]),
            side=Side(str(value["side"])),
            replies=tuple(map(_reply_from, _list(value["replies"]))),
            started_at=float(str(value["started_at"])),
            block=_count(value["block"]),
        )
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"no sample: {error}") from error


def _reply_object(reply: Measured) -> dict[str, object]:
    counts = reply.counts
    length = None if counts is None else counts.acceptance_length
    return {**asdict(reply), "evidence": str(reply.evidence), "acceptance_length_pooled_over_steps": length}


def _reply_from(value: Mapping[str, object]) -> Measured:
    given = {name: entry for name, entry in value.items() if name in _KNOWN}
    for name in _TUPLES:
        entry = given.get(name)
        if isinstance(entry, list):
            given[name] = tuple(entry)
    failure = given.get("failure")
    if isinstance(failure, Mapping):
        given["failure"] = Failure(**failure)
    return Measured(**given)  # type: ignore[arg-type]


def _list(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r} is no list")
    return value


def _count(value: object) -> int:
    if not isinstance(value, int):
        raise TypeError(f"{value!r} is no number")
    return value
