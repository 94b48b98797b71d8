"""Texts of tokens that one server told, so that a later reply shows them without asking while it is measured."""

from specchat.core.events import Event, PiecesLearned


class KnownTexts:
    """What was learned of one tokenizer; grows with every reply."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._pieces: dict[int, str] = {}
        self._runs: dict[tuple[int, ...], str] = {}

    def note(self, event: Event) -> None:
        """Remember what an event tells, if it tells texts."""
        if isinstance(event, PiecesLearned):
            self._pieces.update(event.pieces)
            self._runs.update(event.runs)

    @property
    def known(self) -> PiecesLearned:
        """All that is known, as an event for a reply that begins."""
        return PiecesLearned(self._pieces, self._runs)
