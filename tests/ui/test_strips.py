"""A row as bytes: the same picture as Textual's own, in fewer of them."""

import pytest
from rich.console import Console
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from textual.strip import Strip

from specchat.ui.widgets.strips import RowStrip

_RED, _BLUE = Style.parse("red on black"), Style.parse("blue on black")
_BOLD = Style.parse("bold blue on black")
_ROWS = [
    [("one", _RED), (" two", _RED), (" three", _BLUE)],
    [("a", _RED), ("", _BLUE), ("b", _BOLD), ("c", _BLUE), ("漢", Style.parse("underline"))],
    [("plain", Style.null()), ("red", _RED)],
]


def looks(drawn: str) -> list[tuple[str, Style]]:
    text = Text.from_ansi(drawn)
    console = Console()
    return [(character, text.get_style_at_offset(console, index)) for index, character in enumerate(text.plain)]


@pytest.mark.parametrize("row", _ROWS)
@pytest.mark.parametrize("system", ["standard", "256", "truecolor"])
def test_a_row_looks_as_textual_would_draw_it(row: list[tuple[str, Style]], system: str) -> None:
    console = Console(color_system=system, force_terminal=True)  # type: ignore[arg-type]
    segments = [Segment(text, style) for text, style in row]
    ours = RowStrip(segments, 20, 7, range(len(segments))).render(console)
    theirs = Strip(segments).render(console)

    assert looks(ours) == looks(theirs)
    assert len(ours) <= len(theirs)
    assert ours.endswith("\x1b[0m")


def test_neighbours_of_one_look_are_written_without_anything_between() -> None:
    segments = [Segment("one", _RED), Segment(" two", _RED)]

    assert "one two" in RowStrip(segments, 7, 7, [0, 3]).render(Console(force_terminal=True))


def test_who_goes_through_a_row_learns_which_character_each_segment_begins_with() -> None:
    segments = [Segment("one", _RED), Segment(" two", _RED)]
    strip = RowStrip(segments, 7, 9, [4, 7])

    assert [segment.style.meta["offset"] for segment in strip if segment.style] == [(4, 9), (7, 9)]
    assert [segment.text for segment in strip] == ["one", " two"]
