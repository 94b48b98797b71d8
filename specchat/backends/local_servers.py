"""Servers of this machine, by way of the launcher: every call of it blocks, so each runs in a thread.

Owns what the launcher's records mean for the screens. The launcher is imported when it is first asked for something.
"""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar
from urllib.parse import SplitResult, urlsplit

from specchat.backends.launches import Launch, finding_of, follow_in_thread, launch_in_thread, server_line
from specchat.backends.log_reading import read_log
from specchat.backends.threads import in_thread
from specchat.core.errors import ConfigurationError, SpecchatError
from specchat.session.local_servers import (
    AlreadyRuns,
    CheckLine,
    Finding,
    GpuLine,
    LaunchedServer,
    LaunchFailed,
    LaunchView,
    LogPart,
    ProfileLine,
    ServerLine,
)

if TYPE_CHECKING:
    from specchat_launcher.found import FoundServer
    from specchat_launcher.profiles import Profile
    from specchat_launcher.registry import ServerRecord
    from specchat_launcher.telemetry import Telemetry

_TIMES = "\N{MULTIPLICATION SIGN}"
DEMO_PROFILE = "cpu-smollm2"
_JOIN_SECONDS = 25.0
"""That a start may take to end when it is given up; the launcher's own limit is 15 s, and some for its last look."""

_Made = TypeVar("_Made")


class LauncherServers:
    """The servers of one data directory."""

    def __init__(self, root: Path, user_profiles: Path, *, ports: Sequence[int] | None = None) -> None:
        """Look at nothing yet.

        Args:
            root: The data directory.
            user_profiles: Folder of the user's own profiles, which need not exist.
            ports: Where servers that others started are looked for; None for the usual ports.
        """
        self._root = root
        self._user_profiles = user_profiles
        self._ports = ports
        self._launches: list[Launch] = []
        """Those that belong to this program: running, or still starting."""
        self._replaced: dict[str, ServerRecord] = {}
        """Servers that were stopped to be launched anew: their state files are gone if that does not succeed."""
        self._logs: dict[str, Path] = {}
        """Of every server that was seen, since a log outlives its server."""

    async def profiles(self) -> Sequence[ProfileLine]:
        """Every profile; one that makes no sense says why it cannot be launched."""
        return await _in_thread(self._profiles)

    def _profiles(self) -> list[ProfileLine]:
        from specchat_launcher.errors import LauncherError
        from specchat_launcher.profiles import load_profile, profile_names

        lines = []
        for name in profile_names(self._user_profiles):
            try:
                profile = load_profile(name, user_folder=self._user_profiles)
                parts = [load_profile(member, user_folder=self._user_profiles) for member in profile.members]
                lines.append(_profile_line(profile, parts or [profile]))
            except LauncherError as error:
                lines.append(ProfileLine(name, name, "", can_launch=False, why_not=f"{error.message} {error.hint}"))
        return lines

    async def servers(self) -> Sequence[ServerLine]:
        """What was started here and lives, then what else answers on the usual ports."""
        return await _in_thread(self._servers)

    def _servers(self) -> list[ServerLine]:
        from specchat_launcher.found import USUAL_PORTS, answering
        from specchat_launcher.registry import servers
        from specchat_launcher.relaunching import belongs_here

        records = servers(self._root)
        now = time.time()
        lines = [server_line(record, now, is_own=belongs_here(record)) for record in records]
        self._logs |= {record.id: record.log for record in records}
        taken = {record.port for record in records}
        ports = [port for port in (self._ports if self._ports is not None else USUAL_PORTS) if port not in taken]
        return [*lines, *map(_found_line, answering(ports))]

    async def check(self, profile: str, changes: Sequence[str]) -> Sequence[CheckLine]:
        """Everything that can be known without starting anything."""
        return await _in_thread(lambda: self._check(profile, changes))

    def _check(self, name: str, changes: Sequence[str]) -> list[CheckLine]:
        from specchat_launcher.preflight import examine, this_machine

        profile = self._load(name, changes)
        found = examine(profile, this_machine(), root=self._root, user_folder=self._user_profiles)
        return [CheckLine(one.name, one.state.value, one.evidence, one.advice, one.command) for one in found]

    async def command(self, profile: str, changes: Sequence[str]) -> str:
        """What `--dry-run` prints; of several servers, one command below the other."""
        return await _in_thread(lambda: self._command(profile, changes))

    def _command(self, name: str, changes: Sequence[str]) -> str:
        from specchat_launcher.commands import shell_text
        from specchat_launcher.planning import plan

        parts = self._parts(name, changes)
        specs = [plan(part, self._root, report=lambda _: None, prepare=False) for part in parts]
        return "\n\n".join(shell_text(spec, os.environ) for spec in specs)

    async def launch(self, profile: str, changes: Sequence[str], *, owned: bool) -> AsyncGenerator[LaunchView, None]:
        """Start a profile's server; closing this early ends the start of an owned one, and of one without an id."""
        first: LaunchView | None = None
        for part in await _in_thread(lambda: self._parts(profile, changes)):
            launch = Launch(part, self._root, owned=owned)
            if owned:
                self._launches.append(launch)
            async with contextlib.aclosing(self._views(launch)) as views:
                async for view in views:
                    yield view
            if first is None:
                first = view
            else:
                # Of several servers the first is the one to talk to.
                yield first

    async def _views(self, launch: Launch) -> AsyncGenerator[LaunchView, None]:
        launch_in_thread(launch, asyncio.get_running_loop())
        try:
            async for view in self._until_told(launch):
                yield view
        finally:
            launch.give_up()
            await asyncio.to_thread(launch.join, _JOIN_SECONDS if launch.ends_given_up else 0.0)
            if launch.server is None and launch in self._launches:
                self._launches.remove(launch)

    async def launched(self, url: str) -> LaunchedServer | None:
        """What is known of the launch of a server that was launched here."""
        return await _in_thread(lambda: self._launched(url))

    def _launched(self, url: str) -> LaunchedServer | None:
        from specchat_launcher.registry import Owner, is_alive, recorded
        from specchat_launcher.relaunching import partner_of, why_not_anew
        from specchat_launcher.start_times import last_start

        alive = [record for record in recorded(self._root) if is_alive(record.supervisor)]
        record = next((one for one in alive if _is_at(one.url, url)), None)
        runs = record is not None
        record = record or next((one for one in self._replaced.values() if _is_at(one.url, url)), None)
        if record is None:
            return None
        partner = partner_of(record, self._root, user_folder=self._user_profiles) if runs else None
        return LaunchedServer(
            record.id,
            record.url,
            record.profile,
            tokens=None if record.origin is None else record.origin.tokens,
            why_not=why_not_anew(record, user_folder=self._user_profiles) if runs else "",
            start_seconds=last_start(self._root, record.profile),
            owned=record.owner is Owner.APP,
            runs=runs,
            baseline_url="" if partner is None else partner.url,
        )

    async def relaunch(self, server: str, tokens: int | None) -> AsyncGenerator[LaunchView, None]:
        """Stop a server and launch it anew at the same address, with other speculation."""
        launch = await _in_thread(lambda: self._launch_anew(server, tokens))
        async with contextlib.aclosing(self._views(launch)) as views:
            async for view in views:
                yield view
        self._replaced.pop(server, None)

    def _launch_anew(self, server: str, tokens: int | None) -> Launch:
        from specchat_launcher.registry import Owner, find
        from specchat_launcher.relaunching import profile_anew, why_not_anew

        running = find(self._root, server)
        record = running or self._replaced.get(server) or self._record(server)
        if running is not None and (why_not := why_not_anew(record, user_folder=self._user_profiles)):
            raise ConfigurationError(why_not)
        profile = profile_anew(record, tokens, user_folder=self._user_profiles)
        owned = record.owner is Owner.APP
        held = next((one.server for one in self._launches if one.id == server), None)
        launch = Launch(profile, self._root, owned=owned, instead_of=record, held=held)
        self._replaced[server] = record
        self._launches = [one for one in self._launches if one.id != server]
        if owned:
            self._launches.append(launch)
        return launch

    async def follow(self, server: str) -> AsyncGenerator[LaunchView, None]:
        """Watch a start that somebody else began."""
        record = await _in_thread(lambda: self._record(server))
        launch = Launch(None, self._root, owned=False, record=record)
        follow_in_thread(launch, asyncio.get_running_loop())
        try:
            async for view in self._until_told(launch):
                yield view
        finally:
            launch.give_up()

    async def _until_told(self, launch: Launch) -> AsyncGenerator[LaunchView, None]:
        """The views of a launch, the newest where several wait; raises what ended it."""
        while True:
            waiting = [await launch.told.get()]
            while not launch.told.empty():
                waiting.append(launch.told.get_nowait())
            views = [told for told in waiting if isinstance(told, LaunchView)]
            if views:
                if views[-1].id and launch.log is not None:
                    self._logs[views[-1].id] = launch.log
                yield views[-1]
            end = waiting[-1]
            if end is None:
                return
            if not isinstance(end, LaunchView):
                raise _translated(end)

    async def stop(self, server: str) -> None:
        """Stop a server that was started here, whole."""
        await _in_thread(lambda: self._stop(server))

    def _stop(self, server: str) -> None:
        from specchat_launcher.stopping import stop

        stop(self._record(server), self._root)
        self._launches = [launch for launch in self._launches if launch.id != server]

    async def log(self, server: str, since: int) -> LogPart:
        """What a server's log holds from a place on."""
        return await _in_thread(lambda: self._log(server, since))

    def _log(self, server: str, since: int) -> LogPart:
        path = self._logs.get(server) or self._record(server).log
        self._logs[server] = path
        return read_log(path, since)

    async def acceptance_finding(self, url: str, acceptance_length: float, drafts: int) -> Finding | None:
        """What an acceptance length says about a server that was launched here."""
        return await _in_thread(lambda: self._acceptance_finding(url, acceptance_length, drafts))

    def _acceptance_finding(self, url: str, acceptance_length: float, drafts: int) -> Finding | None:
        from specchat_launcher.registry import recorded
        from specchat_launcher.startup.health import acceptance_health

        record = next((one for one in recorded(self._root) if one.url == url.rstrip("/")), None)
        if record is None:
            return None
        expected = self._load(record.profile, ()).expected
        if expected is None or expected.acceptance_length is None:
            return None
        found = acceptance_health(expected.acceptance_length, acceptance_length, drafts)
        return None if found is None else finding_of(found)

    async def close(self) -> None:
        """End the servers that belong to this program."""
        launches, self._launches = self._launches, []
        for launch in launches:
            launch.give_up()
        for launch in launches:
            await asyncio.to_thread(launch.end, _JOIN_SECONDS)

    def _load(self, name: str, changes: Sequence[str]) -> "Profile":
        from specchat_launcher.profiles import load_profile

        return load_profile(name, user_folder=self._user_profiles, changes=changes)

    def _parts(self, name: str, changes: Sequence[str]) -> "Sequence[Profile]":
        from specchat_launcher.profiles import load_profiles

        return load_profiles(name, user_folder=self._user_profiles, changes=changes)

    def _record(self, server: str) -> "ServerRecord":
        from specchat_launcher.registry import find

        record = find(self._root, server)
        if record is None:
            raise ConfigurationError("That server has ended.", "Look again: r.")
        return record


class LauncherGpus:
    """The GPUs of this machine, by the cheapest way there is."""

    def __init__(self, find: "Callable[[], Telemetry | None] | None" = None) -> None:
        """Look at nothing yet.

        Args:
            find: Finds what reads them; None for the launcher's own way.
        """
        self._find = find
        self._telemetry: Telemetry | None = None

    async def read(self) -> Sequence[GpuLine] | None:
        """What they say now; None where there are none."""
        return await in_thread(self._read)

    def _read(self) -> list[GpuLine] | None:
        if self._telemetry is None:
            from specchat_launcher.telemetry import find_telemetry

            self._telemetry = (self._find or find_telemetry)()
        if self._telemetry is None:
            return None
        return [
            GpuLine(one.index, one.name, one.use, one.vram_used, one.vram_total, one.power, one.power_cap, one.hotspot)
            for one in self._telemetry.read()
        ] or None


async def _in_thread(work: Callable[[], _Made]) -> _Made:
    """What a blocking call returns; its failure as the user's to know about."""
    with _translating():
        return await in_thread(work)


@contextlib.contextmanager
def _translating() -> Iterator[None]:
    try:
        yield
    except SpecchatError:
        raise
    except Exception as error:
        raise _translated(error) from error


def _translated(error: BaseException) -> BaseException:
    """A failure of the launcher as specchat's; any other is an error of the program's own."""
    from specchat_launcher.errors import LauncherError
    from specchat_launcher.launching import AlreadyRunning
    from specchat_launcher.waiting import StartFailed

    match error:
        case AlreadyRunning():
            line = server_line(error.record, time.time(), is_own=False)
            return AlreadyRuns(f"{error.record.profile} runs already at {error.record.url}.", "", line)
        case StartFailed():
            return LaunchFailed(finding_of(error.diagnosis), error.last_lines, error.log)
        case LauncherError():
            return ConfigurationError(error.message, error.hint)
        case OSError():
            return SpecchatError(f"The system refused something: {error}.", "Give access or make room, and try again.")
        case _:
            return error


def _profile_line(profile: "Profile", parts: "Sequence[Profile]") -> ProfileLine:
    gpus = [part.gpus for part in parts if part.gpus is not None]
    count = sum(need.count for need in gpus)
    needs = [f"{count} {_TIMES} {gpus[0].architecture or 'GPU'}"] if gpus else []
    if profile.container is not None:
        needs.append("container")
    if profile.name == DEMO_PROFILE:
        needs.append("any x86-64 CPU")
    return ProfileLine(
        name=profile.name,
        title=profile.title,
        summary=profile.summary,
        needs=", ".join(needs),
        can_launch=not profile.cannot,
        why_not=profile.cannot,
        is_demo=profile.name == DEMO_PROFILE,
        url=profile.url,
    )


def _is_at(own: str, url: str) -> bool:
    """Is the address of a server that was launched here this one? This machine has several names for itself."""
    one, other = urlsplit(own), urlsplit(url)
    ours = {one.hostname, "localhost", "127.0.0.1", "::1"}
    return one.port == other.port and (one.hostname == other.hostname or (other.hostname in ours and _is_here(one)))


def _is_here(address: SplitResult) -> bool:
    return address.hostname in {"localhost", "127.0.0.1", "::1"}


def _found_line(server: "FoundServer") -> ServerLine:
    model = ", ".join(server.models) or ("wants a key first" if server.key_needed else None)
    speculation = {True: "on", False: "off", None: ""}[server.speculates]
    return ServerLine(
        id=server.url, url=server.url, model=model, version=server.version or None, speculation=speculation
    )
