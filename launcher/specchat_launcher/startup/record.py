"""What is kept of a log while a server starts. Pure.

Owns the bound on its memory and the folding of what repeats: drawings of a bar, and notices that come every minute.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from specchat_launcher.startup.bars import Bar
from specchat_launcher.startup.lines import LogLine
from specchat_launcher.startup.phases import StartPhase

MOST_LINES = 4000
MOST_CHARACTERS = 2_000_000
TAIL = 200


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that was kept.

    Attributes:
        line: The line.
        phase: The phase that the start was in after it.
        bar: The bar it is a drawing of; None for other lines.
        count: How often it came in a row.
    """

    line: LogLine
    phase: StartPhase
    bar: Bar | None = None
    count: int = 1


class Record:
    """The last lines of a log."""

    def __init__(self) -> None:
        self._entries: deque[Entry] = deque()
        self._characters = 0

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._entries)

    def add(self, entry: Entry) -> None:
        """Keep a line; a repetition, and another drawing of the same bar, takes the place of the one before it."""
        last = self._entries[-1] if self._entries else None
        if last is not None and entry.bar is not None and last.bar is not None and entry.bar.name == last.bar.name:
            self._drop(self._entries.pop())
        elif last is not None and _same(last.line, entry.line):
            self._drop(self._entries.pop())
            entry = replace(entry, count=last.count + 1)
        self._entries.append(entry)
        self._characters += len(entry.line.shown)
        while len(self._entries) > MOST_LINES or self._characters > MOST_CHARACTERS:
            self._drop(self._entries.popleft())

    def tail(self, count: int = TAIL) -> tuple[str, ...]:
        """The last lines as they are shown."""
        entries = tuple(self._entries)[-count:]
        return tuple(f"{e.line.shown}{f'  ({e.count} times)' if e.count > 1 else ''}" for e in entries)

    def _drop(self, entry: Entry) -> None:
        self._characters -= len(entry.line.shown)


def _same(one: LogLine, other: LogLine) -> bool:
    return one.text == other.text and one.process == other.process and one.level == other.level
