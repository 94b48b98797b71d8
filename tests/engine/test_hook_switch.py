"""Speculation switched for one request, on real engines: nobody else is touched, and what it costs is counted."""

import json
import random

import pytest

from real_prompts import CASES
from traced_asking import Answer, Server, Wish, ask_all, mismatches, totals
from watched_engine import Watched

pytestmark = pytest.mark.engine


def most_drafted(answer: Answer) -> int:
    return max((row["drafted"] for row in answer.rows), default=0)


async def mixed(server: Server, count: int, seed: int) -> list[Answer]:
    draw = random.Random(seed)
    asked = [
        Wish(CASES[index % len(CASES)].prompt, draw.choice((12, 25, 50)), limit=(None, 0, 1)[index % 3])
        for index in range(count)
    ]
    before = await server.counters()
    answers = await ask_all(server, asked, 8)
    moved = (await server.counters()).since(before)
    assert moved is not None
    assert (moved.drafts, moved.drafted, moved.accepted) == totals(answers)
    assert [text for answer in answers for text in mismatches(answer, None)] == []
    return answers


def check_limits(answers: list[Answer]) -> None:
    for answer in answers:
        limit = answer.wish.limit
        allowed = 3 if limit is None else limit
        assert most_drafted(answer) <= allowed, (limit, answer.rows)
        if limit != 0 and len(answer.ids) > 10:
            # All but those at the end, where fewer tokens are left, propose as many as they may.
            assert sum(row["drafted"] == allowed for row in answer.rows[1:-1]) >= len(answer.rows) - 4


async def test_on_off_and_one_mix_in_a_batch(server: Server) -> None:
    check_limits(await mixed(server, 18, seed=1))


@pytest.mark.long
@pytest.mark.timeout(1800)
async def test_on_off_and_one_mix_in_a_batch_of_a_hundred_requests(hooked: Watched, server: Server) -> None:
    answers = await mixed(server, 100, seed=2)
    check_limits(answers)
    mode = "async" if (await server.status())["async_scheduling"] else "sync"
    for limit in (None, 0, 1):
        of = [answer for answer in answers if answer.wish.limit == limit]
        print("SWITCH", hooked.version, mode, limit, json.dumps([len(of), *totals(of)]))


async def test_off_leaves_one_forward_of_the_draft_and_on_takes_three(hooked: Watched, server: Server) -> None:
    mode = "async" if (await server.status())["async_scheduling"] else "sync"
    for limit, each in ((0, 1), (1, 1), (2, 2), (None, 3)):
        await server.ask(Wish("Say hello.", 3, limit=limit))  # so that the record has a last line
        target, draft = hooked.witness.forwards()
        answer = await server.ask(Wish("Explain what a compiler does.", 40, limit=limit))
        target_now, draft_now = hooked.witness.forwards()
        more_target, more_draft = target_now - target, draft_now - draft
        print("FORWARDS", hooked.version, mode, limit, len(answer.ids), more_target, more_draft)
        assert more_draft == each * more_target
        assert len(answer.rows) <= more_target <= len(answer.rows) + 2  # async scheduling does up to two in vain
        assert {row["width"] for row in answer.rows} == {3 if limit is None else limit}
    assert (await server.status())["off"]["draft_forwards"] == 1


async def test_the_greedy_text_does_not_depend_on_who_else_switches(server: Server) -> None:
    alone = await server.ask(Wish("List ten fruits, one on each line.", 50, limit=0))
    again = await server.ask(Wish("List ten fruits, one on each line.", 50, limit=0))
    assert alone.ids == again.ids
    assert most_drafted(alone) == 0


@pytest.mark.parametrize("xargs", [{"specchat_k": -1}, {"specchat_k": "none"}, {"specchat_trace": "short"}])
async def test_a_malformed_wish_is_served_as_if_it_were_not_there(server: Server, xargs: dict[str, object]) -> None:
    answer = await server.ask(Wish("Say hello.", 20, traced=False, body={"vllm_xargs": xargs}))
    assert answer.finish_reason is not None
