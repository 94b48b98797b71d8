"""One reader of one trace: what goes over the wire, line by line. Knows the protocol, and nothing of vLLM or HTTP."""

import asyncio
import contextlib
import json
from collections.abc import AsyncGenerator, Callable

from specchat_vllm.hub import Hub, Trace
from specchat_vllm.rows import Row

_LEAST_PAUSE_SECONDS = 0.1
_PAUSE_A_READER_SECONDS = 0.004
_LONGEST_PAUSE_SECONDS = 0.3
"""Rows of so long go into one line, unless the reply ends before: a line for each step took 3 % of a slow server's
speed, and many readers shall cost a busy one little more than few."""
_PULSE_SECONDS = 5.0
_PATIENCE_SECONDS = 600.0
"""How long a request may wait in the server's queue before its first row."""
_ROWS_A_LINE = 256


async def lines(
    hub: Hub, trace: Trace, start: int, text_of: Callable[[int], str], is_dead: Callable[[], bool]
) -> AsyncGenerator[str]:
    """The trace as server-sent events, until it ends or the reader goes.

    Args:
        hub: Where the trace is kept.
        trace: Taken with `Hub.reader_of`; it is left again at the end.
        start: Number of the first row that is wanted.
        text_of: The text of an id.
        is_dead: Has the engine died?
    """
    told: set[int] = set()
    at, waited, done = start, 0.0, False
    dropped = 0
    try:
        yield ": waiting\n\n"
        while True:
            trace.changed.clear()
            rows = trace.rows_from(at)
            dropped += max(0, trace.first - at)
            at = max(at, trace.first)
            for first in range(0, len(rows), _ROWS_A_LINE):
                part = rows[first : first + _ROWS_A_LINE]
                at += len(part)
                yield _line(part, trace.started, told, text_of)
            if trace.end is not None and at >= trace.next:
                break
            if rows:
                await _pause(trace, hub.readers)
                continue
            try:
                async with asyncio.timeout(_PULSE_SECONDS):
                    await trace.changed.wait()
            except TimeoutError:
                waited += _PULSE_SECONDS
                if is_dead():
                    trace.end = trace.end or "error"
                    break
                if trace.request_id is None and waited >= _PATIENCE_SECONDS:
                    yield _data({"end": "lost", "steps": 0, "dropped": 0})
                    return
                yield ": waiting\n\n"
        yield _data({"end": trace.end, "steps": trace.next, "dropped": dropped})
        yield "data: [DONE]\n\n"
        done = True
    finally:
        hub.leave(trace, done=done)


async def _pause(trace: Trace, readers: int) -> None:
    """Let rows come together; the end of the reply keeps nobody waiting."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_pause_seconds(readers)):
            await trace.ended.wait()


def _pause_seconds(readers: int) -> float:
    return min(_LONGEST_PAUSE_SECONDS, _LEAST_PAUSE_SECONDS + _PAUSE_A_READER_SECONDS * readers)


def _line(rows: list[Row], started: float, told: set[int], text_of: Callable[[int], str]) -> str:
    """Some rows, with the texts of proposals that were not kept and were not told to this reader before."""
    texts = {}
    for row in rows:
        for token_id in row.rejected:
            if token_id not in told:
                told.add(token_id)
                texts[token_id] = text_of(token_id)
    return _data({"steps": [row.as_step(started) for row in rows], "texts": texts})


def _data(value: object) -> str:
    return f"data: {json.dumps(value)}\n\n"
