"""What specchat takes from Textual's private parts still works there."""

from textual import events
from textual._xterm_parser import XTermParser

from specchat.ui.textual_patches import NEWLINE_KEYS, tell_alt_enter_apart


def keys_of(sequence: str) -> list[str]:
    tell_alt_enter_apart()
    tokens = [token for token in XTermParser().feed(sequence) if isinstance(token, events.Key)]
    return [token.key for token in tokens]


def test_enter_is_enter() -> None:
    assert keys_of("\r") == ["enter"]


def test_alt_enter_makes_a_new_line() -> None:
    assert set(keys_of("\x1b\r")) <= NEWLINE_KEYS
    assert keys_of("\x1b\r")


def test_shift_enter_makes_a_new_line_in_both_ways_that_terminals_send_it() -> None:
    for sequence in ("\x1b[27;2;13~", "\x1b[13;2u"):
        assert keys_of(sequence), sequence
        assert set(keys_of(sequence)) <= NEWLINE_KEYS, sequence


def test_line_feed_makes_a_new_line() -> None:
    assert set(keys_of("\n")) <= NEWLINE_KEYS
