"""Marks over the text: which touch a row, and how they are painted."""

from hypothesis import given
from hypothesis import strategies as st
from rich.style import Style

from specchat.ui.layout.marks import Mark, Marks
from specchat.ui.layout.parts import Row, Span
from specchat.ui.widgets.painting import RowPainter

_EDGES = st.lists(st.integers(0, 60), min_size=2, max_size=20, unique=True).map(sorted)


@given(_EDGES, st.integers(0, 60), st.integers(1, 20))
def test_the_marks_of_a_stretch_are_those_that_touch_it(edges: list[int], start: int, length: int) -> None:
    laid = [Mark(a, b, "mark-find") for a, b in zip(edges[::2], edges[1::2], strict=False)]
    marks = Marks()
    marks.set("find", {7: laid})
    touching = [mark for mark in laid if mark.start < start + length and mark.end > start]

    assert marks.within(7, start, start + length) == touching
    assert marks.within(8, start, start + length) == []


def test_a_later_layer_lies_over_an_earlier_one() -> None:
    marks = Marks()
    marks.set("cursor", {1: [Mark(0, 2, "mark-cursor")]})
    marks.set("find", {1: [Mark(1, 3, "mark-find")]})

    assert [mark.style for mark in marks.within(1, 0, 9)] == ["mark-find", "mark-cursor"]


def test_setting_the_same_marks_again_changes_no_block() -> None:
    marks = Marks()
    assert marks.set("find", {1: [Mark(0, 2, "mark-find")], 2: []}) == {1}
    assert marks.set("find", {1: [Mark(0, 2, "mark-find")]}) == set()
    assert marks.set("find", {}) == {1}


def painted(row: Row, *marks: Mark) -> list[tuple[str, bool]]:
    painter = RowPainter({"mark-find": Style(reverse=True)}, lambda _: Style.null())
    return [
        (segment.text, bool(segment.style and segment.style.reverse))
        for segment in painter.paint(row, 20, Style(), marks)
    ]


def test_a_mark_cuts_the_text_of_its_tokens() -> None:
    row = Row(1, 9, (Span("one ", "a", 0), Span("three", "b", 4)))

    shown = painted(row, Mark(2, 6, "mark-find"))
    assert [text for text, marked in shown if marked] == ["e ", "th"]
    assert "".join(text for text, _ in shown).strip() == "one three"


def test_a_tab_and_a_joined_emoji_are_marked_whole() -> None:
    row = Row(1, 6, (Span("    ", "a", 0, whole=True), Span("👩\u200d👧", "a", 1, whole=True), Span("xy", "a", 4)))

    assert [text for text, marked in painted(row, Mark(0, 2, "mark-find")) if marked] == ["    ", "👩\u200d👧"]
