"""JSON as servers write it, a little beside the standard."""

import pytest

from specchat.backends.json_reading import parse, values_in_row


def test_a_number_of_thousands_of_digits_does_not_hide_the_rest() -> None:
    is_json, value = parse('{"a":' + "9" * 5000 + ',"b":"c"}')
    assert is_json
    assert isinstance(value, dict)
    assert value["b"] == "c"


@pytest.mark.parametrize("text", ["", "{", "[" * 100_000, '{"a":' + "9" * 5000 + ",}", "nul", '{"a" 1}'])
def test_what_is_no_json_is_said_to_be_none(text: str) -> None:
    assert parse(text) == (False, None)


def test_control_characters_in_strings_are_taken_as_they_are() -> None:
    assert parse('["a\tb\x00"]') == (True, ["a\tb\x00"])


@pytest.mark.parametrize(
    ("text", "values", "rest"),
    [
        ('{"a":1}{"b":2}', [{"a": 1}, {"b": 2}], ""),
        ('data: {"a":1} data:data: [2] ', [{"a": 1}, [2]], ""),
        ('{"a":1}data: [DONE]', [{"a": 1}], "[DONE]"),
        ('{"a":1}{"b"', [{"a": 1}], '{"b"'),
        ("503 Service Unavailable", [], "503 Service Unavailable"),
        ("", [], ""),
    ],
)
def test_values_in_a_row_are_read_one_by_one(text: str, values: list[object], rest: str) -> None:
    assert values_in_row(text) == (values, rest)
