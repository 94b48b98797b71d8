"""Words to look for, and the form in which texts are looked through.

Owns what the full-text index is given: characters that no text needs there are replaced, and scripts without spaces
are cut into characters. Whatever a user types is words, never a syntax.
"""

import re
from dataclasses import dataclass

HIT, HIT_END, CUT = "\x01", "\x02", "\x03"
"""Marks around a hit in a snippet, and the cut between two characters; no text that was made searchable holds them."""
_UNSEARCHABLE = re.compile("[\x00-\x03\ud800-\udfff]")
_SPACELESS = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9d\U00020000-\U0003ffff"
)
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
_CUTS = re.compile(f"(?<=[{_SPACELESS}])(?=.)|(?<=.)(?=[{_SPACELESS}])", re.DOTALL)
_WORDS = re.compile(r'"([^"]*)"|([^\s"]+)')
_MOST_WORDS = 16
_MARKS = re.compile(f"[{HIT}{HIT_END}]")


@dataclass(frozen=True, slots=True)
class Hit:
    """One place where the words were found."""

    session: str
    """The session's id."""
    title: str
    updated: float
    """When something last happened in the session: seconds since 1970."""
    turn: int | None
    """Index of the turn; None where the title holds the words."""
    part: str
    """`title`, `prompt`, `reply` or `thinking`."""
    snippet: str
    """Some text around it."""
    marks: tuple[tuple[int, int], ...]
    """(start, end) of each hit in `snippet`."""


def searchable(text: str) -> str:
    """The text in the form that the index is given."""
    text = _UNSEARCHABLE.sub("\ufffd", text)
    return text if text.isascii() else _CUTS.sub(CUT, text)


def readable(text: str) -> str:
    """The text of a searchable form, but for characters that were replaced."""
    return text.replace(CUT, "")


def terms_of(query: str) -> list[str]:
    """What a user typed as terms of the index, each to be found: words by their beginning, "quoted text" as it is."""
    terms: list[str] = []
    for quoted, word in _WORDS.findall(query):
        text = searchable(quoted or word)
        if any(character.isalnum() for character in text):
            terms.append(f'"{text}"' + ("*" if word else ""))
    return list(dict.fromkeys(terms))[:_MOST_WORDS]


def marked(snippet: str) -> tuple[str, tuple[tuple[int, int], ...]]:
    """A snippet without its marks, and where they were."""
    text, marks, start = "", [], 0
    position = 0
    for mark in _MARKS.finditer(snippet):
        text += readable(snippet[position : mark.start()])
        position = mark.end()
        if mark[0] == HIT:
            start = len(text)
        else:
            marks.append((start, len(text)))
    return text + readable(snippet[position:]), tuple(marks)


def storable(text: str) -> str:
    """The text without what a column cannot hold, for columns that are not looked through."""
    return _UNSEARCHABLE.sub("\ufffd", text)
