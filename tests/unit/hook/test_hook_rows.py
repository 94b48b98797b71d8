# ruff: noqa: ANN401 - stand-ins for objects of vLLM, which is not here
"""A row crosses from the scheduler to the reader unchanged."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from specchat_vllm.rows import Row, rows_of

IDS = st.lists(st.integers(0, 300_000), max_size=8)
ROWS = st.builds(
    Row,
    request_id=st.text(),
    key=st.text(),
    number=st.integers(0),
    drafted=st.integers(0, 8),
    accepted=st.integers(0, 8),
    proposed=st.none() | IDS,
    padded=st.integers(0, 8),
    emitted=IDS,
    at=st.just(12.5),
    width=st.just(3),
    graph=st.just("FULL"),
)


@given(st.lists(ROWS, max_size=4))
def test_rows_come_out_as_they_went_in(rows: list[Row]) -> None:
    assert list(rows_of(json.dumps([12.5, 3, "FULL", [row[:8] for row in rows]]))) == rows


def row(**changes: Any) -> Row:
    return Row("a", "", 2, 3, 1, [1, 2, 3], 0, [1, 9], 12.5, 3, "FULL")._replace(**changes)


def test_a_client_reads_a_step_relative_to_the_first_row() -> None:
    assert row().as_step(10.0) == {
        "n": 2, "t": 2.5, "drafted": 3, "proposed": [1, 2, 3], "accepted": 1, "emitted": [1, 9], "width": 3,
        "graph": "FULL",
    }  # fmt: skip


def test_filling_is_told_only_where_there_is_some() -> None:
    assert "padded" not in row().as_step(0)
    assert row(padded=3).as_step(0)["padded"] == 3


def test_what_was_not_kept_is_known_only_where_the_proposals_are() -> None:
    assert row().rejected == [2, 3]
    assert row(proposed=None).rejected == []
