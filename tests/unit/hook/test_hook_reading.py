"""What a reader gets of a trace, whenever it comes and however it reads."""

import asyncio
import json
from collections.abc import AsyncGenerator
from typing import Any

import pytest

from specchat_vllm import hub as hub_part
from specchat_vllm import reading
from specchat_vllm.hub import Hub, Trace
from specchat_vllm.rows import Row

KEY = "key"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LEAST_PAUSE_SECONDS", 0.0)
    monkeypatch.setattr(reading, "_PAUSE_A_READER_SECONDS", 0.0)
    monkeypatch.setattr(reading, "_PULSE_SECONDS", 0.01)
    monkeypatch.setattr(reading, "_PATIENCE_SECONDS", 0.03)


def row(number: int, proposed: list[int] | None = None, accepted: int = 0) -> Row:
    proposed = proposed or []
    return Row(
        "a", "" if number else KEY, number, len(proposed), accepted, proposed, 0, [number], 10.0 + number, 3, None
    )


def opened(hub: Hub, start: int = 0, *, dead: bool = False) -> tuple[Trace, AsyncGenerator[str]]:
    trace = hub.reader_of(KEY)
    assert trace is not None
    return trace, reading.lines(hub, trace, start, lambda token: f"<{token}>", lambda: dead)


async def read(stream: AsyncGenerator[str]) -> list[Any]:
    """All events; comments are left out, and `[DONE]` is a text."""
    async with asyncio.timeout(5):
        lines = [line async for line in stream]
    assert all(line.endswith("\n\n") for line in lines)
    data = [line[6:-2] for line in lines if line.startswith("data: ")]
    return [one if one == "[DONE]" else json.loads(one) for one in data]


def steps(events: list[Any]) -> list[int]:
    return [step["n"] for event in events if "texts" in event for step in event["steps"]]


async def test_a_reader_that_comes_after_the_end_gets_everything_and_nothing_stays(hub: Hub) -> None:
    hub.add(row(0))
    hub.add(row(1, [5, 6, 7], 1))
    hub.end("a", "length")
    events = await read(opened(hub)[1])
    assert steps(events) == [0, 1]
    assert [step["t"] for step in events[0]["steps"]] == [0.0, 1.0]
    assert events[-2:] == [{"end": "length", "steps": 2, "dropped": 0}, "[DONE]"]
    assert len(hub) == hub.rows == 0


async def test_a_reader_that_comes_first_gets_rows_as_they_come(hub: Hub) -> None:
    stream = opened(hub)[1]
    assert await anext(stream) == ": waiting\n\n"
    for number in range(3):
        hub.add(row(number))
        line = await anext(stream)
        assert steps([json.loads(line[6:])]) == [number]
    hub.end("a", "stop")
    assert await read(stream) == [{"end": "stop", "steps": 3, "dropped": 0}, "[DONE]"]


async def test_texts_of_what_was_not_kept_are_told_once(hub: Hub) -> None:
    hub.add(row(0))
    hub.add(row(1, [5, 6, 7], 1))
    hub.add(row(2, [7, 8, 5], 3))
    hub.add(row(3, [6, 9, 9], 0))
    hub.end("a", "length")
    (event, *_) = await read(opened(hub)[1])
    assert event["texts"] == {"6": "<6>", "7": "<7>", "9": "<9>"}


async def test_many_rows_go_into_several_lines(hub: Hub) -> None:
    for number in range(600):
        hub.add(row(number))
    hub.end("a", "length")
    events = await read(opened(hub)[1])
    assert steps(events) == list(range(600))
    assert [len(event["steps"]) for event in events[:3]] == [256, 256, 88]


async def test_a_reader_that_was_cut_off_goes_on_where_it_was(hub: Hub) -> None:
    stream = opened(hub)[1]
    await anext(stream)
    hub.add(row(0))
    hub.add(row(1))
    await anext(stream)
    await stream.aclose()
    hub.add(row(2))
    hub.end("a", "length")
    assert steps(await read(opened(hub, start=2)[1])) == [2]


async def test_a_reader_may_ask_for_rows_beyond_the_end(hub: Hub) -> None:
    hub.add(row(0))
    hub.end("a", "length")
    assert await read(opened(hub, start=99)[1]) == [{"end": "length", "steps": 1, "dropped": 0}, "[DONE]"]


async def test_a_reader_that_is_too_slow_is_told_what_it_missed(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_part, "ROWS_A_TRACE", 4)
    stream = opened(hub)[1]
    await anext(stream)
    hub.add(row(0))
    await anext(stream)
    for number in range(1, 10):
        hub.add(row(number))
    hub.end("a", "length")
    events = await read(stream)
    assert steps(events) == [6, 7, 8, 9]
    assert events[-2] == {"end": "length", "steps": 10, "dropped": 5}


async def test_a_trace_that_is_given_up_ends_for_its_reader(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_part, "TRACES", 1)
    stream = opened(hub)[1]
    await anext(stream)
    for number in range(3):
        hub.add(row(number))
    hub.add(row(0)._replace(request_id="b", key="another"))
    assert await read(stream) == [{"end": "lost", "steps": 3, "dropped": 3}, "[DONE]"]
    assert hub.has_request("b")


async def test_a_dead_engine_ends_a_trace(hub: Hub) -> None:
    hub.add(row(0))
    events = await read(opened(hub, dead=True)[1])
    assert steps(events) == [0]
    assert events[-2] == {"end": "error", "steps": 1, "dropped": 0}
    assert not hub.is_tracing


async def test_a_request_that_never_comes_is_not_waited_for_for_ever(hub: Hub) -> None:
    lines = [line async for line in opened(hub)[1]]
    assert lines == [": waiting\n\n"] * 3 + ['data: {"end": "lost", "steps": 0, "dropped": 0}\n\n']
    assert len(hub) == 0


async def test_a_request_that_runs_is_waited_for_longer_than_one_that_never_came(hub: Hub) -> None:
    stream = opened(hub)[1]
    hub.add(row(0))
    lines = [await anext(stream) for _ in range(8)]
    assert lines.count(": waiting\n\n") == 7
    hub.end("a", "length")
    assert (await read(stream))[-1] == "[DONE]"


def test_many_readers_are_served_less_often_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    pause = reading._pause_seconds
    assert pause(1) < pause(20) <= pause(10_000) == reading._LONGEST_PAUSE_SECONDS


async def test_the_end_of_a_reply_keeps_no_reader_waiting(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LEAST_PAUSE_SECONDS", 60.0)
    monkeypatch.setattr(reading, "_LONGEST_PAUSE_SECONDS", 60.0)
    hub.add(row(0))
    stream = opened(hub)[1]
    assert (await anext(stream)).startswith(":")
    assert steps([json.loads((await anext(stream))[6:])]) == [0]
    rest = asyncio.create_task(read(stream))
    await asyncio.sleep(0)
    hub.add(row(1, [5, 6], 2))
    hub.end("a", "stop")
    events = await rest
    assert steps(events) == [1]
    assert events[-2]["end"] == "stop"
