"""One start of the launcher in a thread, told to an event loop as views.

Owns the thread and how it is asked to end. What a server is and how it starts is the launcher's.
"""

import asyncio
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from specchat.session.local_servers import Finding, LaunchView, PhaseLine, ServerLine

if TYPE_CHECKING:
    from collections.abc import Callable

    from specchat_launcher.profiles import Profile
    from specchat_launcher.progress import Progress
    from specchat_launcher.registry import ServerRecord
    from specchat_launcher.running import RunningServer
    from specchat_launcher.startup.findings import Diagnosis
    from specchat_launcher.startup.watching import StartState

_TAIL = 60
"""Lines of the log in a view."""


class Launch:
    """A start, or the watching of one.

    Attributes:
        told: Views as they come, then None, or what went wrong.
        server: That answers; None until then.
        log: Its log; None until it is known.
        ends_given_up: Was it given up when there was nothing yet that would go on?
    """

    def __init__(
        self,
        profile: "Profile | None",
        root: Path,
        *,
        owned: bool,
        record: "ServerRecord | None" = None,
        instead_of: "ServerRecord | None" = None,
        held: "RunningServer | None" = None,
    ) -> None:
        """Prepare a start.

        Args:
            profile: What to start; None to watch.
            root: The data directory.
            owned: Does the server die with this program?
            record: The server to watch.
            instead_of: The server in whose place it comes: it is stopped first, and its address is taken.
            held: The same as this program started it; None where it did not.
        """
        self.profile = profile
        self.root = root
        self.owned = owned
        self.record = record
        self.instead_of = instead_of
        self._held = held
        self.told: asyncio.Queue[LaunchView | BaseException | None] = asyncio.Queue()
        self.server: RunningServer | None = None
        self.log: Path | None = None if record is None else record.log
        self._given_up = threading.Event()
        self.ends_given_up = False
        self._thread: threading.Thread | None = None
        self._phases = _Phases()
        self._began = time.time()

    @property
    def id(self) -> str:
        """Of the server; "" until it has one."""
        return "" if self.record is None else self.record.id

    @property
    def is_ended_by_giving_up(self) -> bool:
        """Is nothing left of it once it was given up? Else the server goes on without being watched."""
        return self.profile is not None and self.server is None and (self.owned or self.record is None)

    def give_up(self) -> None:
        """Ask the thread to end. What that means for the server is decided by how far it is at the first time."""
        if not self._given_up.is_set():
            self.ends_given_up = self.is_ended_by_giving_up
        self._given_up.set()

    def join(self, seconds: float) -> None:
        """Wait for the thread's end."""
        if self._thread is not None and seconds:
            self._thread.join(seconds)

    def end(self, seconds: float) -> None:
        """Have the thread end, and stop the server. Blocks."""
        self.give_up()
        self.join(seconds)
        if self.server is not None:
            # What is left over is cleared by whoever looks next, and there is nobody to be told here.
            from specchat_launcher.errors import LauncherError

            with suppress(LauncherError, OSError):
                self.server.stop()

    def run(self, work: "Callable[[], RunningServer]", loop: asyncio.AbstractEventLoop) -> None:
        """Do the work in a thread of its own, which does not keep the program from ending."""

        def tell(what: LaunchView | BaseException | None) -> None:
            with suppress(RuntimeError):  # the loop may have ended
                loop.call_soon_threadsafe(self.told.put_nowait, what)

        def thread() -> None:
            try:
                self.server = work()
                self.record = self.server.record
                self.log = self.record.log
                tell(self._last_view(self.server))
                tell(None)
            except BaseException as error:  # noqa: BLE001 - whatever it is, who waits must hear of it
                tell(error)

        self._tell = tell
        self._thread = threading.Thread(target=thread, name="launch", daemon=True)
        self._thread.start()

    def asked_to_stop(self) -> bool:
        """Does the launcher have to end the start?"""
        return self._given_up.is_set() and self.ends_given_up

    def stop_before(self, record: "ServerRecord") -> None:
        """End the server in whose place this one comes: called in the thread."""
        from specchat_launcher.stopping import stop
        from specchat_launcher.waiting import StartStopped

        seconds = time.time() - self._began
        self._phases.be("stopping", None, seconds)
        self._tell(LaunchView("stopping", record.id, seconds=seconds, phases=self._phases.lines()))
        if self._held is not None:
            self._held.stop()
        stop(record, self.root)
        if self._given_up.is_set():
            raise StartStopped

    def prepare(self, progress: "Progress") -> None:
        """The launcher tells of what comes before a server: called in its thread."""
        if self._given_up.is_set():
            from specchat_launcher.waiting import StartStopped

            raise StartStopped
        seconds = time.time() - self._began
        self._phases.be(progress.phase.value, None, seconds)
        self._tell(
            LaunchView(
                progress.phase.value,
                progress.detail,
                progress.fraction,
                self._phases.current_seconds(seconds),
                seconds,
                phases=self._phases.lines(),
            )
        )

    def report(self, state: "StartState") -> None:
        """The launcher tells where the start is: called in its thread."""
        if self.record is None:
            self._find_record()
        if self._given_up.is_set() and not self.ends_given_up:
            from specchat_launcher.launching import LeftRunning

            raise LeftRunning
        self._phases.be(state.phase.value, state.phase_seconds, time.time() - self._began)
        self._tell(
            LaunchView(
                state.phase.value,
                state.detail,
                state.fraction,
                state.phase_seconds,
                time.time() - self._began if self.profile is not None else state.seconds,
                tuple(state.last_lines[-_TAIL:]),
                tuple(map(finding_of, state.warnings)),
                self._phases.lines(),
                id=self.id,
            )
        )

    def _last_view(self, server: "RunningServer") -> LaunchView:
        seconds = time.time() - self._began
        self._phases.be("ready", 0.0, seconds)
        notices = tuple(Finding("info", notice) for notice in server.notices)
        return LaunchView(
            "ready",
            f"{server.model} at {server.url}",
            1.0,
            0.0,
            seconds,
            warnings=(*map(finding_of, server.warnings), *notices),
            phases=self._phases.lines(done=True),
            id=server.id,
            url=server.url,
        )

    def _find_record(self) -> None:
        from specchat_launcher.registry import recorded

        if self.profile is None:
            return
        for record in recorded(self.root):
            if record.profile == self.profile.name and record.started_at >= self._began - 1:
                self.record, self.log = record, record.log


def launch_in_thread(launch: Launch, loop: asyncio.AbstractEventLoop) -> None:
    """Begin a start."""

    def work() -> "RunningServer":
        from specchat_launcher.launching import launch_profile
        from specchat_launcher.registry import Owner

        assert launch.profile is not None  # noqa: S101 - who starts has a profile
        before = launch.instead_of
        if before is not None:
            launch.stop_before(before)
        origin = None if before is None else before.origin
        return launch_profile(
            launch.profile,
            launch.root,
            owner=Owner.APP if launch.owned else Owner.ITSELF,
            report=launch.report,
            preparing=launch.prepare,
            port=None if before is None else before.port,
            host=None if before is None else before.host,
            hook=origin is None or origin.hook,
            stop_asked=launch.asked_to_stop,
        )

    launch.run(work, loop)


def follow_in_thread(launch: Launch, loop: asyncio.AbstractEventLoop) -> None:
    """Begin to watch."""

    def work() -> "RunningServer":
        from specchat_launcher.launching import attach

        assert launch.record is not None  # noqa: S101 - who watches has a record
        return attach(launch.record, launch.root, launch.report)

    launch.run(work, loop)


def finding_of(diagnosis: "Diagnosis") -> Finding:
    """A diagnosis of the launcher as the screens take it."""
    return Finding(diagnosis.severity, diagnosis.title, diagnosis.remedy, diagnosis.lines)


def server_line(record: "ServerRecord", now: float, *, is_own: bool) -> ServerLine:
    """A record of the launcher as the screens take it.

    Args:
        record: Of a server that lives.
        now: Seconds since the epoch.
        is_own: Does it belong to this program?
    """
    from specchat_launcher.registry import Owner

    owners = {Owner.APP: "this chat" if is_own else "another specchat", Owner.ITSELF: "nothing: it runs until stopped"}
    names = {"vllm": "vLLM", "sglang": "SGLang", "transformers": "transformers serve"}
    return ServerLine(
        id=record.id,
        url=record.url,
        profile=record.profile,
        model=record.model or None,
        version=f"{names.get(record.server, record.server)} {record.version}".strip(),
        speculation=record.speculation or "off",
        uptime_seconds=max(0.0, now - record.started_at),
        state=record.state,
        started_here=True,
        owner=owners[record.owner],
        log=record.log,
    )


class _Phases:
    """Which phases a start went through, and how long each took; one that comes again goes on where it was."""

    def __init__(self) -> None:
        self._seconds: dict[str, float | None] = {}
        self._current = ""
        self._since = 0.0
        self._before = 0.0
        """Seconds of the current phase from earlier times."""

    def be(self, name: str, phase_seconds: float | None, now: float) -> None:
        """The start is in a phase.

        Args:
            name: Of the phase.
            phase_seconds: For how long, where the launcher says; None to count.
            now: Seconds since the start began.
        """
        if name != self._current:
            self._current, self._since = name, now
            self._before = self._seconds.get(name) or 0.0
        took = now - self._since if phase_seconds is None else phase_seconds
        self._seconds[name] = (
            max(self._before, took) if self._before and phase_seconds is not None else self._before + took
        )

    def current_seconds(self, now: float) -> float:
        """Of the phase that runs."""
        return self._before + now - self._since

    def lines(self, *, done: bool = False) -> tuple[PhaseLine, ...]:
        """Every phase so far, in the order in which they began."""
        return tuple(PhaseLine(name, took, done or name != self._current) for name, took in self._seconds.items())
