"""Commands around local servers: the demo, serve, and the engines. What they do is the launcher's."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from specchat.core.errors import ConfigurationError, SpecchatError
from specchat.wiring import connection_from, data_directory, run_app
from specchat_launcher import (
    LauncherError,
    RunningServer,
    install_engine,
    list_engines,
    remove_engine,
    start_profile,
)
from specchat_launcher import Progress as Phase
from specchat_launcher.cli import signals_as_interrupt

DEMO_PROFILE = "cpu-smollm2"
OPENING_PROMPT = "Explain step by step what a compiler does, then write a Python function that checks for primes."
_DEMO_MAX_TOKENS = 400
_POLL_SECONDS = 0.5


class PhaseDisplay:
    """One line a phase on stderr, with a bar on a terminal where the launcher knows how far it is."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._progress = Progress(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[detail]}", style="dim"),
            TimeElapsedColumn(),
            console=console,
            disable=not console.is_terminal,
        )
        self._tasks: dict[str, TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> "PhaseDisplay":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def report(self, phase: Phase) -> None:
        """Show where the launcher is. Called from any thread."""
        with self._lock:
            name = str(phase.phase)
            if name not in self._tasks:
                self._finish_all()
                self._tasks[name] = self._progress.add_task(name, total=None, detail="")
                if not self._console.is_terminal:
                    self._console.print(f"{name}: {phase.detail}", highlight=False, markup=False, soft_wrap=True)
            total, done = (None, None) if phase.fraction is None else (1.0, phase.fraction)
            self._progress.update(self._tasks[name], total=total, completed=done, detail=_short(phase.detail))

    def finish(self) -> None:
        """Everything is done."""
        with self._lock:
            self._finish_all()

    def _finish_all(self) -> None:
        for task in self._tasks.values():
            if not self._progress.tasks[task].finished:
                self._progress.update(task, total=1.0, completed=1.0)


def run_demo(
    typed: dict[str, Any], *, engine: str | None, baseline: bool, hook: bool, opening_prompt: str | None
) -> int:
    """Start the CPU server, chat, and stop the server however the chat ends; returns the exit code.

    Raises:
        SpecchatError: If the server cannot be set up, with what to do.
    """
    typed.setdefault("temperature", 0.0)
    typed.setdefault("max_tokens", _DEMO_MAX_TOKENS)
    with (
        local_server(DEMO_PROFILE, engine, hook=hook) as url,
        local_server(_baseline(baseline), engine) as baseline_url,
    ):
        typed["url"], typed["model"] = url, None
        if baseline_url is not None:
            typed["baseline_url"] = baseline_url
        prompt = OPENING_PROMPT if opening_prompt is None else opening_prompt or None
        return asyncio.run(run_app(connection_from(typed), opening_prompt=prompt, remember_server=False))


def run_serve(profile: str, *, port: int | None, engine: str | None, hook: bool) -> None:
    """Run a local server until Ctrl-C or until it ends.

    Raises:
        SpecchatError: If it cannot start, or ends by itself.
    """
    console = Console(stderr=True)
    with signals_as_interrupt(), _started(profile, engine, port, hook=hook) as server:
        print(f"{server.model} is served at {server.url} (vLLM {server.engine_version}); Ctrl-C stops it.", flush=True)
        console.print(f"Log: {server.log_path}", style="dim", highlight=False, soft_wrap=True)
        try:
            while server.is_running():
                time.sleep(_POLL_SECONDS)
        except KeyboardInterrupt:
            console.print("Stopping …")
            return
        raise SpecchatError(f"The server ended by itself: {server.exit_reason()}")


@contextmanager
def local_server(profile: str | None, engine: str | None, *, hook: bool = True) -> Iterator[str | None]:
    """The URL of a local server that runs while this is open; None without a profile."""
    if profile is None:
        yield None
        return
    with _started(profile, engine, None, hook=hook) as server:
        yield server.url


@contextmanager
def _started(profile: str, engine: str | None, port: int | None, *, hook: bool) -> Iterator[RunningServer]:
    console = Console(stderr=True)
    with _translated():
        with signals_as_interrupt(), PhaseDisplay(console) as display:
            server = start_profile(
                profile, root=data_directory(), engine=engine, port=port, hook=hook, report=display.report
            )
            display.finish()
        with server:
            for notice in server.notices:
                console.print(f"note: {notice}", highlight=False, markup=False, soft_wrap=True)
            yield server


def show_engines(*, as_json: bool) -> None:
    """Print the engines: version, state, size and where."""
    with _translated():
        engines = list_engines(data_directory())
    if as_json:
        rows = [
            {
                "version": e.version,
                "state": str(e.state),
                "size_bytes": e.size_bytes,
                "path": str(e.path),
                "note": e.note,
            }
            for e in engines
        ]
        print(json.dumps(rows, indent=1))
        return
    for e in engines:
        size = "" if e.size_bytes is None else f"{e.size_bytes / 1e9:.1f} GB"
        print(f"{e.version:8} {e.state:10} {size:>7}  {e.path}  {e.note or ''}".rstrip())


def install(version: str | None) -> None:
    """Install an engine with a moving bar."""
    with _translated():
        wanted = version or list_engines(data_directory())[0].version
        with signals_as_interrupt(), PhaseDisplay(Console(stderr=True)) as display:
            engine = install_engine(wanted, data_directory(), display.report)
            display.finish()
        print(f"vLLM {engine.version} is installed in {engine.directory}.")


def remove(version: str) -> None:
    """Remove an engine."""
    with _translated():
        remove_engine(version, data_directory())
    print(f"vLLM {version} is removed.")


@contextmanager
def _translated() -> Iterator[None]:
    """The launcher's errors as specchat's."""
    try:
        yield
    except LauncherError as error:
        raise ConfigurationError(error.message, error.hint) from error


def _baseline(wanted: bool) -> str | None:
    return f"{DEMO_PROFILE}-baseline" if wanted else None


def _short(detail: str) -> str:
    width = max(20, Console(file=sys.stderr).width - 60)
    return detail if len(detail) <= width else detail[: width - 1] + "…"
