"""The page of a comparison: whole without a network, true to the JSON, and harmless whatever a server says."""

import dataclasses
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from compared_pages import (
    DARK,
    LIGHT,
    Node,
    comparison_of,
    hostile_run,
    page_of,
    read_page,
    run_of,
    samples_of_run,
)
from fakes import server_info
from samples_of import both, failed, sample_at
from specchat.core.comparison.plan import Plan, Prompt
from specchat.core.comparison.samples import Side
from specchat.core.switching import Way
from specchat.exports.compare_html_lanes import MOST_LABELLED
from specchat.theming.shades import contrast

TAGS = {
    "html", "head", "meta", "title", "style", "body", "main", "header", "section", "h1", "h2", "h3", "p", "b", "div",
    "span", "bdi", "i", "em", "strong", "small", "ul", "li", "dl", "dt", "dd", "table", "thead", "tbody", "tr", "th",
    "td", "svg", "circle", "rect", "line", "text",
}  # fmt: skip
ATTRIBUTES = {
    "lang", "charset", "http-equiv", "content", "name", "class", "id", "title", "role", "aria-label", "aria-hidden",
    "scope", "data-name", "width", "height", "x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "r", "rx", "dy",
}  # fmt: skip


def read(comparison: dict[str, Any]) -> Node:
    return read_page(page_of(comparison))


def rows_of(page: Node) -> list[dict[str, str]]:
    """The table of prompts, each row by the names of its columns."""
    table = page.at("prompts").all("table")[0]
    head, *rows = table.all("tr")
    names = [one.text for one in head.all("th")]
    return [dict(zip(names, [one.text for one in row.children if isinstance(one, Node)], strict=True)) for row in rows]


def marks(page: Node, section: str, kind: str) -> list[Node]:
    """What is drawn of a kind in the pictures of a section, its legend left out."""
    found = [mark for picture in page.at(section).all("svg") for mark in picture.all(kind=kind)]
    # A picture may lie in another one.
    return list({id(mark): mark for mark in found}.values())


# -- one file ---------------------------------------------------------------------------------------------------------


def test_nothing_of_the_page_is_elsewhere_and_nothing_of_it_runs() -> None:
    page = page_of(run_of(5, 3))
    found = read_page(page).all()
    assert {one.tag for one in found} <= TAGS
    assert {name for one in found for name in one.attributes} <= ATTRIBUTES
    assert not re.search(r"url\(|@import|javascript:", page)


def test_the_page_forbids_all_but_its_own_style_sheet() -> None:
    page = read(run_of(2, 2))
    (style,) = page.all("style")
    digest = b64encode(sha256(style.text.encode()).digest()).decode()
    policy = next(one.attributes["content"] for one in page.all("meta") if "http-equiv" in one.attributes)
    assert policy == f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def test_every_colour_of_the_page_is_one_of_a_theme() -> None:
    colours = set(re.findall(r"#[0-9a-f]{3,8}\b", page_of(run_of(2, 2))))
    assert colours <= {*LIGHT.values(), *DARK.values()}
    used = set(re.findall(r"var\(--([a-z0-9-]+)\)", page_of(run_of(2, 2))))
    assert used <= set(LIGHT) == set(DARK)


@pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
def test_all_that_is_read_can_be_read_on_both_screens(colors: dict[str, str]) -> None:
    style = page_of(run_of(2, 2)).partition("<style>")[2].partition("</style>")[0]
    grounds = set(re.findall(r"[; {]background: var\(--([a-z]+)\)", style))
    inks = set(re.findall(r"[; {]color: var\(--([a-z]+)\)", style))
    assert {"background", "surface"} <= grounds
    assert inks == {"foreground", "muted", "primary", "warning", "on", "off"}
    # A swatch of a legend has a colour of a mark for its ground, and no text on it.
    for ground in ("background", "surface"):
        for ink in inks:
            assert contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
    # Marks need 3 by WCAG 2; these have what text needs.
    for position in range(1, 9):
        assert contrast(colors[f"grade-{position}"], colors["background"]) >= 4.5


# -- what it says -----------------------------------------------------------------------------------------------------


def test_the_verdict_comes_first_with_the_ratio_and_its_interval() -> None:
    value = run_of(5, 3)
    header = read(value).all("header")[0]
    assert header.all("h1")[0].text == value["verdict"][0]
    total = value["total"]
    assert header.all(kind="big")[0].text == f"{total['speed_ratio']:.2f} \N{MULTIPLICATION SIGN}"
    limits = f"95 % interval {total['interval']['low']:.2f} to {total['interval']['high']:.2f}"
    assert limits in header.text
    assert "median of 15 pairs" in header.text


def test_a_ratio_within_the_noise_does_not_look_like_a_find() -> None:
    samples = [one for prompt in range(6) for one in both(40 + prompt % 3, 41, prompt=prompt)]
    value = comparison_of(samples, prompts=6)
    assert value["total"]["within_noise"] is True
    assert "unsure" in read(value).all(kind="big")[0].classes
    assert "unsure" not in read(run_of(5, 3)).all(kind="big")[0].classes


def test_the_table_holds_the_figures_of_the_json() -> None:
    value = run_of(7, 3)
    rows = rows_of(read(value))
    assert len(rows) == 8
    for row, one in zip(rows, [*value["prompts"], value["total"]], strict=True):
        first = " / ".join(f"{one[side]['first_token_s'] * 1000:.0f}" for side in ("on", "off"))
        expected = {
            "pairs with a ratio": str(one["ratio_pairs"]),
            "on, tokens/s": f"{one['on']['decode_rate']:.1f}",
            "off, tokens/s": f"{one['off']['decode_rate']:.1f}",
            "ratio": f"{one['speed_ratio']:.2f}",
            "95 % interval": f"{one['interval']['low']:.2f} to {one['interval']['high']:.2f}",
            "AL, pooled over steps": f"{one['on']['acceptance_length']['value']:.2f}",
            "AL, mean of requests": f"{one['on']['acceptance_length_mean_of_requests']['value']:.2f}",
            "first token, ms, on / off": first,
        }
        assert {name: row[name] for name in expected} == expected
    assert [row["texts part at"] for row in rows[:3]] == ["token 30", "equal", "equal"]
    assert rows[-1]["texts part at"] == f"{value['total']['differing_pairs']} of 21 pairs"


def test_what_was_compared_is_said() -> None:
    text = read(run_of(3, 2, notes=["Mind the gap."])).text
    for part in (
        "http://gpu01:8001", "tiny/chat", "a second server, the true baseline", "3 from prompts.txt", "Mind the gap.",
        "complete; 12 of 12 replies measured", "2026-03-01 10:00:00 to 10:20:00", "specchat.compare/1",
    ):  # fmt: skip
        assert part in text


def test_one_server_with_a_hook_is_not_said_to_speculate_on_both_sides() -> None:
    server = server_info()
    value = run_of(2, 2, way=Way.HOOK, servers={Side.ON: server, Side.OFF: server}, off_meant="One forward remains.")
    text = read(value).text
    assert "switched off for each request" in text
    assert "the hook in the same server, not a true baseline" in text
    assert "One forward remains." in text


def test_every_figure_is_defined_with_its_aggregation() -> None:
    value = run_of(2, 2)
    defined = read(value).at("definitions")
    found = dict(zip([one.text for one in defined.all("dt")], [one.text for one in defined.all("dd")], strict=True))
    assert found == value["definitions"]


def test_the_acceptance_length_says_how_it_is_pooled_and_where_it_comes_from() -> None:
    tiles = read(run_of(4, 2)).all(kind="tiles")[0].text
    assert "pooled over steps" in tiles
    assert "mean of requests" in tiles
    assert "reported" in tiles


def test_energy_is_shown_where_a_comparison_holds_it() -> None:
    value = run_of(2, 2)
    assert not [one for one in read(value).all("section") if one.attributes.get("id") == "energy"]
    value["total"]["on"]["energy"] = {"joules_per_token": 1.25, "gpus": {"first": 40}}
    text = read(value).at("energy").text
    assert "on: joules per token1.25" in text
    assert "on: gpus: first40" in text


# -- what it draws ----------------------------------------------------------------------------------------------------


def test_every_prompt_has_its_dot_and_whisker_and_all_prompts_theirs() -> None:
    page = read(run_of(7, 3))
    assert len(marks(page, "ratios", "dot")) == 8
    assert len(marks(page, "ratios", "whisker")) == 8
    assert len(marks(page, "ratios", "band")) == 8  # one in every lane
    labels = [one.text for one in page.at("ratios").all("span", "label")]
    values = [float(one.text.split()[0]) for one in page.at("ratios").all("span", "value") if one.text]
    assert labels[0] == "all prompts"
    assert values[1:] == sorted(values[1:], reverse=True)


def test_a_dot_lies_within_its_whisker_and_the_higher_ratio_to_the_right() -> None:
    page = read(run_of(6, 3))
    dots = [float(one.attributes["cx"].rstrip("%")) for one in marks(page, "ratios", "dot")][1:]
    lines = marks(page, "ratios", "whisker")[1:]
    assert dots == sorted(dots, reverse=True)
    for dot, line in zip(dots, lines, strict=True):
        assert float(line.attributes["x1"].rstrip("%")) <= dot <= float(line.attributes["x2"].rstrip("%"))


def test_every_reply_has_its_dot() -> None:
    page = read(run_of(5, 3))
    assert [len(marks(page, "rates", kind)) for kind in ("dot", "on", "off", "joint")] == [30, 15, 15, 5]


def test_every_draft_position_has_its_bar_in_its_length() -> None:
    value = run_of(5, 3)
    page = read(value)
    bars = marks(page, "accepted", "bar")
    rates = value["total"]["on"]["per_position_rate"]
    assert [float(one.attributes["width"].rstrip("%")) for one in bars] == pytest.approx(
        [100 * r for r in rates], abs=0.01
    )
    assert f"of {value['total']['on']['steps']} steps, reported" in page.at("accepted").text


def test_every_pair_has_its_dot_in_the_order_of_the_run() -> None:
    value = run_of(5, 3)
    page = read(value)
    dots = marks(page, "order", "dot")
    across = [float(one.attributes["cx"].rstrip("%")) for one in dots]
    assert len(dots) == 15
    assert across == sorted(across)
    assert len(marks(page, "order", "level")) == 3
    assert len(marks(page, "order", "border")) == 2
    hollow = [one for one in dots if "hollow" in one.classes]
    # The builder lets each side begin every other pair.
    assert len(hollow) in {7, 8}


def test_what_being_asked_first_does_is_said() -> None:
    samples = []
    for prompt in range(6):
        on, off = both(90 if prompt % 2 else 60, 40, prompt=prompt)
        first, second = (on, off) if prompt % 2 else (off, on)
        samples.append(dataclasses.replace(first, started_at=10.0 * prompt))
        samples.append(dataclasses.replace(second, started_at=10.0 * prompt + 1))
    text = read(comparison_of(samples, prompts=6)).at("order").text
    assert "Median 2.25 in the 3 pairs with on asked first and 1.50 in the 3 pairs with off asked first." in text


def test_what_both_texts_have_in_common_stands_before_how_each_goes_on() -> None:
    ids = [tuple(range(100, 110)), (*range(100, 104), *range(900, 906))]
    samples = [sample_at(80, Side.ON, ids=ids[0]), sample_at(40, Side.OFF, ids=ids[1], text="100 101 102 103")]
    page = read(comparison_of(samples))
    lines = [one.text for one in page.at("parted").all("dd")]
    assert lines == ["on100 101 102 103 104 105 106 107 108 109…", "off100 101 102 103the text ends here"]
    assert rows_of(page)[0]["texts part at"] == "token 4"


def test_a_reply_that_is_far_off_is_an_arrow_and_leaves_the_axis_to_the_others() -> None:
    samples = [one for prompt in range(6) for one in both(80, 40, prompt=prompt)]
    samples[5] = sample_at(18_000, Side.OFF, prompt=2)
    page = read(comparison_of(samples, prompts=6))
    for section in ("rates", "ratios", "order"):
        assert len(marks(page, section, "beyond")) == 1, section
        assert "1 value lies beyond the axis" in page.at(section).text
    ticks = [float(one.text) for one in page.at("rates").all("text", "tick")]
    assert max(ticks) < 200


def test_two_servers_that_both_speculate_are_called_by_their_k() -> None:
    servers = {side: dataclasses.replace(server_info(), draft_length=k) for side, k in ((Side.ON, 3), (Side.OFF, 1))}
    value = comparison_of(samples_of_run(4, 2, off_counts=True), prompts=4, repeats=2, servers=servers)
    page = read(value)
    text = page.text.replace("\N{NO-BREAK SPACE}", " ")
    assert "k = 3 against k = 1" in text
    assert len(page.at("accepted").all("h3")) == 2
    names = [name.replace("\N{NO-BREAK SPACE}", " ") for name in rows_of(page)[0]]
    assert "AL k = 1, mean of requests" in names


def test_with_very_many_prompts_rows_are_thin_and_the_table_names_them() -> None:
    page = read(run_of(200, 2))
    assert MOST_LABELLED < 200
    assert len(marks(page, "ratios", "dot")) == 201
    assert not page.at("ratios").all("bdi")
    assert len(rows_of(page)) == 201


# -- what can be missing ----------------------------------------------------------------------------------------------


def test_without_any_sample_the_page_says_so_and_shows_no_zero() -> None:
    page = read(comparison_of([], ending="lost"))
    assert page.all(kind="big")[0].text == "? \N{MULTIPLICATION SIGN}"
    assert len(page.all("p", "nothing")) == 4
    assert "This comparison is not whole." in page.text
    assert rows_of(page)[-1]["on, tokens/s"] == "?"


def test_one_pair_has_a_ratio_and_no_interval() -> None:
    value = run_of(1, 1)
    page = read(value)
    assert value["total"]["interval"] is None
    assert "no interval: too few pairs" in page.all("header")[0].text
    assert not marks(page, "ratios", "whisker")
    assert len(marks(page, "ratios", "dot")) == 2
    assert rows_of(page)[0]["interval"] == "?"


def test_a_prompt_that_both_refuse_is_in_the_table_and_in_no_picture() -> None:
    samples = [*both(80, 40), failed(Side.ON, prompt=1), failed(Side.OFF, prompt=1)]
    page = read(comparison_of(samples))
    assert rows_of(page)[1]["texts part at"] == "refused"
    assert rows_of(page)[1]["ratio"] == "?"
    assert len(marks(page, "ratios", "dot")) == 2


def test_an_interrupted_run_says_how_much_of_it_there_is_before_any_figure() -> None:
    page = read(comparison_of(both(80, 40), prompts=12, repeats=3, ending="interrupted"))
    (warning,) = page.all(kind="warning")
    assert "interrupted: stopped before its end; 2 of 72 replies measured" in warning.text
    main = page.all("main")[0]
    order = [one for one in main.children if isinstance(one, Node)]
    assert order.index(warning) < next(i for i, one in enumerate(order) if one.tag == "header")


def test_a_page_is_made_of_an_object_that_holds_nothing_at_all() -> None:
    page = read({})
    assert page.all("h1")[0].text == "This comparison holds no verdict."


def test_a_very_long_name_is_cut_and_stays_in_one_line() -> None:
    plan = Plan((Prompt(("x",), name="long " * 500), Prompt(("y",))), repeats=1)
    page = read(comparison_of(both(80, 40), plan=plan))
    assert all(len(one.text) <= 161 for one in page.at("ratios").all("bdi"))


# -- what comes from elsewhere ----------------------------------------------------------------------------------------

EVIL = "<script>alert(1)</script>\x00\u202eevil\x1b[31m&amp;\"'><img src=x onerror=alert(2)>"


def test_hostile_text_is_text_everywhere_and_its_signs_are_seen() -> None:
    page = page_of(hostile_run(EVIL))
    root = read_page(page)
    assert {one.tag for one in root.all()} <= TAGS
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)
    for sign in ("<script>alert(1)</script>␀⟨RLO⟩evil␛[31m&amp;", "onerror=alert(2)>"):
        assert root.text.count(sign) >= 8


@settings(max_examples=60, deadline=None)
@given(st.text(st.characters(), max_size=40) | st.text("<>&\"'/=!-scriptyle \x00\u202e\u2028\ud800]", max_size=40))
def test_no_text_whatever_makes_an_element_or_an_attribute(text: str) -> None:
    page = page_of(hostile_run(text))
    # What cannot be written as UTF-8 would break the file.
    page.encode("utf-8")
    root = read_page(page).all()
    assert {one.tag for one in root} <= TAGS
    assert {name for one in root for name in one.attributes} <= ATTRIBUTES
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page)


def test_a_prompt_is_called_by_its_name_and_nothing_of_its_text_is_shown() -> None:
    plan = Plan((Prompt(("secret words", "more of them"), name="talk"),), repeats=1)
    page = page_of(comparison_of(both(80, 40), plan=plan))
    assert rows_of(read_page(page))[0]["prompt"] == "1 talk"
    assert "secret" not in page
