"""The hook's trace on real engines, against the reply, the server's report, its counters and an independent record."""

import json
import random
from collections import Counter

import pytest

from real_prompts import CASES
from traced_asking import Answer, Server, Wish, ask_all, mismatches, totals
from watched_engine import Watched

pytestmark = pytest.mark.engine


def wishes(count: int, seed: int) -> list[Wish]:
    """Requests of all lengths and endings."""
    draw = random.Random(seed)
    found = []
    for index in range(count):
        prompt = CASES[index % len(CASES)].prompt + (f" ({index})" if index >= len(CASES) else "")
        length = draw.choice((1, 2, 5, 17, 40, 80))
        match draw.randrange(6):
            case 0:
                found.append(Wish(prompt, 120, body={"stop": [draw.choice((".", "\n", " the", "!"))]}))
            case 1:
                found.append(Wish(prompt, 150, cancel_after=draw.choice((1, 4, 15, 40))))
            case 2:
                found.append(Wish(prompt, length, body={"ignore_eos": True}))
            case 3:
                found.append(Wish(prompt, 200))
            case _:
                found.append(Wish(prompt, length))
    return found


async def checked(hooked: Watched, server: Server, count: int, at_once: int, seed: int) -> dict[str, object]:
    """Ask, compare everything, and sum up for the table."""
    before, late = await server.counters(), (await server.status())["late_steps"]
    answers = await ask_all(server, wishes(count, seed), at_once)
    after, late = await server.counters(), (await server.status())["late_steps"] - late
    drafts = hooked.witness.drafts()
    found = [text for answer in answers for text in mismatches(answer, drafts)]
    moved = after.since(before)
    assert moved is not None
    traced = totals(answers)
    counted = (moved.drafts or 0, moved.drafted or 0, moved.accepted or 0)
    # What the engine did for a request before it heard that its reader had gone is counted there and thrown away here.
    rows = sum(len(answer.rows) for answer in answers)
    if late == 0 and counted != traced:
        found.append(f"the counters moved by {counted}, traced are {traced}")
    if not 0 <= counted[0] - traced[0] <= late:
        found.append(f"{late} late steps do not explain {counted} against {traced}")
    assert found == []
    return summary(answers) | {"rows": rows, "counted": counted, "traced": traced, "late": late}


def summary(answers: list[Answer]) -> dict[str, object]:
    rows = [row for answer in answers for row in answer.rows]
    return {
        "replies": len(answers),
        "ends": dict(Counter(answer.end["end"] for answer in answers if answer.end)),
        "rejected": sum(len(row["proposed"][row["accepted"] :]) for row in rows),
        "reported": sum(answer.report is not None for answer in answers),
        "padded": sum(bool(row.get("padded")) for row in rows),
    }


@pytest.mark.parametrize("at_once", [1, 8])
async def test_a_trace_is_what_the_engine_did(hooked: Watched, server: Server, at_once: int) -> None:
    print(json.dumps(await checked(hooked, server, 6 if at_once == 1 else 16, at_once, seed=at_once)))


@pytest.mark.long
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("at_once", [1, 8])
async def test_two_hundred_traces_are_what_the_engine_did(hooked: Watched, server: Server, at_once: int) -> None:
    mode = "async" if (await server.status())["async_scheduling"] else "sync"
    print("TRACE", hooked.version, mode, at_once, json.dumps(await checked(hooked, server, 200, at_once, seed=1000)))


async def test_texts_of_rejected_proposals_are_told_once(server: Server) -> None:
    answer = await server.ask(Wish("Explain what a compiler does.", 60))
    rejected = {token for row in answer.rows for token in row["proposed"][row["accepted"] :]}
    assert set(answer.texts) == rejected
    assert any(text.startswith(" ") for text in answer.texts.values())


async def test_only_the_request_that_asks_is_traced(server: Server) -> None:
    answers = await ask_all(server, [Wish("Count to twenty.", 40, traced=index == 0) for index in range(4)], 4)
    assert [bool(answer.rows) for answer in answers] == [True, False, False, False]
