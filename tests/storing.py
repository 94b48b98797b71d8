"""A store for tests: sessions in one line, recorders that are closed at the end, and files that were made bad."""

import sqlite3
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

from fakes import FixedClock
from recorded import Talk, said
from specchat.core.events import Event
from specchat.storage.errors import StoreError
from specchat.storage.opening import Shape
from specchat.storage.recorder import StoreRecorder
from specchat.storage.store import Store


@dataclass
class Kept:
    """An open store, what it said, and its recorders."""

    store: Store
    clock: FixedClock
    notices: tuple[str, ...] = ()
    troubles: list[StoreError | None] = field(default_factory=list)
    recorders: list[StoreRecorder] = field(default_factory=list)

    def talk(self, session: str | None = None, **options: float) -> Talk:
        """A conversation that is being recorded."""
        recorder = self.store.recorder(self.troubles.append, session=session, **options)  # type: ignore[arg-type]
        self.recorders.append(recorder)
        talk = Talk(recorder)
        if session is not None:
            talk.conversation = self.store.load(session).conversation
        return talk

    def session(self, *exchanges: tuple[str, str], events: Callable[[str], list[Event]] = said) -> str:
        """A conversation that was had and left; returns its id."""
        talk = self.talk()
        for prompt, reply in exchanges or (("What?", "That."),):
            self.clock.advance(1)
            talk.ask(prompt, *events(reply))
        session = self.recorders[-1].session
        assert self.recorders[-1].close()
        assert session is not None
        return session

    def sql(self, statement: str, *values: object) -> list[tuple[object, ...]]:
        with sqlite3.connect(self.store.path) as db:
            found = db.execute(statement, values).fetchall()
        db.close()
        return found

    def close(self) -> None:
        for recorder in self.recorders:
            recorder.close(1)
        self.store.close()


def opened(
    path: Path, clock: FixedClock | None = None, *, busy_seconds: float = 5.0, shape: Shape | None = None
) -> Kept:
    clock = clock or FixedClock(1_000_000.0)
    ids = map("s{}".format, count(1))
    result = Store.open(
        path, busy_seconds=busy_seconds, now=clock, new_id=lambda: f"{next(ids)}-{clock.now:.0f}", shape=shape
    )
    return Kept(result.store, clock, result.notices)
