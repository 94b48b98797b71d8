"""The transcript as rows: an update gives what a fresh layout gives, for every way in which tokens may change."""

from hypothesis import example, given, settings
from hypothesis import strategies as st

from fakes import server_info
from specchat.core.conversation import Turn
from specchat.core.errors import StreamBroken
from specchat.core.reply import Outcome
from specchat.core.speculation import Channel, Label, Origin, Token
from specchat.ui.layout.document import Document
from specchat.ui.layout.parts import fits_beside
from told_replies import Written, written

_LABELS = [Label(Origin.ACCEPTED, 1), Label(Origin.ACCEPTED, 12), Label(Origin.CORRECTION), Label(Origin.UNKNOWN)]
_TOKENS = st.lists(
    st.builds(
        Token,
        st.none(),
        st.sampled_from(["", "a", " word", "\n", "漢", "\n\n", " longer-than-a-line-is"]),
        st.sampled_from(list(Channel)),
        st.sampled_from(_LABELS),
    ),
    max_size=25,
)


def turn(tokens: list[Token], prompt: str = "What?") -> Turn:
    return Turn(prompt, written(tokens, ended=False), server_info())


def looks(document: Document) -> list[tuple[int, str, list[tuple[str, str, int]]]]:
    rows = (document.row(index) for index in range(document.height))
    return [(row.indent, row.right, [(span.text, span.style, span.offset) for span in row.spans]) for row in rows]


def fresh(tokens: list[Token], width: int) -> Document:
    document = Document(width)
    document.update([turn(tokens)], 0)
    return document


def token(text: str, channel: Channel) -> Token:
    return Token(None, text, channel, _LABELS[0])


@example(  # an empty line at the end of a part is not shown, so what comes behind it is drawn in its row
    tokens=[token("a", Channel.CONTENT), token("\n", Channel.CONTENT)],
    changes=[(2, [token("\n", Channel.REASONING), token("a", Channel.CONTENT)])],
    width=4,
)
@given(_TOKENS, st.lists(st.tuples(st.integers(0, 25), _TOKENS), min_size=1, max_size=4), st.integers(4, 30))
@settings(max_examples=300, deadline=None)
def test_an_update_gives_what_a_fresh_layout_gives(
    tokens: list[Token], changes: list[tuple[int, list[Token]]], width: int
) -> None:
    document = Document(width)
    turns = [turn(tokens)]
    document.update(turns, 0)
    for at, replacement in changes:
        before = looks(document)
        first = min(at, len(tokens))
        tokens = tokens[:first] + replacement
        reply = turns[0].reply
        assert isinstance(reply, Written)
        reply.written = tokens
        changed = document.update(turns, first)

        assert looks(document) == looks(fresh(tokens, width))
        assert looks(document)[:changed] == before[:changed]


@given(_TOKENS, st.integers(4, 30), st.integers(4, 30))
@settings(deadline=None)
def test_another_width_gives_what_a_fresh_layout_gives(tokens: list[Token], width: int, other: int) -> None:
    document = fresh(tokens, width)
    document.resize(other)

    assert looks(document) == looks(fresh(tokens, other))


@given(_TOKENS, st.integers(4, 30))
@settings(deadline=None)
def test_every_row_can_be_found_again_by_its_place(tokens: list[Token], width: int) -> None:
    document = fresh(tokens, width)
    for index in range(document.height):
        if document.row(index).spans:
            assert document.row_of(*document.place_of(index)) == index


def test_blocks_grow_from_the_top_to_the_end() -> None:
    document = Document(20)
    document.set_intro(["one", "two"])
    label = _LABELS[0]
    tokens = [Token(None, "a", Channel.REASONING, label), Token(None, "b", Channel.CONTENT, label)]
    document.update([turn(tokens), turn(tokens)], 0)
    blocks = [document.row(index).block for index in range(document.height)]

    assert blocks == sorted(blocks)
    assert [part.block for part in document.parts()] == sorted({part.block for part in document.parts()})


def test_a_failure_is_told_beneath_the_text() -> None:
    turns = [turn([Token(None, "half", Channel.CONTENT, _LABELS[0])])]
    document = Document(60)
    document.update(turns, 0)
    turns[0].reply.outcome, turns[0].reply.error = Outcome.FAILED, StreamBroken("It broke.", "Ask again.")
    turns[0].reply.note("a note")
    document.update(turns, 1)
    rows = [row[2][0][:2] for row in looks(document) if row[2]]

    assert rows[-3:] == [("half", "accepted-1"), ("✗ It broke. Ask again.", "error"), ("· a note", "note")]


def test_facts_give_way_to_the_title_from_the_last() -> None:
    facts = "● on · 118 tokens · AL 2.81 reported"

    assert fits_beside("Assistant", facts, 60) == facts
    assert fits_beside("Assistant", facts, 34) == "● on · 118 tokens"
    assert fits_beside("Assistant", facts, 10) == ""


@given(_TOKENS, st.integers(4, 30))
@settings(deadline=None)
def test_every_token_is_found_by_its_place_and_the_other_way_round(tokens: list[Token], width: int) -> None:
    document = fresh(tokens, width)
    for index, shown in enumerate(tokens):
        place = document.place_of_token(0, index)
        assert place is not None
        part = next(part for part in document.parts() if part.block == place.block)

        assert part.text[place.start : place.end] == shown.text
        if shown.text:
            assert document.token_at(place.block, place.start) == (0, index)
            assert document.token_at(place.block, place.end - 1) == (0, index)


def test_what_is_no_token_has_none() -> None:
    document = Document(20)
    document.set_intro(["one"])
    document.update([turn([token("a", Channel.CONTENT)])], 0)
    prompt = document.row(3)

    assert [span.text for span in prompt.spans] == ["What?"]
    assert document.token_at(prompt.block, 0) is None
    assert document.token_at(0, 0) is None
    assert document.place_of_token(0, 1) is None
