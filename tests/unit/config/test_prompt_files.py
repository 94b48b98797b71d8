"""Files of prompts: what each kind holds, and what is said of a line that is none."""

from pathlib import Path

import pytest

from specchat.config.prompt_files import read_prompts
from specchat.core.errors import ConfigurationError


def written(tmp_path: Path, text: str | bytes, name: str = "prompts.txt") -> Path:
    file = tmp_path / name
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def turns_of(file: Path) -> list[tuple[str, ...]]:
    return [prompt.turns for prompt in read_prompts(file)]


@pytest.mark.parametrize("text", ["one\ntwo\n", "\ufeffone\r\ntwo", "one \n  two\n\n\n", "\none\rtwo"])
def test_a_text_file_has_a_prompt_a_line(tmp_path: Path, text: str) -> None:
    assert turns_of(written(tmp_path, text)) == [("one",), ("two",)]


def test_an_empty_line_between_texts_makes_each_block_a_prompt(tmp_path: Path) -> None:
    assert turns_of(written(tmp_path, "a\nb\n\n \nc\n")) == [("a\nb",), ("c",)]


def test_jsonl_holds_prompts_messages_or_turns(tmp_path: Path) -> None:
    lines = (
        '{"prompt": "one", "id": 7, "category": "math"}\n'
        "\n"
        '{"question_id": "q", "turns": ["a", "b"]}\n'
        '{"turns": "alone"}\n'
        '{"messages": [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}, '
        '{"role": "assistant", "content": "yes"}, {"role": "user", "content": [{"type": "text", "text": "why"}]}]}\n'
        '"bare"'
    )
    found = read_prompts(written(tmp_path, lines, "p.jsonl"))
    assert [prompt.turns for prompt in found] == [("one",), ("a", "b"), ("alone",), ("why",), ("bare",)]
    assert [(prompt.name, prompt.category) for prompt in found[:2]] == [("7", "math"), ("q", "")]
    assert found[3].before == (("system", "s"), ("user", "hi"), ("assistant", "yes"))


def test_user_messages_alone_are_turns(tmp_path: Path) -> None:
    line = '{"messages": [{"role": "user", "content": "a"}, {"role": "user", "content": "b"}]}'
    assert turns_of(written(tmp_path, line, "p.jsonl")) == [("a", "b")]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{", "not JSON"),
        ("7", "an object with"),
        ("{}", "no “prompt”"),
        ('{"prompt": " "}', "is empty"),
        ('{"prompt": 5}', "is no text"),
        ('{"turns": []}', "a list of texts"),
        ('{"turns": ["a", null]}', "turn 2 is no text"),
        ('{"messages": "x"}', "a list of objects"),
        ('{"messages": [{"role": "poet", "content": "x"}]}', "message 1 has no “role”"),
        ('{"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "y"}]}', "of “assistant”"),
        ('{"messages": [{"role": "user", "content": [{"type": "image_url"}]}]}', "no text"),
        ('{"turns": ["FULL BENCHMARK DATA SHOULD BE FETCHED FROM THE SOURCE USING X\\n{article}"]}', "placeholder"),
        ("[" * 100_000, "p.jsonl, line 2"),
    ],
)
def test_a_line_that_is_no_prompt_is_named_with_its_file(tmp_path: Path, line: str, why: str) -> None:
    with pytest.raises(ConfigurationError, match=r"p\.jsonl, line 2") as raised:
        read_prompts(written(tmp_path, '{"prompt": "good"}\n' + line, "p.jsonl"))
    assert why in str(raised.value)


def test_json_written_over_several_lines_is_refused_with_what_is_wanted(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="line 1: one object a line is wanted"):
        read_prompts(written(tmp_path, '[\n{"prompt": "a"}\n]', "p.json"))


def test_what_cannot_be_read_is_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        read_prompts(tmp_path / "missing.txt")
    with pytest.raises(ConfigurationError, match="line 2: this is not UTF-8"):
        read_prompts(written(tmp_path, b"good\nb\xff"))
    with pytest.raises(ConfigurationError, match="no prompt in"):
        read_prompts(written(tmp_path, " \n\n"))
