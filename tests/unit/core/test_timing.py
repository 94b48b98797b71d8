"""Rates while tokens arrive."""

from hypothesis import given
from hypothesis import strategies as st

from specchat.core.timing import ReplyClock


def test_clumps_show_no_rate_that_the_network_made() -> None:
    clock = ReplyClock(0.0)
    shown = []
    for clump in (0.287, 0.52, 0.755):
        for _ in range(40):
            clock.add(clump, 1)
            if clock.rate_now is not None:
                shown.append(clock.rate_now)
    assert shown
    assert max(shown) <= 600


def test_the_rate_of_the_moment_is_that_of_the_last_two_seconds() -> None:
    clock = ReplyClock(0.0)
    for i in range(100):
        clock.add(i * 0.1, 1)
    for i in range(400):
        clock.add(10 + i * 0.01, 1)
    assert clock.rate_now is not None
    assert 99 <= clock.rate_now <= 101


def test_a_chunk_without_text_or_ids_is_heard_but_is_no_token() -> None:
    clock = ReplyClock(1.0)
    clock.add(2.0, 0, spoke=False)
    assert (clock.heard_at, clock.first_at, clock.first_token_seconds) == (2.0, None, None)
    clock.add(31.0, 1)
    assert clock.first_token_seconds == 30.0


@given(st.lists(st.tuples(st.floats(0, 1), st.integers(0, 5)), max_size=50))
def test_a_rate_is_never_negative_and_needs_time_to_pass(moves: list[tuple[float, int]]) -> None:
    clock, at = ReplyClock(0.0), 0.0
    for wait, tokens in moves:
        at += wait
        clock.add(at, tokens)
        assert clock.rate_now is None or clock.rate_now >= 0
        assert clock.mean_rate is None or clock.mean_rate >= 0
