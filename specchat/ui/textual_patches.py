"""Every use of what Textual keeps to itself. Written for 8.2; its tests say when another version breaks it."""

from typing import TYPE_CHECKING, cast

from textual import _ansi_sequences
from textual.keys import Keys
from textual.widgets._footer import FooterKey

if TYPE_CHECKING:
    from collections.abc import MutableMapping

__all__ = ["NEWLINE_KEYS", "FooterKey", "tell_alt_enter_apart"]

NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter", "shift+\r", "alt+shift+enter"})
"""Names under which terminals report keys that insert a newline; `shift+\\r` is xterm's way with modifyOtherKeys."""


def tell_alt_enter_apart() -> None:
    """Read ESC CR, which Alt+Enter sends, as Ctrl+J: Textual would read it as Enter, which sends the prompt."""
    table = cast("MutableMapping[str, object]", _ansi_sequences.ANSI_SEQUENCES_KEYS)
    table["\x1b\r"] = (Keys.ControlJ,)
