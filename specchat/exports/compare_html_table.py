"""The table of a comparison, a row a prompt, and the places where texts part."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specchat.core.comparison.divergence import EXCERPT
from specchat.exports.compare_html_parts import Html, element, escaped, figure, foreign, table, tables
from specchat.exports.compare_html_words import (
    UNKNOWN,
    count_words,
    interval_of,
    interval_words,
    level_words,
    number_words,
    parted_words,
    prompt_words,
    ratio_words,
    side_names,
)

_Object = Mapping[str, object]
_SIDES = ("on", "off")


@dataclass(frozen=True, slots=True)
class _Column:
    """A column: what it is, and its text for a prompt or for all."""

    title: str
    cells: Sequence[str]
    is_text: bool = False


def prompt_table(comparison: _Object) -> Html:
    """All figures of each prompt and, in the last row, of all together."""
    prompts, total = tables(comparison.get("prompts")), table(comparison.get("total"))
    columns = _columns(comparison, [*prompts, total])
    heads = element("tr", *(element("th", one.title, scope="col") for one in columns))
    rows = []
    for index in range(len(prompts) + 1):
        label = columns[0].cells[index]
        shown = foreign(label) if index < len(prompts) else escaped(label)
        cells = [element("th", shown, scope="row")]
        cells += [
            element("td", one.cells[index], data_name=one.title, class_="text" if one.is_text else None)
            for one in columns[1:]
        ]
        rows.append(element("tr", *cells, class_=None if index < len(prompts) else "total"))
    return element("table", element("thead", heads), element("tbody", *rows))


def partings(comparison: _Object) -> Html | None:
    """For each prompt whose texts part, what both have in common before and how each goes on; None if none parts."""
    parted = [one for one in tables(comparison.get("prompts")) if table(one.get("divergence"))]
    if not parted:
        return None
    names = side_names(comparison)
    return element("div", *(_parting(one, names) for one in parted), class_="partings")


def _columns(comparison: _Object, rows: Sequence[_Object]) -> list[_Column]:
    names = side_names(comparison)
    sides = {side: [table(one.get(side)) for one in rows] for side in _SIDES}
    total, count = rows[-1], len(rows) - 1
    columns = [
        _Column("prompt", [*map(prompt_words, rows[:-1]), "all"]),
        _Column("pairs with a ratio", [number_words(one.get("ratio_pairs"), 0) for one in rows]),
    ]
    columns += [
        _Column(f"{names[side]}, tokens/s", [number_words(one.get("decode_rate"), 1) for one in sides[side]])
        for side in _SIDES
    ]
    columns.append(_Column("ratio", [ratio_words(one.get("speed_ratio")) for one in rows]))
    columns.append(_Column(level_words(total), [interval_words(interval_of(one)) for one in rows]))
    for side in _SIDES:
        of_side, drafted = sides[side], len(_drafting(total)) > 1
        if side in _drafting(total):
            name = f"AL {names[side]}" if drafted else "AL"
            columns += [
                _Column(f"{name}, pooled over steps", [_length(one, "acceptance_length") for one in of_side]),
                _Column(
                    f"{name}, mean of requests", [_length(one, "acceptance_length_mean_of_requests") for one in of_side]
                ),
            ]
    first = [[number_words(one.get("first_token_s"), 0, times=1000) for one in sides[side]] for side in _SIDES]
    title = f"first token, ms, {names['on']} / {names['off']}"
    columns.append(_Column(title, [f"{on} / {off}" for on, off in zip(*first, strict=True)]))
    differing = figure(total.get("differing_pairs"))
    of_all = UNKNOWN if differing is None else f"{differing:.0f} of {count_words(total.get('pairs'), 'pair', 'pairs')}"
    columns.append(_Column("texts part at", [*(_parted(one) for one in rows[:count]), of_all], is_text=True))
    return columns


def _drafting(total: _Object) -> list[str]:
    """The sides whose acceptance is known; the first one if none is, so that the table says that it is not."""
    known = [side for side in _SIDES if figure(_value(table(total.get(side)), "acceptance_length")) is not None]
    return known or ["on"]


def _length(side: _Object, name: str) -> str:
    return number_words(_value(side, name), 2)


def _value(side: _Object, name: str) -> object:
    return table(side.get(name)).get("value")


def _parted(prompt: _Object) -> str:
    failure = table(prompt.get("failure"))
    if not failure:
        return parted_words(prompt)
    refusing = prompt.get("refused_by")
    return "refused" if refusing else "not answered whole each time"


def _parting(prompt: _Object, names: Mapping[str, str]) -> Html:
    where = table(prompt.get("divergence"))
    common = _signs(where.get("before"))
    before = foreign(f"…{common}" if len(common) >= EXCERPT else common, class_="before")
    lines = [
        element("dd", element("span", name, class_="side"), element("span", before, _going_on(where, side)))
        for side, name in names.items()
    ]
    title = element("dt", foreign(prompt_words(prompt)), element("span", parted_words(prompt), class_="where"))
    return element("dl", title, *lines)


def _going_on(where: _Object, side: str) -> Html:
    given = _signs(where.get(side))
    if not given:
        return element("em", "the text ends here")
    return foreign(f"{given}…" if len(given) >= EXCERPT else given, class_=side)


def _signs(value: object) -> str:
    """A stretch of a reply in one line: the ends of its lines are kept as signs, since they are what may differ."""
    return str(value or "").replace("\r\n", "\n").replace("\n", "⏎").replace("\t", "⇥")
