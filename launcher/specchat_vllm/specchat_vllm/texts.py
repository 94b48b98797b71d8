"""Texts of ids, as they read inside a text. Kept, since a tokenizer is slow to ask."""

from typing import Any

_KEPT = 65_536
"""Texts that are kept: those of nearly any vocabulary's words in use, some 8 MB."""


class Texts:
    """Decodes single ids."""

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._texts: dict[int, str] = {}
        self._anchor: tuple[list[int], str] | None = None

    def of(self, token_id: int) -> str:
        """The text of an id; bytes that are no whole character read U+FFFD."""
        if (text := self._texts.get(token_id)) is None:
            if len(self._texts) >= _KEPT:
                self._texts.clear()
            text = self._texts[token_id] = self._decode(token_id)
        return text

    def _decode(self, token_id: int) -> str:
        """Some tokenizers leave out the space that begins a text, so the id is decoded behind another one."""
        if self._anchor is None:
            ids = list(self._tokenizer.encode("a", add_special_tokens=False))
            self._anchor = ids, self._tokenizer.decode(ids, skip_special_tokens=False)
        ids, before = self._anchor
        text: str = self._tokenizer.decode([*ids, token_id], skip_special_tokens=False)
        return text[len(before) :] if text.startswith(before) else self._tokenizer.decode([token_id])
