"""What the screens need to know of servers on this machine: profiles, what runs, a start as it happens, GPUs.

Plain records and the two ports behind which an adapter looks and acts. Knows no launcher and starts nothing itself.
"""

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from specchat.core.errors import SpecchatError

STARTING, READY, STOPPING, ORPHANED = "starting", "ready", "stopping", "orphaned"
"""States of a server that was started here; one that was found is READY."""
OK, WARNING, PROBLEM, UNKNOWN = "ok", "warning", "problem", "unknown"
"""States of a check. Only a PROBLEM means that a launch cannot work."""


@dataclass(frozen=True, slots=True)
class ProfileLine:
    """A set-up of a server that is known here."""

    name: str
    title: str
    summary: str
    """What it is and what for, a sentence or two."""
    needs: str = ""
    """What the machine must have, in a few words, such as `8 GPUs gfx950`; "" for nothing out of the ordinary."""
    can_launch: bool = True
    why_not: str = ""
    """Why it cannot be launched, a sentence; "" where it can."""
    is_demo: bool = False
    """Is this what somebody without any server should take first?"""
    url: str = ""
    """Where a server answers that can only be connected to; "" where a launch decides."""


@dataclass(frozen=True, slots=True)
class ServerLine:
    """A server that was started here, or that answers on one of the usual local ports."""

    id: str
    """For the other calls; unique among the servers of one look."""
    url: str
    profile: str = ""
    """"" for a server that was not started here."""
    model: str | None = None
    """None where it is not known, or not yet."""
    version: str | None = None
    speculation: str = ""
    """How it speculates, in a few words, such as `eagle3 k=3`; `off`; "" where unknown."""
    uptime_seconds: float | None = None
    state: str = READY
    started_here: bool = False
    """Was it started by specchat? Only such a server is ever stopped."""
    owner: str = ""
    """Whom it dies with: `this chat`, `another chat`, or `nobody`; "" where that is not known."""
    log: Path | None = None


@dataclass(frozen=True, slots=True)
class LaunchedServer:
    """A server that specchat launched on this machine, as far as it can be launched anew."""

    id: str
    url: str
    profile: str
    tokens: int | None = None
    """Proposals for each step that it was launched anew with, 0 for none; None where it is as it was first launched."""
    why_not: str = ""
    """Why it cannot be launched anew, a sentence; "" where it can."""
    start_seconds: float | None = None
    """That the last start of its profile took here; None where that is not known."""
    owned: bool = False
    """Does it die with this program?"""
    runs: bool = True
    """False where a launch anew stopped it and did not come to its end."""
    baseline_url: str = ""
    """Of the server without speculation that forms a pair with it and is ready; "" for none."""


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One thing that was looked at before a launch."""

    name: str
    state: str
    """OK, WARNING, PROBLEM or UNKNOWN."""
    evidence: str
    """What was found."""
    advice: str = ""
    """What to do about it; "" for nothing."""
    command: str = ""
    """The command that does it, to copy; "" for none."""


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that is wrong with a server, as the one who knows it would say it."""

    severity: str
    """`fatal`, `warning` or `info`."""
    title: str
    """What is wrong, a sentence."""
    remedy: str = ""
    """What to do, a sentence or two."""
    lines: tuple[str, ...] = ()
    """Lines of the log that tell."""


@dataclass(frozen=True, slots=True)
class PhaseLine:
    """One phase of a start that has begun."""

    name: str
    seconds: float | None
    """That it took, or has taken; None where unknown."""
    done: bool


@dataclass(frozen=True, slots=True)
class LaunchView:
    """Where a start is."""

    phase: str
    detail: str = ""
    """What happens just now, in words."""
    fraction: float | None = None
    """Of this phase, from 0 to 1; None where nothing tells."""
    phase_seconds: float = 0.0
    seconds: float = 0.0
    """Since the start began."""
    last_lines: tuple[str, ...] = ()
    """The end of the log."""
    warnings: tuple[Finding, ...] = ()
    phases: tuple[PhaseLine, ...] = ()
    """In the order in which they began; the one that is not done is this one."""
    overdue: str = ""
    """A sentence once this phase takes longer than it should; else ""."""
    id: str = ""
    """Of the server, once it has one."""
    url: str = ""
    """Where it answers, once it is ready."""


class LaunchFailed(SpecchatError):
    """A server did not start.

    Attributes:
        finding: Why, as far as it is known.
        last_lines: The end of its log.
        log: The whole log; None where there is none.
    """

    def __init__(self, finding: Finding, last_lines: Sequence[str] = (), log: Path | None = None) -> None:
        super().__init__(finding.title, finding.remedy)
        self.finding = finding
        self.last_lines = tuple(last_lines)
        self.log = log


class AlreadyRuns(SpecchatError):
    """The profile's server runs already.

    Attributes:
        server: The one that runs.
    """

    def __init__(self, message: str, hint: str, server: ServerLine) -> None:
        super().__init__(message, hint)
        self.server = server


@dataclass(frozen=True, slots=True)
class LogPart:
    """Lines of a log, from some place on."""

    lines: tuple[str, ...]
    next: int
    """Bytes of the log that are read; asked with it, the next part begins here."""
    restarted: bool = False
    """Does this begin the log anew, because it was rotated or is another one?"""


class LocalServers(Protocol):
    """Servers on this machine. Every method may raise SpecchatError, and nothing else."""

    async def profiles(self) -> Sequence[ProfileLine]:
        """Every profile, those of the user among them."""
        ...

    async def servers(self) -> Sequence[ServerLine]:
        """What was started here and lives, and what answers on the usual ports."""
        ...

    async def check(self, profile: str, changes: Sequence[str]) -> Sequence[CheckLine]:
        """Look whether a launch can work.

        Args:
            profile: Its name.
            changes: `key=value` each, over the profile's own.
        """
        ...

    async def command(self, profile: str, changes: Sequence[str]) -> str:
        """The command that a launch would run, ready for a shell, with secrets masked."""
        ...

    def launch(self, profile: str, changes: Sequence[str], *, owned: bool) -> AsyncGenerator[LaunchView, None]:
        """Start a server. Ends when it is ready, and then the last view has its url.

        Closing the generator before stops the start of an owned server, and one that has no id yet: nothing is left of
        it. Any other is only watched no longer, since it outlives this program; `stop` ends it.

        Args:
            profile: Its name.
            changes: `key=value` each, over the profile's own.
            owned: Does the server die with this program?

        Raises:
            AlreadyRuns: If the profile's server runs.
            LaunchFailed: If it ends before it is ready.
        """
        ...

    def follow(self, server: str) -> AsyncGenerator[LaunchView, None]:
        """Watch a start that somebody else began, by the server's id. Closing the generator stops only the watching.

        Raises:
            LaunchFailed: If it ends before it is ready.
        """
        ...

    async def launched(self, url: str) -> LaunchedServer | None:
        """What is known of the launch of a server; None where specchat did not launch it on this machine.

        Args:
            url: Its address.
        """
        ...

    def relaunch(self, server: str, tokens: int | None) -> AsyncGenerator[LaunchView, None]:
        """Stop a server and launch it anew: the same but for its speculation, at the same address.

        Ends when it is ready, and then the last view has its url. Closing the generator before does as with `launch`.
        Where it fails the server is gone, and this can be called again, with other or the earlier speculation.

        Args:
            server: Its id.
            tokens: Proposals for each step; 0 for none, None for as it was first launched.

        Raises:
            LaunchFailed: If it ends before it is ready.
        """
        ...

    async def stop(self, server: str) -> None:
        """Stop a server that was started here, whole, by its id."""
        ...

    async def log(self, server: str, since: int) -> LogPart:
        """What a server's log holds from a place on.

        Args:
            server: Its id.
            since: 0, or `next` of the part before.
        """
        ...

    async def acceptance_finding(self, url: str, acceptance_length: float, drafts: int) -> Finding | None:
        """What an acceptance length says about a server that was launched here; None where nothing is wrong or known.

        Args:
            url: Where the server answers.
            acceptance_length: Over the replies so far, as vLLM defines it.
            drafts: Steps that it was taken over.
        """
        ...

    async def close(self) -> None:
        """Stop watching, and end what belongs to this program."""
        ...


@dataclass(frozen=True, slots=True)
class GpuLine:
    """What one GPU says of itself now; None is unknown."""

    index: int
    name: str = ""
    use: float | None = None
    """Share of the time in which it computed, from 0 to 1."""
    vram_used: int | None = None
    """Bytes."""
    vram_total: int | None = None
    """Bytes."""
    power: float | None = None
    """Watts."""
    power_cap: float | None = None
    """Watts."""
    hotspot: float | None = None
    """Degrees Celsius."""


class GpuWatch(Protocol):
    """The GPUs of this machine."""

    async def read(self) -> Sequence[GpuLine] | None:
        """What they say now; None where there are none, or nothing tells. Never raises."""
        ...
