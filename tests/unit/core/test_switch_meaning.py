"""What switching speculation really was, by the trace."""

from dataclasses import replace

import pytest

from fakes import server_info
from replies import chunk
from specchat.core.counters import CounterCheck, Verdict
from specchat.core.reply import Outcome, Reply
from specchat.core.server import Hook, ServerInfo
from specchat.core.switch_meaning import SwitchMeaning, meaning_of
from specchat.core.switching import Speculation, Way
from specchat.core.trace import TracedStep
from traces import PREFILL, traced

HOOK = Hook(trace=True, switch=True, draft_length=3, off_draft_forwards=1)
HOOKED = server_info(hook=HOOK)


def plain(number: int, width: int | None, **more: object) -> TracedStep:
    given = {"drafted": 0, "proposed": (), "accepted": 0, "emitted": (number,), "graph": "FULL"} | more
    return TracedStep(number, number / 10, width=width, **given)  # type: ignore[arg-type]


def meaning(
    *rows: TracedStep, limit: int | None = 0, way: Way = Way.HOOK, server: ServerInfo = HOOKED
) -> SwitchMeaning:
    reply = Reply(0.0, draft_length=limit, speculation=Speculation(limit, way))
    if rows:
        reply.add(traced(PREFILL, *rows))
    ids = [token for row in rows for token in row.emitted]
    for token in (1000, *ids):
        reply.add(chunk(float(token), "x", token))
    reply.end(Outcome.FINISHED)
    found = meaning_of(reply, server)
    assert found is not None
    return found


def test_off_by_the_hook_says_what_the_draft_still_did() -> None:
    alone = meaning(plain(1, 0), plain(2, 0), plain(3, 3))
    assert alone.sentence == (
        "off by the hook: nothing was proposed; in 2 of 3 steps one draft forward remained, which keeps the draft's "
        "cache filled, so this is slower than a server without a draft; after 1 of 3 steps the draft computed more "
        "all the same, for other requests of the batch"
    )
    assert (alone.obeyed, alone.is_true_baseline) == (True, False)
    assert (alone.steps, alone.drafting_skipped, alone.drafted_for_others) == (3, 2, 1)
    assert alone.graphs == {"FULL": 3}


@pytest.mark.parametrize(
    ("forwards", "words"),
    [(0, "no draft forward ran"), (3, "3 draft forwards remained"), (None, "is not known")],
)
def test_what_remains_of_the_draft_is_the_hook_s_to_say(forwards: int | None, words: str) -> None:
    server = server_info(hook=replace(HOOK, off_draft_forwards=forwards))
    assert words in meaning(plain(1, 0), plain(2, 0), server=server).sentence


def test_a_draft_that_always_computes_everything_does_so_for_nobody() -> None:
    server = server_info(hook=replace(HOOK, off_draft_forwards=3))
    found = meaning(plain(1, 3), plain(2, 3), server=server)
    assert (
        "after all 2 steps the draft computed its proposals all the same, and they were thrown away" in found.sentence
    )
    assert "other requests" not in found.sentence


def test_a_target_without_its_full_graph_is_told_since_that_costs_more_than_the_draft() -> None:
    pieces = meaning(plain(1, 0, graph="PIECEWISE"), plain(2, 0, graph="PIECEWISE"))
    assert pieces.sentence.endswith(
        "the target ran without its full graph (PIECEWISE), which a server without a draft has, so that server may be"
        " several times as fast"
    )
    for graphs in (("FULL", "PIECEWISE"), ("NONE", "NONE")):
        rows = [plain(number, 0, graph=graph) for number, graph in enumerate(graphs, 1)]
        assert "graph" not in meaning(*rows).sentence


def test_widths_that_nobody_tells_are_unknown_and_not_zero() -> None:
    untold = meaning(plain(1, None), plain(2, None))
    assert (untold.drafting_skipped, untold.drafted_for_others) == (None, None)
    assert untold.sentence == "off by the hook: nothing was proposed"


def test_a_server_that_did_not_obey_is_told_on() -> None:
    row = plain(1, 3, drafted=3, proposed=(1, 8, 9), accepted=1, emitted=(1, 2))
    found = meaning(row)
    assert found.obeyed is False
    assert "did not obey" in found.sentence


def test_a_limit_says_that_no_step_had_more() -> None:
    row = plain(1, 1, drafted=1, proposed=(1,), accepted=1, emitted=(1, 2))
    assert meaning(row, limit=1).sentence == "at most 1 proposal a step, by the hook: no step had more"


def test_a_server_without_a_draft_alone_is_a_true_baseline() -> None:
    found = meaning(plain(1, 0), way=Way.SERVER)
    assert found.is_true_baseline
    assert "without a draft" in found.sentence


def test_without_a_trace_the_counters_may_tell() -> None:
    assert "nothing shows" in meaning().sentence
    reply = Reply(0.0, draft_length=0, speculation=Speculation(0, Way.HOOK))
    reply.end(Outcome.FINISHED)
    for drafted, obeyed in ((0, True), (6, False)):
        reply.check = CounterCheck(Verdict.DIFFERS, drafted // 3, drafted, 1)
        found = meaning_of(reply, HOOKED)
        assert found is not None
        assert found.obeyed is obeyed


def test_what_was_not_switched_has_no_meaning() -> None:
    reply = Reply(0.0)
    reply.end(Outcome.FINISHED)
    assert meaning_of(reply, HOOKED) is None
