"""Lines by counting: the quick ways to measure give what measuring each grapheme gives."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes

from specchat.ui.layout import wrapping
from specchat.ui.layout.wrapping import NARROW, WIDE, Lines

_TEXTS = st.text(st.sampled_from("ab Z-. \n\té\u2019—→漢字、가👩\u200d\u0301\ufe0f1"), max_size=60)
_MARKED_TEXTS = st.text(st.sampled_from("ab  .ก\u0e35\u0e49ำअ\u093f\u094dकن\u064b،é\u0301\u200c"), max_size=60)
_NEVER = re.compile("(?!)")


def places(text: str, width: int) -> list[tuple[int, int, int]]:
    lines = Lines()
    lines.wrap(text, width)
    return list(zip(lines.starts, lines.ends, lines.seen, strict=True))


@pytest.mark.parametrize(("ranges", "cells"), [(NARROW, 1), (WIDE, 2)])
def test_characters_that_are_counted_are_as_wide_as_measured_and_combine_with_nothing_before(
    ranges: str, cells: int
) -> None:
    counted = re.findall(f"[{ranges}]", "".join(map(chr, [*range(0xD800), *range(0xE000, 0x10000)])))

    assert len(counted) > 1000
    assert [character for character in counted if cell_len(character) != cells] == []
    assert [character for character in counted if len(split_graphemes(f"a{character}")[0]) != 2] == []


@given(_TEXTS, st.integers(1, 20))
@settings(max_examples=500, deadline=None)
def test_plain_text_is_wrapped_as_if_it_were_measured(text: str, width: int) -> None:
    quick = places(text, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrapping, "_PLAIN", _NEVER)

        assert places(text, width) == quick


@given(_MARKED_TEXTS, st.integers(1, 20))
@settings(max_examples=500, deadline=None)
def test_text_with_marks_upon_its_characters_is_wrapped_as_if_it_were_measured(text: str, width: int) -> None:
    quick = places(text, width)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(wrapping, "_PLAIN", _NEVER)
        patch.setattr(wrapping, "_marked", lambda: _NEVER)

        assert places(text, width) == quick


@pytest.mark.parametrize("word", ["การถอดรหัสแบบคาดการณ์ทำให้โมเดลตอบเร็วขึ้น", "सट्टा डिकोडिंग तेज़ी से", "نموذجًا صغيرًا، يقترح"])
def test_whole_languages_are_wrapped_without_looking_at_each_grapheme(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = places(f"{word} " * 9, 30)
    monkeypatch.delattr(wrapping, "units")

    assert places(f"{word} " * 9, 30) == wanted
    assert len(wanted) > 3


def test_the_signs_of_rejected_proposals_cost_no_look_at_each_grapheme(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = " and \u2039␣␣⏎⇥⟨ZWJ⟩ words\u203a so" * 9
    wanted = places(drawn, 30)
    monkeypatch.delattr(wrapping, "units")

    assert places(drawn, 30) == wanted


@given(_TEXTS, _TEXTS, _TEXTS, st.integers(1, 20))
@settings(max_examples=500, deadline=None)
def test_a_changed_end_is_wrapped_as_a_whole_text(same: str, before: str, after: str, width: int) -> None:
    lines = Lines()
    lines.wrap(same + before, width)
    first = lines.wrap(same + after, width, len(same))
    now = list(zip(lines.starts, lines.ends, lines.seen, strict=True))

    assert now == places(same + after, width)
    assert now[:first] == places(same + before, width)[:first]
