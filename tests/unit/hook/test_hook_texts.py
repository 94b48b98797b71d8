"""Single ids read as they do inside a text."""

import pytest

from specchat_vllm import texts as part
from specchat_vllm.texts import Texts


class Tokenizer:
    """Leaves out the space that begins a text, as some tokenizers do; joins two halves of a character."""

    def __init__(self, begins: str = "") -> None:
        self.asked: list[list[int]] = []
        self._pieces = {0: "a", 1: " one", 2: "two", 3: "\ufffd", 4: "<end>"}
        self._begins = begins

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        assert text == "a"
        assert not add_special_tokens
        return [0]

    def decode(self, ids: list[int], *, skip_special_tokens: bool = False) -> str:
        assert not skip_special_tokens
        self.asked.append(ids)
        text = "".join(self._pieces[one] for one in ids)
        return text.removeprefix(" ") if len(ids) != 2 or not self._begins else self._begins + text


def test_the_space_that_begins_a_word_is_kept() -> None:
    texts = Texts(Tokenizer())
    assert [texts.of(one) for one in (1, 2, 3, 4)] == [" one", "two", "\ufffd", "<end>"]


def test_a_text_is_asked_for_once() -> None:
    tokenizer = Tokenizer()
    texts = Texts(tokenizer)
    for _ in range(3):
        assert texts.of(1) == " one"
    assert tokenizer.asked == [[0], [0, 1]]


def test_a_tokenizer_that_changes_what_stands_before_is_asked_for_the_id_alone() -> None:
    assert Texts(Tokenizer(begins="?")).of(1) == "one"


def test_what_is_kept_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(part, "_KEPT", 2)
    texts = Texts(Tokenizer())
    for one in (1, 2, 3, 4, 1):
        texts.of(one)
        assert len(texts._texts) <= 2
