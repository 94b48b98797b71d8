"""Lines by counting: the quick ways to measure give what measuring each grapheme gives."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len, split_graphemes

from specchat.ui.layout import wrapping
from specchat.ui.layout.wrapping import NARROW, WIDE, Lines

_TEXTS = st.text(st.sampled_from("ab Z-. \n\té\u2019—→漢字、가👩\u200d\u0301\ufe0f1"), max_size=60)
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


@given(_TEXTS, _TEXTS, _TEXTS, st.integers(1, 20))
@settings(max_examples=500, deadline=None)
def test_a_changed_end_is_wrapped_as_a_whole_text(same: str, before: str, after: str, width: int) -> None:
    lines = Lines()
    lines.wrap(same + before, width)
    first = lines.wrap(same + after, width, len(same))
    now = list(zip(lines.starts, lines.ends, lines.seen, strict=True))

    assert now == places(same + after, width)
    assert now[:first] == places(same + before, width)[:first]
