"""Joins what happens within one frame of the screen, so that a fast stream costs no more than a slow one."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

FRAME_SECONDS = 1 / 20
"""Reads as fluent; a frame that scrolls draws the whole transcript, which is what a stream costs most."""


async def in_frames(changes: AsyncGenerator[int, None], seconds: float = FRAME_SECONDS) -> AsyncGenerator[int, None]:
    """Yield the smallest of the indexes that came since the last frame; the first at once, then at most one a frame.

    Nothing is lost at the end: what came is yielded before the iterator ends or a failure of `changes` is raised.

    Args:
        changes: Indexes of first changes; closed when this iterator is.
        seconds: The shortest time between two frames.
    """
    first: int | None = None
    news = asyncio.Event()

    async def collect() -> None:
        nonlocal first
        try:
            async with aclosing(changes):
                async for index in changes:
                    first = index if first is None else min(first, index)
                    news.set()
        finally:
            news.set()

    collector = asyncio.create_task(collect())
    try:
        while True:
            await news.wait()
            news.clear()
            if first is not None:
                index, first = first, None
                yield index
                if not collector.done():
                    await asyncio.sleep(seconds)
            if collector.done() and first is None:
                break
        await collector
    finally:
        collector.cancel()
        with suppress(asyncio.CancelledError):
            await collector
