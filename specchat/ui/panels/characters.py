"""Names the characters of a token: what nobody sees gets a sign, and what is unusual its Unicode name."""

import unicodedata
from collections.abc import Iterator

from specchat.core.harmless import visible
from specchat.ui.panels.drawing import TIMES

_SIGNS = {" ": "␣", "\n": "⏎", "\t": "⇥", "\r": "␍", "\u00a0": "⍽"}
_NAMES = {"\n": "LINE FEED", "\t": "TAB", "\r": "CARRIAGE RETURN", "\x00": "NULL", "\x1b": "ESCAPE", "\x7f": "DELETE"}
"""Unicode gives control characters no names."""
_SHORT = {0x200B: "ZWSP", 0x200C: "ZWNJ", 0x200D: "ZWJ", 0x2060: "WJ", 0xFE0E: "VS15", 0xFE0F: "VS16", 0xFEFF: "BOM"}
_CARRIER = "◌"
"""What a combining mark is shown on."""


def spelled(text: str) -> str:
    """The text with a sign for everything that cannot be seen by itself. No character of it combines with another."""
    if text.isascii() and text.isprintable():
        return text.replace(" ", _SIGNS[" "])
    return "".join(_sign(character) for character in text)


def names_of(text: str) -> Iterator[str]:
    """`sign U+CODE NAME` of each character that is not plain ASCII, once, in order.

    A space among other characters is plain; spaces alone are named.
    """
    blank = not text.strip(" ")
    seen: dict[str, int] = {}
    for character in text:
        if character != " " or blank:
            seen[character] = seen.get(character, 0) + 1
    for character, count in seen.items():
        if "!" <= character <= "~":
            continue
        times = f" {TIMES}{count}" if count > 1 else ""
        yield f"{_sign(character)}{times} U+{ord(character):04X} {_name(character)}"


def bytes_of(text: str) -> str:
    """The UTF-8 bytes of a text in hexadecimal."""
    return text.encode("utf-8", "surrogatepass").hex(" ").upper()


def _sign(character: str) -> str:
    code, category = ord(character), unicodedata.category(character)
    if character in _SIGNS:
        return _SIGNS[character]
    if code in _SHORT or 0xFE00 <= code <= 0xFE0F:
        return f"⟨{_SHORT.get(code, f'VS{code - 0xFE00 + 1}')}⟩"
    if visible(character) != f"⟨{code:04X}⟩" and category in {"Cc", "Cs", "Cf"}:
        return visible(character)
    if category in {"Cc", "Cf", "Co", "Cn", "Zs", "Zl", "Zp"} or _is_modifier(code):
        return f"⟨{code:04X}⟩"
    return _CARRIER + character if category in {"Mn", "Me", "Mc"} else character


def _is_modifier(code: int) -> bool:
    """Would it join with the character before it: a skin tone, or a part of a flag?"""
    return 0x1F3FB <= code <= 0x1F3FF or 0x1F1E6 <= code <= 0x1F1FF or 0xE0000 <= code <= 0xE007F


def _name(character: str) -> str:
    return _NAMES.get(character, unicodedata.name(character, "no name"))
