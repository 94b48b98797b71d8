"""Traces are bounded and counted right, whatever comes in whatever order."""

from collections import defaultdict

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat_vllm import hub as part
from specchat_vllm.hub import Hub, Trace
from specchat_vllm.rows import Row

KEYS = ["k0", "k1", "k2", "k3", "k4"]


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def row(request_id: str, number: int, key: str = "k0") -> Row:
    return Row(request_id, key if number == 0 else "", number, 3, 1, [1, 2, 3], 0, [1, 9], 5.0 + number, 3, None)


@pytest.fixture
def hub() -> Hub:
    return Hub(Clock())


def test_a_trace_keeps_its_rows_and_starts_when_its_first_row_was(hub: Hub) -> None:
    for number in range(3):
        hub.add(row("a", number))
    trace = hub.reader_of("k0")
    assert trace is not None
    assert [one.number for one in trace.rows_from(1)] == [1, 2]
    assert (trace.started, trace.first, trace.next, hub.rows) == (5.0, 0, 3, 3)
    assert hub.is_tracing
    assert hub.has_request("a")


def test_a_reader_may_come_before_the_request(hub: Hub) -> None:
    trace = hub.reader_of("k0")
    assert trace is not None
    assert not hub.is_tracing
    hub.add(row("a", 0))
    assert trace.request_id == "a"
    assert trace.changed.is_set()


def test_a_trace_has_one_reader_at_a_time(hub: Hub) -> None:
    trace = hub.reader_of("k0")
    assert trace is not None
    assert hub.reader_of("k0") is None
    assert hub.readers == 1
    hub.add(row("a", 0))
    hub.leave(trace, done=False)
    assert hub.reader_of("k0") is trace


def test_a_reader_that_leaves_before_the_request_comes_leaves_nothing_behind(hub: Hub) -> None:
    trace = hub.reader_of("k0")
    assert trace is not None
    hub.leave(trace, done=False)
    assert len(hub) == 0


def test_a_key_belongs_to_the_first_request_that_uses_it(hub: Hub) -> None:
    hub.add(row("a", 0))
    hub.add(row("b", 0))
    hub.add(row("b", 1))
    hub.add(row("a", 1))
    trace = hub.reader_of("k0")
    assert trace is not None
    assert [one.request_id for one in trace.rows] == ["a", "a"]
    assert hub.late == 2
    assert not hub.has_request("b")


def test_rows_that_come_after_the_end_are_counted_and_dropped(hub: Hub) -> None:
    hub.add(row("a", 0))
    hub.end("a", "stop_string")
    hub.end("a", "abort")
    hub.add(row("a", 1))
    trace = hub.reader_of("k0")
    assert trace is not None
    assert (trace.end, trace.next, hub.late) == ("stop_string", 1, 1)
    assert not hub.is_tracing


def test_the_end_of_a_request_that_is_not_traced_means_nothing(hub: Hub) -> None:
    hub.end("unknown", "abort")
    assert len(hub) == 0


def test_the_oldest_rows_of_a_long_trace_are_dropped(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "ROWS_A_TRACE", 4)
    for number in range(10):
        hub.add(row("a", number))
    trace = hub.reader_of("k0")
    assert trace is not None
    assert [one.number for one in trace.rows_from(0)] == [6, 7, 8, 9]
    assert (trace.first, trace.next, hub.rows) == (6, 10, 4)


def test_what_has_ended_and_is_not_read_goes_after_a_while(hub: Hub) -> None:
    hub.add(row("a", 0))
    hub.end("a", "length")
    clock = hub._clock
    assert isinstance(clock, Clock)
    clock.now = part.KEPT_SECONDS
    hub.add(row("b", 0, "k1"))
    assert len(hub) == 2
    clock.now += 1
    hub.add(row("c", 0, "k2"))
    assert len(hub) == 2
    assert hub.rows == 2


def test_where_there_is_no_room_what_has_ended_and_is_not_read_goes_first(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(part, "TRACES", 3)
    read = hub.reader_of("k0")
    assert read is not None
    hub.add(row("runs", 0, "k1"))
    hub.add(row("ended", 0, "k2"))
    hub.end("ended", "stop")
    hub.add(row("next", 0, "k3"))
    assert set(hub._traces) == {"k0", "k1", "k3"}
    hub.add(row("another", 0, "k4"))
    assert set(hub._traces) == {"k0", "k3", "k4"}
    assert not hub.has_request("runs")


def test_a_reader_whose_trace_is_given_up_is_told(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "TRACES", 1)
    trace = hub.reader_of("k0")
    assert trace is not None
    hub.add(row("a", 0))
    hub.add(row("b", 0, "k1"))
    assert (trace.end, trace.first, trace.next) == ("lost", 1, 1)
    hub.leave(trace, done=True)
    assert hub.has_request("b")
    assert hub.rows == 1


STEPS = st.tuples(
    st.sampled_from(["row", "row", "row", "row", "end", "read", "leave", "done", "wait"]),
    st.integers(0, 4),
    st.integers(0, 7),
)


@settings(max_examples=300)
@given(st.lists(STEPS, max_size=60))
def test_bounds_and_counts_hold_whatever_happens(steps: list[tuple[str, int, int]]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(part, "ROWS_A_TRACE", 4)
        patch.setattr(part, "ROWS_IN_ALL", 6)
        patch.setattr(part, "TRACES", 3)
        clock = Clock()
        hub, numbers, readers = Hub(clock), defaultdict[str, int](int), list[Trace]()
        added = 0
        for what, key, request in steps:
            name = f"r{request}"
            if what == "row":
                hub.add(row(name, numbers[name], KEYS[key]))
                numbers[name] += 1
                added += 1
            elif what == "end":
                hub.end(name, "length")
            elif what == "read" and (trace := hub.reader_of(KEYS[key])) is not None:
                readers.append(trace)
            elif what in {"leave", "done"} and readers:
                hub.leave(readers.pop(key % len(readers)), done=what == "done")
            elif what == "wait":
                clock.now += 40
            check(hub, added)


def check(hub: Hub, added: int) -> None:
    traces = list(hub._traces.values())
    assert len(hub) == len(traces) <= part.TRACES
    assert hub.rows == sum(len(trace.rows) for trace in traces) <= part.ROWS_IN_ALL
    assert hub.late + hub.rows <= added
    assert hub.readers <= len(traces)
    for trace in traces:
        assert len(trace.rows) <= part.ROWS_A_TRACE
        assert [one.number for one in trace.rows] == list(range(trace.first, trace.next))
        assert {one.request_id for one in trace.rows} <= {trace.request_id}
    running = {trace.request_id: trace.key for trace in traces if trace.request_id is not None and trace.end is None}
    assert hub._keys == running
