"""The tokens of a reply, each made when it is asked for: a long reply has hundreds of thousands, and few are in sight.

Joins what the aligner, the labels and the count of ids know of a token; keeps nothing of its own.
"""

from collections.abc import Iterator, Sequence
from typing import overload

from specchat.core.pieces import TextAligner
from specchat.core.speculation import UNKNOWN_LABEL, Label, Token


class TokenView(Sequence[Token]):
    """Tokens in order, then text that belongs to no token yet, as tokens without an id."""

    def __init__(self, aligner: TextAligner, ordinals: Sequence[int], labels: Sequence[Label]) -> None:
        """Look at a reply as it stands.

        Args:
            aligner: Has the ids and the texts.
            ordinals: For each row of the aligner, how many ids there are up to and with it.
            labels: One for each id; where there are fewer, nothing is known of the others.
        """
        self._aligner = aligner
        self._ordinals = ordinals
        self._labels = labels

    def __len__(self) -> int:
        return len(self._aligner.rows) + len(self._aligner.overflow)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @overload
    def __getitem__(self, index: int) -> Token: ...
    @overload
    def __getitem__(self, index: slice) -> list[Token]: ...
    def __getitem__(self, index: int | slice) -> Token | list[Token]:
        if isinstance(index, slice):
            return [self[at] for at in range(*index.indices(len(self)))]
        at = range(len(self))[index]
        rows = self._aligner.rows
        if at >= len(rows):
            channel, text = self._aligner.overflow[at - len(rows)]
            return Token(None, text, channel, UNKNOWN_LABEL)
        channel, text = rows[at]
        return Token(self._aligner.ids[at], text, channel, self.label(at))

    def __iter__(self) -> Iterator[Token]:
        labels = iter(self._labels)
        for token_id, (channel, text) in zip(self._aligner.ids, self._aligner.rows, strict=True):
            label = UNKNOWN_LABEL if token_id is None else next(labels, UNKNOWN_LABEL)
            yield Token(token_id, text, channel, label)
        for channel, text in self._aligner.overflow:
            yield Token(None, text, channel, UNKNOWN_LABEL)

    def label(self, index: int) -> Label:
        """What is known of a token's origin; UNKNOWN for text without an id, and where there is no such token."""
        if index >= len(self._ordinals) or self._aligner.ids[index] is None:
            return UNKNOWN_LABEL
        ordinal = self._ordinals[index] - 1
        return self._labels[ordinal] if ordinal < len(self._labels) else UNKNOWN_LABEL
