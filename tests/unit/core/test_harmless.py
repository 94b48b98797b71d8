"""Text from elsewhere, made safe to show."""

from hypothesis import given
from hypothesis import strategies as st

from specchat.core.harmless import harmless, one_line


def test_escape_sequences_become_visible() -> None:
    assert harmless("\x1b[31mred\x1b]0;title\x07 \x9b1m \x7f") == "␛[31mred␛]0;title␇ ⟨009B⟩1m ␡"


def test_direction_controls_become_visible_and_letters_of_any_script_stay() -> None:
    assert harmless("a\u202eb\u2066c") == "a⟨RLO⟩b⟨LRI⟩c"
    assert harmless("العربية 日本 👨‍👩‍👧") == "العربية 日本 👨‍👩‍👧"


def test_newlines_and_tabs_stay_and_carriage_returns_do_not_overwrite() -> None:
    assert harmless("a\r\nb\tc\rd") == "a\nb\tc␍d"


def test_half_a_surrogate_pair_can_be_written() -> None:
    assert harmless("x\ud83dy").encode("utf-8") == "x\ufffdy".encode()


def test_markup_is_left_as_it_is() -> None:
    assert harmless("[bold]x[/]") == "[bold]x[/]"


@given(st.text(st.characters(codec=None)))
def test_nothing_dangerous_survives_and_doing_it_twice_changes_nothing(text: str) -> None:
    safe = harmless(text)
    assert not any((ord(c) < 0x20 and c not in "\n\t") or 0x7F <= ord(c) < 0xA0 for c in safe)
    assert harmless(safe) == safe
    safe.encode("utf-8")


@given(st.text(max_size=2000))
def test_one_line_is_one_line_of_bounded_length(text: str) -> None:
    line = one_line(text, 80)
    assert len(line) <= 80
    assert len(line.splitlines()) <= 1
