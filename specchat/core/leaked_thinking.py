"""Splits thinking that a server leaks into the content, tags and all, from the answer that follows. Loses nothing."""

from specchat.core.speculation import Channel

_OPENING = ("<think>", "<mm:think>")


class LeakedThinking:
    """Routes content that starts with a thinking tag to the reasoning channel until the tag is closed."""

    def __init__(self) -> None:
        self._held = ""
        self._closing: str | None = None
        self._decided = False

    def route(self, text: str) -> list[tuple[Channel, str]]:
        """Take a piece of content; returns texts with their channels, in order. May hold back part of a tag."""
        text = self._held + text
        self._held = ""
        if not self._decided:
            start = text.lstrip()
            opening = next((tag for tag in _OPENING if start.startswith(tag)), None)
            if opening is None and (not start or any(tag.startswith(start) for tag in _OPENING)):
                self._held = text
                return []
            self._decided = True
            self._closing = None if opening is None else "</" + opening[1:]
        if self._closing is None:
            return [(Channel.CONTENT, text)] if text else []
        at = text.find(self._closing)
        if at < 0:
            keep = next((n for n in range(len(self._closing) - 1, 0, -1) if text.endswith(self._closing[:n])), 0)
            self._held = text[len(text) - keep :]
            text = text[: len(text) - keep]
            return [(Channel.REASONING, text)] if text else []
        end = at + len(self._closing)
        self._closing = None
        spans = [(Channel.REASONING, text[:end]), (Channel.CONTENT, text[end:])]
        return [(channel, part) for channel, part in spans if part]

    def flush(self) -> list[tuple[Channel, str]]:
        """What was held back, at the end of the reply."""
        held, self._held = self._held, ""
        channel = Channel.CONTENT if self._closing is None else Channel.REASONING
        return [(channel, held)] if held else []
