"""How often a server is asked for its load, tick by tick."""

from collections.abc import Callable, Coroutine

import pytest

from fakes import FixedClock, Hang, ScriptedBackend, server_info
from replies import chunk
from specchat.core.counters import CounterReading
from specchat.session.chat import ChatSession
from specchat.session.server_load import ServerLoad
from specchat.ui.load_polling import LoadPolling

READING = CounterReading(None, None, None, (), running=1, waiting=0)


class Host:
    """Ticks when told, and runs workers at once."""

    def set_interval(self, _: float, tick: Callable[[], None]) -> None:
        self.tick = tick

    def call_after_refresh(self, call: Callable[[], None]) -> None:
        call()

    def run_worker(self, work: Callable[[], Coroutine[None, None, None]], *, group: str) -> None:
        # No coroutine is made that nobody may come to await.
        assert group == "load"
        try:
            work().send(None)
        except StopIteration:
            return
        raise AssertionError("the scripted server does not wait")


class Polled:
    """A session whose server is asked, and how often it was."""

    def __init__(self, reading: CounterReading | None) -> None:
        self.reads = 0
        self.shown: list[ServerLoad | None] = []
        backend = ScriptedBackend([chunk(1.0, "A", 1), Hang()], counters=lambda: self._read(reading))
        self.session = ChatSession(backend, server_info(), FixedClock())
        self.host = Host()
        self.polling = LoadPolling(self.session, FixedClock(), self.host, self.shown.append)  # type: ignore[arg-type]
        self.polling.start()

    def _read(self, reading: CounterReading | None) -> CounterReading | None:
        self.reads += 1
        return reading

    def ticks(self, count: int) -> int:
        """How often the server is asked in so many ticks."""
        before = self.reads
        for _ in range(count):
            self.host.tick()
        return self.reads - before


def test_a_server_at_rest_is_asked_now_and_then() -> None:
    polled = Polled(READING)

    assert polled.reads == 1
    assert polled.ticks(12) == 2
    assert polled.shown[0] == ServerLoad(1, 0)


@pytest.mark.parametrize(("reading", "reads"), [(READING, 10), (None, 1)], ids=["told", "untold"])
async def test_while_a_reply_runs_a_server_that_tells_its_load_is_asked_at_each_tick(
    reading: CounterReading | None, reads: int
) -> None:
    polled = Polled(reading)
    polled.polling.hurry()
    changes = polled.session.ask("hi")
    await anext(changes)
    await anext(changes)

    assert polled.ticks(10) == reads
    await changes.aclose()


def test_something_that_happens_is_worth_a_look_at_the_next_tick() -> None:
    polled = Polled(None)
    polled.ticks(5)
    polled.polling.hurry()

    assert polled.ticks(1) == 1
    assert polled.ticks(29) == 0
    assert polled.ticks(2) == 1
