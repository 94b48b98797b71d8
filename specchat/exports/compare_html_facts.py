"""What was compared, as tables of names and values: the servers, the settings, and figures of all replies together."""

from collections.abc import Mapping
from datetime import datetime

from specchat.core.harmless import one_line
from specchat.exports.compare_html_parts import Html, element, figure, foreign, joined, table, texts
from specchat.exports.compare_html_words import (
    UNKNOWN,
    count_words,
    interval_of,
    interval_words,
    number_words,
    side_names,
    times_words,
)

_Object = Mapping[str, object]
_SIDES = ("on", "off")
_SYSTEM = 300
"""Characters of the system prompt that are shown."""


def tiles(comparison: _Object) -> Html:
    """The figures besides the ratio that everybody looks for, each with its aggregation and evidence."""
    total, names = table(comparison.get("total")), side_names(comparison)
    whole = interval_words(interval_of(total, "end_to_end_interval"))
    shown = [side for side in _SIDES if figure(table(table(total.get(side)).get("acceptance_length")).get("value"))]
    between = f"{names['on']} minus {names['off']}, median of the pairs"
    drawn = [
        _tile("end to end", times_words(total.get("end_to_end_ratio")), f"prefill included · {whole}"),
        _tile("first token", _difference(total.get("first_token_difference_s")), between),
        *(_length_tile(table(total.get(side)), names[side], alone=len(shown) < 2) for side in shown or ["on"]),
    ]
    pairs = f"of {count_words(total.get('pairs'), 'pair', 'pairs')}"
    drawn.append(_tile("texts part", number_words(total.get("differing_pairs"), 0), pairs))
    rates = [number_words(table(total.get(side)).get("throughput"), 1) for side in _SIDES]
    if (figure(table(comparison.get("settings")).get("concurrency")) or 1) > 1:
        drawn.append(_tile("throughput", " / ".join(rates), f"tokens/s of all requests, {' / '.join(names.values())}"))
    return element("div", *drawn, class_="tiles")


def servers_table(comparison: _Object) -> Html:
    """Both servers side by side."""
    names, servers = side_names(comparison), table(comparison.get("servers"))
    of_side = {side: table(servers.get(side)) for side in _SIDES}
    lines = [
        ("address", "url"),
        ("model", "model"),
        ("vLLM", "version"),
        ("k, tokens drafted a step", "draft_length"),
        ("longest context, tokens", "max_model_len"),
    ]
    total = table(comparison.get("total"))
    rows = [(title, [_known(of_side[side].get(key)) for side in _SIDES]) for title, key in lines]
    rows.insert(3, ("speculates", [_yes(of_side[side].get("speculates")) for side in _SIDES]))
    counts = [("whole replies", "samples"), ("failed replies", "failed"), ("tokens of whole replies", "tokens")]
    rows += [(title, [_known(table(total.get(side)).get(key)) for side in _SIDES]) for title, key in counts]
    if table(comparison.get("off")).get("way") == "hook":
        # One server answered on both sides: what it says of itself is true of the side that drafts.
        for title, cells in rows:
            if title in {"speculates", "k, tokens drafted a step"}:
                cells[1] = "switched off for each request"
    head = element("tr", element("th", ""), *(element("th", foreign(names[side]), scope="col") for side in _SIDES))
    body = [
        element("tr", element("th", title, scope="row"), *(element("td", foreign(cell)) for cell in cells))
        for title, cells in rows
    ]
    return element("table", element("thead", head), element("tbody", *body), class_="facts")


def settings_list(comparison: _Object) -> Html:
    """How off was made, what was asked for, when, and how the run ended."""
    settings, off = table(comparison.get("settings")), table(comparison.get("off"))
    way = {"server": "a second server", "hook": "the hook in the same server"}.get(str(off.get("way")), UNKNOWN)
    kind = {True: "the true baseline", False: "not a true baseline"}[off.get("is_true_baseline") is True]
    named = side_names(comparison)["off"]
    end = "every reply has this length" if settings.get("fixed_length") else "replies end by themselves"
    lines = [
        (f"how {named} is made", ", ".join(filter(None, [way, kind]))),
        ("what that leaves", _known(off.get("meant")) if off.get("meant") else ""),
        ("prompts", f"{_known(settings.get('prompts'))} from {_known(settings.get('file'))}"),
        ("repeats", _known(settings.get("repeats"))),
        ("most tokens of a reply", f"{_known(settings.get('max_tokens'))}, {end}"),
        ("requests at once", _known(settings.get("concurrency"))),
        ("warm-up replies a side", _known(settings.get("warm_up"))),
        ("temperature", _known(settings.get("temperature"))),
        ("top-p", "" if settings.get("top_p") is None else _known(settings.get("top_p"))),
        ("stop", ", ".join(map(repr, texts(settings.get("stop"))))),
        ("system prompt", one_line(str(settings.get("system") or ""), _SYSTEM)),
        ("seed", _known(settings.get("seed"))),
        ("run", _period(comparison.get("started"), comparison.get("finished"))),
        ("ending", ending_words(comparison)),
        ("measured by", f"specchat {_known(comparison.get('specchat'))}, {_known(comparison.get('schema'))}"),
    ]
    return _list(lines)


def ending_words(comparison: _Object) -> str:
    """How the run ended and how much of it there is."""
    total = table(comparison.get("total"))
    how = {
        "complete": "complete",
        "interrupted": "interrupted: stopped before its end",
        "lost": "lost: a server stopped answering",
    }.get(str(comparison.get("ending")), str(comparison.get("ending") or UNKNOWN))
    return f"{how}; {_known(total.get('samples'))} of {_known(total.get('wanted'))} replies measured"


def is_whole(comparison: _Object) -> bool:
    """Was everything measured that was to be?"""
    total = table(comparison.get("total"))
    return comparison.get("ending") == "complete" and total.get("samples") == total.get("wanted")


def energy_section(comparison: _Object) -> Html | None:
    """The energy of both sides, where the comparison holds any: every figure under its own name."""
    total = table(comparison.get("total"))
    lines = _flat(table(total.get("energy")))
    for side, name in side_names(comparison).items():
        lines += [(f"{name}: {title}", value) for title, value in _flat(table(table(total.get(side)).get("energy")))]
    return _list(lines) if lines else None


def definitions(comparison: _Object) -> Html:
    """What every figure is."""
    given = table(comparison.get("definitions"))
    return _list([(name, str(text)) for name, text in given.items()])


def _length_tile(side: _Object, name: str, *, alone: bool) -> Html:
    length = table(side.get("acceptance_length"))
    mean = number_words(table(side.get("acceptance_length_mean_of_requests")).get("value"), 2)
    title = "acceptance length" if alone else f"acceptance length, {name}"
    basis = f"pooled over steps · mean of requests {mean} · {length.get('evidence') or 'evidence unknown'}"
    return _tile(title, number_words(length.get("value"), 2), basis)


def _tile(title: str, value: str, basis: str) -> Html:
    return element("div", element("h3", title), element("strong", value), element("small", basis))


def _difference(seconds: object) -> str:
    known = figure(seconds)
    if known is None:
        return UNKNOWN
    milliseconds = round(known * 1000)
    return f"{milliseconds:+} ms".replace("-", "\N{MINUS SIGN}") if milliseconds else "0 ms"


def _list(lines: list[tuple[str, str]]) -> Html:
    return element(
        "dl",
        joined(element("div", element("dt", title), element("dd", foreign(text))) for title, text in lines if text),
        class_="facts",
    )


def _flat(value: _Object, before: str = "") -> list[tuple[str, str]]:
    """Names and values of an object, those of the objects in it with both names."""
    lines: list[tuple[str, str]] = []
    for name, entry in value.items():
        title = f"{before}{name.replace('_', ' ')}"
        inner = table(entry)
        lines += _flat(inner, f"{title}: ") if inner else [(title, _known(entry))]
    return lines


def _known(value: object) -> str:
    if value is None:
        return UNKNOWN
    number = figure(value)
    return str(value) if number is None else f"{number:.12g}"


def _yes(value: object) -> str:
    return {True: "yes", False: "no"}.get(value, UNKNOWN) if isinstance(value, bool) else UNKNOWN


def _period(begin: object, end: object) -> str:
    """Two times for people; what is none stays as it is."""
    try:
        first, last = datetime.fromisoformat(str(begin)), datetime.fromisoformat(str(end))
    except ValueError:
        return f"{begin or UNKNOWN} to {end or UNKNOWN}"
    day = "" if first.date() == last.date() else f"{last:%Y-%m-%d} "
    return f"{first:%Y-%m-%d %H:%M:%S} to {day}{last:%H:%M:%S}"
