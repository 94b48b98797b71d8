"""What the panels show of replies: every figure with its evidence, and none that nothing backs."""

import pytest

from fakes import server_info
from proposing import SHORT, Proposed
from specchat.core.conversation import Turn
from specchat.core.counters import CounterCheck, Verdict
from specchat.core.events import ChunkArrived, SpeculationReported
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of
from specchat.core.speculation import Channel
from specchat.core.switching import Speculation, Way
from specchat.session.server_load import ServerLoad
from specchat.ui.panels import drawing
from specchat.ui.panels.forms import comparison_forms
from specchat.ui.panels.model import (
    TREND_BARS,
    AcceptanceView,
    ComparisonView,
    PanelsView,
    ServerView,
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
    off = finished(reply_in_chunks(1, *[1] * 40, k=0, speculating=False))
    broken = reply_in_chunks(1, *[1] * 40, k=0, speculating=False, seconds=9.0)
    broken.end(Outcome.FAILED)
    turns = [Turn("?", reply, server_info()) for reply in (on, short, off, broken)]
    view = comparison_of(turns, possible=True)

    assert [view.on, view.off, view.ratio] == pytest.approx([40.0, 10.0, 4.0])
    assert (view.on_replies, view.off_replies) == (1, 1)
    assert f"4.00 {drawing.TIMES}" in comparison_forms(view)[1][0].text


def switched(reply: Reply, limit: int, way: Way) -> Reply:
    reply.speculation, reply.speculating = Speculation(limit, way), False if limit == 0 else None
    return reply


def test_the_comparison_is_of_the_way_that_was_used_last_and_names_it() -> None:
    on = finished(reply_in_chunks(1, *[4] * 10, speculating=True))
    hooked = switched(finished(reply_in_chunks(1, *[1] * 40, k=0, seconds=0.2)), 0, Way.HOOK)
    limited = switched(finished(reply_in_chunks(1, *[2] * 40, k=1, seconds=0.2)), 1, Way.HOOK)
    second = switched(finished(reply_in_chunks(1, *[1] * 40, k=0)), 0, Way.SERVER)
    anew = switched(finished(reply_in_chunks(1, *[1] * 40, k=0, seconds=0.05)), 0, Way.RELAUNCH)
    turns = [Turn("?", reply, server_info()) for reply in (on, hooked, limited, second, anew)]
    views = [comparison_of(turns[:end], possible=True) for end in (3, 4, 5)]

    assert [view.off for view in views] == pytest.approx([5.0, 10.0, 20.0])
    assert [(view.off_replies, view.off_way) for view in views] == [(1, way) for way in Way]
    for view, long, rows, short in zip(
        views,
        ("off by the hook", "2nd server", "off by relaunch"),
        ("same server", "2nd server", "relaunch"),
        ("hook", "2nd", "anew"),
        strict=True,
    ):
        texts = ["".join(line.text for line in form) for form in comparison_forms(view)]
        assert [word in text for word, text in zip((long, rows, short), texts, strict=False)] == [True] * 3, texts
        assert "this chat" in texts[0]


def test_what_is_missing_for_the_comparison_stands_in_the_place_of_a_figure() -> None:
    on = finished(reply_in_chunks(1, *[4] * 10, speculating=True))
    view = comparison_of([Turn("?", on, server_info())], possible=True)

    assert view.ratio is None
    assert "\N{EM DASH} needs a reply off" in "".join(line.text for line in comparison_forms(view)[0])


def test_a_reply_that_was_drafted_in_spite_of_the_switch_is_no_measure_of_off() -> None:
    disobeyed = switched(Proposed(*SHORT * 3).reply(), 0, Way.HOOK)

    assert comparison_of([Turn("?", disobeyed, server_info())], possible=True).off_replies == 0


def test_one_side_alone_gives_no_ratio() -> None:
    assert ComparisonView(on=100.0, possible=True).ratio is None
    assert "—" in comparison_forms(ComparisonView(on=100.0, possible=True))[1][0].text


def test_the_facts_of_a_reply_name_their_evidence() -> None:
    reply = finished(reply_in_chunks(1, 4, 2, speculating=True))

    assert facts_of(reply, figures_of(reply)) == "● on · 7 tokens · 2 steps · AL 3.00 inferred · 30.0 t/s"


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


def test_now_covers_the_window_of_the_rate_where_twelve_steps_would_be_a_moment() -> None:
    fast = reply_in_chunks(1, *[4] * 100, *[1] * 100, seconds=0.01)

    assert view_of(fast).acceptance.now == pytest.approx(2.5, abs=0.1)  # all 200 steps lie within two seconds
    assert view_of(reply_in_chunks(1, *[4] * 20, *[1] * 20, seconds=1.0)).acceptance.now == 1.0


def test_the_trend_spans_the_whole_reply_and_its_bars_stay() -> None:
    sizes = [4] * 60 + [1] * 60
    short = view_of(reply_in_chunks(1, *sizes[:112])).acceptance.trend
    longer = view_of(reply_in_chunks(1, *sizes[:116])).acceptance.trend

    assert len(short) == TREND_BARS
    assert short == (4.0,) * 15 + (1.0,) * 13
    assert longer == (4.0,) * 7 + (2.5,) + (1.0,) * 6  # twice as many steps to a bar


def test_the_reply_tells_its_steps_with_the_evidence_and_how_many_live_guesses_were_right() -> None:
    reply = reply_in_chunks(1, 4, 2)
    running = view_of(reply).reply
    reply.add(SpeculationReported(2, 4, 6, 3, (3, 1), (3, 3), None, None))
    view = view_of(finished(reply)).reply

    assert (running.steps, running.evidence, running.live_right) == (2, "inferred", None)
    assert (view.steps, view.evidence, view.live_right) == (2, "reported", 1.0)


def test_the_yields_are_those_of_the_steps() -> None:
    assert view_of(reply_in_chunks(1, 4, 2, 4)).yields.steps == (0, 1, 0, 2)
    assert view_of(reply_in_chunks(1, 4, 7)).yields.steps is None  # merged chunks are no steps


def test_the_load_stands_before_the_first_reply_too() -> None:
    server = ServerView(ServerLoad(1, 2, 0.5, 9.0), tells=True)

    assert panels_of((), None, (), draft_length=3, comparable=False, server=server).server is server
