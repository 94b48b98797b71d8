"""Joins what happens within one frame of the screen, so that a fast stream costs no more than a slow one."""

import asyncio
import gc
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress

FRAME_SECONDS = 1 / 15
"""Reads as fluent; a frame that scrolls draws the whole transcript again, which is what a stream costs most."""

SPARED_TOKENS = 5000
"""Each so many tokens, the collector of garbage is told that those that came will stay."""


_BEHIND_SECONDS = 0.02
"""How often to look whether the terminal has taken the last frame."""


async def in_frames(
    changes: AsyncGenerator[int, None],
    seconds: float = FRAME_SECONDS,
    *,
    is_behind: Callable[[], bool] = lambda: False,
) -> AsyncGenerator[int, None]:
    """Yield the smallest of the indexes that came since the last frame; the first at once, then at most one a frame.

    Nothing is lost at the end: what came is yielded before the iterator ends or a failure of `changes` is raised.

    Args:
        changes: Indexes of first changes; closed when this iterator is.
        seconds: The shortest time between two frames.
        is_behind: Has the screen not taken the last frame yet? On a slow link frames wait for that and hold more.
    """
    first: int | None = None
    longest = spared = 0
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
                longest = max(longest, index)
                if longest - spared >= SPARED_TOKENS:
                    spared = longest
                    _spare_the_collector()
                if not collector.done():
                    await asyncio.sleep(seconds)
                while is_behind() and not collector.done():  # noqa: ASYNC110 - a terminal tells nobody that it read
                    await asyncio.sleep(_BEHIND_SECONDS)
            if collector.done() and first is None:
                break
        await collector
    finally:
        collector.cancel()
        with suppress(asyncio.CancelledError):
            await collector
        if spared:
            _spare_the_collector()


def _spare_the_collector() -> None:
    """Keep what there is out of later collections.

    A long reply is hundreds of thousands of objects, none of which is garbage before the conversation ends: to look
    through them again and again would stop the screen for a tenth of a second each time.
    """
    gc.collect(1)
    gc.freeze()


def collect_what_was_spared() -> None:
    """Look through what was kept out of collections, now that a conversation has ended: takes about 0.1 s."""
    if gc.get_freeze_count():
        gc.unfreeze()
        gc.collect()
        gc.freeze()
