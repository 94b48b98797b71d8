"""What a request asks of the hook: whatever is malformed counts as not asked."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat_vllm.asked import LIMIT, TRACE, Asked, asked_of, is_key

KEY = "0123456789abcdef" * 2
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(JSON | st.fixed_dictionaries({}, optional={TRACE: JSON, LIMIT: JSON}))
def test_nothing_that_a_client_can_send_raises_or_asks_for_nonsense(extra_args: object) -> None:
    asked = asked_of(extra_args)
    if asked is not None:
        assert asked != Asked(None, None)
        assert asked.key is None or is_key(asked.key)
        assert asked.limit is None or (type(asked.limit) is int and asked.limit >= 0)


@given(st.text(string.ascii_letters + string.digits + "-_", min_size=32, max_size=64), st.integers(0, 99))
def test_what_a_client_asks_for_is_read_from_its_json(key: str, limit: int) -> None:
    assert asked_of(json.loads(json.dumps({TRACE: key, LIMIT: limit}))) == Asked(key, limit)


@pytest.mark.parametrize(
    ("extra_args", "asked"),
    [
        (None, None),
        ({}, None),
        ({"other": 1}, None),
        ({LIMIT: 0}, Asked(None, 0)),
        ({LIMIT: 2.0}, Asked(None, 2)),
        ({LIMIT: True}, None),
        ({LIMIT: -1}, None),
        ({LIMIT: 1.5}, None),
        ({LIMIT: float("nan")}, None),
        ({LIMIT: float("inf")}, None),
        ({LIMIT: "1"}, None),
        ({TRACE: KEY, LIMIT: "1"}, Asked(KEY, None)),
        ({TRACE: KEY[:31]}, None),
        ({TRACE: KEY * 2 + "0"}, None),
        ({TRACE: KEY + "\n"}, None),
        ({TRACE: KEY[:31] + "/"}, None),
        ({TRACE: KEY[:31] + "é"}, None),
        ({TRACE: [KEY]}, None),
    ],
)
def test_only_sound_wishes_count(extra_args: object, asked: Asked | None) -> None:
    assert asked_of(extra_args) == asked
