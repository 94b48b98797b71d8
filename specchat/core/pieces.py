"""Gives each token its part of the streamed text. Every character received is in exactly one token, in order.

The server's text is the truth; the pieces of a tokenizer only say where to cut it. Text may lag behind the ids (a
character of several tokens, a stop string held back) and may be missing (special tokens, a parser's markers), so
tokens and text are matched as two queues, and what can't be matched yet is shown with the chunk it came in.
"""

from collections.abc import Mapping, Sequence

from specchat.core.speculation import Channel
from specchat.core.waiting_text import WaitingText

PARTIAL = "\ufffd"
_LOOK_AHEAD = 8
"""Tokens looked over to find the place where text and tokens agree again."""
_SKIP_CHARACTERS = 64
_PATIENCE = 24
"""Tokens that may wait for a match before the text is given to the first of them."""


class TextAligner:
    """Cuts a reply's text into one piece a token.

    Rows are the tokens in order: (channel, text). Rows below `settled` never change again.
    """

    def __init__(self, *, by_token: bool) -> None:
        """Start a reply; `by_token` is False where no piece texts will come, and text stays with its chunk."""
        self.by_token = by_token
        self.ids: list[int | None] = []
        self.rows: list[tuple[Channel, str]] = []
        self.settled = 0
        self.matches = True
        """False once the pieces and the text have contradicted each other."""
        self._pieces: dict[int, str] = {}
        self._runs: dict[tuple[int, ...], str] = {}
        self._known_rows: dict[tuple[Channel, str], tuple[Channel, str]] = {}
        self._waiting = WaitingText()
        self._channel = Channel.CONTENT
        self._cut_off = False
        self._has_ids = False
        self.overflow: list[tuple[Channel, str]] = []
        """Text received that no row can show yet; it belongs behind the rows."""

    # -- what comes in --------------------------------------------------------------------------------------------

    def add_chunk(self, spans: Sequence[tuple[Channel, str]], ids: Sequence[int]) -> int:
        """Take a chunk's texts and ids; returns the first row that changed."""
        first_changed = self.settled
        start = len(self.ids)
        spans = [(channel, text) for channel, text in spans if text]
        if spans:
            self._channel = spans[-1][0]
        for token_id in ids:
            self._append_row(token_id)
        if not self._has_ids:
            for channel, text in spans:
                self._append_row(None, channel, text)
            self.settled = len(self.rows)
            return start
        anchor = min(start, len(self.ids) - 1)
        for channel, text in spans:
            self._waiting.add(anchor, channel, text)
        self._advance(final=False)
        return min(first_changed, start)

    def add_tool_chunk(self, text: str, ids: Sequence[int], spans: Sequence[tuple[Channel, str]] = ()) -> int:
        """Take a chunk of a tool call. Its markup is the parser's, so its text stays whole, with its first token."""
        first_changed = self.settled
        self._spread_waiting()
        for token_id in ids or (None,):
            self._append_row(token_id, Channel.TOOL)
        start = len(self.rows) - max(1, len(ids))
        self.rows[start] = (Channel.TOOL, text)
        for channel, span in spans:
            self._append_row(None, channel, span)
        self.settled = len(self.rows)
        return min(first_changed, start)

    def learn(self, pieces: Mapping[int, str], runs: Mapping[tuple[int, ...], str]) -> int:
        """Take piece texts; returns the first row that changed."""
        first_changed = self.settled
        self._pieces.update(pieces)
        self._runs.update(runs)
        self._advance(final=False)
        return first_changed

    def give_up_pieces(self) -> int:
        """No piece texts will come any more: what waits stays with its chunk. Returns the first row that changed."""
        first_changed = self.settled
        self.by_token = False
        self._spread_waiting()
        return first_changed

    def finish(self, *, cut_off: bool) -> int:
        """No more will come. `cut_off` says that ids may be without their text (a stop string, an abort)."""
        first_changed = self.settled
        self._cut_off = cut_off
        self._advance(final=True)
        if self.by_token and self._waiting.head.strip():
            self.matches = False
        self._spread_waiting()
        return first_changed

    # -- what is wanted -------------------------------------------------------------------------------------------

    def wanted_ids(self) -> set[int]:
        """Ids whose piece is not known yet."""
        if not self.by_token:
            return set()
        return {i for i in self.ids[self.settled :] if i is not None and i not in self._pieces}

    def wanted_runs(self) -> set[tuple[int, ...]]:
        """Runs of ids to decode together: all prefixes of each run of pieces that are no whole characters."""
        if not self.by_token:
            return set()
        wanted: set[tuple[int, ...]] = set()
        at = self.settled
        while at < len(self.ids):
            run = self._partial_run(at)
            wanted.update(run[:n] for n in range(2, len(run) + 1))
            at += max(1, len(run))
        return wanted - self._runs.keys()

    def piece_of(self, token_id: int) -> str | None:
        """The text of a token decoded alone, U+FFFD for bytes that are no whole character; None if it is not known."""
        return self._pieces.get(token_id)

    # -- matching -------------------------------------------------------------------------------------------------

    def _append_row(self, token_id: int | None, channel: Channel | None = None, text: str = "") -> None:
        self.ids.append(token_id)
        self._has_ids = self._has_ids or token_id is not None
        self.rows.append((channel or self._channel, text))

    def _piece(self, index: int) -> str | None:
        token_id = self.ids[index] if index < len(self.ids) else None
        return None if token_id is None else self._pieces.get(token_id)

    def _partial_run(self, start: int) -> tuple[int, ...]:
        run: list[int] = []
        for index in range(start, len(self.ids)):
            piece = self._piece(index)
            token_id = self.ids[index]
            if piece is None or token_id is None or PARTIAL not in piece:
                break
            run.append(token_id)
        return tuple(run)

    def _settle(self, count: int) -> None:
        """Give the next token the next `count` characters."""
        channel = self._waiting.channel
        text = self._waiting.take(count)
        row = (channel if channel and text else self.rows[self.settled][0], text)
        # Most tokens of a long reply came before: one row for all of them, or they would weigh as much as the rest.
        self.rows[self.settled] = self._known_rows.setdefault(row, row)
        self.settled += 1

    def _advance(self, *, final: bool) -> None:
        if not self.by_token:
            self._spread_waiting()
            return
        while self.settled < len(self.ids):
            piece = self._piece(self.settled)
            if self.ids[self.settled] is None:
                self.settled += 1
            elif piece is None:
                break
            elif PARTIAL in piece:
                if not self._settle_run(final=final):
                    break
            elif not self._settle_whole(piece, final=final):
                break
        self._show_waiting()

    def _settle_whole(self, piece: str, *, final: bool) -> bool:
        """Match a token whose piece is whole characters; False to wait for more."""
        head = self._waiting.head
        for variant in (piece, " " + piece, piece.lstrip()):
            if variant and head.startswith(variant):
                self._settle(len(variant))
                return True
        if not piece or (not piece.strip() and head.strip() and not head[0].isspace()):
            self._settle(0)  # whitespace that a parser stripped
            return True
        closed = self._waiting.head_is_closed
        if not piece.startswith(head):
            return self._find_agreement(final=final)
        if not final and not closed:
            return False
        if closed or not (self._cut_off or looks_special(piece)):
            self.matches = self.matches and not piece[len(head) :].strip()
        self._settle(len(head))
        return True

    def _find_agreement(self, *, final: bool) -> bool:
        """Text and tokens disagree: skip the fewest tokens and characters after which they agree again."""
        head = self._waiting.head
        known = 0
        while known <= _LOOK_AHEAD and self._piece(self.settled + known) is not None:
            known += 1
        if not final and known < 4:
            return False
        best: tuple[int, int, int] | None = None
        for skipped in range(known):
            for characters in range(min(len(head), _SKIP_CHARACTERS) + 1):
                if (skipped or characters) and self._agrees(skipped, head[characters:]):
                    cost = characters + sum(self._skip_cost(self.settled + i) for i in range(skipped))
                    if best is None or cost < best[0]:
                        best = (cost, skipped, characters)
                    break
        if best is None:
            if not final and len(self.ids) - self.settled < _PATIENCE:
                return False
            self.matches = False
            self._settle(len(head))
            return True
        _, skipped, characters = best
        self._skip(skipped, characters, head[:characters])
        return True

    def _skip_cost(self, index: int) -> int:
        piece = self._piece(index) or ""
        return 0 if looks_special(piece) else max(1, len(piece))

    def _agrees(self, skipped: int, text: str) -> bool:
        """Do the tokens from here on match the text, over at least two of them or all there is?"""
        matched = 0
        for index in range(self.settled + skipped, self.settled + skipped + 3):
            piece = self._piece(index)
            if piece is None or PARTIAL in piece or not text:
                return matched > 0
            if not text.startswith(piece):
                return matched > 0 and (piece.startswith(text) or looks_special(piece))
            matched += len(piece) > 0
            text = text[len(piece) :]
        return True

    def _skip(self, tokens: int, characters: int, skipped_text: str) -> None:
        silent = [self._piece(self.settled + i) or "" for i in range(tokens)]
        if skipped_text.strip() or any(piece.strip() and not looks_special(piece) for piece in silent):
            self.matches = False
        if tokens:
            self._settle(characters)
            for _ in range(tokens - 1):
                self._settle(0)
        elif self.settled and self.rows[self.settled - 1][0] is self._waiting.channel:
            channel, text = self.rows[self.settled - 1]
            self.rows[self.settled - 1] = (channel, text + self._waiting.take(characters))
        else:
            piece = self._piece(self.settled) or ""
            self._settle(characters + len(piece))

    def _settle_run(self, *, final: bool) -> bool:
        """Match tokens that are parts of characters; False to wait for more."""
        run = self._partial_run(self.settled)
        head = self._waiting.head
        prefixes = [self._pieces[run[0]], *(self._runs.get(run[:n], "") for n in range(2, len(run) + 1))]
        # A token of whole characters behind the run shows that its last bytes will never be a character.
        ended = final or self._piece(self.settled + len(run)) is not None
        whole = next((n for n in range(len(run), 0, -1) if not prefixes[n - 1].endswith(PARTIAL)), 0)
        use = len(run) if ended else whole
        if not final and (not all(prefixes) or not use):
            return False
        text = prefixes[use - 1]
        for variant in (text, text.rstrip(PARTIAL)):
            if variant and head.startswith(variant):
                for count in characters_by_token(prefixes[:use], variant):
                    self._settle(count)
                return True
        if not final and (text.startswith(head) or len(self.ids) - self.settled < _PATIENCE):
            return False
        # The tokens do not decode to what was streamed: their text stays whole, with the first of them.
        behind = self._piece(self.settled + len(run))
        found = head.find(behind) if behind else -1
        self.matches = self.matches and not (head and text.rstrip(PARTIAL))
        self._settle(found if found >= 0 else len(head))
        for _ in range(len(run) - 1):
            self._settle(0)
        return True

    def _spread_waiting(self) -> None:
        """Settle everything: text that no open row can take goes to the last row, or behind it."""
        self._show_waiting()
        for channel, text in self.overflow:
            if self.rows and self.rows[-1][0] is channel:
                self.rows[-1] = (channel, self.rows[-1][1] + text)
            else:
                self._append_row(None, channel, text)
        self.overflow.clear()
        self._waiting.clear()
        self.settled = len(self.rows)

    def _show_waiting(self) -> None:
        """Show text that is not matched yet in the rows that are still open, with the chunk it came in."""
        for index in range(self.settled, len(self.rows)):
            self.rows[index] = (self.rows[index][0], "")
        self.overflow = []
        at = self.settled
        for anchor, channel, text in self._waiting:
            at = max(at, anchor)
            while at < len(self.rows) and self.rows[at][1] and self.rows[at][0] is not channel:
                at += 1
            if at < len(self.rows) and not self.overflow:
                self.rows[at] = (channel, self.rows[at][1] + text)
            else:
                self.overflow.append((channel, text))


def looks_special(piece: str) -> bool:
    """Is this a token that is normally not shown: `<|im_end|>`, `</s>`, `<think>`, `[INST]`, nothing at all?"""
    inner = piece.strip()
    return not inner or (len(inner) > 2 and inner[0] + inner[-1] in {"<>", "[]"})


def characters_by_token(prefixes: Sequence[str], text: str) -> list[int]:
    """How many characters of `text` begin in each token, from the texts of the growing prefixes of the tokens.

    Args:
        prefixes: Entry j is the decoded text of the first j + 1 tokens; bytes that are no character yet show as a
            trailing U+FFFD.
        text: The text of all tokens together.
    """
    complete = [0]
    open_after = [False]
    for prefix in prefixes:
        stable = prefix.rstrip(PARTIAL)
        complete.append(min(_common(stable, text), len(text)))
        open_after.append(len(stable) < len(prefix))
    complete[-1] = len(text)
    counts = [0] * len(prefixes)
    for character in range(len(text)):
        closing = next(j for j in range(1, len(complete)) if complete[j] > character)
        opening = next((j for j in range(1, closing) if complete[j] == character and open_after[j]), closing)
        counts[opening - 1] += 1
    return counts


def _common(a: str, b: str) -> int:
    for index, (x, y) in enumerate(zip(a, b, strict=False)):
        if x != y:
            return index
    return min(len(a), len(b))
