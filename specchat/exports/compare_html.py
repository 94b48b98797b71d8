"""A comparison as one HTML page that needs no network and no script.

Shows what the JSON object holds, and measures and estimates nothing. Its colours are given to it.
"""

from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from specchat.exports.compare_html_facts import (
    definitions,
    ending_words,
    energy_section,
    is_whole,
    servers_table,
    settings_list,
    tiles,
)
from specchat.exports.compare_html_parts import Html, element, figure, foreign, joined, table, texts
from specchat.exports.compare_html_plots import (
    GRADES,
    acceptance_plot,
    hero_bars,
    order_plot,
    rate_plot,
    ratio_plot,
)
from specchat.exports.compare_html_style import style_sheet
from specchat.exports.compare_html_table import partings, prompt_table
from specchat.exports.compare_html_words import (
    count_words,
    interval_of,
    interval_words,
    level_words,
    side_names,
    times_words,
    versus,
)

_Object = Mapping[str, object]


def compare_html(comparison: _Object, light: Mapping[str, str], dark: Mapping[str, str]) -> str:
    """The page.

    Args:
        comparison: What `compare_object` makes. What is missing is shown as unknown.
        light: Colours by name, for a light screen and for paper; see `specchat.theming.page`.
        dark: The same for a dark screen.
    """
    style = style_sheet(light, dark, GRADES)
    # The style sheet is all that may run or be loaded, and only if it is this one.
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", http_equiv="Content-Security-Policy", content=policy),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="referrer", content="no-referrer"),
        element("title", f"{times_words(table(comparison.get('total')).get('speed_ratio'))}, {versus(comparison)}"),
        element("style", Html(style)),
    )
    body = element("body", element("main", *_sections(comparison)))
    return f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n"


def _sections(comparison: _Object) -> list[Html]:
    sentences, notes = texts(comparison.get("verdict")), texts(comparison.get("notes"))
    names, energy, parted = side_names(comparison), energy_section(comparison), partings(comparison)
    rates = f"Decode tokens per second of every reply, {names['on']} and {names['off']}. At the right, the medians."
    ratio = f"Decode rate {names['on']} over decode rate {names['off']}: {_RATIO}"
    parts = [
        _brand(comparison),
        *_warning(comparison),
        _hero(comparison, sentences),
        tiles(comparison),
        _section(
            "What was compared", element("div", servers_table(comparison), settings_list(comparison), class_="two")
        ),
        _section("What the figures say", _bullets(sentences[1:])),
    ]
    if notes:
        parts.append(_section("What else to know", _bullets(notes)))
    parts += [
        _section("Ratio by prompt", _lead(ratio), ratio_plot(comparison), name="ratios"),
        _section("Decode rate of every reply", _lead(rates), rate_plot(comparison), name="rates"),
        _section("Accepted by draft position", _lead(_ACCEPTED), acceptance_plot(comparison), name="accepted"),
        _section("In the order of the run", _lead(_ORDER), order_plot(comparison), name="order"),
    ]
    if energy is not None:
        parts.append(_section("Energy", element("div", energy, class_="wide"), name="energy"))
    parts.append(_section("Every prompt", element("div", prompt_table(comparison), class_="prompts"), name="prompts"))
    if parted is not None:
        parts.append(_section("Where the texts part", _lead(_PARTED), parted, name="parted"))
    parts.append(
        _section(
            "What every figure is", element("div", definitions(comparison), class_="wide code"), name="definitions"
        )
    )
    return parts


_RATIO = "the median of each prompt's pairs, the highest first. Twice as fast and half as fast are equally far from 1."
_ACCEPTED = "Share of steps in which the position was accepted: of all steps, also those that ended before it."
_ORDER = (
    "The ratio of every pair. Prompts differ, so dots scatter; but each repeat asks all of them, so its median moves"
    " only where the machine or the load did."
)
_PARTED = (
    "The first pair of each prompt whose texts differ: what both have in common, then how each goes on. Places are"
    " counted from 0."
)


def _brand(comparison: _Object) -> Html:
    model = table(table(comparison.get("servers")).get("on")).get("model")
    return element(
        "p",
        element("b", "specchat compare"),
        element("span", versus(comparison)),
        *([element("span", foreign(str(model)))] if model else []),
        element("span", str(comparison.get("finished") or "")[:10]),
        class_="brand",
    )


def _warning(comparison: _Object) -> list[Html]:
    """What a reader must know before any figure: that the run is not whole."""
    if is_whole(comparison):
        return []
    error = table(comparison.get("error"))
    why = " ".join(str(error[key]) for key in ("message", "hint") if error.get(key))
    words = [element("b", "This comparison is not whole. "), f"The run is {ending_words(comparison)}. ", foreign(why)]
    return [element("p", *words, class_="warning")]


def _hero(comparison: _Object, sentences: list[str]) -> Html:
    total = table(comparison.get("total"))
    interval = interval_of(total)
    is_sure = total.get("within_noise") is False
    limits = "no interval: too few pairs" if interval is None else f"{level_words(total)} {interval_words(interval)}"
    basis = f", median of {count_words(total.get('ratio_pairs'), 'pair', 'pairs')}"
    if figure(total.get("speed_ratio")) is None:
        limits, basis = "no ratio", ""
    number = element(
        "div",
        element("div", times_words(total.get("speed_ratio")), class_="big" if is_sure else "big unsure"),
        element("p", element("b", limits), basis),
    )
    headline = sentences[0] if sentences else "This comparison holds no verdict."
    return element("header", element("h1", headline), number, hero_bars(comparison), class_="hero")


def _section(title: str, *parts: str, name: str | None = None) -> Html:
    return element("section", element("h2", title), *parts, id=name)


def _lead(text: str) -> Html:
    return element("p", text, class_="lead")


def _bullets(sentences: list[str]) -> Html:
    return element("ul", joined(element("li", foreign(sentence)) for sentence in sentences))
