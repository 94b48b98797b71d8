"""The panels: unknown figures are dashes, widths stand still, and what a server says is made harmless."""

import pytest
from rich.cells import cell_len

from fakes import server_info
from specchat.core.conversation import Turn
from specchat.core.counters import CounterCheck, Verdict
from specchat.core.events import ChunkArrived, SpeculationReported
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Channel
from specchat.ui.panels import drawing, edges
from specchat.ui.panels.column import arrange, height
from specchat.ui.panels.drawing import EdgeLine, fit
from specchat.ui.panels.edges import Phase
from specchat.ui.panels.model import (
    AcceptanceView,
    ComparisonView,
    PanelsView,
    PositionsView,
    RateView,
    ReplyView,
    comparison_of,
    facts_of,
    panels_of,
)


def reply_in_chunks(
    *sizes: int, k: int | None = 3, speculating: bool | None = None, seconds: float = 0.1, ids: bool = True
) -> Reply:
    reply = Reply(0.0, draft_length=k, speculating=speculating)
    for number, size in enumerate(sizes):
        at = 1.0 + number * seconds
        reply.add(ChunkArrived(at, ((Channel.CONTENT, "x" * size),), token_ids=tuple(range(size)) if ids else None))
    return reply


def finished(reply: Reply) -> Reply:
    reply.end(Outcome.FINISHED)
    return reply


def view_of(reply: Reply, *, comparable: bool = False) -> PanelsView:
    turn = Turn("?", reply, server_info())
    return panels_of([turn], figures_of(reply), (), draft_length=3, comparable=comparable)


def text_of(lines: list[drawing.Line]) -> str:
    return "\n".join(line.text for line in lines)


def test_nothing_known_is_dashes_and_no_zero() -> None:
    view = PanelsView(comparison=ComparisonView(possible=True))
    drawn = [
        drawing.draw_acceptance(view.acceptance),
        drawing.draw_rate(view.rate),
        drawing.draw_positions(view.positions),
        drawing.draw_reply(view.reply),
        drawing.draw_comparison(view.comparison),
    ]

    for lines in drawn:
        assert "—" in text_of(lines)
        assert "0" not in text_of(lines)


def test_the_acceptance_length_of_a_running_reply_is_inferred_from_its_chunks() -> None:
    view = view_of(reply_in_chunks(1, 4, 2, 3)).acceptance

    assert view.mean == pytest.approx(3.0)
    assert view.now == pytest.approx(3.0)
    assert view.evidence == "inferred · chunk sizes"


def test_merged_chunks_give_no_acceptance_length_and_say_so() -> None:
    view = view_of(reply_in_chunks(1, 4, 7))

    assert view.acceptance == AcceptanceView(highest=4, evidence="— chunks merged")
    assert view.positions.rates is None


def test_a_report_makes_the_figures_exact() -> None:
    reply = reply_in_chunks(1, 4, 7)
    reply.add(SpeculationReported(3, 8, 9, 3, (3, 2, 3), (3, 3, 3), None, None))

    assert view_of(finished(reply)).acceptance.evidence == "exact · reported by server"


def test_without_token_ids_the_panel_says_why_it_is_empty() -> None:
    assert view_of(reply_in_chunks(1, 2, ids=False)).acceptance.evidence == "— no token ids from server"


def test_a_server_without_speculation_is_not_blamed() -> None:
    assert view_of(reply_in_chunks(1, 1, 1, k=0)).acceptance.evidence == "— no speculation here"


def test_on_and_off_are_compared_over_replies_that_are_long_enough() -> None:
    on = finished(reply_in_chunks(1, *[4] * 10, speculating=True))
    short = finished(reply_in_chunks(1, 1, 1, speculating=True, seconds=9.0))
    off = finished(reply_in_chunks(1, *[1] * 20, k=0, speculating=False))
    broken = reply_in_chunks(1, *[1] * 20, k=0, speculating=False, seconds=9.0)
    broken.end(Outcome.FAILED)
    turns = [Turn("?", reply, server_info()) for reply in (on, short, off, broken)]
    view = comparison_of(turns, possible=True)

    assert [view.on, view.off, view.ratio] == pytest.approx([40.0, 10.0, 4.0])
    assert (view.on_replies, view.off_replies) == (1, 1)
    assert f"4.00 {drawing.TIMES}" in text_of(drawing.draw_comparison(view))


def test_one_side_alone_gives_no_ratio() -> None:
    assert ComparisonView(on=100.0, possible=True).ratio is None
    assert "—" in text_of(drawing.draw_comparison(ComparisonView(on=100.0, possible=True)))


def test_the_facts_of_a_reply_name_their_evidence() -> None:
    reply = finished(reply_in_chunks(1, 4, 2, speculating=True))

    assert facts_of(reply, figures_of(reply)) == "● on · 7 tokens · 2 steps · AL 3.00 inferred · 30.0 t/s"


_FULL = [
    drawing.draw_acceptance(AcceptanceView(12.345, 11.1, (1.0, 2.0) * 5, 4, "exact · reported by server")),
    drawing.draw_rate(RateView(12345.6, 9999.4, (1.0,) * 10)),
    drawing.draw_positions(PositionsView((1.0, 0.5, 0.0, 0.1), 4)),
    drawing.draw_reply(ReplyView(123_456.0, 99_999.0, 123456, 123456, 33333, "the server's counters agree: 41 steps")),
    drawing.draw_comparison(ComparisonView(12345.6, 9999.9, 1, 1, possible=True)),
    drawing.draw_comparison(ComparisonView()),
    [drawing.comparison_line(ComparisonView(12345.6, 9999.9, 1, 1, possible=True))],
    [drawing.positions_line(PositionsView((1.0,) * 12, 12))],
]


@pytest.mark.parametrize("lines", _FULL)
def test_no_line_is_wider_than_a_panel(lines: list[drawing.Line]) -> None:
    assert all(cell_len(line.text) <= drawing.WIDTH for line in lines), text_of(lines)


def test_figures_stand_still_while_they_change() -> None:
    widths = {len(drawing.draw_acceptance(AcceptanceView(mean, mean, (mean,)))[0].text) for mean in (1.0, 2.55)}
    unknown = drawing.draw_acceptance(AcceptanceView())[0].text

    assert widths == {len(unknown)}


@pytest.mark.parametrize(
    ("share", "drawn"), [(0.0, "    "), (1.0, "████"), (0.5, "██  "), (0.03125, "▏   "), (7.0, "████")]
)
def test_bars_are_an_eighth_exact(share: float, drawn: str) -> None:
    assert drawing.bar(share, 4) == drawn


def test_a_trend_spans_its_range() -> None:
    assert drawing.sparkline((1.0, 4.0, 2.5, 9.0, 0.0), 1.0, 4.0) == "▁█▅█▁"  # beyond the range: its edge


AGREES = "the server's counters agree: 41 steps"
FULL = PanelsView(
    AcceptanceView(2.8, 3.2, (2.0,) * 10, 4, "exact · reported by server"),
    RateView(163.4, 158.0, (1.0,) * 10),
    PositionsView((0.8, 0.6, 0.5), 3),
    ReplyView(62.0, 14.0, 312, 201, 2, AGREES),
    ComparisonView(163.0, 60.0, 1, 1, possible=True),
)


def test_five_full_panels_fit_beside_a_transcript_of_33_rows() -> None:
    drawn = arrange(FULL, 33)

    assert all(drawn.values())
    assert text_of(list(drawn["reply"])).split("\n")[3:] == [
        "past the end    2 accepted", "the server's counters agree:", "41 steps",
    ]  # fmt: skip
    assert height(drawn) == 24


@pytest.mark.parametrize(
    ("rows", "panels", "lines_of_reply"),
    [
        (24, ["acceptance", "rate", "positions", "reply", "comparison"], 6),
        (23, ["acceptance", "rate", "positions", "reply", "comparison"], 4),
        (21, ["acceptance", "rate", "positions", "reply", "comparison"], 3),
        (17, ["acceptance", "rate", "positions", "comparison"], 0),
        (12, ["acceptance", "rate", "comparison"], 0),
        (7, ["acceptance", "comparison"], 0),
        (4, ["acceptance"], 0),
    ],
)
def test_what_says_least_gives_way_and_the_comparison_stays(rows: int, panels: list[str], lines_of_reply: int) -> None:
    drawn = arrange(FULL, rows)

    assert [name for name, lines in drawn.items() if lines] == panels
    assert len(drawn["reply"]) == lines_of_reply
    assert height(drawn) <= rows


def test_the_hint_at_a_second_server_goes_first() -> None:
    drawn = arrange(PanelsView(FULL.acceptance, FULL.rate, FULL.positions, FULL.reply), 23)

    assert not drawn["comparison"]
    assert AGREES in " ".join(line.text for line in drawn["reply"])


def test_many_draft_positions_shrink_to_one_line() -> None:
    view = PanelsView(FULL.acceptance, FULL.rate, PositionsView((0.5,) * 8, 8), FULL.reply, FULL.comparison)
    drawn = arrange(view, 17)

    assert len(drawn["positions"]) == 1
    assert len(drawn["comparison"]) == 2


def checked(check: CounterCheck) -> Reply:
    reply = reply_in_chunks(1, 4, 2)
    reply.add(SpeculationReported(2, 4, 6, 3, (3, 1), (3, 3), None, None))
    finished(reply).apply_check(check)
    return reply


def test_the_counters_verdict_is_told_of_a_reported_reply_too() -> None:
    differs = CounterCheck(Verdict.DIFFERS, 3, 9, 4, sentence="the server counted 3 steps, its chunks showed 2")
    view = view_of(checked(differs)).reply

    assert view.check == differs.sentence
    assert not view.check_failed  # the figures are the server's own, whatever the chunks showed


def test_what_lies_past_the_end_is_told_once() -> None:
    reply = reply_in_chunks(1, 4, 2)
    finished(reply).apply_check(CounterCheck(Verdict.AGREES, 2, 6, 6, 2, "agree: 2 steps, 1 accepted past the end"))
    view = view_of(reply).reply

    assert (view.cut, view.check) == (1, "agree: 2 steps")


def test_a_reply_of_which_nothing_came_says_so() -> None:
    reply = Reply(0.0, draft_length=3)
    reply.end(Outcome.FAILED)

    assert view_of(reply).acceptance.evidence == "— nothing came"


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
    shown = fit(edges.status(phase, silent_seconds=silent, following=True, figures=""), 80).text

    assert shown.strip() == words


def test_the_legend_shows_what_occurs() -> None:
    assert edges.legend(2, plain=False, unknown=False).text == " ■ draft 1  ■ 2  ■ target"
    assert edges.legend(0, plain=True, unknown=True).text == " ■ target  ■ plain  ■ unknown"
    assert "■ 8+  ■ target" in edges.legend(12, plain=False, unknown=False).text


_COMPARED = ComparisonView(163.0, 60.0, possible=True)


@pytest.mark.parametrize("width", [24, 44, 60])
def test_the_status_gives_way_where_there_is_no_room(width: int) -> None:
    view = PanelsView(AcceptanceView(2.8), RateView(163.4), PositionsView((0.8, 0.6, 0.5)), comparison=_COMPARED)
    shown = drawing.status_figures(view, width)

    assert shown.startswith("AL 2.80")
    assert len(shown) <= width


def test_the_head_shows_no_control_characters_of_a_server() -> None:
    server = server_info(model="evil\x1b[2J\nmodel", version="0\u202e1")
    shown = fit(edges.head(server, speculating=True, has_baseline=False), 200).text

    assert "evil␛[2J model" in shown
    assert not {"\x1b", "\n", "\u202e"} & set(shown)


def test_the_head_gives_way_from_the_left() -> None:
    edge = EdgeLine((("specchat ", ""), ("a long model name ", ""), ("host", "")), (("speculation ● on", ""),))

    assert fit(edge, 80).text.endswith("speculation ● on")
    assert [fit(edge, width).text.startswith("specchat a long") for width in (50, 30)] == [True, False]
    assert cell_len(fit(edge, 30).text) == 30


def test_the_head_says_where_speculation_is_unknown() -> None:
    server = server_info(draft_length=None)

    assert "? unknown" in fit(edges.head(server, speculating=True, has_baseline=False), 120).text
