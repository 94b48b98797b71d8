"""How busy a server is, from readings that a script gives."""

from dataclasses import replace

import pytest

from fakes import FixedClock
from specchat.core.counters import CounterReading
from specchat.session.server_load import LoadWatch, ServerLoad

READING = CounterReading(None, None, None, (), running=1, waiting=0, generated=1000, kv_cache_usage=0.25)


class Page:
    """What the next reading will be."""

    def __init__(self, reading: CounterReading | None = READING) -> None:
        self.reading = reading

    async def read(self) -> CounterReading | None:
        return self.reading

    def generated(self, tokens: int | None) -> None:
        self.reading = replace(READING, generated=tokens)


async def test_the_rate_is_the_movement_between_two_readings() -> None:
    page, clock = Page(), FixedClock()
    watch = LoadWatch(page.read, clock)
    first = await watch.read()
    clock.advance(2.0)
    page.generated(1300)

    assert first == ServerLoad(1, 0, 0.25, None)
    assert await watch.read() == ServerLoad(1, 0, 0.25, 150.0)


async def test_a_server_that_generates_nothing_has_a_rate_of_0() -> None:
    watch = LoadWatch(Page().read, clock := FixedClock())
    await watch.read()
    clock.advance(5.0)

    assert await watch.read() == ServerLoad(1, 0, 0.25, 0.0)


async def test_a_server_that_began_anew_has_no_rate_until_its_count_moves() -> None:
    page, clock = Page(), FixedClock()
    watch = LoadWatch(page.read, clock)
    rates = []
    for generated in (1000, 50, 90):
        page.generated(generated)
        load = await watch.read()
        rates.append(None if load is None else load.tokens_per_second)
        clock.advance(1.0)

    assert rates == [None, None, 40.0]


async def test_readings_close_together_leave_the_rate_as_it_was() -> None:
    page, clock = Page(), FixedClock()
    watch = LoadWatch(page.read, clock)
    await watch.read()
    clock.advance(1.0)
    page.generated(1100)
    await watch.read()
    clock.advance(0.1)
    page.generated(1200)
    close = await watch.read()
    clock.advance(0.9)
    later = await watch.read()

    assert close == ServerLoad(1, 0, 0.25, 100.0)
    assert later == ServerLoad(1, 0, 0.25, 100.0)  # 100 tokens since the last measurement, a second ago


@pytest.mark.parametrize("reading", [None, CounterReading(10, 30, 15, ())])
async def test_a_page_without_load_is_no_load(reading: CounterReading | None) -> None:
    assert await LoadWatch(Page(reading).read, FixedClock()).read() is None


async def test_a_page_that_was_lost_starts_the_rate_anew() -> None:
    page, clock = Page(), FixedClock()
    watch = LoadWatch(page.read, clock)
    loads = []
    for reading in (READING, READING, None, READING):
        page.reading = reading
        loads.append(await watch.read())
        clock.advance(1.0)

    assert [load and load.tokens_per_second for load in loads] == [None, 0.0, None, None]


@pytest.mark.parametrize(("running", "rate"), [(2, 80.0), (0, 0.0)])
async def test_a_rate_that_the_server_measures_itself_holds_while_requests_run(running: int, rate: float) -> None:
    page = Page(replace(READING, running=running, tokens_per_second=80.0))
    load = await LoadWatch(page.read, FixedClock()).read()

    assert load is not None
    assert load.tokens_per_second == rate
