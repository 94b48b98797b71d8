"""What the draft gets wrong: which places are judged, of which kind they are, and how they add up."""

import pytest

from proposing import SHORT, Drafted, Proposed
from specchat.core.draft_errors import PARTS, Judged, Kind, Miss, along_of, errors_of, judged_of, kind_of
from specchat.core.speculation import Evidence, Step


def no_code(_: int) -> bool:
    return False


@pytest.mark.parametrize(
    ("text", "before", "kind"),
    [
        (" 42", "costs", Kind.NUMBER),
        ("3rd", "the ", Kind.NUMBER),
        (",", "so", Kind.PUNCTUATION),
        (' "', "said", Kind.PUNCTUATION),
        ("→", "a ", Kind.PUNCTUATION),
        ("\n\n", "end.", Kind.WHITESPACE),
        ("  ", "", Kind.WHITESPACE),
        (" London", "in", Kind.NAME),
        (" London", "here. ", Kind.WORD),
        ("The", "", Kind.WORD),
        ("The", "end.\n\n", Kind.WORD),
        ("The", '.\n- **"', Kind.WORD),
        (" I", "and", Kind.WORD),
        ("Script", "Java", Kind.WORD),
        (" (London", "there", Kind.NAME),
        ("日本", "見る", Kind.WORD),
        (" fox", "brown", Kind.WORD),
    ],
)
def test_the_kind_of_a_token_is_told_by_its_text_and_what_stands_before(text: str, before: str, kind: Kind) -> None:
    assert kind_of(text, before) is kind


def test_all_of_a_block_of_code_is_code() -> None:
    assert kind_of("42", "", in_code=True) is Kind.CODE


def test_a_place_is_judged_where_a_proposal_was_kept_or_the_first_to_fall() -> None:
    places = list(judged_of(Proposed(*SHORT).reply()))

    assert places[:3] == [
        Judged(" quick", " quick", Kind.WORD, True),
        Judged(" brown", " brown", Kind.WORD, True),
        Judged(" dog", " fox", Kind.WORD, False),
    ]
    assert [(place.wanted, place.got) for place in places if not place.kept] == [
        (" dog", " fox"), (" dog", " cat"), (" miles", " times"), (" in", "."),
    ]  # fmt: skip
    assert len(places) == 10
    assert Judged(" 42", " 42", Kind.NUMBER, True) in places


def test_counts_add_up_over_replies() -> None:
    errors = errors_of([(Proposed(*SHORT).reply(), no_code), (Proposed(*SHORT[:2]).reply(), no_code)], most=2)

    assert errors is not None
    assert (errors.judged, errors.missed) == (13, 5)
    assert errors.misses == (Miss(" dog", " fox", 2), Miss(" dog", " cat", 1))
    assert sum(score.judged for score in errors.kinds) == 13
    assert {score.name: (score.missed, score.judged) for score in errors.kinds}["punctuation"] == (1, 1)
    assert (errors.words[0].name, errors.words[0].missed, errors.words[0].rate) == (" fox", 2, 1.0)
    assert len(errors.words) == 2


def test_nothing_is_said_of_replies_that_nobody_traced() -> None:
    assert errors_of([(Proposed(*SHORT).reply(traced=False), no_code)]) is None
    assert list(judged_of(Proposed(*SHORT).reply(traced=False))) == []


def test_what_knows_the_code_is_asked_for_each_judged_token() -> None:
    errors = errors_of([(Proposed(*SHORT).reply(), lambda index: index == 2)])

    assert errors is not None
    assert {score.name: score.judged for score in errors.kinds}["code"] == 1


def test_the_end_of_a_reply_is_no_word_that_the_draft_missed() -> None:
    reply = Proposed(Drafted((), "One"), Drafted((" two",), "", (" three",))).reply()

    assert [place.got for place in judged_of(reply)] == [" two"]


def test_acceptance_is_told_along_the_reply_over_steps_with_a_draft() -> None:
    steps = [Step(3, number // 10, number // 10 + 1, Evidence.TRACED) for number in range(40)]
    plain = Step(0, 0, 1, Evidence.TRACED)
    means = along_of([[plain, *steps, plain]])

    assert len(means) == PARTS
    assert (means[0], means[4], means[-1]) == (0.0, 1.0, 3.0)
    assert along_of([[Step(3, 2, 3, Evidence.TRACED)]]) == (2.0, *[None] * (PARTS - 1))
