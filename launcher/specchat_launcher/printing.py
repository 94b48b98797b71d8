"""What the launcher's commands write: lines for people, or one JSON object a line for programs.

Owns the form of both. The app draws with a library of its own and uses the JSON alone.
"""

import json
import threading
import time
from collections.abc import Sequence
from typing import Any, TextIO

from specchat_launcher.errors import LauncherError
from specchat_launcher.launching import AlreadyRunning
from specchat_launcher.progress import Progress
from specchat_launcher.registry import Owner, ServerRecord
from specchat_launcher.running import RunningServer
from specchat_launcher.serving import Wish
from specchat_launcher.startup import Diagnosis, StartState
from specchat_launcher.waiting import StartFailed

LINE_EVERY_S = 2.0
POLL_S = 0.3
SHOWN_LINES = 12
"""Lines from the end of a log that are shown with a failure."""


class ProgressPrinter:
    """Writes progress as lines, one at most every two seconds, and one for each new phase.

    On a terminal the line is redrawn in place.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._redraw = out.isatty()
        self._phase: str | None = None
        self._text = ""
        self._at = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show a moment of progress, or leave it out because another was shown just now."""
        self.show(progress.phase.value, progress.detail, progress.fraction)

    def show(self, phase: str, detail: str, fraction: float | None) -> None:
        """Show a moment of some phase, or leave it out because another was shown just now."""
        now = time.monotonic()
        share = "" if fraction is None else f" {fraction:4.0%}"
        text = f"{phase}{share}  {detail}"
        pause = POLL_S if self._redraw else LINE_EVERY_S
        if text == self._text or (phase == self._phase and now - self._at < pause):
            return
        self._out.write(f"\r\x1b[2K{text}" if self._redraw else f"{text}\n")
        self._out.flush()
        self._phase, self._text, self._at = phase, text, now

    def end(self) -> None:
        """Leave the redrawn line, so that what follows starts on a line of its own."""
        if self._redraw and self._phase is not None:
            self._out.write("\n")
            self._out.flush()
        self._phase, self._text = None, ""


class LineView:
    """Tells people what happens while a server is served."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._printer = ProgressPrinter(out)
        self._warned: set[str] = set()
        self._mutex = threading.RLock()

    def preparing(self, progress: Progress) -> None:
        """Show the progress."""
        with self._mutex:
            self._printer(progress)

    def starting(self, profile: str, state: StartState) -> None:
        """Show the phase, and each warning once."""
        del profile
        with self._mutex:
            for warning in state.warnings:
                self._warn(warning)
            self._printer.show(state.phase.value, f"{state.detail}, {state.seconds:.0f} s", state.fraction)

    def ready(self, server: RunningServer, wish: Wish) -> None:
        """Say where it is and how to end it."""
        version = f" {server.engine_version}" if server.engine_version else ""
        lines = [f"Note: {notice}" for notice in server.notices]
        with self._mutex:
            for warning in server.warnings:
                self._warn(warning)
            ends = ending_hint(server.record, wish)
            self._say(
                *lines,
                f"{server.model} is served on {server.url} by {server.record.server}{version}; {ends}.",
                f"Chat with it: specchat --url {server.url}",
                f"Log: {server.log_path}",
            )

    def failed(self, error: LauncherError) -> None:
        """Show the lines that say why."""
        with self._mutex:
            self._say(*failure_lines(error))

    def ended(self, server: RunningServer, ending: Diagnosis | None) -> None:
        """Say why."""
        with self._mutex:
            if ending is None:
                self._say(f"{server.id} was stopped.")
            else:
                self._say(f"The server ended. {sentences(ending)} The log is {server.log_path}.")

    def left(self, record: ServerRecord) -> None:
        """Say how to end it."""
        with self._mutex:
            self._say(left_text(record))

    def stopping(self) -> None:
        """Say so."""
        with self._mutex:
            self._say("Stopping …")

    def stopped(self) -> None:
        """Say so."""
        with self._mutex:
            self._say("Stopped.")

    def _warn(self, warning: Diagnosis) -> None:
        if warning.cause not in self._warned:
            self._warned.add(warning.cause)
            self._say(f"{warning.severity.capitalize()}: {sentences(warning)}")

    def _say(self, *lines: str) -> None:
        self._printer.end()
        self._out.writelines(f"{line}\n" for line in lines)
        self._out.flush()


class JsonView:
    """Tells programs what happens, one JSON object a line; `event` says which."""

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._last: dict[str, tuple[object, ...]] = {}
        self._at: dict[str, float] = {}
        self._warned: set[tuple[str, str]] = set()
        self._mutex = threading.RLock()

    def preparing(self, progress: Progress) -> None:
        """Write the progress, at most every other second within a phase."""
        event = {"phase": progress.phase.value, "detail": progress.detail, "fraction": progress.fraction}
        self._thinned("preparing", progress.phase.value, "", event)

    def starting(self, profile: str, state: StartState) -> None:
        """Write the phase, and each warning once."""
        for warning in state.warnings:
            self._warn(profile, warning)
        event = {
            "profile": profile,
            "phase": state.phase.value,
            "detail": state.detail,
            "fraction": state.fraction,
            "phase_seconds": round(state.phase_seconds, 1),
            "seconds": round(state.seconds, 1),
        }
        self._thinned("phase", state.phase.value, profile, event)

    def ready(self, server: RunningServer, wish: Wish) -> None:
        """Write where it is."""
        del wish
        for warning in server.warnings:
            self._warn(server.record.profile, warning)
        for notice in server.notices:
            self._write("note", profile=server.record.profile, text=notice)
        self._write("ready", **_who(server.record), version=server.engine_version, pid=server.pid)

    def failed(self, error: LauncherError) -> None:
        """Write why."""
        content: dict[str, Any] = {"cause": None, "title": error.message, "remedy": error.hint, "lines": []}
        if isinstance(error, StartFailed):
            content |= diagnosis_json(error.diagnosis) | {"last_lines": list(error.last_lines), "log": str(error.log)}
        elif isinstance(error, AlreadyRunning):
            content |= {"cause": "already-running", **_who(error.record)}
        self._write("failed", **content)

    def ended(self, server: RunningServer, ending: Diagnosis | None) -> None:
        """Write why."""
        if ending is None:
            self._write("stopped", **_who(server.record))
        else:
            self._write("ended", **_who(server.record), **diagnosis_json(ending))

    def left(self, record: ServerRecord) -> None:
        """Write which goes on."""
        self._write("left-running", **_who(record))

    def stopping(self) -> None:
        """Write that the servers are being stopped."""
        self._write("stopping")

    def stopped(self) -> None:
        """Write that nothing is left."""
        self._write("stopped")

    def _warn(self, profile: str, warning: Diagnosis) -> None:
        with self._mutex:
            new = (profile, warning.cause) not in self._warned
            self._warned.add((profile, warning.cause))
        if new:
            self._write("warning", profile=profile, **diagnosis_json(warning))

    def _thinned(self, event: str, phase: str, profile: str, content: dict[str, Any]) -> None:
        now = time.monotonic()
        with self._mutex:
            key = (event, phase)
            if self._last.get(profile) == key and now - self._at.get(profile, 0.0) < LINE_EVERY_S:
                return
            self._last[profile], self._at[profile] = key, now
        self._write(event, **content)

    def _write(self, event: str, **content: object) -> None:
        line = json.dumps({"event": event, **content}, ensure_ascii=False)
        with self._mutex:
            self._out.write(f"{line}\n")
            self._out.flush()


def diagnosis_json(diagnosis: Diagnosis) -> dict[str, Any]:
    """A diagnosis as values that JSON has."""
    return {
        "cause": diagnosis.cause,
        "severity": diagnosis.severity,
        "title": diagnosis.title,
        "remedy": diagnosis.remedy,
        "lines": list(diagnosis.lines),
    }


def sentences(diagnosis: Diagnosis | None) -> str:
    """A diagnosis as running text."""
    return "" if diagnosis is None else f"{diagnosis.title} {diagnosis.remedy}".strip()


def failure_lines(error: LauncherError) -> Sequence[str]:
    """What a log has to show about a failure: the offending lines, or else its end."""
    if not isinstance(error, StartFailed):
        return ()
    if error.diagnosis.lines:
        return [f"  | {line}" for line in error.diagnosis.lines]
    return [f"  | {line}" for line in error.last_lines[-SHOWN_LINES:]]


def left_text(record: ServerRecord) -> str:
    """What is said about a server that goes on."""
    return f"{record.id} goes on at {record.url}; stop it with: specchat stop {record.id}"


def ending_hint(record: ServerRecord, wish: Wish) -> str:
    """How a served model is ended, as the end of a sentence."""
    if wish.detach:
        return f"stop it with: specchat stop {record.id}"
    if wish.attach:
        return f"Ctrl-C leaves it running, `specchat stop {record.id}` stops it"
    if record.owner is Owner.APP:
        return "it ends with this command"
    return "Ctrl-C stops it; it survives a closed terminal"


def _who(record: ServerRecord) -> dict[str, Any]:
    return {
        "id": record.id,
        "profile": record.profile,
        "url": record.url,
        "model": record.model,
        "log": str(record.log),
    }
