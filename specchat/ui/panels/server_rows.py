"""What the servers screen lists: servers and profiles in groups, a row each. Plain functions; draws no widget."""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.cells import cell_len

from specchat.session.local_servers import ORPHANED, READY, STARTING, STOPPING, ProfileLine, ServerLine
from specchat.ui.panels.drawing import EdgeLine, Line, Run, fit
from specchat.ui.panels.texts import cut, lasted

_LONGEST = 60
"""Cells of a name that somebody else chose."""
_LEAST = 12
"""Cells that the right side may take from a name that would be cut."""
_STATES: dict[str, Run] = {
    READY: ("●", "good"),
    STARTING: ("◌", "accent"),
    STOPPING: ("◌", "dim"),
    ORPHANED: ("!", "bad"),
}


@dataclass(frozen=True, slots=True)
class SavedServer:
    """The server that was talked to last."""

    url: str
    model: str | None = None


Choice = SavedServer | ServerLine | ProfileLine
"""What a row can stand for."""


@dataclass(frozen=True, slots=True)
class ListRow:
    """One row: something to choose, or a heading or a sentence between."""

    left: tuple[Run, ...]
    right: tuple[Run, ...] = ()
    choice: Choice | None = None
    """None for what cannot be chosen."""

    @property
    def key(self) -> str:
        """The same for the same thing at every look; "" for what cannot be chosen."""
        return key_of(self.choice)


def key_of(choice: Choice | None) -> str:
    """What a thing in the list is known by from one look to the next."""
    match choice:
        case ServerLine():
            return f"server {choice.id}"
        case ProfileLine():
            return f"profile {choice.name}"
        case SavedServer():
            return f"saved {choice.url}"
        case None:
            return ""


def list_rows(
    saved: SavedServer | None, servers: Sequence[ServerLine] | None, profiles: Sequence[ProfileLine]
) -> tuple[ListRow, ...]:
    """Everything that can be connected to or started, the likeliest first.

    Args:
        saved: The server that was talked to last; None on a first run.
        servers: What runs here; None while that is being looked at.
        profiles: What can be started.
    """
    running = list(servers or ())
    known = {_plain(server.url) for server in running}
    groups: list[tuple[str, list[ListRow]]] = [
        ("Last server", [_saved_row(saved)] if saved is not None and _plain(saved.url) not in known else []),
        ("Started by specchat", [_server_row(server, saved) for server in running if server.started_here]),
        ("Answering on this machine", [_server_row(server, saved) for server in running if not server.started_here]),
    ]
    is_first_run = servers is not None and not any(rows for _, rows in groups)
    demos = [profile for profile in profiles if profile.is_demo]
    others = [profile for profile in profiles if not profile.is_demo]
    first = [_profile_row(profile, first=is_first_run) for profile in demos]
    groups.append(("Begin here" if is_first_run else "Start on this machine", first))
    can = [_profile_row(profile) for profile in others if profile.can_launch]
    if first and can and not is_first_run:
        groups[-1][1].extend(can)
    else:
        groups.append(("Start on this machine", can))
    groups.append(("Only to connect to", [_profile_row(profile) for profile in others if not profile.can_launch]))
    rows: list[ListRow] = []
    for title, group in groups:
        if group:
            rows += [ListRow(())] * bool(rows)
            rows += [ListRow(((f" {title}", "title"),)), *group]
    if servers is None:
        rows += [ListRow(())] * bool(rows)
        rows.append(ListRow(((" looking for servers on this machine …", "dim"),)))
    return tuple(rows)


def fit_row(row: ListRow, width: int) -> Line:
    """A row for a width: what stands right gives way first where the name would be cut too short, then the name is cut.

    Args:
        row: Its left side begins with a mark and a name.
        width: Cells.
    """
    right = row.right
    if len(row.left) > 1:
        mark, (name, look), *more = row.left
        needed = cell_len(mark[0]) + cell_len(name) + 1
        if needed + sum(cell_len(text) for text, _ in right) > width and needed > width - _LEAST:
            right = ()
        room = width - cell_len(mark[0]) - 1 - sum(cell_len(text) for text, _ in right)
        return fit(EdgeLine((mark, (cut(name, max(1, room)), look), *more), right), width)
    return fit(EdgeLine(row.left, right), width)


def first_choice(rows: Sequence[ListRow], *, but_saved: bool = False) -> str:
    """The key of what the bar stands at first; "" where nothing can be chosen.

    What runs and answers comes first, then the last server, then what can be started.

    Args:
        rows: What is listed.
        but_saved: Is the last server no good choice, since it did not answer just now?
    """
    chosen = [row for row in rows if row.choice is not None and not (but_saved and isinstance(row.choice, SavedServer))]
    ready = [row for row in chosen if isinstance(row.choice, ServerLine) and row.choice.state == READY]
    return next((row.key for row in (*ready, *chosen)), "")


def host_of(url: str) -> str:
    """An address without its scheme."""
    return url.split("://", 1)[-1].rstrip("/")


def _plain(url: str) -> str:
    return host_of(url).replace("localhost:", "127.0.0.1:")


def _saved_row(saved: SavedServer) -> ListRow:
    left: list[Run] = [("  ○ ", "dim"), (cut(host_of(saved.url), _LONGEST), "strong")]
    if saved.model:
        left.append((f"  {cut(saved.model, _LONGEST)}", "dim"))
    return ListRow(tuple(left), (), saved)


def _server_row(server: ServerLine, saved: SavedServer | None) -> ListRow:
    mark, look = _STATES.get(server.state, ("○", "dim"))
    name = server.profile or server.model or "a server"
    left: list[Run] = [(f"  {mark} ", look), (cut(name, _LONGEST), "strong")]
    left.append((f"  {cut(host_of(server.url), _LONGEST)}", "dim"))
    is_last = saved is not None and _plain(saved.url) == _plain(server.url)
    told = server.state if server.state != READY else "last used" if is_last else lasted(server.uptime_seconds)
    return ListRow(tuple(left), ((f"{told} ", look if server.state != READY else "dim"),) if told else (), server)


def _profile_row(profile: ProfileLine, *, first: bool = False) -> ListRow:
    mark: Run = ("  ▶ ", "strong accent" if first else "accent") if profile.can_launch else ("  · ", "dim")
    name = f"CPU demo: {profile.title}" if profile.is_demo else profile.name
    left: list[Run] = [mark, (cut(name, _LONGEST), "strong" if profile.can_launch else "")]
    needs = profile.needs and not profile.is_demo
    return ListRow(tuple(left), ((f"{profile.needs} ", "dim"),) if needs else (), profile)
