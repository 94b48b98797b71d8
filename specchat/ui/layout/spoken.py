"""What stands inside a block of Markdown as pieces with styles: words, links, and code with its parts told apart."""

from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from specchat.ui.styles import CODE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markdown_it.token import Token

GROUND = f"{CODE}-text"
"""The style of what is no special part of code, and of the ground that code stands on."""
HIGHLIGHTED_CHARACTERS = 100_000
"""Longer code is drawn plain: to tell its parts apart takes 3 ms for each 1,000 characters, and much more at worst."""


@dataclass(slots=True)
class Spoken:
    """Pieces of text, with a style for each."""

    pieces: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def add(self, text: str, style: str) -> None:
        """Put text at the end."""
        if text:
            self.pieces.append(text)
            self.styles.append(style)


def spoken_of(children: "Sequence[Token]", base: str) -> Spoken:
    """The text of an inline token.

    Args:
        children: Of the parser.
        base: The style of what has none of its own.
    """
    spoken = Spoken()
    depths = {"strong": 0, "em": 0, "s": 0, "link": 0}
    address, link_at = "", 0
    for child in children:
        name, _, end = child.type.rpartition("_")
        if name in depths:
            depths[name] += 1 if end == "open" else -1
            if child.type == "link_open":
                address, link_at = str(child.attrs.get("href", "")), len(spoken.pieces)
            elif child.type == "link_close" and "".join(spoken.pieces[link_at:]) != address:
                spoken.add(f" ({address})", "md-address")
        elif child.type == "code_inline":
            spoken.add(child.content, CODE)
        elif child.type in {"softbreak", "hardbreak"}:
            spoken.add("\n", base)
        elif child.type == "image":
            spoken.add(child.content or "picture", "md-link")
            spoken.add(f" ({child.attrs.get('src', '')})", "md-address")
        else:
            spoken.add(child.content, _style(depths, base))
    return spoken


def _style(depths: dict[str, int], base: str) -> str:
    """The one name for everything that holds."""
    if depths["link"]:
        return "md-link"
    if base in {"md-title", "md-heading"}:
        return base
    if depths["s"]:
        return "md-struck"
    if depths["strong"]:
        return "md-strong-emphasis" if depths["em"] else "md-strong"
    return "md-emphasis" if depths["em"] else base


def code_of(code: str, language: str) -> tuple[list[str], list[str]]:
    """Pieces and styles of code; joined the pieces are the code.

    Args:
        code: Of any length.
        language: As the model named it; an unknown one gives plain text.
    """
    plain = [code], [GROUND]
    if not language or len(code) > HIGHLIGHTED_CHARACTERS:
        return plain
    # Only who reads code pays for the import.
    from rich.syntax import Syntax

    lexer = Syntax(code, language, tab_size=0).lexer
    if lexer is None:
        return plain
    spoken = Spoken()
    for kind, text in lexer.get_tokens(code):
        spoken.add(text, _code_style(str(kind)))
    joined = "".join(spoken.pieces)
    # The lexer ends its last line, and some lexers change what they read.
    if joined not in {code, code + "\n"}:
        return plain
    if joined != code:
        spoken.pieces[-1] = spoken.pieces[-1].removesuffix("\n")
    return spoken.pieces, spoken.styles


_KINDS = (
    ("Comment", "code-comment"),
    ("Literal.String", "code-string"),
    ("Literal.Number", "code-number"),
    ("Keyword.Constant", "code-number"),
    ("Keyword", "code-keyword"),
    ("Operator.Word", "code-keyword"),
    ("Operator", "code-operator"),
    ("Name.Tag", "code-keyword"),
    ("Name.Function", "code-name"),
    ("Name.Class", "code-name"),
    ("Name.Builtin", "code-name"),
    ("Name.Decorator", "code-name"),
    ("Name.Attribute", "code-name"),
)
"""Beginnings of the lexer's kinds, the first that fits counts."""


@cache
def _code_style(kind: str) -> str:
    return next((style for start, style in _KINDS if kind.startswith(f"Token.{start}")), GROUND)
