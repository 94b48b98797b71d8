"""Labels and tokens that are made when they are asked for are those that a list of all of them would hold."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.core.events import ChunkArrived, SpeculationReported
from specchat.core.reply import Outcome
from specchat.core.speculation import Channel, Evidence, Label, Origin, Step, Token, origins_of_step
from specchat.core.step_labels import StepLabels, kinds_of
from told_replies import told

_STEPS = st.lists(
    st.tuples(st.integers(0, 4), st.integers(0, 4)).map(
        lambda counts: Step(max(counts), min(counts), min(counts) + 1, Evidence.REPORTED)
    ),
    max_size=8,
)


def listed(steps: list[Step]) -> list[Label]:
    labels = [Label(Origin.PREFILL, evidence=Evidence.REPORTED)]
    for number, step in enumerate(steps):
        kinds = origins_of_step(step.drafted, step.accepted, step.emitted)
        labels += [Label(origin, position, number, Evidence.REPORTED) for origin, position in kinds]
    return labels


@given(_STEPS, st.integers(0, 40))
def test_labels_of_steps_are_those_of_a_list(steps: list[Step], first: int) -> None:
    labels, wanted = StepLabels(steps, Evidence.REPORTED), listed(steps)

    assert list(labels) == wanted
    assert [labels[index] for index in range(len(labels))] == wanted
    assert [labels[index - len(labels)] for index in range(len(labels))] == wanted
    assert labels[first : first + 3] == wanted[first : first + 3]
    assert list(kinds_of(labels, first)) == list(kinds_of(wanted, first))


def test_tokens_one_by_one_are_those_of_a_walk_through_all() -> None:
    reply = told([("A",), ("b", "c"), ("", "d")], thinking=[("x",), ("y", "")])
    reply.add(ChunkArrived(9.0, ((Channel.CONTENT, "late"),)))
    tokens = reply.tokens

    assert [tokens[index] for index in range(len(tokens))] == list(tokens)
    assert tokens[-1] == list(tokens)[-1]
    assert [token.text for token in tokens[1:3]] == ["y", ""]
    assert [reply.label_of(index) for index in range(len(tokens))] == [token.label for token in tokens]
    assert reply.label_of(len(tokens)).origin is Origin.UNKNOWN


def test_kinds_are_those_of_tokens_with_a_text() -> None:
    reply = told([("A",), ("b", "", "c"), ("d", "")], ended=False)

    assert reply.kinds() == {(Origin.PREFILL, None), (Origin.ACCEPTED, 1), (Origin.CORRECTION, None)}
    assert reply.kinds(3) == {(Origin.CORRECTION, None), (Origin.ACCEPTED, 1)}
    reply.add(ChunkArrived(9.0, ((Channel.REASONING, "text of no token"),)))
    reply.end(Outcome.FINISHED)
    assert (Origin.UNKNOWN, None) in reply.kinds()


def test_a_report_changes_the_labels_of_tokens_that_were_asked_for_before() -> None:
    reply = told([("A",), ("b", "c")], k=None, ended=False)
    before = list(reply.tokens)
    reply.add(ChunkArrived(9.0, finish_reason="stop"))
    reply.add(SpeculationReported(1, 1, 3, 3, (1,), (3,), None, 2.0))
    reply.end(Outcome.FINISHED)

    assert [token.label.origin for token in before] == [Origin.PREFILL, Origin.ACCEPTED, Origin.UNKNOWN]
    assert [Token(token.id, token.text, token.channel, label) for token, label in zip(before, reply.labels, strict=True)
            ] == list(reply.tokens)  # fmt: skip
    assert [token.label.origin for token in reply.tokens] == [Origin.PREFILL, Origin.ACCEPTED, Origin.CORRECTION]


@pytest.mark.parametrize(("accepted", "share"), [((1,), 1.0), ((0, 0), 2 / 3)])
def test_live_guesses_are_compared_where_the_report_decides(accepted: tuple[int, ...], share: float) -> None:
    reply = told([("A",), ("b", "c")], ended=False)
    reply.add(ChunkArrived(9.0, finish_reason="stop"))
    total, drafted = sum(accepted), (3,) * len(accepted)
    reply.add(SpeculationReported(len(accepted), total, sum(drafted), 3, accepted, drafted, None, 2.0))
    reply.end(Outcome.FINISHED)

    assert reply.live_guess_accuracy == pytest.approx(share)
