"""Fenced blocks of code in a text, for copying: as CommonMark finds them, in one pass and in a text that still grows.

Blocks that are indented and not fenced are left out: a list looks the same.
"""

import re
from dataclasses import dataclass

_OPENING = re.compile(
    r"(?P<lead>(?: {0,3}>)*[ \t]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*)"  # marks of quotes and items
    r"(?P<fence>`{3,}|~{3,})(?P<info>.*)"
)


@dataclass(frozen=True, slots=True)
class CodeBlock:
    """One block."""

    code: str
    """Its lines without the fences, and without the indentation of the block; no newline at the end."""
    language: str
    """As the fence names it; "" where it names none."""
    start: int
    """Index, in the text, of the line with the opening fence."""
    end: int
    """Index behind the closing fence, or the end of the text where there is none."""


def code_blocks(text: str) -> list[CodeBlock]:
    """All fenced blocks, in order; the last one may have no end."""
    found: list[CodeBlock] = []
    opening: re.Match[str] | None = None
    lines: list[str] = []
    start = at = 0
    for line in text.split("\n"):
        end = at + len(line)
        if opening is None:
            opening = _opening(line)
            lines, start = [], at
        elif _closes(line, opening["fence"]):
            found.append(_block(opening, lines, start, end))
            opening = None
        else:
            lines.append(line)
        at = end + 1
    if opening is not None:
        if lines and not lines[-1]:
            lines.pop()
        found.append(_block(opening, lines, start, len(text)))
    return found


def block_at(blocks: list[CodeBlock], offset: int) -> CodeBlock | None:
    """The block that the character at `offset` of the text belongs to, its fences included."""
    return next((block for block in blocks if block.start <= offset < max(block.end, block.start + 1)), None)


def _opening(line: str) -> re.Match[str] | None:
    match = _OPENING.match(line)
    if match is None or ("`" in match["info"] and match["fence"][0] == "`"):
        return None  # inline code may begin with three of them, and end in the same line
    return match


def _closes(line: str, fence: str) -> bool:
    bare = line.strip(" \t>")
    return len(bare) >= len(fence) and not bare.strip(fence[0])


def _block(opening: re.Match[str], lines: list[str], start: int, end: int) -> CodeBlock:
    lead = opening["lead"]
    quotes, room = lead.count(">"), len(lead.replace(">", "").expandtabs(4))
    words = opening["info"].split()
    code = "\n".join(_without_lead(line, quotes, room) for line in lines)
    return CodeBlock(code, words[0] if words else "", start, end)


def _without_lead(line: str, quotes: int, room: int) -> str:
    """A line without the marks of quotes that its block stands in, and without its indentation."""
    for _ in range(quotes):
        line = re.sub(r"^ {0,3}> ?", "", line)
    taken = 0
    while taken < room and line[taken : taken + 1] == " ":
        taken += 1
    return line[taken:]
