"""What the local GPUs are doing, from the cheapest source that works.

Owns the choice of the source, and how often a tool may run: one at a time, at least two seconds apart, and one that
keeps failing is given up on. On a machine without AMD GPUs nothing is run at all.
"""

import os
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from specchat_launcher.gpus import SYS, has_driver
from specchat_launcher.telemetry_amd_smi import (
    METRIC,
    STATIC,
    GpuFacts,
    facts_of_static,
    readings_of_metric,
    with_facts,
)
from specchat_launcher.telemetry_reading import GpuReading
from specchat_launcher.telemetry_rocm_smi import ASKED, readings_of_rocm_smi
from specchat_launcher.telemetry_sysfs import SysfsSource
from specchat_launcher.tool_runs import Run, run_tool

__all__ = ["GpuReading", "Telemetry", "find_telemetry"]

APART_S = 2.0
"""Seconds between the end of one run of a tool and the start of the next."""
PATIENCE_S = 10.0
"""Seconds that a tool may take."""
FAILURES = 3
"""Failures in a row after which a source is given up on."""
ROCM_TOOLS = "/opt/rocm/bin"


class Source(Protocol):
    """One way to read the GPUs."""

    name: str

    def read(self) -> tuple[GpuReading, ...] | None:
        """The readings; empty when it failed, None when it is too early to ask again."""
        ...


class Telemetry:
    """Reads the GPUs of this machine, and moves to the next source when one fails. Safe to use from several threads.

    Reading blocks for as long as a tool takes, at most ten seconds.
    """

    def __init__(self, sources: Sequence[Source]) -> None:
        self._sources = list(sources)
        self._failures = 0
        self._last: tuple[GpuReading, ...] = ()
        self._mutex = threading.Lock()

    @property
    def source(self) -> str:
        """The source that is read: "sysfs", "amd-smi" or "rocm-smi"; empty when all were given up on."""
        return self._sources[0].name if self._sources else ""

    def read(self) -> tuple[GpuReading, ...]:
        """One reading for each GPU; empty where nothing can be read. Between two runs of a tool: what it said last."""
        with self._mutex:
            while self._sources:
                readings = self._sources[0].read()
                if readings is None:
                    return self._last
                if any(reading.says_something for reading in readings):
                    self._failures = 0
                    self._last = readings
                    return readings
                self._failures += 1
                if self._failures < FAILURES:
                    return ()
                del self._sources[0]
                self._failures = 0
            return ()


class Tools:
    """Runs tools, one after the other and seldom. All sources of one reader share it."""

    def __init__(self, run: Run, clock: Callable[[], float]) -> None:
        self._run = run
        self._clock = clock
        self._next = float("-inf")

    def ask(self, path: str, arguments: Sequence[str]) -> str | None:
        """What a tool printed; None when the last run is not long enough ago.

        Its exit code says little: it may have failed in a part that was not asked for.
        """
        if self._clock() < self._next:
            return None
        ran = self._run((path, *arguments), PATIENCE_S)
        self._next = self._clock() + APART_S
        return ran.output if ran is not None else ""


class AmdSmiSource:
    """Asks amd-smi for the figures, and once for names and power caps."""

    name = "amd-smi"

    def __init__(self, path: str, tools: Tools) -> None:
        self._path = path
        self._tools = tools
        self._readings: tuple[GpuReading, ...] = ()
        self._facts: dict[int, GpuFacts] = {}
        self._tries_of_facts = 0

    def read(self) -> tuple[GpuReading, ...] | None:
        """The readings. The second run asks for what does not change, so it brings the figures of the first again."""
        wants_facts = bool(self._readings) and not self._facts and self._tries_of_facts < FAILURES
        answer = self._tools.ask(self._path, STATIC if wants_facts else METRIC)
        if answer is None:
            return None
        if wants_facts:
            self._tries_of_facts += 1
            self._facts = facts_of_static(answer)
        else:
            self._readings = readings_of_metric(answer)
        return with_facts(self._readings, self._facts)


class RocmSmiSource:
    """Asks rocm-smi."""

    name = "rocm-smi"

    def __init__(self, path: str, tools: Tools) -> None:
        self._path = path
        self._tools = tools

    def read(self) -> tuple[GpuReading, ...] | None:
        """The readings."""
        answer = self._tools.ask(self._path, ASKED)
        return None if answer is None else readings_of_rocm_smi(answer)


def find_telemetry(
    sys: Path = SYS,
    path: str | None = None,
    run: Run = run_tool,
    clock: Callable[[], float] = time.monotonic,
) -> Telemetry | None:
    """A reader of this machine's AMD GPUs; None where there are none, or nothing that could tell about them.

    Args:
        sys: Where /sys is.
        path: Where tools are looked for; None for the PATH of this process.
        run: Runs a tool.
        clock: Seconds that never go back.
    """
    if not has_driver(sys):
        return None
    sources: list[Source] = []
    tools = Tools(run, clock)
    files = SysfsSource(sys)
    # A driver that shows nothing now will not do so later, and each of the tools costs a start of Python.
    if any(reading.says_something for reading in files.read()):
        sources.append(files)
    where = f"{os.environ.get('PATH', os.defpath) if path is None else path}{os.pathsep}{ROCM_TOOLS}"
    if found := shutil.which("amd-smi", path=where):
        sources.append(AmdSmiSource(found, tools))
    if found := shutil.which("rocm-smi", path=where):
        sources.append(RocmSmiSource(found, tools))
    return Telemetry(sources) if sources else None
