"""What a comparison says, in sentences: how much faster, how sure, and why texts may differ. Never says more than that.

A difference is told only where the interval does not hold 1.
"""

from specchat.core.comparison.bootstrap import Estimate
from specchat.core.comparison.plan import Plan
from specchat.core.comparison.result import Comparison, PromptResult, Result
from specchat.core.comparison.samples import Side
from specchat.core.harmless import one_line

FEW_PROMPTS = 5
"""Below so many prompts an interval is only a rough one."""

WHAT_THE_INTERVAL_MEANS = (
    "The interval: for other prompts of the same kind, asked on the same servers under the same load, 95 of 100 such"
    " intervals hold the true median. It says nothing of other kinds of prompts, other loads or other machines."
)
INTERVAL_OF_ONE_PROMPT = (
    "The interval is of the runs of this one prompt: it says how they scatter, and nothing of other prompts."
)
WHY_GREEDY_TEXTS_PART = (
    "At temperature 0 texts may part all the same: the target checks several tokens in one step and rounds otherwise"
    " than when it computes one (bf16, other kernels, other batches), and where two words are almost equally likely the"
    " other one wins. From there on these are two texts of the same model. A bad draft cannot do this: it only makes"
    " speculation slower."
)
WHY_SAMPLED_TEXTS_PART = (
    "Texts are drawn by chance here, and the same seed does not make the same text with and without speculation: that"
    " they part says nothing."
)


def names_of(on_draft_length: int | None, off_draft_length: int | None) -> dict[Side, str]:
    """What to call the two sides: on and off, unless both speculate.

    Args:
        on_draft_length: k of the first; None where unknown.
        off_draft_length: k of the second; 0 or None where it does not speculate.
    """
    if not off_draft_length:
        return {Side.ON: "on", Side.OFF: "off"}
    if on_draft_length != off_draft_length and on_draft_length:
        return {Side.ON: f"k = {on_draft_length}", Side.OFF: f"k = {off_draft_length}"}
    return {Side.ON: "first server", Side.OFF: "second server"}


def is_within_noise(speed: Estimate) -> bool | None:
    """Does the interval hold 1, so that no difference can be told? None where there is none."""
    return None if speed.interval is None else speed.interval.holds(1.0)


def headline(result: Result, names: dict[Side, str]) -> str:
    """The one sentence that everybody wants."""
    return _headline(result.total, names)


def sentences(plan: Plan, result: Result, names: dict[Side, str]) -> list[str]:
    """All that is to be said, the most important first."""
    total = result.total
    said = [_headline(total, names)]
    if total.speed.interval is not None:
        said.append(INTERVAL_OF_ONE_PROMPT if total.speed.prompts == 1 else WHAT_THE_INTERVAL_MEANS)
        if total.speed.prompts < FEW_PROMPTS:
            count = "one prompt" if total.speed.prompts == 1 else f"{total.speed.prompts} prompts"
            said.append(f"With {count} the interval is a rough one: compare with more.")
    said += _end_to_end(total, names)
    said += _acceptance(total, names)
    said += _texts(plan, result, names)
    said += _troubles(result, names) + _failures(result, names)
    if not result.is_complete:
        said.append(f"The comparison is not whole: {result.samples} of {result.wanted} replies were measured.")
    return said


def remarks(plan: Plan, result: Result, names: dict[Side, str]) -> list[str]:
    """What is to be said where figures and failures are shown already: doubts of them first, then why texts part."""
    total, texts = result.total, _texts(plan, result, names)
    said = _troubles(result, names)
    if total.speed.interval is not None:
        said.append(INTERVAL_OF_ONE_PROMPT if total.speed.prompts == 1 else WHAT_THE_INTERVAL_MEANS)
    # Of a single pair the figures tell that much.
    return said + (texts[1:] if total.pairs == 1 else texts)


def divergence_text(one: PromptResult) -> str:
    """Where the texts of a prompt first part, for a table."""
    where = one.divergence
    if where is None:
        return "equal" if one.figures.on.samples and one.figures.off.samples else "?"
    turn = f"turn {where.turn + 1}, " if where.turn else ""
    if where.token is not None:
        return f"{turn}token {where.token}"
    return f"{turn}character {where.character}"


def _headline(total: Comparison, names: dict[Side, str]) -> str:
    speed, on, off = total.speed, _with(names[Side.ON]), _with(names[Side.OFF])
    if speed.value is None and total.pairs:
        return "Nothing can be said of the decode speed: replies had one token, or all of their tokens arrived at once."
    if speed.value is None:
        return "Nothing can be said of the speed: no prompt was answered whole on both sides."
    basis = f"{_pairs(speed.pairs)} over {_prompts(speed.prompts)}"
    times = f"{speed.value:.2f} times as fast as {off}"
    if speed.interval is None:
        return f"Decoding {on} is {times}, from {basis}: too few to say how sure that is."
    limits = f"95 % interval {speed.interval.low:.2f} to {speed.interval.high:.2f}, {basis}"
    if speed.interval.holds(1.0):
        return f"No difference can be told from the noise: decoding {on} is {times} ({limits}, which holds 1)."
    word = "faster" if speed.value > 1 else "slower"
    return f"Decoding is {word} {on}: {times} ({limits})."


def _with(name: str) -> str:
    """The name with what belongs before it."""
    if name in set(Side):
        return f"with speculation {name}"
    return f"with the {name}" if name.endswith("server") else f"with {name}"


def _end_to_end(total: Comparison, names: dict[Side, str]) -> list[str]:
    whole, said = total.end_to_end, []
    if whole.value is not None:
        limits = "" if whole.interval is None else f" ({whole.interval.low:.2f} to {whole.interval.high:.2f})"
        said.append(f"From sending to the last token, prefill included: {whole.value:.2f} times as fast{limits}.")
    difference = total.first_token_difference_s
    if difference is not None:
        milliseconds = round(difference * 1000)
        when = f"{abs(milliseconds)} ms {'later' if milliseconds > 0 else 'earlier'}" if milliseconds else "as soon"
        said.append(f"The first token came {when} {_with(names[Side.ON])} (median of the pairs).")
    return said


def _acceptance(total: Comparison, names: dict[Side, str]) -> list[str]:
    said = []
    for side, one in ((Side.ON, total.on.acceptance), (Side.OFF, total.off.acceptance)):
        if one.length is None:
            continue
        mean = "" if one.length_mean_of_requests is None else f"; mean of requests {one.length_mean_of_requests:.2f}"
        steps = "" if one.steps is None else f" of {one.steps} steps"
        figures = f"{one.length:.2f}{steps}{mean} ({one.evidence})"
        said.append(f"Acceptance length {_with(names[side])}, pooled over steps: {figures}.")
    return said


def _texts(plan: Plan, result: Result, names: dict[Side, str]) -> list[str]:
    total = result.total
    if not total.pairs:
        return []
    if not total.differing:
        return ["The texts of both sides are equal, token by token."]
    said = [f"In {total.differing} of {_pairs(total.pairs)} the texts part."]
    if plan.repeats > 1 and plan.temperature == 0:
        said.append(_compared_with_itself(total, names))
    said.append(WHY_GREEDY_TEXTS_PART if plan.temperature == 0 else WHY_SAMPLED_TEXTS_PART)
    return said


def _compared_with_itself(total: Comparison, names: dict[Side, str]) -> str:
    """The control: do repeats of one side differ among themselves?"""
    own = {Side.ON: total.on.differing_repeats, Side.OFF: total.off.differing_repeats}
    if not any(own.values()):
        return "Compared with itself, no side gave another text in any repeat."
    counts = ", ".join(f"{names[side]} gave another text in {_repeats(count)}" for side, count in own.items())
    return f"Compared with itself, {counts}."


def _troubles(result: Result, names: dict[Side, str]) -> list[str]:
    said = []
    for side, of in ((Side.ON, result.total.on), (Side.OFF, result.total.off)):
        if of.unrated:
            count = f"{of.unrated} of {of.samples} replies"
            said.append(
                f"{count} {_with(names[side])} show no decode rate, and their pairs are in no ratio: they had a single"
                " token, or all tokens came at once, as where a proxy holds the stream back."
            )
        if of.disturbed:
            count = f"{of.disturbed} of {of.samples} replies"
            said.append(f"During {count} {_with(names[side])} the server served others too, which is in their rates.")
        if of.disobeyed:
            count = f"{of.disobeyed} of {of.samples} replies"
            said.append(f"In {count} that were to be off the server drafted all the same: the ratio is too small.")
    unequal = [one for one in result.prompts if None not in one.prompt_tokens and len(set(one.prompt_tokens)) > 1]
    if unequal:
        on, off = unequal[0].prompt_tokens
        said.append(
            f"The servers read the same prompt as {on} and {off} tokens (prompt {unequal[0].number + 1}): another chat"
            " template or another model, so this compares more than speculation."
        )
    return said


def _failures(result: Result, names: dict[Side, str]) -> list[str]:
    said = []
    for one in result.prompts:
        if one.failure is None:
            continue
        who = " and ".join(names[side] for side in one.refused)
        what = f"was refused by {who}" if one.refused else "was not answered whole each time"
        # A server's own words end as they like.
        said.append(f"Prompt {one.number + 1} {what}: {one_line(one.failure.message, 300).rstrip('. ')}.")
    return said


def _pairs(count: int) -> str:
    return "1 pair" if count == 1 else f"{count} pairs"


def _repeats(count: int) -> str:
    return "1 repeat" if count == 1 else f"{count} repeats"


def _prompts(count: int) -> str:
    return "1 prompt" if count == 1 else f"{count} prompts"
