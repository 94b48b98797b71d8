"""Reads what strips show back into text and origins, without asking the layout; and replies with bytes cut anywhere."""

import codecs
import unicodedata
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from rich.color import Color
from rich.style import Style
from textual.strip import Strip

from specchat.core.events import ChunkArrived, Event, PiecesLearned
from specchat.core.harmless import harmless
from specchat.core.reply import Reply
from specchat.core.speculation import Channel, Token
from specchat.theming import LOOKS
from specchat.ui.styles import THINKING, style_of

_NAMES = [prefix + look for look in LOOKS for prefix in ("", THINKING)]
COLORS = {name: Color.from_rgb(10 + 3 * number, 20, 30) for number, name in enumerate(_NAMES)}
STYLES = {name: Style(color=color) for name, color in COLORS.items()} | {
    "mark-find": Style(underline=True),
    "mark-found": Style(underline=True, bold=True),
    "mark-cursor": Style(reverse=True),
    "mark-step": Style(italic=True),
    "proposal-rejected": Style(color=Color.from_rgb(1, 200, 1)),
    "proposal-count": Style(color=Color.from_rgb(1, 201, 1)),
}
"""A colour for each look, so that a cell's colour tells whose it is; marks change no colour."""
_PROPOSALS = {STYLES[f"proposal-{name}"].color: f"proposal-{name}" for name in ("rejected", "count")}
_LOOK_OF = {color: name for name, color in COLORS.items()}


class Cell(NamedTuple):
    """A stretch of a row in one look."""

    offset: int
    text: str
    look: str


def cells_of(strip: Strip) -> list[Cell]:
    """What a row shows of tokens; nothing for a row of something else."""
    found = []
    for segment in strip:
        look = None if segment.style is None or segment.style.color is None else _LOOK_OF.get(segment.style.color)
        if look is not None and segment.style is not None and segment.text:
            found.append(Cell(segment.style.meta["offset"][0], segment.text, look))
    return found


def asides_in(strip: Strip) -> list[Cell]:
    """What a row shows of proposals that were not kept."""
    found = []
    for segment in strip:
        look = None if segment.style is None else _PROPOSALS.get(segment.style.color)
        if look is not None and segment.style is not None and segment.text:
            found.append(Cell(segment.style.meta["offset"][0], segment.text, look))
    return found


def runs_of(reply: Reply) -> list[tuple[str, list[str]]]:
    """The text of each stretch of one channel that has any, and the look of each of its characters."""
    runs: list[tuple[Channel, list[Token]]] = []
    for token in reply.tokens:
        if token.text and (not runs or runs[-1][0] is not token.channel):
            runs.append((token.channel, []))
        if token.text:
            runs[-1][1].append(token)
    return [_clean(channel, tokens) for channel, tokens in runs]


def _clean(channel: Channel, tokens: Sequence[Token]) -> tuple[str, list[str]]:
    text, looks = "", list[str]()
    for token, after in pairwise([*tokens, None]):
        assert token is not None
        raw = token.text[:-1] if after and token.text.endswith("\r") and after.text.startswith("\n") else token.text
        shown = harmless(raw)
        text += shown
        looks += [style_of(token.label, thinking=channel is Channel.REASONING)] * len(shown)
    return text, looks


def check_rows(rows: Iterable[list[Cell]], text: str, looks: Sequence[str]) -> None:
    """The rows show exactly the text, each character in the look of the token in which its grapheme begins."""
    at = 0
    for cells in rows:
        for cell in cells:
            hidden = text[at : cell.offset]
            assert not hidden.strip(" \t\n"), f"{hidden!r} is not shown"
            at = check_cell(cell, text, looks)
    assert not text[at:].strip(" \t\n"), f"{text[at:]!r} is not shown"


def check_cell(cell: Cell, text: str, looks: Sequence[str]) -> int:
    """The cell shows what stands at its offset, in its look; returns the offset behind it."""
    end = cell.offset + len(cell.text)
    if cell.text != text[cell.offset : end].replace("\t", " "):
        # Only a tab is drawn as something else than itself, by as many spaces as lead to the next stop.
        assert text[cell.offset] == "\t"
        assert not cell.text.strip(" ")
        end = cell.offset + 1
    assert cell.look == looks[cell.offset], f"{cell} should be {looks[cell.offset]}"
    before = text[cell.offset - 1 : cell.offset]
    if before and not before.isspace():
        assert not _continues(before, text[cell.offset]), f"{cell} begins inside a grapheme"
    return end


def _continues(before: str, character: str) -> bool:
    """Is it surely a part of the grapheme before it?"""
    return unicodedata.category(character) in {"Mn", "Me"} or character == "\u200d" or before == "\u200d"


class Streamed:
    """A reply from a server whose tokens are bytes cut anywhere; text comes as soon as its characters are whole."""

    def __init__(self, draft_length: int | None = 3) -> None:
        self.reply = Reply(0.0, draft_length=draft_length, pieces_expected=True)
        self.sent: list[tuple[Channel, str]] = []
        self._bytes: dict[int, bytes] = {}
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogatepass")

    def chunk(self, channel: Channel, tokens: Sequence[bytes]) -> ChunkArrived:
        """The event of a chunk of these tokens."""
        ids = tuple(range(len(self._bytes), len(self._bytes) + len(tokens)))
        self._bytes.update(zip(ids, tokens, strict=True))
        text = self._decoder.decode(b"".join(tokens))
        if text:
            self.sent.append((channel, text))
        return ChunkArrived(1.0 + 0.02 * len(ids), ((channel, text),) if text else (), token_ids=ids)

    def pieces(self) -> PiecesLearned:
        """What the server's tokenizer says of the ids that are asked for."""
        aligner = self.reply.aligner
        pieces = {token: _decoded(self._bytes[token]) for token in aligner.wanted_ids()}
        runs = {run: _decoded(b"".join(self._bytes[token] for token in run)) for run in aligner.wanted_runs()}
        return PiecesLearned(pieces, runs)

    def add(self, event: Event) -> int | None:
        return self.reply.add(event)

    @property
    def text(self) -> str:
        return "".join(text for channel, text in self.sent if channel is Channel.CONTENT)


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def cut(text: str, places: Sequence[int]) -> list[bytes]:
    """The bytes of a text as tokens, cut at some of its bytes."""
    data = text.encode()
    at = sorted({0, *(place % len(data) for place in places), len(data)}) if data else [0]
    return [data[start:end] for start, end in pairwise(at)]
