"""Makes text from elsewhere safe to show: no control character of it reaches a terminal. Never changes what is kept."""

import re

_BIDI = {
    0x061C: "ALM", 0x200E: "LRM", 0x200F: "RLM", 0x202A: "LRE", 0x202B: "RLE", 0x202C: "PDF", 0x202D: "LRO",
    0x202E: "RLO", 0x2066: "LRI", 0x2067: "RLI", 0x2068: "FSI", 0x2069: "PDI",
}  # fmt: skip
_DANGEROUS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufeff]")
_ONE_LINE = re.compile(r"\s+")


def visible(character: str) -> str:
    """A printable stand-in for one control, direction or surrogate character."""
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if code in _BIDI:
        return f"⟨{_BIDI[code]}⟩"
    if 0xD800 <= code <= 0xDFFF:
        return "\ufffd"
    return f"⟨{code:04X}⟩"


def harmless(text: str) -> str:
    """The text with every dangerous character replaced by a visible stand-in; newlines and tabs stay."""
    return _DANGEROUS.sub(lambda match: visible(match[0]), text.replace("\r\n", "\n"))


def one_line(text: str, limit: int = 400) -> str:
    """The text as one harmless line of at most `limit` characters, for an error or a status line."""
    line = _ONE_LINE.sub(" ", harmless(text)).strip()
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"
