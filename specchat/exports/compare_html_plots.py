"""The pictures of a comparison: ratios, rates, acceptance by position, and the ratios in the order of the run."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from statistics import median

from specchat.exports import compare_html_lanes as lane
from specchat.exports.compare_html_lanes import Row, lanes
from specchat.exports.compare_html_parts import Html, element, entries, figure, foreign, joined, percent, table, tables
from specchat.exports.compare_html_scale import Scale, amount_scale, ratio_scale
from specchat.exports.compare_html_words import (
    interval_of,
    interval_words,
    level_words,
    prompt_words,
    ratio_words,
    side_names,
)

_SIDES = ("on", "off")
_ORDER_HEIGHT = 230
GRADES = 8
"""Draft positions that have a colour of their own."""
_Object = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class _Asked:
    """A pair of which the speed is known."""

    repeat: int
    ratio: float
    label: str
    on_first: bool


def ratio_plot(comparison: _Object) -> Html:
    """The ratio of each prompt with its interval, the highest first, over the interval of all."""
    total = table(comparison.get("total"))
    rated = [one for one in tables(comparison.get("prompts")) if figure(one.get("speed_ratio")) is not None]
    if not rated:
        return _nothing("No prompt was answered whole on both sides, so there is no ratio to draw.")
    rated.sort(key=lambda one: -(figure(one.get("speed_ratio")) or 0))
    drawn = [total, *rated]
    limits = [limit for one in drawn if (interval := interval_of(one)) is not None for limit in interval]
    scale = ratio_scale([*limits, *(figure(one.get("speed_ratio")) or 0 for one in drawn)])
    ground = [lane.upright(scale, 1, "even")]
    whole = interval_of(total)
    if whole is not None:
        ground.insert(0, lane.band(scale, *whole, "band"))
    rows = [_ratio_row(one, scale, "all prompts" if one is total else prompt_words(one)) for one in drawn]
    meanings = [("dot on", "median of the pairs of a prompt")]
    meanings += [("whisker", f"its {level_words(total)}")] if limits else []
    meanings += [("band", "interval of all prompts")] if whole is not None else []
    return joined([
        lane.key(*meanings, ("even", "1: no difference")),
        lanes(rows, scale, ground, name="Ratio of decode rates for each prompt"),
        _beyond((figure(one.get("speed_ratio")) or 1 for one in drawn), scale),
    ])  # fmt: skip


def rate_plot(comparison: _Object) -> Html:
    """The decode rate of every sample on both sides, prompt by prompt."""
    rates: dict[tuple[object, str], list[float]] = defaultdict(list)
    for sample in tables(comparison.get("samples")):
        rate = figure(sample.get("decode_rate"))
        if rate is not None:
            rates[sample.get("prompt"), str(sample.get("side"))].append(rate)
    if not rates:
        return _nothing("No reply shows a decode rate, so there is none to draw.")
    scale = amount_scale(rate for of_side in rates.values() for rate in of_side)
    names = side_names(comparison)
    rows = []
    for prompt in tables(comparison.get("prompts")):
        of_sides = {side: rates.get((prompt.get("number"), side), []) for side in _SIDES}
        if any(of_sides.values()):
            rows.append(_rate_row(prompt_words(prompt), of_sides, scale, names))
    return joined([
        lane.key(*((f"dot {side}", f"one reply, {names[side]}") for side in _SIDES), ("joint", "between the medians")),
        lanes(rows, scale, [], name="Decode rate of every reply"),
        element("p", "decode tokens per second", class_="unit"),
        _beyond((rate for of_side in rates.values() for rate in of_side), scale),
    ])  # fmt: skip


def acceptance_plot(comparison: _Object) -> Html:
    """How often each draft position was accepted, for every side that drafted."""
    total, names = table(comparison.get("total")), side_names(comparison)
    drawn = [_acceptance_of(table(total.get(side)), names[side]) for side in _SIDES]
    known = [one for one in drawn if one]
    if not known:
        return _nothing("The servers did not say how often each draft position was accepted.")
    return element("div", *known, class_="accepted columns")


def order_plot(comparison: _Object) -> Html:
    """The ratio of every pair in the order in which they were asked, with the median of each repeat."""
    asked = _in_order(comparison)
    if not asked:
        return _nothing("No pair has a ratio, so there is no order to draw.")
    whole = interval_of(table(comparison.get("total")))
    scale = ratio_scale([*(one.ratio for one in asked), *(whole or ())])
    marks: list[Html] = []
    if whole is not None:
        low, high = (_height_of(scale, limit) for limit in whole)
        marks.append(element("rect", x=0, width="100%", y=high, height=round(low - high, 2), class_="band"))
    even = _height_of(scale, 1)
    marks.append(element("line", x1=0, x2="100%", y1=even, y2=even, class_="even"))
    names = side_names(comparison)
    marks += _levels(asked, scale)
    for index, one in enumerate(asked):
        first = names["on" if one.on_first else "off"]
        said = element("title", f"{one.label}, repeat {one.repeat + 1}: {one.ratio:.2f}, {first} first")
        kind = "on" if one.on_first else "on hollow"
        marks.append(_order_mark(one.ratio, _across(index, len(asked)), scale, kind, said))
    last = "1 pair" if len(asked) == 1 else f"pairs 1 to {len(asked)}, in the order they were asked"
    return joined([
        lane.key(
            ("dot on", f"a pair with {names['on']} asked first"), ("dot on hollow", f"with {names['off']} first"),
            ("level", "median of a repeat, which asks every prompt once"),
        ),
        lane.plane(scale, marks, height=_ORDER_HEIGHT, name="Ratio of every pair in the order of the run"),
        element("p", last, class_="unit"),
        _by_order(asked, names),
        _beyond((one.ratio for one in asked), scale),
    ])  # fmt: skip


def hero_bars(comparison: _Object) -> Html:
    """The median decode rates of both sides, as bars."""
    total, names = table(comparison.get("total")), side_names(comparison)
    rates = {side: figure(table(total.get(side)).get("decode_rate")) for side in _SIDES}
    scale = amount_scale(rate for rate in rates.values() if rate is not None)
    rows = [
        Row(names[side], "?" if rate is None else f"{rate:.1f}", [] if rate is None else [lane.bar(scale, rate, side)])
        for side, rate in rates.items()
    ]
    return element(
        "div",
        lanes(rows, scale, [], name="Median decode rates of both sides"),
        element("p", "decode tokens per second, median of all replies of a side", class_="unit"),
        class_="bars",
    )


def _ratio_row(one: _Object, scale: Scale, label: str) -> Row:
    is_total = label == "all prompts" and "number" not in one
    ratio, interval = figure(one.get("speed_ratio")), interval_of(one)
    words = f"{ratio_words(ratio)} ({interval_words(interval)})" if interval else ratio_words(ratio)
    marks = [] if interval is None else [lane.span(scale, *interval, "whisker")]
    if ratio is not None:
        marks.append(lane.dot(scale, ratio, "on", f"{label}: {words}", radius=6 if is_total else 4.5))
    return Row(label, words, marks, "total" if is_total else "")


def _rate_row(label: str, of_sides: Mapping[str, Sequence[float]], scale: Scale, names: Mapping[str, str]) -> Row:
    middles = {side: median(rates) for side, rates in of_sides.items() if rates}
    marks = [lane.span(scale, min(middles.values()), max(middles.values()), "joint")] if len(middles) > 1 else []
    for side in reversed(_SIDES):
        marks += [
            lane.dot(scale, rate, side, f"{label}, {names[side]}: {rate:.1f} tokens/s", radius=4)
            for rate in of_sides[side]
        ]
    words = " / ".join(f"{middles[side]:.1f}" if side in middles else "?" for side in _SIDES)
    return Row(label, words, marks)


def _acceptance_of(side: _Object, name: str) -> Html | None:
    rates = [figure(rate) for rate in entries(side.get("per_position_rate"))]
    if not rates:
        return None
    scale = Scale(0.0, 100.0, (0.0, 25.0, 50.0, 75.0, 100.0))
    rows = [
        Row(
            f"position {position}",
            "?" if rate is None else f"{rate * 100:.1f} %",
            [] if rate is None else [lane.bar(scale, rate * 100, f"grade-{min(position, GRADES)}")],
        )
        for position, rate in enumerate(rates, 1)
    ]
    steps = figure(side.get("steps"))
    basis = "" if steps is None else f" of {steps:.0f} steps"
    evidence = table(side.get("acceptance_length")).get("evidence")
    return element(
        "div",
        element("h3", foreign(name), f": pooled over steps{basis}, {evidence or 'evidence unknown'}"),
        lanes(rows, scale, [], name=f"Acceptance by draft position, {name}"),
        element("p", "% of steps", class_="unit"),
    )


def _in_order(comparison: _Object) -> list[_Asked]:
    """Pairs with a ratio, the first asked first; without times, in the order of repeats."""
    begun = {
        (one.get("prompt"), one.get("repeat"), one.get("side")): figure(one.get("started_at")) or 0.0
        for one in tables(comparison.get("samples"))
    }
    labels = {one.get("number"): prompt_words(one) for one in tables(comparison.get("prompts"))}
    found: list[tuple[float, _Asked]] = []
    for pair in tables(comparison.get("pairs")):
        ratio, prompt, repeat = figure(pair.get("speed_ratio")), pair.get("prompt"), pair.get("repeat")
        if ratio is None:
            continue
        on, off = (begun.get((prompt, repeat, side), 0.0) for side in _SIDES)
        number = repeat if isinstance(repeat, int) else 0
        found.append((min(on, off), _Asked(number, ratio, labels.get(prompt, "a prompt"), on_first=on <= off)))
    return [one for _, one in sorted(found, key=lambda entry: (entry[0], entry[1].repeat))]


def _levels(asked: Sequence[_Asked], scale: Scale) -> list[Html]:
    """The median of each repeat over the stretches in which it was asked, and a line where another one begins."""
    medians = {
        repeat: median(one.ratio for one in asked if one.repeat == repeat) for repeat in {one.repeat for one in asked}
    }
    marks, begin = list[Html](), 0
    for repeat, stretch in groupby(asked, lambda one: one.repeat):
        end = begin + len(list(stretch))
        at, y = percent(begin / len(asked)), _height_of(scale, medians[repeat])
        if begin:
            marks.append(element("line", x1=at, x2=at, y1=0, y2="100%", class_="border"))
        marks.append(element("line", x1=at, x2=percent(end / len(asked)), y1=y, y2=y, class_="level"))
        begin = end
    return marks


def _by_order(asked: Sequence[_Asked], names: Mapping[str, str]) -> Html:
    """What being asked first does, which the alternating order takes out of the median of all."""
    by_first = {
        side: [one.ratio for one in asked if one.on_first is on_first]
        for side, on_first in (("on", True), ("off", False))
    }
    said = [
        f"{ratio_words(median(ratios))} in the {len(ratios)} pairs with {names[side]} asked first"
        for side, ratios in by_first.items()
        if len(ratios) > 1
    ]
    return element("p", f"Median {' and '.join(said)}.", class_="unit") if len(said) > 1 else joined([])


def _order_mark(ratio: float, across: str, scale: Scale, kind: str, said: Html) -> Html:
    y = _height_of(scale, ratio)
    if scale.is_beyond(ratio):
        sign = "\N{BLACK UP-POINTING TRIANGLE}" if ratio > scale.high else "\N{BLACK DOWN-POINTING TRIANGLE}"
        return element("text", said, sign, x=across, y=y, dy=".35em", class_=f"dot beyond {kind}")
    return element("circle", said, cx=across, cy=y, r=4.5, class_=f"dot {kind}")


def _beyond(values: Iterable[float], scale: Scale) -> Html:
    """How many values are beyond the axis, where any is; the arrows say which."""
    count = sum(map(scale.is_beyond, values))
    if not count:
        return joined([])
    what = "1 value lies" if count == 1 else f"{count} values lie"
    return element("p", f"{what} beyond the axis and shown as an arrow at its end.", class_="unit")


def _across(index: int, count: int) -> str:
    return percent((index + 0.5) / count)


def _height_of(scale: Scale, value: float) -> float:
    return round(_ORDER_HEIGHT * (1 - scale.at(value)), 2)


def _nothing(why: str) -> Html:
    return element("p", why, class_="nothing")
