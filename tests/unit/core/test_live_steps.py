"""Chunk sizes read as steps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.core.live_steps import LiveSteps
from specchat.core.speculation import Evidence, Origin, Step, leading_matches, origins_of_step


def origins(live: LiveSteps) -> list[str]:
    return [f"{label.origin}{label.position or ''}" for label in live.labels]


def fed(draft_length: int | None, *sizes: int) -> LiveSteps:
    live = LiveSteps(draft_length)
    for size in sizes:
        live.add_chunk(size)
    return live


def test_the_first_chunk_is_prefill_and_each_later_one_is_a_step() -> None:
    live = fed(3, 1, 4, 2, 1)
    assert origins(live) == [
        "prefill", "accepted1", "accepted2", "accepted3", "bonus", "accepted1", "correction", "correction",
    ]  # fmt: skip
    assert [(s.drafted, s.accepted, s.emitted) for s in live.steps] == [(3, 3, 4), (3, 1, 2), (3, 0, 1)]


def test_more_ids_than_a_step_can_emit_prove_a_merge_and_stay_unknown() -> None:
    live = fed(3, 1, 6, 2)
    assert live.merges_proven == 1
    assert origins(live)[1:7] == ["unknown"] * 6
    assert {label.evidence for label in live.labels[1:7]} == {Evidence.NONE}
    assert origins(live)[7:] == ["accepted1", "correction"]


def test_a_first_chunk_of_several_ids_holds_a_step_that_cannot_be_told_from_prefill() -> None:
    live = fed(3, 3)
    assert origins(live) == ["prefill", "unknown", "unknown"]
    assert live.merges_proven == 1


def test_without_speculation_every_token_is_a_plain_step_however_many_a_chunk_holds() -> None:
    live = fed(0, 1, 1, 5)
    assert origins(live) == ["prefill", *["plain"] * 6]
    assert all(step == Step(0, 0, 1, Evidence.INFERRED) for step in live.steps)


def test_without_a_known_draft_length_the_target_s_word_is_a_correction_only_below_the_longest_step() -> None:
    live = fed(None, 1, 1, 4, 2, 4)
    assert origins(live) == [
        "prefill", "unknown", "accepted1", "accepted2", "accepted3", "unknown", "accepted1", "correction",
        "accepted1", "accepted2", "accepted3", "unknown",
    ]  # fmt: skip


@given(st.one_of(st.none(), st.integers(0, 6)), st.lists(st.integers(1, 12), max_size=30))
def test_every_id_gets_one_label_and_no_label_is_surer_than_inferred(k: int | None, sizes: list[int]) -> None:
    live = fed(k, *sizes)
    assert len(live.labels) == sum(sizes)
    assert {label.evidence for label in live.labels} <= {Evidence.INFERRED, Evidence.NONE}
    assert all((label.origin is Origin.UNKNOWN) == (label.evidence is Evidence.NONE) for label in live.labels)


def test_a_proposal_after_the_first_wrong_one_was_not_accepted() -> None:
    accepted = leading_matches([5, 6, 7, 8], [5, 9, 7, 8])
    assert accepted == 1
    assert origins_of_step(4, accepted, 2) == [(Origin.ACCEPTED, 1), (Origin.CORRECTION, None)]


@pytest.mark.parametrize(("drafted", "accepted", "emitted"), [(3, 4, 5), (3, -1, 1), (3, 1, 0)])
def test_a_step_that_cannot_be_is_refused(drafted: int, accepted: int, emitted: int) -> None:
    with pytest.raises(ValueError, match="no step can be"):
        Step(drafted, accepted, emitted, Evidence.INFERRED)
