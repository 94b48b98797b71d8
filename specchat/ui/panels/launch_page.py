"""What the page of one start shows at each of its stages. Holds what is known; draws no widget and asks nothing."""

from dataclasses import dataclass
from enum import Enum, auto

from specchat.session.local_servers import READY, CheckLine, Finding, LaunchFailed, LaunchView, ProfileLine, ServerLine
from specchat.ui.panels.drawing import EdgeLine, Line, Run, line
from specchat.ui.panels.launch_lines import copied_failure, failure_lines, finding_lines, heading, progress_lines
from specchat.ui.panels.server_facts import check_lines, profile_lines, verdict
from specchat.ui.panels.server_rows import host_of
from specchat.ui.panels.texts import brief_log, lasted, log_lines, sentences

_ASKING = "working out the command …"
_TAIL = 60
"""Lines of the log that are shown."""


class Stage(Enum):
    """How far a start is."""

    SETUP = auto()
    STARTING = auto()
    FAILED = auto()
    THERE = auto()
    """A server answers, or runs already."""


@dataclass(slots=True)
class LaunchPage:
    """One start, as far as it is known."""

    profile: ProfileLine | None
    """What is started; None to watch."""
    follows: ServerLine | None = None
    """The start that is watched."""
    stage: Stage = Stage.SETUP
    checks: tuple[CheckLine, ...] | None = None
    """None while this is being looked at."""
    trouble: str = ""
    """Why there is no command."""
    command: str = ""
    view: LaunchView | None = None
    failure: LaunchFailed | None = None
    server: ServerLine | None = None
    """That answers, or that runs already."""
    said: tuple[str, str] = ("", "dim")
    """A sentence on top, and its look."""

    def head(self) -> EdgeLine:
        """What is started, how far it is, and since when."""
        left: list[Run] = [(" specchat ", "strong accent"), (f" {self.named}", "strong")]
        words = {
            Stage.SETUP: ("before the start", "dim"),
            Stage.STARTING: ("starting", "accent"),
            Stage.FAILED: ("did not start", "bad"),
            Stage.THERE: ("is there", "good"),
        }
        word, look = words[self.stage]
        left.append((f" · {word}", look))
        seconds = self.view.seconds if self.view is not None and self.stage is Stage.STARTING else None
        return EdgeLine(tuple(left), ((f"{lasted(seconds)} ", "strong"),) if seconds is not None else ())

    def main_lines(self, width: int) -> tuple[Line, ...]:
        """What it is about: before the start, while it starts, why it failed, or where it answers."""
        sentence, look = self.said
        said = (*sentences(sentence, width, f"strong {look}"), line()) if sentence else ()
        if self.stage is Stage.STARTING:
            waiting = (line(("starting …", "dim")),)
            return *said, *(progress_lines(self.view, width) if self.view is not None else waiting)
        if self.stage is Stage.FAILED and self.failure is not None:
            return *said, *failure_lines(self.failure, width)
        if self.stage is Stage.THERE and self.server is not None:
            does = "connects" if self.server.state == READY else "shows how far it is"
            return (
                *said,
                line(("It answers at ", ""), (host_of(self.server.url), "strong"), (f". Enter {does}.", "")),
                *(row for one in self.warnings for row in (line(), *finding_lines(one, width))),
            )
        about = profile_lines(self.profile, width) if self.profile is not None else ()
        return *said, *about, line(), heading("Can it work here?", width), *self._checked(width)

    @property
    def named(self) -> str:
        """What the server is called here."""
        return self.profile.name if self.profile is not None else self.follows.profile if self.follows else ""

    @property
    def warnings(self) -> tuple[Finding, ...]:
        """What the start showed that a healthy one does not."""
        return self.view.warnings if self.view is not None else ()

    def _checked(self, width: int) -> tuple[Line, ...]:
        if self.checks is None:
            return (line(("looking at this machine …", "dim")),)
        if not self.checks:
            return (line(("nothing was looked at", "dim")),)
        return *check_lines(self.checks, width), line(), line(verdict(self.checks))

    def command_lines(self, width: int) -> tuple[Line, ...]:
        """The command that would run, or why there is none."""
        if self.trouble:
            return heading("The command", width), *sentences(self.trouble, width, "bad")
        rows = self.command.splitlines() or [_ASKING]
        return heading("The command · y copies it", width), *log_lines(rows, width, "" if self.command else "dim")

    def tail_lines(self, width: int) -> tuple[Line, ...]:
        """The end of the log."""
        rows = self.view.last_lines if self.view is not None else ()
        return heading("The log", width), *brief_log(rows[-_TAIL:] or ["nothing yet"], width)

    @property
    def log_id(self) -> str:
        """Id of the server whose log there is to see; "" for none."""
        if self.stage is Stage.SETUP:
            return ""
        return (self.view.id if self.view is not None else "") or (self.server.id if self.server else "")

    @property
    def outlives(self) -> bool:
        """Does the start go on without being watched?"""
        return self.follows is not None or (
            self.profile is not None and not self.profile.is_demo and self.view is not None and self.view.id != ""
        )

    @property
    def copied(self) -> str:
        """What is worth copying: why it failed, else the command."""
        return copied_failure(self.failure) if self.failure and self.stage is Stage.FAILED else self.command
