"""The servers that specchat started on this machine, as their supervisors wrote them down.

Owns the state files in `servers/` below the data directory: reading them, and telling the living from the dead by
process id, start time and boot. Ends no process itself; what a killed supervisor left is handed to `stopping`.
"""

import contextlib
import os
import socket
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import Any

from specchat_launcher import readiness
from specchat_launcher.files import read_json
from specchat_launcher.paths import DataLayout, ensure
from specchat_launcher.ports import listener_inodes, socket_inodes
from specchat_launcher.secret_names import is_secret
from specchat_launcher.spec import Origin
from specchat_launcher.supervisor import MARK_VARIABLE, ProcessEntry, boot_id, descendants, pid_namespace, process_table

STARTING, READY, STOPPING, ORPHANED = "starting", "ready", "stopping", "orphaned"
QUICK_S = 1.0
SCRATCH_PREFIX = "specchat-server-"
"""How the folder of a server's temporary files begins: no other folder is ever removed."""


class Owner(StrEnum):
    """Who a server belongs to."""

    APP = "app"
    """It dies with whoever started it."""
    ITSELF = "itself"
    """It was launched: its supervisor is its own, and it goes on until it is stopped."""


@dataclass(frozen=True, slots=True)
class ProcessId:
    """One process, told apart from a later one that was given the same number.

    Attributes:
        pid: Process id.
        start_ticks: When it started, in clock ticks since the machine did.
    """

    pid: int
    start_ticks: int


@dataclass(frozen=True, slots=True)
class ServerRecord:
    """A server that specchat started.

    Attributes:
        id: What the user calls it: the profile and the port.
        profile: The profile it was started from.
        url: Its address, without a path.
        host: Address it listens on.
        port: Port it listens on.
        model: The name of the target model in its API.
        version: The version of its engine, "" where that is not known.
        server: The kind of server, as in the profile.
        owner: Who it belongs to.
        supervisor: The process that stands above it.
        leader: Its front end, which leads the session of all its processes; None before it was started.
        log: Its log.
        started_at: When it was started, in seconds since the epoch.
        container: The name of its container; None where it runs in none.
        container_tool: The program that runs the container.
        state: "starting", "ready", "stopping", or "orphaned": its supervisor was killed.
        key_needed: Whether its API asks for a key.
        mark: A random word in the environment of all its processes, by which stray ones are found.
        speculation: How it speculates, in a few words; "" for plain decoding.
        scratch: The folder of its temporary files, which ends with it; "" where it has none of its own.
        container_stop: The command that stops its container, if any.
        container_remove: The command that removes it.
        container_inspect: The command that succeeds while it exists.
        origin: What it was started with beside its profile; None where that is not known, because an older specchat
            started it or because a secret is among it.
    """

    id: str
    profile: str
    url: str
    host: str
    port: int
    model: str
    version: str
    server: str
    owner: Owner
    supervisor: ProcessId
    leader: ProcessId | None
    log: Path
    started_at: float
    container: str | None
    container_tool: str | None
    state: str
    key_needed: bool
    mark: str = ""
    speculation: str = ""
    scratch: str = ""
    container_stop: tuple[str, ...] = ()
    container_remove: tuple[str, ...] = ()
    container_inspect: tuple[str, ...] = ()
    origin: Origin | None = None


def server_id(profile: str, port: int) -> str:
    """What the user calls a server, and the name of its state file."""
    return f"{profile}-{port}"


def state_file(root: Path, identifier: str) -> Path:
    """Where the state of a server is kept."""
    return DataLayout(root).servers / f"{identifier}.json"


def servers_folder(root: Path) -> Path:
    """The folder of state files, which only this user may read.

    Raises:
        LauncherError: It cannot be created.
    """
    folder = ensure(DataLayout(root).servers)
    with contextlib.suppress(OSError):
        folder.chmod(stat.S_IRWXU)
    return folder


def servers(root: Path, *, ask: bool = True) -> tuple[ServerRecord, ...]:
    """The living servers that specchat started, the oldest first.

    What a killed supervisor left behind is cleared on the way, which takes seconds where there is something.

    Args:
        root: The data directory.
        ask: Find out which of them are ready, over HTTP; otherwise those that listen count as ready.
    """
    # It needs this module's types.
    from specchat_launcher.stopping import StopError, clear

    found = []
    _sweep(DataLayout(root).servers)
    for record in recorded(root):
        if is_alive(record.supervisor):
            found.append(_with_state(record, ask=ask))
            continue
        try:
            clear(record, root)
        except StopError:
            found.append(replace(record, state=ORPHANED))
    return tuple(sorted(found, key=lambda record: record.started_at))


def recorded(root: Path) -> tuple[ServerRecord, ...]:
    """Every state file of this machine and boot as it is, living or not. Those of an earlier boot are removed."""
    found = []
    for path in sorted(DataLayout(root).servers.glob("*.json")):
        content = read_json(path)
        if content is None:
            continue
        if content.get("boot") != boot_id():
            # In a home that several machines share, the file may belong to another one that runs.
            if content.get("machine") == socket.gethostname():
                path.unlink(missing_ok=True)
            continue
        # Process ids of another container say nothing here.
        if content.get("pid_namespace") == pid_namespace() and (record := record_from(content)) is not None:
            found.append(record)
    return tuple(found)


def find(root: Path, identifier: str) -> ServerRecord | None:
    """The state file of one server as it is; None where there is none."""
    return next((record for record in recorded(root) if record.id == identifier), None)


def is_alive(process: ProcessId | None) -> bool:
    """Whether this very process runs, and not another one with its number."""
    if process is None:
        return False
    entry = process_table(only=process.pid).get(process.pid)
    return entry is not None and not entry.zombie and entry.started == process.start_ticks


def members(record: ServerRecord, *, table: Mapping[int, ProcessEntry] | None = None) -> tuple[ProcessEntry, ...]:
    """Every living process of a server: below its supervisor, in its session, or bearing its mark.

    A process counts by its session only where the number cannot have been given away since: the leader is the one
    that was recorded, or it is gone and the process is not older than it.
    """
    table = process_table() if table is None else table
    found: dict[int, ProcessEntry] = {}
    if is_alive(record.supervisor):
        found.update({entry.pid: entry for entry in descendants(record.supervisor.pid, table)})
    leader = record.leader
    if leader is not None:
        head = table.get(leader.pid)
        if head is None or head.started == leader.start_ticks:
            mine = (e for e in table.values() if e.session == leader.pid and e.started >= leader.start_ticks)
            found.update({entry.pid: entry for entry in mine if _is_ours(entry.pid)})
    if record.mark:
        word = f"{MARK_VARIABLE}={record.mark}".encode()
        for entry in table.values():
            if entry.pid not in found and _bears(entry.pid, word):
                found[entry.pid] = entry
    for pid in list(found):
        found.update({entry.pid: entry for entry in descendants(pid, table)})
    found.pop(record.supervisor.pid, None)
    found.pop(os.getpid(), None)
    return tuple(entry for entry in found.values() if not entry.zombie)


def listens(record: ServerRecord) -> bool:
    """Whether the server itself, and no other program, listens on its port; for one in a container nobody can tell."""
    if record.container is not None:
        # Its daemon listens for it, or redirects the port without listening.
        return True
    listening = listener_inodes(record.port)
    return bool(listening) and listening <= socket_inodes(entry.pid for entry in members(record))


def _with_state(record: ServerRecord, *, ask: bool) -> ServerRecord:
    if record.state == STOPPING or not listens(record):
        return record
    if (ask or record.container is not None) and not readiness.is_healthy(record.host, record.port, timeout_s=QUICK_S):
        return record
    return replace(record, state=READY)


def record_from(content: dict[str, Any]) -> ServerRecord | None:
    """A record from a state file's content; None where that is not one."""
    try:
        return ServerRecord(
            id=str(content["id"]),
            profile=str(content["profile"]),
            url=str(content["url"]),
            host=str(content["host"]),
            port=int(content["port"]),
            model=str(content["model"]),
            version=str(content["version"]),
            server=str(content["server"]),
            owner=Owner(content["owner"]),
            supervisor=ProcessId(*map(int, content["supervisor"])),
            leader=ProcessId(*map(int, content["leader"])) if content.get("leader") else None,
            log=Path(content["log"]),
            started_at=float(content["started_at"]),
            container=content.get("container"),
            container_tool=content.get("container_tool"),
            state=str(content["state"]),
            key_needed=bool(content["key_needed"]),
            mark=str(content.get("mark", "")),
            speculation=str(content.get("speculation", "")),
            scratch=str(content.get("scratch", "")),
            container_stop=tuple(map(str, content.get("container_stop", ()))),
            container_remove=tuple(map(str, content.get("container_remove", ()))),
            container_inspect=tuple(map(str, content.get("container_inspect", ()))),
            origin=_origin_from(content.get("origin")),
        )
    except (KeyError, TypeError, ValueError):
        return None


def origin_content(origin: Origin | None) -> dict[str, Any] | None:
    """What a server was started with, as its state file has it; None where a secret is among it, which is not kept."""
    if origin is None or any(is_secret(change.partition("=")[0]) for change in origin.changes):
        return None
    return {
        "changes": list(origin.changes),
        "hook": origin.hook,
        "tokens": origin.tokens,
        "python": origin.python,
    }


def _origin_from(content: dict[str, Any] | None) -> Origin | None:
    if content is None:
        return None
    tokens = content.get("tokens")
    return Origin(
        changes=tuple(map(str, content["changes"])),
        hook=bool(content["hook"]),
        tokens=None if tokens is None else int(tokens),
        python=str(content.get("python", "")),
    )


def _is_ours(pid: int, proc: Path = Path("/proc")) -> bool:
    try:
        return (proc / str(pid)).stat().st_uid == os.getuid()
    except OSError:
        return False


def _bears(pid: int, word: bytes, proc: Path = Path("/proc")) -> bool:
    try:
        return word in (proc / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def _sweep(folder: Path) -> None:
    """Remove the halves of state files whose writers were killed."""
    for path in folder.glob(".*.json.*"):
        writer = path.name.rsplit(".", 1)[1]
        if not (Path("/proc") / writer).exists():
            path.unlink(missing_ok=True)
