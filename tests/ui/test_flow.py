"""The layout of text: nothing is lost, nothing is too wide, and a change gives what a fresh layout would give."""

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from specchat.core.harmless import harmless
from specchat.ui.layout.flow import TextFlow

_ODD = "é\u0301漢字、👩\u200d👧\U0001f1e9\U0001f1ea❤\ufe0f\x1b\u202e\u2028\u3000\u200b\ud800가\U0001f3fd"
_CHARACTERS = st.sampled_from([*"ab Z-.   \n\t\r", *_ODD])
_PIECES = st.lists(st.lists(_CHARACTERS, max_size=6).map("".join), max_size=30)
_WIDTHS = st.integers(1, 24)


def lay(pieces: list[str], width: int) -> TextFlow:
    flow = TextFlow(width)
    flow.replace(0, pieces)
    return flow


def joined(flow: TextFlow) -> str:
    text, behind = "", 0
    for line in flow.lines:
        text += flow.text[behind : line.start] + "".join(flow.text[a.start : a.end] for a in line.atoms)
        behind = line.end
    return text


@given(_PIECES, _WIDTHS)
@settings(max_examples=400, deadline=None)
def test_the_lines_joined_are_the_harmless_text_for_any_width(pieces: list[str], width: int) -> None:
    flow = lay(pieces, width)

    assert joined(flow) == flow.text == harmless("".join(pieces))
    between = [flow.text[a.end : b.start] for a, b in zip(flow.lines, flow.lines[1:], strict=False)]
    assert set(between) <= {"", "\n"}


@given(_PIECES, st.integers(2, 24))
@settings(max_examples=400, deadline=None)
def test_no_line_is_wider_than_the_screen(pieces: list[str], width: int) -> None:
    for line in lay(pieces, width).lines:
        drawn = "".join(atom.drawn for atom in line.atoms)

        widest = max((cell_len(atom.drawn) for atom in line.atoms), default=0)
        assert sum(atom.cells for atom in line.atoms) <= max(width, widest)
        assert all(cell_len(atom.drawn) == atom.cells for atom in line.atoms), repr(drawn)


@given(_PIECES, st.lists(st.tuples(st.integers(0, 30), _PIECES), min_size=1, max_size=5), _WIDTHS)
@settings(max_examples=600, deadline=None)
def test_a_changed_end_gives_the_lines_of_a_fresh_layout(
    pieces: list[str], changes: list[tuple[int, list[str]]], width: int
) -> None:
    flow = lay(pieces, width)
    for at, replacement in changes:
        first = min(at, len(pieces))
        before = list(flow.lines)
        pieces = pieces[:first] + replacement
        changed = flow.replace(first, replacement)

        assert flow.lines == lay(pieces, width).lines
        assert flow.lines[:changed] == before[:changed]


@given(_PIECES, _WIDTHS, _WIDTHS)
@settings(deadline=None)
def test_another_width_gives_the_lines_of_a_fresh_layout(pieces: list[str], width: int, other: int) -> None:
    flow = lay(pieces, width)
    flow.resize(other)

    assert flow.lines == lay(pieces, other).lines


def lines_of(text: str, width: int) -> list[str]:
    return ["".join(atom.drawn for atom in line.atoms) for line in lay([text], width).lines]


def test_text_wraps_between_words() -> None:
    assert lines_of("the quick brown fox", 10) == ["the quick ", "brown fox"]


def test_spaces_at_the_edge_never_begin_a_line() -> None:
    assert lines_of("abcde    fgh", 5) == ["abcde", "fgh"]


def test_a_word_longer_than_the_line_is_cut() -> None:
    assert lines_of("a bcdefghij", 4) == ["a ", "bcde", "fghi", "j"]


def test_indentation_stays_with_its_word() -> None:
    assert lines_of("    abcdefgh", 8) == ["    abcd", "efgh"]


def test_wide_characters_wrap_anywhere_and_are_never_halved() -> None:
    assert lines_of("漢字漢字漢", 5) == ["漢字", "漢字", "漢"]


def test_tabs_go_to_the_next_stop() -> None:
    assert lines_of("a\tb", 20) == ["a   b"]


def test_a_grapheme_over_several_pieces_is_one_atom_of_the_first() -> None:
    flow = lay(["x", "👩", "\u200d", "👧", "y"], 20)

    assert [(atom.piece, atom.drawn) for atom in flow.lines[0].atoms] == [(0, "x"), (1, "👩\u200d👧"), (4, "y")]
    assert flow.grapheme_at(2) == (1, 4)


def test_a_carriage_return_and_its_newline_in_two_pieces_are_one_line_end() -> None:
    flow = lay(["a\r"], 10)
    assert flow.text == "a␍"
    flow.replace(1, ["\n", "b"])

    assert flow.text == "a\nb"


def test_a_change_at_the_end_of_a_long_text_touches_few_lines() -> None:
    pieces = ["word "] * 5000
    flow = lay(pieces, 40)
    lines = len(flow.lines)

    assert flow.replace(5000, ["more"]) >= lines - 2
