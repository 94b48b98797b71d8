"""Runs the benchmarks and prints Markdown tables: specchat beside Textual's own ways, in one run on one machine."""

import argparse
import asyncio
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

from benchmarks.benchmark_terminal import Report, Terminal, environment
from scripted_server import ScriptedServer

_NAMES = {
    "specchat": "specchat",
    "traced-hidden": "traced, proposals hidden",
    "traced-count": "traced, proposals counted",
    "traced-shown": "traced, proposals shown",
    "markdown": "Textual `Markdown.get_stream`",
    "static": "a growing `Static`",
    "bare": "a bare Textual app",
}
_TRACED = ("traced-hidden", "traced-count", "traced-shown")
_LIMIT_SECONDS = 180.0


@dataclass(frozen=True)
class Scale:
    """How much is measured."""

    seconds: float = 6.0
    repeats: int = 3
    shown: int = 16_000
    long: tuple[int, ...] = (16_000, 100_000)
    idle_seconds: float = 10.0
    starts: int = 5
    versions: int = 9


FULL = Scale()
QUICK = Scale(seconds=3.0, repeats=1, idle_seconds=4.0, starts=2, versions=3)
Row = list[str]


def streaming(scale: Scale) -> list[Row]:
    """Steps at a steady rate on top of a long text."""
    rows = _streamed(scale, ("specchat", "markdown", "static"))
    floor = _measure(scale, "bare", "idle", seconds=scale.seconds)
    rows.append(
        [f"{_NAMES['bare']} at rest: the noise", "", *_medians(floor, ("cpu", "p50", "p99", "max", "own")), "", ""]
    )
    return rows


def traced(scale: Scale) -> list[Row]:
    """The same where the server hook traces each step, with a rejected proposal in every one, beside a plain stream."""
    return _streamed(scale, ("specchat", *_TRACED))


def _streamed(scale: Scale, apps: Sequence[str]) -> list[Row]:
    rows: list[Row] = [
        ["", "tokens/s", "CPU %", "lag p50 ms", "lag p99 ms", "lag max ms", "own p99 ms", "bytes/token", "RSS MB"]
    ]
    for rate in (300, 1000):
        for app in apps:
            taken = _measure(scale, app, "stream", shown=scale.shown, rate=rate, seconds=scale.seconds)
            keys = ("rate", "cpu", "p50", "p99", "max", "own", "token_bytes", "rss")
            rows.append([f"{_NAMES[app]}, {rate} onto {scale.shown:,}", *_medians(taken, keys)])
    return rows


def long(scale: Scale) -> list[Row]:
    """The longest pauses with a long reply."""
    rows: list[Row] = [
        ["longest pause, wall (own) ms", "page", "home, end", "resize", "proposals cycled", "end of reply", "RSS MB"]
    ]
    for shown in scale.long:
        for app in ("specchat", "traced-shown"):
            taken = _measure(scale, app, "long", shown=shown, seconds=scale.seconds)
            names = ("page", "jump", "resize", "cycle", "end")
            pairs = ["{} ({})".format(*_medians(taken, (name, f"own_{name}"))) for name in names]
            rows.append([f"{_NAMES[app]}, {shown:,} tokens", *pairs, *_medians(taken, ("rss",))])
    return rows


def idle(scale: Scale) -> list[Row]:
    """Nothing happens, after a reply."""
    taken = _measure(scale, "specchat", "idle", shown=scale.shown // 16, seconds=scale.idle_seconds)
    return [["", "CPU %"], ["specchat at rest", *_medians(taken, ("cpu",), digits=2)]]


def startup(scale: Scale) -> list[Row]:
    """From the command to an answer, and to the first text on the screen."""
    versions = [_version_seconds() for _ in range(scale.versions)]
    bare = [_bare_seconds() for _ in range(scale.starts)]
    first = [asyncio.run(_chat_seconds(b"")) for _ in range(scale.starts)]
    ready = [asyncio.run(_chat_seconds(_PROMPT)) for _ in range(scale.starts)]
    rows: list[Row] = [["", "seconds"]]
    for name, values in (
        ("`specchat --version`", versions),
        (f"{_NAMES['bare']}: first text", bare),
        ("`specchat --url`: first text", first),
        ("`specchat --url`: connected, and ready for a prompt", ready),
    ):
        rows.append([name, f"{statistics.median(values):.2f}"])
    return rows


_PROMPT = b"sk something"
"""What stands in an empty prompt, without the letter under the caret."""


PARTS: dict[str, Callable[[Scale], list[Row]]] = {
    "streaming": streaming, "traced": traced, "long": long, "idle": idle, "startup": startup,
}  # fmt: skip


def _measure(scale: Scale, app: str, work: str, **options: float) -> list[Report]:
    """The last report of each repeat.

    Raises:
        RuntimeError: If the measured program ended without one.
    """
    command = [sys.executable, "-m", "benchmarks.benchmark_subject", app, work]
    for name, value in options.items():
        command += [f"--{name}", str(value)]
    taken: list[Report] = []
    for _ in range(scale.repeats):
        with Terminal(command, environment()) as terminal:
            terminal.process.wait(_LIMIT_SECONDS)
        if not terminal.reports or "rss" not in terminal.reports[-1]:
            raise RuntimeError(f"{' '.join(command)} ended with {terminal.process.returncode} and no report")
        report = terminal.reports[-1]
        if report.get("tokens"):
            report["token_bytes"] = (report["bytes"] - terminal.reports[-2]["bytes"]) / report["tokens"]
        taken.append(report)
    return taken


def _medians(taken: Sequence[Report], keys: Sequence[str], digits: int = 1) -> Row:
    return [f"{statistics.median(report[key] for report in taken):.{digits}f}" for key in keys]


def _version_seconds() -> float:
    started = time.perf_counter()
    subprocess.run([sys.executable, "-m", "specchat", "--version"], env=environment(), check=True, capture_output=True)
    return time.perf_counter() - started


def _seconds_to_text(*command: str, until: bytes = b"") -> float:
    with Terminal([sys.executable, *command], environment(), until=until) as terminal:
        terminal.drawn.wait(30)
    if terminal.first_text_seconds is None:
        raise RuntimeError(f"{' '.join(command)} drew nothing")
    return terminal.first_text_seconds


def _bare_seconds() -> float:
    return _seconds_to_text("-m", "benchmarks.benchmark_bare")


async def _chat_seconds(until: bytes) -> float:
    async with ScriptedServer() as server:
        return await asyncio.to_thread(_seconds_to_text, "-m", "specchat", "--url", server.url, until=until)


def table(rows: list[Row]) -> str:
    """Rows as a Markdown table; the first is the head."""
    head, *body = rows
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in body)])


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what the command line says and print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default="all", choices=["all", *PARTS])
    parser.add_argument("--quick", action="store_true", help="one repeat, half as long")
    options = parser.parse_args(arguments)
    scale = QUICK if options.quick else FULL
    parts = list(PARTS) if "all" in options.parts else options.parts
    today = datetime.now().astimezone().date()
    machine = f"{os.cpu_count()} cores, load {_load()}, Python {platform.python_version()}"
    print(f"{today} · {machine} · medians of {scale.repeats}")
    for part in parts:
        print(f"\n## {part}\n\n{table(PARTS[part](scale))}", flush=True)
    print(f"\nload at the end {_load()}")


def _load() -> str:
    return " ".join(f"{value:.1f}" for value in os.getloadavg())
