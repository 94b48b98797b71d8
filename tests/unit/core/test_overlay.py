"""A server's step report laid over the ids."""

from dataclasses import dataclass

from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.core.overlay import Overlay, Unclosed, lay_over
from specchat.core.speculation import Evidence, Origin, origins_of_step


@dataclass
class Truth:
    """What really happened: (drafted, accepted, emitted) steps, and how the chunks merged them."""

    steps: list[tuple[int, int, int]]
    merges: list[bool]

    @property
    def origins(self) -> list[tuple[Origin, int | None]]:
        found: list[tuple[Origin, int | None]] = [(Origin.PREFILL, None)]
        for step in self.steps:
            found += origins_of_step(*step)
        return found

    @property
    def chunk_sizes(self) -> list[int]:
        sizes = [1]
        for step, merged in zip(self.steps, self.merges, strict=True):
            if merged:
                sizes[-1] += step[2]
            else:
                sizes.append(step[2])
        return sizes

    @property
    def arrays(self) -> tuple[list[int], list[int]]:
        listed = [step for step in self.steps if step[0]]
        return [a for _, a, _ in listed], [d for d, _, _ in listed]


@st.composite
def truths(draw: st.DrawFn, *, plain: bool = True, cut: bool = True) -> Truth:
    steps = []
    for _ in range(draw(st.integers(0, 14))):
        drafted = draw(st.integers(0 if plain else 1, 4))
        accepted = draw(st.integers(0, drafted))
        steps.append((drafted, accepted, accepted + 1))
    if steps and cut and steps[-1][1]:
        drafted, accepted, _ = steps[-1]
        steps[-1] = (drafted, accepted, draw(st.integers(1, accepted + 1)))
    return Truth(steps, [draw(st.booleans()) for _ in steps])


@given(truths(plain=False))
def test_where_every_step_was_drafted_the_report_tells_every_origin_however_chunks_were_merged(truth: Truth) -> None:
    laid = lay_over(truth.chunk_sizes, *truth.arrays)
    assert isinstance(laid, Overlay)
    assert [(label.origin, label.position) for label in laid.labels] == truth.origins
    assert {label.evidence for label in laid.labels} == {Evidence.REPORTED}
    assert [(s.drafted, s.accepted, s.emitted) for s in laid.steps] == truth.steps


@settings(max_examples=400)
@given(truths(cut=False))
def test_what_is_asserted_among_undrafted_steps_is_true_whatever_the_chunks_hide(truth: Truth) -> None:
    laid = lay_over(truth.chunk_sizes, *truth.arrays)
    assert isinstance(laid, Overlay)
    for label, origin in zip(laid.labels, truth.origins, strict=True):
        if label.origin is not Origin.UNKNOWN:
            assert (label.origin, label.position) == origin
    assert laid.undecided == sum(label.origin is Origin.UNKNOWN for label in laid.labels)


@settings(max_examples=400)
@given(truths())
def test_reported_evidence_survives_undrafted_steps_and_a_cut_end_together(truth: Truth) -> None:
    accepted, drafted = truth.arrays
    left_over = sum(truth.chunk_sizes) - 1 - sum(a + 1 for a in accepted)
    laid = lay_over(truth.chunk_sizes, accepted, drafted)
    if left_over <= 0:
        return  # closing exactly is taken as proof that no step was left out
    assert isinstance(laid, Overlay)
    for label, origin in zip(laid.labels, truth.origins, strict=True):
        if label.evidence is Evidence.REPORTED:
            assert (label.origin, label.position) == origin


def test_undrafted_steps_are_numbered_in_place_where_the_chunks_show_them() -> None:
    laid = lay_over([1, 3, 1, 1], [2], [3])
    assert isinstance(laid, Overlay)
    assert [label.origin for label in laid.labels] == [
        Origin.PREFILL, Origin.ACCEPTED, Origin.ACCEPTED, Origin.CORRECTION, Origin.PLAIN, Origin.PLAIN,
    ]  # fmt: skip
    assert [label.step for label in laid.labels] == [None, 0, 0, 0, 1, 2]
    assert [(s.drafted, s.accepted, s.emitted) for s in laid.steps] == [(3, 2, 3), (0, 0, 1), (0, 0, 1)]


def test_one_token_steps_that_may_be_either_kind_stay_unknown() -> None:
    laid = lay_over([1, 1, 1], [0], [3])
    assert isinstance(laid, Overlay)
    assert [label.origin for label in laid.labels] == [Origin.PREFILL, Origin.UNKNOWN, Origin.UNKNOWN]
    assert laid.undecided == 2


def test_a_step_that_the_end_cut_is_clipped_to_what_was_emitted() -> None:
    laid = lay_over([1, 4, 2], [3, 3], [3, 3])
    assert isinstance(laid, Overlay)
    assert [(s.accepted, s.emitted) for s in laid.steps] == [(3, 4), (3, 2)]
    assert [label.position for label in laid.labels][-2:] == [1, 2]


def test_reports_that_do_not_add_up_are_said_not_to_close() -> None:
    for chunks, accepted, drafted in [
        ([1, 2], [3, 3], [3, 3]),
        ([1, 4], [3], [3, 3]),
        ([1, 4], [4], [3]),
        ([], [1], [3]),
        ([1], [2], [3]),
    ]:
        assert isinstance(lay_over(chunks, accepted, drafted), Unclosed), (chunks, accepted)


def test_a_reply_of_hundreds_of_undrafted_steps_is_laid_over_or_given_up_in_bounded_time() -> None:
    laid = lay_over([1] * 4000, [0] * 1500, [3] * 1500)
    assert isinstance(laid, Unclosed)
    assert "too many" in laid.reason
