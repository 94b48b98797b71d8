"""The lines around the transcript: what a server says is made harmless, and what matters least gives way."""

import pytest
from rich.cells import cell_len

from fakes import server_info
from specchat.core.counters import Verdict
from specchat.core.switching import Speculation
from specchat.session.server_load import ServerLoad
from specchat.ui.panels import edges
from specchat.ui.panels.drawing import TIMES, EdgeLine, fit
from specchat.ui.panels.edges import Phase
from specchat.ui.panels.folded import figures
from specchat.ui.panels.model import (
    AcceptanceView,
    ComparisonView,
    PanelsView,
    PositionsView,
    RateView,
    ReplyView,
    ServerView,
)

FULL = PanelsView(
    AcceptanceView(2.8),
    RateView(163.4),
    PositionsView((0.83, 0.66, 0.51)),
    reply=ReplyView(62.0, 14.0, 104, "reported", 312, 201, 2, 0.98, "they agree", Verdict.AGREES),
    comparison=ComparisonView(163.0, 60.0, possible=True),
    server=ServerView(ServerLoad(3, 1, 0.12, 412.0), tells=True),
)


def folded(width: int, view: PanelsView = FULL, **more: object) -> str:
    given: dict[str, object] = {"silent_seconds": 0.0, "following": True, "figures": figures(view)}
    return fit(edges.status(Phase.ANSWERING, **(given | more)), width).text.strip()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("phase", "silent", "words"),
    [
        (Phase.READY, 99.0, "○ ready"),
        (Phase.ASKED, 1.0, "◌ asked · Esc stops"),
        (Phase.ASKED, 12.0, "◌ waiting 12 s … · Esc stops"),
        (Phase.ANSWERING, 1.0, "● answering · Esc stops"),
        (Phase.CHECKING, 99.0, "◌ checking the figures"),
    ],
)
def test_the_status_names_what_goes_on(phase: Phase, silent: float, words: str) -> None:
    shown = fit(edges.status(phase, silent_seconds=silent, following=True), 80).text

    assert shown.strip() == words


def test_the_legend_shows_what_occurs() -> None:
    assert edges.legend(2, plain=False, unknown=False).text == " ■ draft 1  ■ 2  ■ target"
    assert edges.legend(0, plain=True, unknown=True).text == " ■ target  ■ plain  ■ unknown"
    assert "■ 8+  ■ target" in edges.legend(12, plain=False, unknown=False).text


def test_every_figure_is_in_the_line_where_there_is_room() -> None:
    assert folded(300) == (
        f"● answering · AL 2.80 · 163.4 t/s · Esc stops · on/off 2.72 {TIMES} · by position 83 66 51 % · reported · "
        "kept 201 of 312 · first token 62 ms · step 14 ms · 3 running, 1 waiting · KV cache 12 % · "
        "all clients 412 t/s · counters agree · 2 past the end"
    )


@pytest.mark.parametrize(
    ("width", "shown"),
    [
        (24, "● answering · AL 2.80"),
        (44, "● answering · AL 2.80 · 163.4 t/s"),
        (60, "● answering · AL 2.80 · 163.4 t/s · Esc stops"),
        (80, f"● answering · AL 2.80 · 163.4 t/s · Esc stops · on/off 2.72 {TIMES}"),
    ],
)
def test_the_last_figures_of_the_line_give_way(width: int, shown: str) -> None:
    assert folded(width) == shown


def test_the_way_back_to_the_end_is_kept_on_a_narrow_screen() -> None:
    assert folded(60, following=False, narrow=True) == "● answering · AL 2.80 · 163.4 t/s · Esc stops        ↓ End"


def test_queued_prompts_follow_the_state() -> None:
    assert folded(80, figures=(), queued=2) == "● answering · 2 queued · Esc stops"
    assert "queued" not in folded(80, figures=())


def test_the_line_says_why_there_is_no_acceptance_length() -> None:
    view = PanelsView(AcceptanceView(evidence="— chunks merged"), RateView(163.4))

    assert folded(100, view) == "● answering · AL    — · 163.4 t/s · Esc stops · chunks merged"


def test_the_line_stands_still_while_its_figures_change() -> None:
    slow = PanelsView(AcceptanceView(1.0), RateView(9.9))
    fast = PanelsView(AcceptanceView(3.75), RateView(163.4))

    assert cell_len(folded(80, slow)) == cell_len(folded(80, fast))


def test_counters_that_differ_are_bad_only_where_they_take_a_figure_away() -> None:
    looks = {
        failed: dict(figures(PanelsView(reply=ReplyView(verdict=Verdict.DIFFERS, check_failed=failed))))[
            "counters differ"
        ]
        for failed in (True, False)
    }

    assert looks == {True: "bad", False: "dim"}


def test_the_head_shows_no_control_characters_of_a_server() -> None:
    server = server_info(model="evil\x1b[2J\nmodel", version="0\u202e1")
    shown = fit(edges.head(server, Speculation(), can_switch=False), 200).text

    assert "evil␛[2J model" in shown
    assert not {"\x1b", "\n", "\u202e"} & set(shown)


def test_the_head_gives_way_from_the_left() -> None:
    edge = EdgeLine((("specchat ", ""), ("a long model name ", ""), ("host", "")), (("speculation ● on", ""),))

    assert fit(edge, 80).text.endswith("speculation ● on")
    assert [fit(edge, width).text.startswith("specchat a long") for width in (50, 30)] == [True, False]
    assert cell_len(fit(edge, 30).text) == 30


def test_the_head_says_where_speculation_is_unknown() -> None:
    server = server_info(draft_length=None)

    assert "? unknown" in fit(edges.head(server, Speculation(), can_switch=False), 120).text
