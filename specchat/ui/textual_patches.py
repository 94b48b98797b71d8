"""Every use of what Textual keeps to itself. Written for 8.2; its tests say when another version breaks it."""

import sys
from codecs import getincrementaldecoder
from functools import partial
from typing import TYPE_CHECKING, cast

from textual import _ansi_sequences
from textual.keys import Keys
from textual.widgets._footer import FooterKey

if TYPE_CHECKING:
    from codecs import IncrementalDecoder
    from collections.abc import Callable, MutableMapping

__all__ = ["NEWLINE_KEYS", "FooterKey", "survive_bytes_that_are_no_text", "tell_alt_enter_apart"]

NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter", "shift+\r", "alt+shift+enter"})
"""Names under which terminals report keys that insert a newline; `shift+\\r` is xterm's way with modifyOtherKeys."""


def tell_alt_enter_apart() -> None:
    """Read ESC CR, which Alt+Enter sends, as Ctrl+J: Textual would read it as Enter, which sends the prompt."""
    table = cast("MutableMapping[str, object]", _ansi_sequences.ANSI_SEQUENCES_KEYS)
    table["\x1b\r"] = (Keys.ControlJ,)


def survive_bytes_that_are_no_text() -> None:
    """Read bytes that are no UTF-8 as replacement characters: Textual's reader would end the app at the first.

    Terminals of another encoding send them, pastes hold them, and old mouse reports have them right of column 95.
    """
    if sys.platform == "win32":
        return
    from textual.drivers import linux_driver

    def lenient(encoding: str) -> "Callable[[], IncrementalDecoder]":
        return partial(getincrementaldecoder(encoding), "replace")

    vars(linux_driver)["getincrementaldecoder"] = lenient
