"""The forms of the panels: unknown figures are dashes, widths stand still, and what says least gives way."""

from dataclasses import replace

import pytest
from rich.cells import cell_len

from specchat.core.counters import Verdict
from specchat.core.switching import Way
from specchat.session.server_load import ServerLoad
from specchat.ui.panels import drawing, forms
from specchat.ui.panels.column import arrange, height
from specchat.ui.panels.drawing import Line
from specchat.ui.panels.forms import Form, forms_of
from specchat.ui.panels.model import (
    AcceptanceView,
    ComparisonView,
    PanelsView,
    PositionsView,
    RateView,
    ReplyView,
    ServerView,
    YieldsView,
)

AGREES = "the server's counters agree: 41 steps"
FULL = PanelsView(
    AcceptanceView(2.8, 3.2, (2.0,) * 28, 4, "exact · reported by server"),
    RateView(163.4, 158.0, (1.0,) * 28),
    PositionsView((0.8, 0.6, 0.5), 3),
    YieldsView((20, 20, 10, 50), 3),
    ReplyView(62.0, 14.0, 104, "reported", 312, 201, 2, 0.98, AGREES, Verdict.AGREES),
    ComparisonView(163.0, 60.0, 1, 1, Way.SERVER, possible=True),
    ServerView(ServerLoad(3, 1, 0.12, 412.5), tells=True),
)
WIDE = PanelsView(
    AcceptanceView(12.345, 11.1, (1.0, 2.0) * 14, 16, "exact · traced in the server"),
    RateView(12345.6, 9999.4, (12345.0,) * 28),
    PositionsView((1.0,) * 15, 15),
    YieldsView((123456, *(0,) * 14, 1), 15),
    ReplyView(123_456.0, 99_999.0, 123456, "reported", 123456, 123456, 33333, 0.999, f"{AGREES} and more " * 3),
    ComparisonView(12345.6, 9999.9, 1, 1, Way.HOOK, possible=True),
    ServerView(ServerLoad(12345, 12345, 1.0, 123456.7), tells=True),
)


def text_of(lines: Form) -> str:
    return "\n".join(line.text for line in lines)


def every_form(view: PanelsView) -> list[Line]:
    return [line for of_panel in forms_of(view).values() for form in of_panel for line in form]


def test_nothing_known_is_dashes_and_no_zero() -> None:
    for name, of_panel in forms_of(PanelsView(comparison=ComparisonView(possible=True))).items():
        for form in filter(None, of_panel):
            assert "—" in text_of(form), name
            assert "0" not in text_of(form), name


@pytest.mark.parametrize("view", [FULL, WIDE, PanelsView(), PanelsView(server=ServerView(tells=False))])
def test_no_line_is_wider_than_a_panel(view: PanelsView) -> None:
    assert [line.text for line in every_form(view) if cell_len(line.text) > drawing.WIDTH] == []


def test_figures_stand_still_while_they_change() -> None:
    def ends(view: PanelsView) -> list[list[int]]:
        """Where each figure ends in the panels whose labels stay."""
        shown = [forms.reply_forms(view.reply)[0][:7], forms.server_forms(view.server)[0]]
        shown += [forms.acceptance_forms(view.acceptance)[1][:1], forms.rate_forms(view.rate)[1]]
        return [[cell_len(run[0]) for run in line.runs[:2]] for form in shown for line in form]

    small = replace(
        FULL,
        acceptance=replace(FULL.acceptance, mean=1.0, now=None),
        rate=RateView(9.9, 1234.0),
        reply=ReplyView(9.0, 1.0, 1, "reported", 3, 2, 0, 1.0),
        server=ServerView(ServerLoad(0, 0, 0.0, 0.0), tells=True),
    )

    assert ends(small) == ends(FULL)


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.0, "    "), (1.0, "████"), (0.5, "██  "), (0.03125, "▏   "), (7.0, "████")]
)
def test_bars_are_an_eighth_exact(share: float, drawn: str) -> None:
    assert drawing.bar(share, 4) == drawn


def test_a_trend_spans_its_range() -> None:
    assert drawing.sparkline((1.0, 4.0, 2.5, 9.0, 0.0), 1.0, 4.0) == "▁█▅█▁"  # beyond the range: its edge


def test_a_chart_stacks_its_rows() -> None:
    assert drawing.chart((0.0, 1.0, 0.5), 0.0, 1.0, 2) == [" █▁", "▁██"]


def test_a_trend_that_is_too_long_is_halved_from_its_start() -> None:
    assert drawing.condense((1.0, 2.0, 3.0), 4) == (1.0, 2.0, 3.0)
    assert drawing.condense((1.0, 3.0, 5.0, 7.0, 9.0), 4) == (2.0, 6.0, 9.0)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(None, "    —"), (0.0, "  0 %"), (0.001, "  1 %"), (0.999, " 99 %"), (1.0, "100 %"), (0.5, " 50 %")],
)
def test_only_all_reads_as_all_and_only_nothing_as_nothing(value: float | None, shown: str) -> None:
    assert drawing.percent(value) == shown


def test_tokens_per_step_are_in_the_look_of_the_deepest_kept_proposal() -> None:
    bars = forms.yields_forms(FULL.yields)[0]

    assert [line.runs[1][1] for line in bars] == ["target", "accepted-1", "accepted-2", "accepted-3"]
    assert bars[0].text == " 1 ███▊                 20 %"


def test_tokens_per_step_stand_side_by_side_with_the_highest_bar_full() -> None:
    bars, labels = forms.yields_forms(FULL.yields)[1]

    assert bars.text == "▄▄▄▄▄▄ ▄▄▄▄▄▄ ▂▂▂▂▂▂ ██████ "
    assert labels.text == "1  20% 2  20% 3  10% 4  50% "


def test_tokens_per_step_fit_in_one_line_for_long_drafts() -> None:
    one_line = forms.yields_forms(YieldsView((10, 0, 0, 0, 0, 0, 0, 0, 4, 6), 9))[2]

    assert text_of(one_line) == "1█ 2  3  4  5  6  7  8  9+█"


def test_the_shares_of_eight_positions_fit_in_one_line() -> None:
    eight = PositionsView(tuple(0.9 - n / 10 for n in range(8)), 8)

    assert text_of(forms.positions_forms(eight)[1]) == " 90 80 70 60 50 40 30 20 %"
    assert text_of(forms.positions_forms(FULL.positions)[1]) == " 80  60  50 %"


def test_a_server_without_load_says_so() -> None:
    assert text_of(forms.server_forms(ServerView(tells=False))[0]) == "— its metrics tell no load"
    assert text_of(forms.server_forms(FULL.server)[1]) == "running     3  waiting     1\nKV cache 12 %  all 412.5 t/s"


def test_the_verdict_moves_no_panel_when_it_comes() -> None:
    running = replace(FULL, reply=replace(FULL.reply, check="", cut=None, live_right=None))

    for rows in range(4, 60):
        before, after = arrange(running, rows), arrange(FULL, rows)
        heights = [[len(lines) for lines in drawn.values()] for drawn in (before, after)]
        assert heights[0][:-1] == heights[1][:-1], rows


def test_the_verdict_on_a_stopped_reply_takes_the_room_of_what_is_not_known() -> None:
    outside = "ended from outside the engine, which counted 43 steps for 40 seen"
    running = replace(FULL, reply=replace(FULL.reply, check="", cut=None, live_right=None))
    stopped = replace(running, reply=replace(running.reply, check=outside))

    assert height(arrange(stopped, 33)) == height(arrange(running, 33)) == 33
    assert outside in " ".join(line.text for line in arrange(stopped, 33)["reply"])


def test_a_short_form_tells_what_lies_past_the_end_in_words() -> None:
    assert text_of(forms.reply_forms(FULL.reply)[2]).endswith("41 steps, 2 accepted past\nthe end")


def test_seven_full_panels_fit_beside_a_transcript_of_33_rows_with_lines_between() -> None:
    drawn = arrange(FULL, 33)

    assert all(drawn.values())
    assert height(drawn) == 33
    assert [lines[-1].text for name, lines in drawn.items() if name != "reply"] == [""] * 6
    assert text_of(drawn["reply"]).split("\n")[4:] == [
        "past the end      2 kept", "live guesses     98 % right", "the server's counters agree:", "41 steps",
    ]  # fmt: skip


def test_long_drafts_fit_into_33_rows_with_every_panel() -> None:
    shares = tuple(1 - n / 10 for n in range(8))
    drawn = arrange(replace(FULL, positions=PositionsView(shares, 8), yields=YieldsView((5,) * 9, 8)), 33)

    assert all(drawn.values())
    assert len(drawn["positions"]) == 8
    assert height(drawn) <= 33


def test_a_tall_screen_shows_charts_and_more() -> None:
    drawn = arrange(FULL, 53)

    assert len(drawn["acceptance"]) == 6
    assert len(drawn["yields"]) == 5
    assert "in tokens per second" in text_of(drawn["comparison"])
    assert "reported" in text_of(drawn["reply"])


EVERY = ["acceptance", "rate", "positions", "yields", "comparison", "server", "reply"]


@pytest.mark.parametrize(
    ("rows", "panels"),
    [
        (26, EVERY),
        (22, EVERY),
        (18, EVERY),
        (17, [*EVERY[:5], "reply"]),
        (14, EVERY[:5]),
        (11, ["acceptance", "rate", "positions", "comparison"]),
        (8, ["acceptance", "rate", "comparison"]),
        (5, ["acceptance", "comparison"]),
        (4, ["acceptance"]),
    ],
)
def test_what_says_least_gives_way_and_the_comparison_stays(rows: int, panels: list[str]) -> None:
    drawn = arrange(FULL, rows)

    assert [name for name, lines in drawn.items() if lines] == panels
    assert height(drawn) <= rows


def test_the_hint_at_a_second_server_goes_before_any_figure() -> None:
    drawn = arrange(replace(FULL, comparison=ComparisonView()), 26)

    assert not drawn["comparison"]
    assert AGREES in " ".join(line.text for line in drawn["reply"])
