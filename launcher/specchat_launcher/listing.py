"""The local servers in one list: those that specchat started, and those that merely answer.

Owns what is said about each, and its form as a table and as JSON.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from specchat_launcher.found import FoundServer, answering
from specchat_launcher.registry import ServerRecord, servers

FOUND = "answers"
MINUTE, HOUR, DAY = 60, 3600, 86_400


@dataclass(frozen=True, slots=True)
class ListedServer:
    """One line of the list.

    Attributes:
        id: What `stop` calls it; None for a server that specchat did not start.
        url: Its address.
        profile: The profile it was started from; None for a found one.
        models: The names of its models.
        version: Its version; "" where it does not say.
        speculation: "eagle3 k=3", "yes", "no", or "" where nothing tells.
        state: "starting", "ready", "stopping", "orphaned", or "answers" for a found one.
        owner: "app", "itself", or None for a found one.
        uptime_seconds: Since it was started; None for a found one.
        key_needed: Whether its API asks for a key.
        log: Its log; None for a found one.
    """

    id: str | None
    url: str
    profile: str | None
    models: tuple[str, ...]
    version: str
    speculation: str
    state: str
    owner: str | None
    uptime_seconds: float | None
    key_needed: bool
    log: Path | None

    def as_json(self) -> dict[str, Any]:
        """The line as values that JSON has."""
        return {**asdict(self), "models": list(self.models), "log": None if self.log is None else str(self.log)}


def listed(root: Path, now: float | None = None) -> tuple[ListedServer, ...]:
    """The servers of specchat and what answers on the usual ports.

    Args:
        root: The data directory.
        now: Seconds since the epoch; None for the present.
    """
    now = time.time() if now is None else now
    with ThreadPoolExecutor(max_workers=1, thread_name_prefix="found") as pool:
        asked = pool.submit(answering)
        started = servers(root)
        others = asked.result()
    ports = {record.port for record in started}
    return (
        *(_of_record(record, now) for record in started),
        *(_of_found(server) for server in others if server.port not in ports),
    )


def table(lines: Sequence[ListedServer]) -> list[str]:
    """The list as lines of text in columns, with a head."""
    rows = [("SERVER", "STATE", "URL", "MODEL", "VERSION", "SPECULATION", "UP", "OWNER")]
    for line in lines:
        models = ", ".join(line.models) or ("(wants a key)" if line.key_needed else "")
        up = "" if line.uptime_seconds is None else duration(line.uptime_seconds)
        owner = {"app": "its app", "itself": "itself"}.get(line.owner or "", "not specchat")
        rows.append((line.id or "-", line.state, line.url, models, line.version, line.speculation, up, owner))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(word.ljust(width) for word, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def duration(seconds: float) -> str:
    """A time span in its two largest units, such as "2 h 5 min"."""
    whole = max(0, int(seconds))
    if whole < MINUTE:
        return f"{whole} s"
    if whole < HOUR:
        return f"{whole // MINUTE} min {whole % MINUTE} s"
    if whole < DAY:
        return f"{whole // HOUR} h {whole % HOUR // MINUTE} min"
    return f"{whole // DAY} d {whole % DAY // HOUR} h"


def _of_record(record: ServerRecord, now: float) -> ListedServer:
    return ListedServer(
        id=record.id,
        url=record.url,
        profile=record.profile,
        models=(record.model,),
        version=record.version,
        speculation=record.speculation or "no",
        state=record.state,
        owner=record.owner.value,
        uptime_seconds=max(0.0, now - record.started_at),
        key_needed=record.key_needed,
        log=record.log,
    )


def _of_found(server: FoundServer) -> ListedServer:
    speculation = "" if server.speculates is None else "yes" if server.speculates else "no"
    return ListedServer(
        id=None,
        url=server.url,
        profile=None,
        models=server.models,
        version=server.version,
        speculation=speculation,
        state=FOUND,
        owner=None,
        uptime_seconds=None,
        key_needed=server.key_needed,
        log=None,
    )
