"""A server that answers, as its callers hold it.

Owns what they may ask of it. How it was started, and how it is stopped, is behind the process it is given.
"""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from specchat_launcher.logs import last_lines
from specchat_launcher.registry import Owner, ServerRecord
from specchat_launcher.startup import Diagnosis, diagnose
from specchat_launcher.supervisor import STOPPED

END_LINES = 200
STOPPED_LINE = STOPPED.partition("{")[0]


class ServerProcess(Protocol):
    """The processes of a server."""

    @property
    def pid(self) -> int:
        """Process id of the front end."""

    def poll(self) -> int | None:
        """The front end's exit code, negative for a signal; None while it runs."""

    def stop(self, timeout_s: float = ...) -> None:
        """End all of them, and return when they are gone."""

    def session_pids(self) -> set[int]:
        """The living ones."""


class RunningServer:
    """A server that answered. Leaving the context stops one that belongs to the app, and only that."""

    def __init__(
        self,
        record: ServerRecord,
        process: ServerProcess,
        *,
        notices: tuple[str, ...] = (),
        warnings: tuple[Diagnosis, ...] = (),
    ) -> None:
        """Hold a server.

        Args:
            record: Who it is.
            process: Its processes.
            notices: What was wanted and is not part of it, and why, a line each.
            warnings: What its start showed that a healthy one does not.
        """
        self._process = process
        self._stopped = False
        self.record = record
        self.notices = notices
        self.warnings = warnings

    @property
    def id(self) -> str:
        """What the user calls it."""
        return self.record.id

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return self.record.url

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self.record.port

    @property
    def model(self) -> str:
        """The name of the target model in its API."""
        return self.record.model

    @property
    def engine_version(self) -> str:
        """The version of its engine; "" where that is not known."""
        return self.record.version

    @property
    def log_path(self) -> Path:
        """Its log."""
        return self.record.log

    @property
    def pid(self) -> int:
        """Process id of its front end, which leads the session of all its processes."""
        return self._process.pid

    def is_running(self) -> bool:
        """Whether its front end is alive."""
        return self._process.poll() is None

    def exit_reason(self) -> str | None:
        """Why it ended, as a sentence or two; None while it runs or when `stop` ended it."""
        ending = self.ending()
        if ending is None:
            return None
        return " ".join(filter(None, (ending.title, ending.remedy, f"The log is {self.log_path}.")))

    def ending(self) -> Diagnosis | None:
        """Why it ended; None while it runs or when `stop` ended it, here or elsewhere."""
        code = self._process.poll()
        lines = last_lines(self.log_path, END_LINES)
        if code is None or self._stopped or was_stopped(lines):
            return None
        return diagnose(lines, code)

    def stop(self, timeout_s: float = 15.0) -> None:
        """End the server and return when nothing of it is left. Harmless when it has ended.

        Args:
            timeout_s: Seconds after which what is left is killed at once.
        """
        if self.is_running():
            self._stopped = True
        self._process.stop(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.record.owner is Owner.APP:
            self.stop()


def was_stopped(lines: Sequence[str]) -> bool:
    """Whether the end of a log says that somebody wanted the server's end."""
    return any(line.startswith(STOPPED_LINE) for line in lines[-5:])
