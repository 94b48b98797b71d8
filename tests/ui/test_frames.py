"""Frames: the first change at once, the smallest index of a frame, and nothing lost at the end."""

import asyncio
import gc
import weakref
from collections.abc import AsyncGenerator
from contextlib import aclosing

import pytest

from specchat.ui.frames import SPARED_TOKENS, collect_what_was_spared, in_frames


async def changes(*groups: tuple[int, ...], pause: float = 0.03, error: Exception | None = None) -> AsyncGenerator[int]:
    for group in groups:
        for index in group:
            yield index
        await asyncio.sleep(pause)
    if error is not None:
        raise error


async def test_a_frame_has_the_smallest_index_that_came() -> None:
    assert [index async for index in in_frames(changes((5, 3, 4), (9, 8), (7,)), 0.01)] == [3, 8, 7]


async def test_a_fast_stream_comes_in_few_frames() -> None:
    frames = [index async for index in in_frames(changes(*((n,) for n in range(100)), pause=0.001), 0.03)]

    assert frames[0] == 0
    assert len(frames) < 20


async def test_a_late_failure_loses_nothing() -> None:
    seen = []

    async def read() -> None:
        async for index in in_frames(changes((1,), (2,), error=RuntimeError("late")), 0.01):
            seen.append(index)  # noqa: PERF401 - what came before the failure is what counts

    with pytest.raises(RuntimeError, match="late"):
        await read()

    assert seen == [1, 2]


async def test_a_stream_without_changes_ends() -> None:
    assert [index async for index in in_frames(changes(), 0.01)] == []


async def test_closing_the_frames_closes_the_source() -> None:
    closed = asyncio.Event()

    async def endless() -> AsyncGenerator[int]:
        try:
            while True:
                yield 1
                await asyncio.sleep(0.001)
        finally:
            closed.set()

    async with aclosing(in_frames(endless(), 0.005)) as frames:
        async for _ in frames:
            break

    assert closed.is_set()


@pytest.mark.parametrize(("tokens", "spared"), [(SPARED_TOKENS - 1, False), (SPARED_TOKENS, True)])
async def test_only_a_long_reply_is_kept_from_the_collector(tokens: int, spared: bool) -> None:
    frozen = gc.get_freeze_count()
    try:
        async for _ in in_frames(changes((1,), (tokens,), pause=0.001), 0.001):
            pass

        assert (gc.get_freeze_count() > frozen) is spared
    finally:
        gc.unfreeze()


def test_what_was_spared_is_garbage_once_it_is_looked_through() -> None:
    class Circle:
        def __init__(self) -> None:
            self.itself = self

    circle = Circle()
    gone = weakref.ref(circle)
    gc.freeze()
    try:
        del circle
        gc.collect()
        assert gone() is not None

        collect_what_was_spared()

        assert gone() is None
        assert gc.get_freeze_count()
    finally:
        gc.unfreeze()


async def test_frames_wait_for_a_screen_that_is_behind_and_lose_nothing() -> None:
    source = changes(*((n,) for n in range(50)), pause=0.001)
    frames = [index async for index in in_frames(source, 0.001, is_behind=lambda: True)]

    # All that came while the screen was behind is one frame, and the end does not wait for the screen.
    assert len(frames) == 2
    assert frames[0] == 0
