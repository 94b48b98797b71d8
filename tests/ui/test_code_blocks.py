"""Blocks of code in a text: what the parser of the Markdown view finds, and what a text that grows holds."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from specchat.ui.layout.code_blocks import CodeBlock, block_at, code_blocks

_LINES = st.sampled_from(
    ["", "words", "```", "```python", "~~~", "~~~~", "````", "  ```", "  code", "``` a`b", "    deep", "``", "x"]
)


def codes(text: str) -> list[str]:
    return [block.code for block in code_blocks(text)]


@pytest.mark.parametrize(
    ("text", "code", "language"),
    [
        ("```python\nx = 1\n```", "x = 1", "python"),
        ("~~~ sh\nls\n~~~", "ls", "sh"),
        ("````md\n```\ninner\n```\n````", "```\ninner\n```", "md"),
        ("```\n~~~\n```", "~~~", ""),
        ("```\n```", "", ""),
        ("1. step\n   ```sh\n   ls\n     -l\n   ```", "ls\n  -l", "sh"),
        ("- ```sh\n  ls\n  ```", "ls", "sh"),
        ("> ```sh\n> ls\n>\n> pwd\n> ```", "ls\n\npwd", "sh"),
        ("```go\n\tx()\n```", "\tx()", "go"),
        ("```python title=a.py\nx\n```", "x", "python"),
        ("```\nline\n``` not the end\n```", "line\n``` not the end", ""),
    ],
)
def test_a_block_is_what_lies_between_its_fences(text: str, code: str, language: str) -> None:
    assert [(block.code, block.language) for block in code_blocks(f"Before\n\n{text}\nafter")] == [(code, language)]


@pytest.mark.parametrize(
    ("text", "code"), [("```py\nx = 1", "x = 1"), ("```py\nx = 1\n", "x = 1"), ("```py\n", ""), ("```py", "")]
)
def test_a_block_that_is_still_written_reaches_to_the_end(text: str, code: str) -> None:
    assert code_blocks(text) == [CodeBlock(code, "py", 0, len(text))]


def test_inline_code_of_three_marks_begins_no_block() -> None:
    assert code_blocks("```x``` is code\nand this is not") == []


def test_the_block_of_a_character_is_found() -> None:
    text = "a\n```\nx\n```\nb\n```\ny"
    blocks = code_blocks(text)
    found = [None if (block := block_at(blocks, at)) is None else block.code for at in range(len(text))]

    assert found == [None, None, *["x"] * 9, None, None, None, *["y"] * 5]


@given(st.lists(_LINES, max_size=12).map("\n".join))
@settings(max_examples=400, deadline=None)
def test_outside_of_lists_the_blocks_are_those_of_the_parser(text: str) -> None:
    parser = MarkdownIt("commonmark").disable("code")
    wanted = [token.content.removesuffix("\n") for token in parser.parse(text) if token.type == "fence"]
    unclosed = wanted and text.endswith("\n")

    assert codes(text)[:-1] == wanted[:-1]
    if not unclosed:
        assert codes(text) == wanted
