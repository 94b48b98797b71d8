"""Text that has arrived and waits for its tokens: a queue of characters with their channels."""

from collections.abc import Iterator

from specchat.core.speculation import Channel


class WaitingText:
    """Characters in order of arrival. Iterating gives (anchor, channel, text) parts."""

    def __init__(self) -> None:
        self._parts: list[tuple[int, Channel, str]] = []

    def __iter__(self) -> Iterator[tuple[int, Channel, str]]:
        return iter(self._parts)

    def add(self, anchor: int, channel: Channel, text: str) -> None:
        """Append text that came with the chunk whose first row is `anchor`."""
        self._parts.append((anchor, channel, text))

    def clear(self) -> None:
        """Forget everything."""
        self._parts.clear()

    @property
    def channel(self) -> Channel | None:
        """Channel of the next character; None if nothing waits."""
        return self._parts[0][1] if self._parts else None

    @property
    def head(self) -> str:
        """The characters up to the next change of channel."""
        parts = []
        for _, channel, text in self._parts:
            if channel is not self.channel:
                break
            parts.append(text)
        return "".join(parts)

    @property
    def head_is_closed(self) -> bool:
        """Does text of another channel follow the head, so that no more can be added to it?"""
        return any(channel is not self.channel for _, channel, _ in self._parts)

    def take(self, count: int) -> str:
        """Remove and return the next `count` characters."""
        taken = []
        while count and self._parts:
            anchor, channel, text = self._parts[0]
            taken.append(text[:count])
            if len(text) > count:
                self._parts[0] = (anchor, channel, text[count:])
            else:
                self._parts.pop(0)
            count -= len(taken[-1])
        return "".join(taken)
