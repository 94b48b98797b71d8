"""Streamed text cut into one piece a token."""

from dataclasses import dataclass, field
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from replies import aligned
from specchat.core.pieces import TextAligner, characters_by_token, looks_special
from specchat.core.speculation import Channel

END = b"<|im_end|>"
CONTENT = Channel.CONTENT


@dataclass
class Tokenizer:
    """A byte-level tokenizer over the tokens it is shown."""

    ids: dict[bytes, int] = field(default_factory=dict)

    def encode(self, tokens: list[bytes]) -> list[int]:
        return [self.ids.setdefault(token, len(self.ids)) for token in tokens]

    def decode(self, ids: tuple[int, ...]) -> str:
        known = {number: token for token, number in self.ids.items()}
        return b"".join(known[i] for i in ids).decode("utf-8", "replace")

    def teach(self, aligner: TextAligner) -> None:
        for _ in range(3):
            ids, runs = aligner.wanted_ids(), aligner.wanted_runs()
            aligner.learn({i: self.decode((i,)) for i in ids}, {run: self.decode(run) for run in runs})


@st.composite
def tokenized(draw: st.DrawFn) -> tuple[str, list[bytes]]:
    alphabet = st.one_of(
        st.text(max_size=6),
        st.sampled_from(["the ", " code", "\n", "é", "日本語", "العربية", "👨‍👩‍👧", "🇩🇪🇫🇷", "e\u0301", "\u2028", "\t"]),
    )
    text = "".join(draw(st.lists(alphabet, max_size=14))).replace("\ufffd", "")
    raw = text.encode("utf-8", "ignore")
    cuts = sorted({0, len(raw), *draw(st.lists(st.integers(0, len(raw)), max_size=len(raw)))})
    tokens = [raw[a:b] for a, b in pairwise(cuts)]
    return raw.decode(), tokens


def shown(aligner: TextAligner) -> str:
    return "".join(text for _, text in [*aligner.rows, *aligner.overflow])


@settings(max_examples=500)
@given(tokenized(), st.data())
def test_the_pieces_joined_are_the_text_at_every_moment_for_every_split(
    case: tuple[str, list[bytes]], data: st.DataObject
) -> None:
    text, tokens = case
    tokenizer = Tokenizer()
    aligner = TextAligner(by_token=data.draw(st.booleans()))
    held_back = data.draw(st.sampled_from([0, 0, 3]))
    sent, at = 0, 0
    while at < len(tokens):
        size = data.draw(st.integers(1, 4))
        decoded = b"".join(tokens[: at + size]).decode("utf-8", "ignore")
        visible = len(decoded) if at + size >= len(tokens) else max(sent, len(decoded) - held_back)
        aligner.add_chunk([(CONTENT, decoded[sent:visible])], tokenizer.encode(tokens[at : at + size]))
        sent, at = max(sent, visible), at + size
        assert shown(aligner) == text[:sent]
        if data.draw(st.booleans()):
            tokenizer.teach(aligner)
            assert shown(aligner) == text[:sent]
    tokenizer.teach(aligner)
    aligner.finish(cut_off=False)
    assert shown(aligner) == text
    if aligner.by_token and tokens:
        assert [piece for _, piece in aligner.rows] == begins_in(tokens)
        assert aligner.matches


def begins_in(tokens: list[bytes]) -> list[str]:
    """The truth: every character belongs to the token that holds its first byte."""
    owner = [index for index, token in enumerate(tokens) for _ in token]
    pieces, at = [""] * len(tokens), 0
    for character in b"".join(tokens).decode():
        pieces[owner[at]] += character
        at += len(character.encode())
    return pieces


def rows(aligner: TextAligner) -> list[str]:
    return [text for _, text in aligner.rows]


def test_bytes_that_never_become_a_character_are_shown_as_the_server_shows_them() -> None:
    aligner = aligned(["a", "\ufffd", "b", "\ufffd", "\ufffd", " c"], "a\ufffdb\ufffd c")
    assert "".join(rows(aligner)) == "a\ufffdb\ufffd c"
    assert rows(aligner)[:3] == ["a", "\ufffd", "b"]


def test_a_special_token_at_the_end_has_no_text_and_is_no_contradiction() -> None:
    aligner = aligned(["Hi", " there", "<|im_end|>"], "Hi there")
    assert rows(aligner) == ["Hi", " there", ""]
    assert aligner.matches


def test_a_special_token_in_the_middle_is_skipped() -> None:
    aligner = aligned(["Hm", "</think>", "So", " it", " is"], "HmSo it is")
    assert rows(aligner) == ["Hm", "", "So", " it", " is"]
    assert aligner.matches


def test_a_tokenizer_that_drops_leading_spaces_of_single_tokens_still_matches() -> None:
    aligner = aligned(["Hello", "big", "world"], "Hello big world")
    assert rows(aligner) == ["Hello", " big", " world"]
    assert aligner.matches


def test_text_that_lost_words_stays_as_it_was_and_is_said_to_contradict_the_ids() -> None:
    pieces = ["He", " said", ' "', "yes", '"', " twice", "."]
    aligner = aligned(pieces, "He said yes twice.")
    assert "".join(rows(aligner)) == "He said yes twice."
    assert not aligner.matches


def test_a_stop_string_that_cut_the_text_leaves_the_last_tokens_silent() -> None:
    aligner = aligned(["one", " two", " STOP", " here"], "one tw", cut_off=True)
    assert rows(aligner) == ["one", " tw", "", ""]
    assert aligner.matches


def test_tokens_without_text_contradict_where_nothing_cut_the_reply() -> None:
    assert not aligned(["one", " two"], "one").matches


def test_text_without_tokens_contradicts() -> None:
    aligner = aligned(["one"], "one two")
    assert rows(aligner) == ["one two"]
    assert not aligner.matches


def test_reasoning_and_answer_of_one_chunk_go_to_their_own_channels() -> None:
    aligner = TextAligner(by_token=True)
    aligner.add_chunk([(Channel.REASONING, "Hm ok."), (CONTENT, "Sky is")], range(5))
    aligner.learn(dict(enumerate(["Hm", " ok.", "</think>", "Sky", " is"])), {})
    aligner.finish(cut_off=False)
    assert [row for row in aligner.rows if row[1]] == [
        (Channel.REASONING, "Hm"), (Channel.REASONING, " ok."), (CONTENT, "Sky"), (CONTENT, " is"),
    ]  # fmt: skip
    assert rows(aligner)[2] == ""


def test_without_a_tokenizer_text_stays_with_the_first_token_of_its_chunk() -> None:
    aligner = TextAligner(by_token=False)
    aligner.add_chunk([(CONTENT, "One")], [1])
    aligner.add_chunk([(CONTENT, " two three")], [2, 3])
    assert rows(aligner) == ["One", " two three", ""]


def test_without_ids_every_chunk_is_a_row_of_its_own() -> None:
    aligner = TextAligner(by_token=True)
    aligner.add_chunk([(CONTENT, "One")], [])
    aligner.add_chunk([(CONTENT, " two")], [])
    aligner.finish(cut_off=False)
    assert aligner.ids == [None, None]
    assert rows(aligner) == ["One", " two"]


def test_pieces_that_stop_coming_leave_the_rest_with_its_chunks() -> None:
    aligner = TextAligner(by_token=True)
    aligner.add_chunk([(CONTENT, "ab")], [1, 2])
    aligner.add_chunk([(CONTENT, "cd")], [3, 4])
    aligner.give_up_pieces()
    assert rows(aligner) == ["ab", "", "cd", ""]


def test_a_tool_call_s_text_stays_whole_and_disturbs_no_match() -> None:
    aligner = TextAligner(by_token=True)
    aligner.add_chunk([(CONTENT, "Look:")], [1])
    aligner.learn({1: "Look:"}, {})
    aligner.add_tool_chunk('f{"q":1}', [2, 3, 4])
    aligner.finish(cut_off=False)
    assert aligner.rows == [(CONTENT, "Look:"), (Channel.TOOL, 'f{"q":1}'), (Channel.TOOL, ""), (Channel.TOOL, "")]
    assert aligner.matches


def test_a_character_belongs_to_the_token_in_which_it_begins() -> None:
    # " " + two bytes of 日, its third byte + "a"
    assert characters_by_token([" \ufffd", " 日a"], " 日a") == [2, 1]
    assert characters_by_token(["\ufffd", "\ufffd", "日"], "日") == [1, 0, 0]


def test_what_looks_special() -> None:
    assert all(map(looks_special, ["<|im_end|>", "</s>", "<think>", "[INST]", "", " \n"]))
    assert not any(map(looks_special, ["<", "<>", "a", "[", "[]", "(x)"]))
