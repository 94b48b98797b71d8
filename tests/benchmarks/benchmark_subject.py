"""The measured program: one app on the terminal that it was started in, and one workload. Reports through a pipe."""

import argparse
import asyncio
import json
import os
import time
from collections.abc import Callable, Sequence
from functools import partial

from benchmarks.benchmark_apps import BareShown, MarkdownShown, Shown, SpecchatShown, StaticShown
from benchmarks.benchmark_meter import Meter, Reading, resident_mb, settle_memory
from benchmarks.benchmark_terminal import COLUMNS, REPORT_VARIABLE, set_size
from benchmarks.benchmark_text import TOKENS_A_STEP, Vocabulary
from specchat.ui.proposals import Proposals

_SCREEN = 1
"""File descriptor of the terminal; Textual keeps `sys.stdout` for itself."""
_CALM_SECONDS = 1.0
"""Left between filling and measuring."""
_PAUSE_SECONDS = 0.3
"""Left after a scroll or a resize, so that all it sets off is measured."""


class Subject:
    """One app under one workload."""

    def __init__(self, options: argparse.Namespace) -> None:
        self._options = options
        self._meter = Meter()
        self._calm = min(_CALM_SECONDS, options.seconds)

    async def run(self) -> None:
        """Run the application and measure beside it."""
        await self._meter.calibrate()
        shown = _MAKERS[self._options.app](Vocabulary())
        settle_memory()
        work = asyncio.create_task(self._measure(shown))
        await shown.application.run_async()
        if not work.done():
            work.cancel()  # the application broke
        await work

    async def _measure(self, shown: Shown) -> None:
        application = shown.application
        try:
            while not application.is_running:  # noqa: ASYNC110 - nothing tells
                await asyncio.sleep(0.05)
            await asyncio.sleep(self._calm)
            with application._context():  # Textual's widgets look for the application in the context
                if self._options.work == "stream":
                    await self._stream(shown)
                elif self._options.work == "long":
                    assert isinstance(shown, SpecchatShown)
                    await self._long(shown)
                else:
                    await self._idle(shown)
        finally:
            application.exit()

    async def _stream(self, shown: Shown) -> None:
        """Steps at a steady rate, on top of what is shown."""
        await shown.fill(self._options.shown)
        await asyncio.sleep(self._calm)
        report(mark=0)
        count = 0
        async with self._meter.measure() as reading:
            started = time.perf_counter()
            while time.perf_counter() - started < self._options.seconds:
                await shown.grow()
                count += TOKENS_A_STEP
                await asyncio.sleep(max(0.0, started + count / self._options.rate - time.perf_counter()))
        report(**_figures(reading), tokens=count, rate=count / reading.seconds, rss=resident_mb())

    async def _long(self, shown: SpecchatShown) -> None:
        """Scrolling, other widths, and the report that is laid over the whole reply at its end."""
        await shown.fill(self._options.shown)
        await asyncio.sleep(self._calm)
        transcript = shown.transcript
        page, own_page = await self._longest([lambda: transcript.action_page(-1)] * 10)
        jump, own_jump = await self._longest([transcript.action_home, transcript.action_end] * 2)
        widths = [lambda: set_size(_SCREEN, 100), lambda: set_size(_SCREEN, COLUMNS)]
        at_end, own_at_end = await self._longest(widths * 2)
        transcript.scroll_to(y=transcript.scroll_offset.y // 2, animate=False, immediate=True)
        resize, own_resize = await self._longest(widths * 2)
        ways = [partial(transcript.set_view, None, proposals=way) for way in (*Proposals, *reversed(Proposals))]
        cycle, own_cycle = await self._longest(ways)
        async with self._meter.measure() as reading:
            await shown.end()
            await asyncio.sleep(self._calm)
        report(
            page=page, own_page=own_page, jump=jump, own_jump=own_jump,
            resize=max(at_end, resize), own_resize=max(own_at_end, own_resize),
            cycle=cycle, own_cycle=own_cycle, end=reading.lag(1.0), own_end=reading.busy(1.0), rss=resident_mb(),
        )  # fmt: skip

    async def _idle(self, shown: Shown) -> None:
        """Nothing happens, after a reply where the application has one."""
        await shown.fill(self._options.shown)
        if isinstance(shown, SpecchatShown):
            await shown.end()
        await asyncio.sleep(self._calm)
        async with self._meter.measure(lags=not isinstance(shown, SpecchatShown)) as reading:
            await asyncio.sleep(self._options.seconds)
        report(**_figures(reading), rss=resident_mb())

    async def _longest(self, actions: Sequence[Callable[[], object]]) -> tuple[float, float]:
        """While these are done one by one: the longest lag, and the longest time of its own, in milliseconds."""
        async with self._meter.measure() as reading:
            for action in actions:
                action()
                await asyncio.sleep(min(_PAUSE_SECONDS, self._options.seconds))
        return reading.lag(1.0), reading.busy(1.0)


_MAKERS: dict[str, Callable[[Vocabulary], Shown]] = {
    "specchat": SpecchatShown,
    "traced-hidden": lambda vocabulary: SpecchatShown(vocabulary, Proposals.HIDDEN),
    "traced-count": lambda vocabulary: SpecchatShown(vocabulary, Proposals.COUNT),
    "traced-shown": lambda vocabulary: SpecchatShown(vocabulary, Proposals.SHOWN),
    "markdown": MarkdownShown,
    "static": StaticShown,
    "bare": lambda _: BareShown(),
}


def _figures(reading: Reading) -> dict[str, float]:
    return {
        "seconds": reading.seconds,
        "cpu": reading.cpu_percent,
        "p50": reading.lag(0.5),
        "p99": reading.lag(0.99),
        "max": reading.lag(1.0),
        "own": reading.busy(0.99),
    }


def report(**figures: float) -> None:
    """Tell the terminal's owner."""
    os.write(int(os.environ[REPORT_VARIABLE]), json.dumps(figures).encode() + b"\n")


def main() -> None:
    """Measure what the command line says."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("app", choices=list(_MAKERS))
    parser.add_argument("work", choices=["stream", "long", "idle"])
    parser.add_argument("--shown", type=int, default=0)
    parser.add_argument("--rate", type=float, default=300.0)
    parser.add_argument("--seconds", type=float, default=6.0)
    asyncio.run(Subject(parser.parse_args()).run())


if __name__ == "__main__":
    main()
