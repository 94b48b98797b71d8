"""What people see on stderr while something is set up and a server is served: a line a phase, warnings, the end.

Owns the look. What happens is the launcher's.
"""

import sys
import threading
from contextlib import suppress

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, Progress, SpinnerColumn, TaskID, TextColumn, TimeElapsedColumn

from specchat_launcher import LauncherError, RunningServer
from specchat_launcher import Progress as Phase
from specchat_launcher.printing import ending_hint, failure_lines, left_text, sentences
from specchat_launcher.registry import ServerRecord
from specchat_launcher.serving import Wish
from specchat_launcher.startup import Diagnosis, StartPhase, StartState


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
        self._tasks: dict[tuple[str, str], TaskID] = {}
        self._lock = threading.Lock()

    def __enter__(self) -> "PhaseDisplay":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def report(self, phase: Phase) -> None:
        """Show where the launcher is. Called from any thread."""
        self.show(str(phase.phase), phase.detail, phase.fraction)

    def show(self, name: str, detail: str, fraction: float | None, *, track: str = "") -> None:
        """Show where one of several things is that go on side by side. Called from any thread.

        Args:
            name: The phase.
            detail: What happens in it.
            fraction: Share of it that is done; None where it is unknown.
            track: Which of the things; the phases of each follow one another.
        """
        with self._lock:
            key = (track, name)
            if key not in self._tasks:
                self._finish(track)
                title = f"{track}: {name}" if track else name
                self._tasks[key] = self._progress.add_task(escape(title), total=None, detail="")
                if not self._console.is_terminal:
                    self._console.print(f"{title}: {detail}", highlight=False, markup=False, soft_wrap=True)
            total, done = (None, None) if fraction is None else (1.0, fraction)
            self._progress.update(self._tasks[key], total=total, completed=done, detail=escape(_short(detail)))

    def finish(self) -> None:
        """Everything is done."""
        with self._lock:
            self._finish(None)

    def _finish(self, track: str | None) -> None:
        for (its_track, _), task in self._tasks.items():
            if track in {None, its_track} and not self._progress.tasks[task].finished:
                self._progress.update(task, total=1.0, completed=1.0)


class ServeDisplay:
    """Tells people what happens while a server is served: the phases of its start, warnings, and how it ends."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._phases = PhaseDisplay(console)
        self._warned: set[str] = set()
        self._tracks: set[str] = set()

    def __enter__(self) -> "ServeDisplay":
        self._phases.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        # The terminal may be gone, and the server goes on.
        with suppress(OSError):
            self._phases.__exit__()

    def preparing(self, progress: Phase) -> None:
        """Show the progress."""
        self._phases.report(progress)

    def starting(self, profile: str, state: StartState) -> None:
        """Show the phase, and each warning once."""
        self._tracks.add(profile)
        for warning in state.warnings:
            self._warn(warning)
        if state.phase is StartPhase.READY:
            return  # which is told with its address
        # The name says something only beside another one.
        track = profile if len(self._tracks) > 1 else ""
        self._phases.show(state.phase.value, state.detail, state.fraction, track=track)

    def ready(self, server: RunningServer, wish: Wish) -> None:
        """Say where it is and how to end it."""
        self._phases.finish()
        self._phases.__exit__()
        for notice in server.notices:
            self._say(f"note: {notice}")
        for warning in server.warnings:
            self._warn(warning)
        version = f"{server.record.server} {server.engine_version}".strip().replace("vllm", "vLLM", 1)
        print(f"{server.model} is served at {server.url} ({version}); {ending_hint(server.record, wish)}.", flush=True)
        self._say(f"Log: {server.log_path}", style="dim")

    def failed(self, error: LauncherError) -> None:
        """Show the lines that say why; the sentences come after them."""
        self._phases.__exit__()
        for line in failure_lines(error):
            self._say(line, style="dim")

    def ended(self, server: RunningServer, ending: Diagnosis | None) -> None:
        """Say why."""
        if ending is None:
            self._say(f"{server.id} was stopped.")
            return
        self._say(f"{server.id} ended. {sentences(ending)}")
        for line in ending.lines:
            self._say(f"  | {line}", style="dim")
        self._say(f"Log: {server.log_path}", style="dim")

    def left(self, record: ServerRecord) -> None:
        """Say how to end it."""
        self._phases.__exit__()
        self._say(left_text(record))

    def stopping(self) -> None:
        """Say so."""
        self._phases.__exit__()
        self._say("Stopping …")

    def stopped(self) -> None:
        """Say so."""
        self._phases.__exit__()
        self._say("Stopped.")

    def _warn(self, warning: Diagnosis) -> None:
        if warning.cause not in self._warned:
            self._warned.add(warning.cause)
            self._say(f"{warning.severity}: {sentences(warning)}")

    def _say(self, text: str, style: str | None = None) -> None:
        self._console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def _short(detail: str) -> str:
    width = max(20, Console(file=sys.stderr).width - 60)
    return detail if len(detail) <= width else detail[: width - 1] + "…"
