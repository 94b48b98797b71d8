"""Compares a reply's steps with the movement of its server's counters, once they have taken it in."""

import asyncio

from specchat.core.counters import CounterCheck, CounterReading, check_steps
from specchat.core.reply import Reply
from specchat.session.ports import ChatBackend, Clock

_PATIENCE_SECONDS = 1.5
"""How long to wait for a server's counters to take in the request that just ended."""


async def checked_by_counters(
    backend: ChatBackend, before: CounterReading | None, reply: Reply, clock: Clock
) -> CounterCheck:
    """The verdict on the steps that the trace has, or that the chunks showed.

    Args:
        backend: Who was asked.
        before: The reading before the request was sent; None where there is none.
        reply: Ended.
        clock: Monotonic seconds.
    """
    after = await _settled(backend, before, reply, clock)
    return check_steps(
        before,
        after,
        reply.sources.for_check,
        output_tokens=reply.output_tokens or 0,
        ended_by_engine=reply.ended_by_engine,
        merges_proven=0 if reply.is_traced else reply.live.merges_proven,
        traced=reply.is_traced,
    )


async def _settled(
    backend: ChatBackend, before: CounterReading | None, reply: Reply, clock: Clock
) -> CounterReading | None:
    """The counters, once they have taken in this reply's tokens or time is up."""
    if before is None:
        return None
    deadline = clock() + _PATIENCE_SECONDS
    while True:
        after = await backend.read_counters()
        moved = None if after is None else after.since(before)
        if moved is None or before.busy or (moved.finished or 0) > 1 or clock() >= deadline:
            return after  # nothing to read, or others were served too: waiting would prove nothing
        counted = moved.generated is None or moved.generated >= (reply.output_tokens or 0)
        if counted and (moved.finished is None or moved.finished >= 1) and not (after and after.running):
            return after
        await asyncio.sleep(0.05)
