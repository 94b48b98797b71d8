"""One line of the list of sessions, and the queries that make the list."""

import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from specchat.core.figures import acceptance_length, acceptance_rate
from specchat.storage.owners import Program, this_program
from specchat.storage.searching import readable, terms_of

_FACTS = (
    "id", "title", "created", "updated", "deleted_at", "model", "server", "version", "turns", "tokens", "steps",
    "drafted", "accepted", "evidence", "rate_on", "rate_off",
)  # fmt: skip
_COLUMNS = ", ".join(_FACTS).replace("deleted_at", "deleted") + ", parameters, owner"
_HOLDS = (
    "(key IN (SELECT session FROM turns WHERE key IN (SELECT rowid FROM texts_index WHERE texts_index MATCH ?))"
    " OR key IN (SELECT rowid FROM titles_index WHERE titles_index MATCH ?))"
)


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session as a list shows it. Times are seconds since 1970; None is unknown."""

    id: str
    title: str
    """The first prompt's beginning, unless the user named it."""
    created: float
    updated: float
    deleted_at: float | None
    """When it was deleted; None where it was not."""
    model: str | None
    """Of the latest turn, as server and version are."""
    server: str
    """Address of the server, without user name or password."""
    version: str | None
    turns: int
    tokens: int | None
    """Of all replies, replaced ones too."""
    steps: int | None
    """Steps for which something was drafted."""
    drafted: int | None
    accepted: int | None
    evidence: str
    """The weakest that steps, drafted and accepted rest on."""
    rate_on: float | None
    """Tokens per second with all the speculation that the server has, over the replies that can be compared."""
    rate_off: float | None
    """The same with none."""
    parameters: Mapping[str, object] = field(default_factory=dict)
    """Of the latest request."""
    live_in: int | None = None
    """Process id of the program in which somebody talks in it now; None where nobody does."""
    live_here: bool = False
    """Is that this program?"""

    @property
    def acceptance_length(self) -> float | None:
        """Pooled over the steps of all replies."""
        return None if self.accepted is None else acceptance_length(self.steps or 0, self.accepted)

    @property
    def acceptance_rate(self) -> float | None:
        """Pooled over the proposals of all replies."""
        return None if self.accepted is None else acceptance_rate(self.accepted, self.drafted or 0)

    @property
    def speed_up(self) -> float | None:
        """How many times faster with speculation."""
        return self.rate_on / self.rate_off if self.rate_on and self.rate_off else None


def lines(
    db: sqlite3.Connection,
    *,
    now: float,
    query: str = "",
    limit: int | None = None,
    offset: int = 0,
    include_deleted: bool = False,
) -> list[SessionLine]:
    """The sessions that hold every word of the query anywhere, the one last talked in first.

    Args:
        db: A connection.
        now: Seconds since 1970.
        query: What a user typed; "" for all.
        limit: At most so many; None for all.
        offset: Leave out so many at the beginning.
        include_deleted: Also those that wait to be removed for good.
    """
    conditions = [] if include_deleted else ["deleted IS NULL"]
    terms = terms_of(query)
    if query.strip() and not terms:
        return []  # signs alone are in no index
    conditions += [_HOLDS] * len(terms)
    where = f"WHERE {' AND '.join(conditions)}" if conditions else ""
    rows = db.execute(
        f"SELECT {_COLUMNS} FROM sessions {where} ORDER BY updated DESC, key DESC LIMIT ? OFFSET ?",  # noqa: S608 - no text of a user's
        [*(term for term in terms for _ in range(2)), -1 if limit is None else limit, offset],
    )
    return _lines(rows, now)


def line(db: sqlite3.Connection, session: str, now: float) -> SessionLine | None:
    """The line of one session, deleted or not, at a moment (seconds since 1970); None where there is no such id."""
    found = _lines(db.execute(f"SELECT {_COLUMNS} FROM sessions WHERE id = ?", (session,)), now)  # noqa: S608 - as above
    return found[0] if found else None


def _lines(rows: Iterable[tuple[Any, ...]], now: float) -> list[SessionLine]:
    found = []
    for row in rows:
        *cells, parameters, owner = row
        facts: dict[str, Any] = dict(zip(_FACTS, cells, strict=True))
        facts["title"] = readable(facts["title"])
        live_in = None
        if owner is not None:
            program = Program.of(owner)
            live_in = program.process_id if program.is_running(seen=facts["updated"], now=now) else None
        here = owner == str(this_program())
        found.append(SessionLine(**facts, parameters=json.loads(parameters), live_in=live_in, live_here=here))
    return found
