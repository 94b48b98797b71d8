"""Samples of a comparison made in one line, for tests."""

from typing import Any

from specchat.core.comparison.plan import Plan, Prompt
from specchat.core.comparison.samples import Failure, Measured, Sample, Side
from specchat.core.speculation import Evidence


def plan_for(prompts: int = 2, **changes: object) -> Plan:
    given: dict[str, object] = {"prompts": tuple(Prompt((f"prompt {number}",)) for number in range(prompts))}
    return Plan(**(given | changes))  # type: ignore[arg-type]


def reply_at(rate: float, *, ids: tuple[int, ...] | None = None, tokens: int = 101, **changes: object) -> Measured:
    """A reply that decodes at this rate; with ids, of so many tokens."""
    count = tokens if ids is None else len(ids)
    seconds = (count - 1) / rate
    given: dict[str, object] = {
        "first_token_s": 0.1,
        "decode_s": seconds,
        "total_s": 0.1 + seconds,
        "tokens": count,
        "ids": ids,
        "text": "" if ids is None else " ".join(map(str, ids)),
    }
    return Measured(**(given | changes))  # type: ignore[arg-type]


def sample_at(rate: float, side: Side, *, prompt: int = 0, repeat: int = 0, **changes: object) -> Sample:
    return Sample(prompt, repeat, side, (reply_at(rate, **changes),))  # type: ignore[arg-type]


def both(on: float, off: float, *, prompt: int = 0, repeat: int = 0) -> list[Sample]:
    return [
        sample_at(on, Side.ON, prompt=prompt, repeat=repeat),
        sample_at(off, Side.OFF, prompt=prompt, repeat=repeat),
    ]


def failed(side: Side, *, prompt: int = 0, repeat: int = 0, refusal: bool = True) -> Sample:
    failure = Failure("PromptTooLong", "The prompt is too long.", is_refusal=refusal)
    return Sample(prompt, repeat, side, (Measured(failure=failure),))


def counted(steps: int, accepted: int, evidence: Evidence = Evidence.REPORTED) -> dict[str, Any]:
    """Counts of a reply with k = 3 whose steps accept from the front."""
    return {
        "steps": steps,
        "drafted": 3 * steps,
        "accepted": accepted,
        "per_position": (min(accepted, steps), max(0, min(accepted - steps, steps)), max(0, accepted - 2 * steps)),
        "evidence": str(evidence),
    }
