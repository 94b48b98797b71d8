"""Steps as the sizes of a stream's chunks suggest them, while the reply arrives. Never surer than `inferred`."""

from array import array
from bisect import bisect_right

from specchat.core.speculation import UNKNOWN_LABEL, Evidence, Label, Origin, Step, origins_of_step


class LiveSteps:
    """Reads chunk sizes as steps.

    The first chunk with an id is prefill; after it a chunk of n ids is one step with n - 1 accepted. More than k + 1
    ids in one chunk prove that the server merged steps; the reverse proves nothing.
    """

    def __init__(self, draft_length: int | None) -> None:
        """Start a reply.

        Args:
            draft_length: k, the most tokens proposed in a step; 0 for a server known not to speculate, None where
                it is not known.
        """
        self.draft_length = draft_length
        self.chunk_sizes: list[int] = []
        """Ids in each chunk that had any, in order."""
        self.chunk_ends = array("l")
        """Ids up to the end of each of those chunks."""
        self.labels: list[Label] = []
        self.steps: list[Step] = []
        self.merges_proven = 0
        """Chunks that held more than one step for certain."""
        self._longest = 0

    def add_chunk(self, size: int) -> list[Label]:
        """Take a chunk of `size` ids (> 0) and label its tokens."""
        first = not self.chunk_sizes
        self.chunk_sizes.append(size)
        self.chunk_ends.append(size + (0 if first else self.chunk_ends[-1]))
        labels: list[Label] = []
        if first:
            labels.append(Label(Origin.PREFILL, evidence=Evidence.INFERRED))
            size -= 1
        if size:
            labels += self._label_steps(size, after_prefill=first)
        self.labels += labels
        return labels

    def chunk_of(self, ordinal: int) -> int:
        """Which chunk brought an id, both counted from 0."""
        return bisect_right(self.chunk_ends, ordinal)

    def _label_steps(self, size: int, *, after_prefill: bool) -> list[Label]:
        k = self.draft_length
        if k == 0:
            # Without a draft every token is a step of its own, however many a chunk holds.
            return [self._add_step(0, 0, 1)[0] for _ in range(size)]
        if after_prefill or (k is not None and size > k + 1):
            self.merges_proven += 1
            return [UNKNOWN_LABEL] * size
        if k is None:
            # The longest step so far is a lower bound of k: only a step below it shows that a proposal was rejected.
            self._longest = max(self._longest, size - 1)
            drafted = self._longest if size - 1 < self._longest else None
            labels = self._add_step(None, size - 1, size)
            if drafted is not None:
                labels[-1] = Label(Origin.CORRECTION, None, labels[-1].step, Evidence.INFERRED)
            return labels
        return self._add_step(k, size - 1, size)

    def _add_step(self, drafted: int | None, accepted: int, emitted: int) -> list[Label]:
        index = len(self.steps)
        self.steps.append(Step(drafted, accepted, emitted, Evidence.INFERRED))
        return [
            Label(origin, position, index, Evidence.NONE if origin is Origin.UNKNOWN else Evidence.INFERRED)
            for origin, position in origins_of_step(drafted, accepted, emitted)
        ]
