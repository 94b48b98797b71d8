"""When tokens came: the moments of a reply, and rates that stay readable when tokens come in clumps."""

from array import array
from collections import deque

from specchat.core.figures import decode_rate

WINDOW_SECONDS = 2.0
"""Span over which the rate of the moment is taken."""
_SHORTEST_SECONDS = 0.25
"""Below this, tokens over time says more about the network's clumps than about the server."""


class ReplyClock:
    """The moments of one reply, on the session's clock."""

    def __init__(self, sent_at: float) -> None:
        self.sent_at = sent_at
        self.first_at: float | None = None
        """When the first token came; role chunks and comments are no tokens."""
        self.last_at: float | None = None
        self.heard_at = sent_at
        """When anything came at all: the start of a stall."""
        self.tokens = 0
        self.chunk_times = array("d")
        """When each chunk that had ids came, one for each of `LiveSteps.chunk_sizes`."""
        self._window: deque[tuple[float, int]] = deque()

    def add(self, at: float, tokens: int, *, spoke: bool = True) -> None:
        """Note a chunk with `tokens` ids; `spoke` is False for one that carries neither text nor ids."""
        self.heard_at = at
        if not spoke:
            return
        if self.first_at is None:
            self.first_at = at
        self.last_at = at
        if tokens:
            self.chunk_times.append(at)
        self.count(tokens)

    def count(self, tokens: int) -> None:
        """Note tokens that came with the last chunk: its ids, or what the server's running usage adds."""
        if tokens <= 0 or self.last_at is None:
            return
        self.tokens += tokens
        self._window.append((self.last_at, self.tokens))
        while len(self._window) > 2 and self.last_at - self._window[1][0] >= WINDOW_SECONDS:
            self._window.popleft()

    @property
    def first_token_seconds(self) -> float | None:
        """From sending the request to the first token."""
        return None if self.first_at is None else self.first_at - self.sent_at

    @property
    def mean_rate(self) -> float | None:
        """Decode tokens per second so far."""
        return decode_rate(self.tokens, self.first_at, self.last_at)

    @property
    def rate_now(self) -> float | None:
        """Tokens per second over the last two seconds; None until a quarter of a second has been seen."""
        if len(self._window) < 2:
            return None
        (start, before), (end, after) = self._window[0], self._window[-1]
        return (after - before) / (end - start) if end - start >= _SHORTEST_SECONDS else None
