"""Markdown as rows: what is drawn, what is copied, and that nothing in it does harm or takes long."""

import re
import time

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from specchat.core.harmless import harmless
from specchat.ui.layout.markdown import MARKDOWN_STYLES, MarkdownLayout
from specchat.ui.layout.parts import Row

_SPOKEN = st.lists(
    st.sampled_from(
        ["# T", "words ", "**bold** ", "*it* ", "`code` ", "\n", "\n\n", "- item ", "  - deep ", "1. one ", "> said ",
         "```python\n", "```\n", "def f(x): return 1\n", "| a | b |\n|---|---|\n| 漢字 | [l](u) |\n", "\t", "---\n",
         "[x](http://y \"z\")", "![p](q)", "<b>", "&#x202e;", "&#27;[31m", "\x1b[31m", "\u202e", "👩‍👩‍👧", "e\u0301",
         "~~s~~"]
    ),
    max_size=25,
).map("".join)  # fmt: skip
_DANGEROUS = re.compile(r"[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def layout(text: str, width: int = 40) -> MarkdownLayout:
    made = MarkdownLayout(harmless(text), 100, width, indent=2)
    made.lay_out()
    return made


def rows(made: MarkdownLayout) -> list[Row]:
    return [part.row(index) for part in made.parts for index in range(part.height)]


def drawn(text: str, width: int = 40) -> list[str]:
    return ["".join(span.text for span in row.spans).rstrip() for row in rows(layout(text, width))]


def styles(text: str) -> dict[str, str]:
    return {span.text.strip(): span.style for row in rows(layout(text)) for span in row.spans}


def copied(text: str) -> str:
    return "\n".join(part.text for part in layout(text).parts)


def test_words_have_the_look_of_their_markup() -> None:
    shown = styles("# Title\n\n## Head\n\nplain **strong** *soft* ***both*** ~~gone~~ `code` [link](http://a)\n")

    assert shown["Title"] == "md-title"
    assert shown["Head"] == "md-heading"
    assert shown["strong"] == "md-strong"
    assert shown["soft"] == "md-emphasis"
    assert shown["both"] == "md-strong-emphasis"
    assert shown["gone"] == "md-struck"
    assert shown["code"] == "code"
    assert shown["link"] == "md-link"
    assert shown["(http://a)"] == "md-address"


def test_items_hang_behind_their_bullets() -> None:
    text = "Two:\n- a long item that wraps around\n- b\n  1. deep\n  2. deeper\n"

    assert drawn(text, 18) == [
        "Two:", "", "• a long item", "  that wraps", "  around", "• b", "  1. deep", "  2. deeper",
    ]  # fmt: skip


def test_a_quote_has_a_bar_at_each_row() -> None:
    assert drawn("> one\n>\n> two\n\nout") == ["▌ one", "▌", "▌ two", "", "out"]


def test_single_line_ends_stay() -> None:
    assert drawn("roses are red\nviolets are blue") == ["roses are red", "violets are blue"]


def test_code_keeps_its_lines_and_its_parts_have_looks() -> None:
    text = "```python\ndef f(x):\n\n    return 'a' + 12  # c\n```"
    shown = styles(text)

    assert drawn(text) == ["▎ def f(x):", "▎", "▎     return 'a' + 12  # c"]
    assert copied(text) == "def f(x):\n\n    return 'a' + 12  # c"
    assert (shown["def"], shown["f"], shown["'a'"], shown["12"], shown["# c"]) == (
        "code-keyword", "code-name", "code-string", "code-number", "code-comment",
    )  # fmt: skip


def test_tabs_in_code_are_copied_as_tabs() -> None:
    assert copied("```go\nfunc f() {\n\treturn\n}\n```") == "func f() {\n\treturn\n}"


def test_code_in_an_unknown_language_is_plain() -> None:
    assert styles("```nonsense\nif x\n```")["if x"] == "code-text"


def test_a_table_has_columns_as_wide_as_its_cells() -> None:
    text = "| a | long head |\n|---|---|\n| 漢字 | x |\n| y | some words that must wrap |\n"

    assert drawn(text, 24) == [
        "a    │ long head",
        "─────┼────────────────",
        "漢字 │ x",
        "y    │ some words that",
        "     │ must wrap",
    ]
    assert copied(text) == "a\tlong head\n漢字\tx\ny\tsome words that must wrap"


def test_a_selection_copies_no_line_ends_that_wrapping_made() -> None:
    assert copied("a sentence that is wrapped at this width\n\n1. an item that is wrapped as well, is it not") == (
        "a sentence that is wrapped at this width\n\n1. an item that is wrapped as well, is it not"
    )


def test_html_and_entities_are_text_without_power() -> None:
    shown = "\n".join(drawn("<script>x</script>\n\na &#x202e; &#27;[31m <b>b</b> \x1b]8;;http://x\x07y"))

    assert "<script>x</script>" in shown
    assert "<b>b</b>" in shown
    assert not _DANGEROUS.search(shown.replace("\n", ""))


@given(_SPOKEN, st.integers(4, 60))
@settings(max_examples=300, deadline=None)
def test_every_text_is_drawn_harmless_and_found_by_its_offsets(text: str, width: int) -> None:
    made = layout(text, width)
    assert [part.block for part in made.parts] == list(range(100, 100 + len(made.parts)))
    for part in made.parts:
        for index in range(part.height):
            row = part.row(index)
            offsets = [span.offset for span in row.spans]
            assert offsets == sorted(offsets)
            assert row.end <= len(part.text)
            for number, span in enumerate(row.spans):
                assert not _DANGEROUS.search(span.text)
                assert span.style in MARKDOWN_STYLES or span.style.startswith("code") or not span.text
                end = row.spans[number + 1].offset if number + 1 < len(row.spans) else row.end
                if not span.whole and span.text.strip():
                    # Where it is cut, a column of a table ends before the text of its cell does.
                    assert part.text[span.offset : end].replace("\t", " ").startswith(span.text.rstrip())
                    assert part.row_at(span.offset) == index
                if width >= 30:
                    assert row.indent + sum(cell_len(shown.text) for shown in row.spans) <= max(width, 60)


@given(_SPOKEN, st.integers(10, 60), st.integers(0, 200))
@settings(max_examples=200, deadline=None)
def test_a_place_of_the_source_is_shown_by_the_block_that_stands_there(text: str, width: int, at: int) -> None:
    made = layout(text, width)
    if made.parts:
        block, offset = made.place_of(min(at, len(made.source)))
        assert 0 <= made.source_of(block, offset) <= len(made.source)
        assert made.source_of(block, 0) <= max(min(at, len(made.source)), made.source_of(100, 0))


def test_a_long_text_is_laid_out_within_a_second() -> None:
    piece = "A *long* paragraph with `code` in it, and **more** words.\n\n- one\n- two\n\n```python\nx = f(1)\n```\n\n"
    text = piece * (64_000 // len(piece))
    layout(piece)
    start = time.process_time()
    made = layout(text)
    seconds = time.process_time() - start

    assert made.height > 5000
    assert seconds < 2  # a bound for any machine; 0.3 s is usual
