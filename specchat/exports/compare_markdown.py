"""A comparison as Markdown, to be pasted into an issue or a report."""

import re

from specchat.core.comparison.bootstrap import Estimate
from specchat.core.comparison.record import Record
from specchat.core.comparison.result import Comparison
from specchat.core.comparison.samples import AL_OF_REQUESTS, AL_POOLED, Side
from specchat.core.comparison.verdict import divergence_text
from specchat.core.harmless import one_line
from specchat.exports.compare_json import prompt_label

_SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$&])")


def compare_markdown(record: Record) -> str:
    """The comparison: what it says, a table, what was asked, and what else should be known."""
    on, off = record.names[Side.ON], record.names[Side.OFF]
    total = record.result.total
    lines = [f"# Speculation {on} against {off}" if on in set(Side) else f"# {on} against {off}", ""]
    lines += [f"**{_text(record.verdict[0])}**", ""]
    lines += [f"- {_text(sentence)}" for sentence in record.verdict[1:]]
    heads = ["prompt", "pairs", f"{on}, tokens/s", f"{off}, tokens/s", "ratio", "95 % interval"]
    heads += [f"AL, {AL_POOLED}", "first token, ms", "texts part at"]
    lines += ["", _row(heads), _row(["---", *["---:"] * (len(heads) - 2), "---"])]
    for one in record.result.prompts:
        label = prompt_label(one.number, record.plan.prompts[one.number])
        lines.append(_row([_text(label), *_cells(one.figures), divergence_text(one)]))
    lines.append(_row(["**all**", *_cells(total), f"{total.differing} of {total.pairs} pairs"]))
    mean = total.on.acceptance.length_mean_of_requests
    lines += ["", f"AL, the acceptance length, is 1 + accepted/steps, here {AL_POOLED}"]
    lines[-1] += "." if mean is None else f"; as {AL_OF_REQUESTS} it is {mean:.2f} in total."
    lines[-1] += " The decode rate leaves the first token of each reply out; first tokens are medians, on / off."
    rates = total.on.acceptance.per_position_rate
    if rates:
        shares = ", ".join(f"{rate:.0%}" for rate in rates)
        lines += ["", f"Accepted by draft position, {AL_POOLED}: {shares} ({total.on.acceptance.evidence})."]
    return "\n".join([*lines, "", "## How it was measured", "", *_method(record), ""])


def _method(record: Record) -> list[str]:
    plan = record.plan
    end = "fixed length" if plan.fixed_length else "natural end"
    asked = (
        f"- {len(plan.prompts)} prompts, {plan.repeats} repeats, at most {plan.max_tokens} tokens, {end}, temperature"
        f" {plan.temperature:g}, {plan.concurrency} at once, {plan.warm_up} warm-up replies a side, seed {plan.seed}"
    )
    lines = [asked]
    for side in Side:
        server = record.servers[side]
        k = "k unknown" if server.draft_length is None else f"k = {server.draft_length}"
        what = f"{server.model}, vLLM {server.version}" if server.version else f"{server.model}"
        lines.append(f"- {record.names[side]}: {_text(what)} at {_text(server.url)}, {k}")
    lines += [f"- {_text(note)}" for note in record.notes]
    return [*lines, f"- {record.started} to {record.finished}; the run ended: {record.ending}"]


def _cells(one: Comparison) -> list[str]:
    first = f"{_milliseconds(one.on.first_token_s)} / {_milliseconds(one.off.first_token_s)}"
    return [
        str(one.speed.pairs),
        number(one.on.decode_rate, 1),
        number(one.off.decode_rate, 1),
        number(one.speed.value, 2),
        interval_text(one.speed),
        number(one.on.acceptance.length, 2),
        first,
    ]


def number(value: float | None, digits: int) -> str:
    """A figure for a table; `?` where it is not known."""
    return "?" if value is None else f"{value:.{digits}f}"


def interval_text(one: Estimate) -> str:
    """The interval for a table; `?` where there is none."""
    return "?" if one.interval is None else f"{one.interval.low:.2f} to {one.interval.high:.2f}"


def _milliseconds(seconds: float | None) -> str:
    return number(None if seconds is None else seconds * 1000, 0)


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _text(text: str) -> str:
    """Text from elsewhere that no reader of Markdown takes for markup."""
    return _SPECIAL.sub(r"\\\1", one_line(text, 900))
