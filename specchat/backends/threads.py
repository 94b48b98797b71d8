"""Blocking calls whose end nobody waits for when the program ends, unlike those in asyncio's own threads."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TypeVar

_Made = TypeVar("_Made")


async def in_thread(work: Callable[[], _Made]) -> _Made:
    """What a blocking call returns or raises. If the program ends meanwhile, the call ends with it.

    Args:
        work: Only looks, or can bear to be cut off.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[_Made] = loop.create_future()

    def settle(settled: Callable[[], None]) -> None:
        if not future.done():  # whoever waited may have been cancelled
            settled()

    def run() -> None:
        done: Callable[[], None]
        try:
            done = partial(future.set_result, work())
        except BaseException as error:  # noqa: BLE001 - whatever it is belongs to who waits
            done = partial(future.set_exception, error)
        with suppress(RuntimeError):  # the loop may have ended
            loop.call_soon_threadsafe(settle, done)

    threading.Thread(target=run, name="look", daemon=True).start()
    return await future
