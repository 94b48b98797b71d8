"""Which tool call a part belongs to, however a server numbers its calls."""

from specchat.backends.tool_slots import ToolSlots


def test_numbers_are_taken_as_they_are() -> None:
    slots = ToolSlots()
    found = [slots.find(n, i, named=bool(i)) for n, i in [(0, "a"), (0, ""), (1, "b"), (0, ""), (1, "")]]
    assert found == [0, 0, 1, 0, 1]


def test_calls_without_numbers_are_told_apart_by_their_ids() -> None:
    slots = ToolSlots()
    found = [slots.find(None, i, named=bool(i)) for i in ["a", "", "b", "", "a"]]
    assert found == [0, 0, 1, 1, 0]


def test_another_named_call_under_the_same_number_is_another_call() -> None:
    slots = ToolSlots()
    found = [slots.find(0, i, named=bool(i)) for i in ["a", "", "b", ""]]
    assert found == [0, 0, 1, 1]


def test_a_new_id_without_a_name_is_the_same_call() -> None:
    slots = ToolSlots()
    assert [slots.find(0, "a", named=True), slots.find(0, "b", named=False)] == [0, 0]


def test_a_name_that_is_repeated_whole_counts_once_and_one_in_parts_is_joined() -> None:
    slots = ToolSlots()
    assert [slots.new_in_name(0, name) for name in ["f", "f", "", "f"]] == ["f", "", "", ""]
    assert [slots.new_in_name(1, name) for name in ["get_", "weather"]] == ["get_", "weather"]
