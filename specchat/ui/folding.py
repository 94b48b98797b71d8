"""Long texts that stand in the prompt as one short name each: pastes and attached files. Knows no widget."""

import re

_PASTE_CHARACTERS = 2000
_PASTE_LINES = 20


class FoldedTexts:
    """Names of long texts, and the texts. A name stays good for the whole session, so that history can use it."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self._pastes = 0
        self._names: re.Pattern[str] | None = None

    def fold_paste(self, text: str) -> str:
        """What to show for pasted text: the text itself, or a name where it is long."""
        lines = text.count("\n") + (not text.endswith("\n"))
        if len(text) <= _PASTE_CHARACTERS and lines <= _PASTE_LINES:
            return text
        known = next((name for name, kept in self._texts.items() if kept == text), None)
        if known is not None:
            return known
        self._pastes += 1
        length = f"{lines:,} lines" if lines > 1 else "1 line"
        return self._keep(f"[pasted {self._pastes} · {length} · {size_of(len(text.encode('utf-8', 'replace')))}]", text)

    def fold_file(self, name: str, size: int, text: str) -> str:
        """What to show for an attached file.

        Args:
            name: Of the file, harmless.
            size: Bytes of the file.
            text: What it stands for.
        """
        number = 1
        while True:
            shown = f"[file {name} · {size_of(size)}{f' · {number}' if number > 1 else ''}]"
            if self._texts.get(shown, text) == text:
                return self._keep(shown, text)
            number += 1

    def spans(self, line: str) -> list[tuple[int, int]]:
        """Where names stand in a line: (first, end)."""
        return [match.span() for match in self._names.finditer(line)] if self._names else []

    def expand(self, shown: str) -> str:
        """The text with each name replaced by what it stands for. What they stand for is not searched for names."""
        return self._names.sub(lambda match: self._texts[match[0]], shown) if self._names else shown

    def refold(self, text: str) -> str:
        """The text with what names stand for replaced by them."""
        for name, kept in self._texts.items():
            text = text.replace(kept, name)
        return text

    def _keep(self, name: str, text: str) -> str:
        self._texts[name] = text
        self._names = re.compile("|".join(map(re.escape, self._texts)))
        return name


def size_of(count: int) -> str:
    """A number of bytes for people: `512 B`, `98 kB`, `1.2 MB`."""
    if count < 1000:
        return f"{count} B"
    return f"{count / 1000:.0f} kB" if count < 999_500 else f"{count / 1e6:.1f} MB"
