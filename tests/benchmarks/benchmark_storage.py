"""The store at 2,000 sessions and 2 million tokens: `python tests/benchmarks/benchmark_storage.py [--quick]`.

Made by a generator from a word list with Zipf's frequencies, in chunks as a server with k = 3 sends them, with the
pieces of every token and a report; every reply is recorded by the recorder that the chat uses.
"""

import argparse
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from specchat.core.conversation import Conversation, Turn
from specchat.core.events import ChunkArrived, Event, PiecesLearned, SpeculationReported, StreamEnded, UsageReported
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel
from specchat.storage.recorder import StoreRecorder
from specchat.storage.store import Store

RARE, COMMON, PREFIX = "quintessenz", "ba", "zu"
_SYLLABLES = ("ba", "ne", "mi", "ro", "tu", "la", "ke", "so", "di", "pa", "ver", "zu", "an", "stel", "mor", "wen")


@dataclass(frozen=True)
class Size:
    """How much is made."""

    sessions: int
    tokens: int
    largest: int
    """Tokens of the one largest reply."""


FULL, QUICK = Size(2_000, 2_000_000, 16_000), Size(200, 200_000, 16_000)


class Made:
    """Replies as a server would send them."""

    def __init__(self) -> None:
        self._random = random.Random(7)
        words = [a + b + c for a in ("", *_SYLLABLES) for b in _SYLLABLES for c in ("", *_SYLLABLES)]
        self._random.shuffle(words)
        words.remove(COMMON)
        self.words = [COMMON, *dict.fromkeys(words)]
        self._weights = list(accumulate(1 / (rank + 1) for rank in range(len(self.words))))
        self._at = 1000.0

    def prompt(self) -> str:
        return " ".join(self._random.choices(self.words, cum_weights=self._weights, k=12)).capitalize() + "?"

    def events(self, tokens: int, *, rare: bool = False) -> list[Event]:
        """A reply of about so many tokens, in steps of 1 to 4."""
        ids = self._random.choices(range(len(self.words)), cum_weights=self._weights, k=tokens)
        pieces = {token: " " + self.words[token] for token in ids}
        if rare:
            ids[tokens // 2] = len(self.words)
            pieces[len(self.words)] = f" {RARE}"
        events: list[Event] = []
        accepted: list[int] = []
        unknown = set(ids)
        place = 0
        while place < tokens:
            size = 1 if not place else min(tokens - place, self._random.choice((1, 2, 2, 3, 4, 4)))
            if place:
                accepted.append(size - 1)
            self._at += 0.0166 + self._random.random() / 1000
            part = ids[place : place + size]
            text = "".join(pieces[token] for token in part)
            events.append(ChunkArrived(self._at, ((Channel.CONTENT, text),), token_ids=tuple(part)))
            if fresh := unknown.intersection(part):
                unknown -= fresh
                events.append(PiecesLearned({token: pieces[token] for token in fresh}))
            place += size
        events.append(ChunkArrived(self._at, (), token_ids=(), finish_reason="stop"))
        drafted = (3,) * len(accepted)
        told = (len(accepted), sum(accepted), sum(drafted), 3, tuple(accepted), drafted)
        events.append(SpeculationReported(*told, tuple(accepted.count(j) for j in range(4)), None))
        events += [UsageReported(20, tokens), StreamEnded(self._at, done=True)]
        return events


SERVER = ServerInfo("http://gpu01:8000", "0.32.0", model="amd/MiniMax-M3-MXFP4", draft_length=3)


def record(recorder: StoreRecorder, conversation: Conversation, prompt: str, events: list[Event]) -> float:
    """Record a turn; returns the seconds that the recorder's calls took of the caller's time."""
    reply = Reply(0.0, draft_length=3, pieces_expected=True, model=SERVER.model)
    conversation.turns.append(Turn(prompt, reply, SERVER, {"temperature": 0.0, "max_tokens": 16_000}))
    for event in events:
        reply.add(event)
    reply.end(Outcome.FINISHED)
    start = time.perf_counter()
    recorder.begin(conversation)
    for event in events:
        recorder.event(event)
    recorder.end(Outcome.FINISHED, None)
    recorder.settled(conversation)
    return time.perf_counter() - start


def fill(store: Store, size: Size) -> tuple[str, list[list[str]]]:
    """Make the sessions; returns the id of the largest, and rows about writing."""
    made, recorder = Made(), store.recorder(print, interval=0.05)
    largest, events, calls, written, start = "", 0, 0.0, 0, time.perf_counter()
    making = 0.0
    for number in range(size.sessions):
        conversation = Conversation()
        middle = number == size.sessions // 2
        turns = 1 + number % 4
        for _ in range(1 if middle else turns):
            began = time.perf_counter()
            tokens = size.largest if middle else max(8, size.tokens // size.sessions // turns)
            batch = made.events(tokens, rare=number % 500 == 17)
            making += time.perf_counter() - began
            calls += record(recorder, conversation, made.prompt(), batch)
            events, written = events + len(batch), written + tokens
        if middle:
            largest = recorder.session or ""
        recorder.left()
        if number % 50 == 0:
            recorder.flush()
    recorder.close(60)
    seconds = time.perf_counter() - start - making
    rows = [
        ["recording, thread of the caller", f"{calls / events * 1e6:.1f} µs an event", ""],
        ["shown and recorded, both threads", f"{written / seconds:,.0f} tokens/s", ""],
    ]
    return largest, rows


def timed(act: Callable[[], object], repeats: int = 7) -> str:
    """Median and worst of some tries, in milliseconds."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        act()
        taken.append((time.perf_counter() - start) * 1000)
    return f"{statistics.median(taken):.0f} ms (worst {max(taken):.0f})"


def opened(path: Path) -> None:
    """What a start does."""
    store = Store.open(path).store
    store.sessions(limit=100)
    store.close()


def measured(size: Size, folder: Path) -> list[list[str]]:
    """Rows of the table."""
    path = folder / "sessions.db"
    store = Store.open(path).store
    largest, rows = fill(store, size)
    lines = store.sessions()
    tokens = sum(line.tokens or 0 for line in lines)
    on_disk = sum(file.stat().st_size for file in folder.iterdir())
    rows += [
        ["sessions, tokens", f"{len(lines):,}, {tokens:,}", ""],
        ["on disk", f"{on_disk / 1e6:.1f} MB, {on_disk / tokens:.1f} bytes a token", ""],
        ["open and list 100", timed(lambda: opened(path)), "1 s"],
        ["list all", timed(store.sessions), "1 s"],
    ]
    for name, query in [("a rare word", RARE), ("the commonest word", COMMON), ("a prefix of two", PREFIX),
                        ("four words", "ba ne mi ro"), ("nothing there", "xyzzy")]:  # fmt: skip
        rows.append([f"search: {name}", timed(lambda query=query: store.search(query)), "0.3 s"])  # type: ignore[misc]
        rows.append([f"list with: {name}", timed(lambda query=query: store.sessions(query)), "0.3 s"])  # type: ignore[misc]
    rows.append([f"open the largest, {size.largest:,} tokens", timed(lambda: store.load(largest)), "1 s"])
    store.close()
    return rows


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of it")
    quick: bool = parser.parse_args().quick
    with tempfile.TemporaryDirectory() as folder:
        rows = measured(QUICK if quick else FULL, Path(folder))
    print("| | measured | target |\n|---|---|---|")
    for row in rows:
        print(f"| {' | '.join(row)} |")


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parents[2])]
    main()
