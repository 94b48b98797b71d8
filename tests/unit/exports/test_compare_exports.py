"""A comparison on disk and as data: nothing is lost on the way, and every figure says what it is."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import server_info
from samples_of import both, counted, failed, plan_for, sample_at
from specchat.core.comparison.plan import Plan, Prompt
from specchat.core.comparison.record import Record
from specchat.core.comparison.samples import Failure, Measured, Sample, Side
from specchat.core.errors import ConfigurationError, SpecchatError
from specchat.core.server import ServerInfo
from specchat.core.switching import Way
from specchat.exports.compare_json import compare_object
from specchat.exports.compare_markdown import compare_markdown
from specchat.exports.sample_file import begin, go_on, read_samples
from specchat.exports.sample_json import sample_from, sample_object

SECONDS = st.none() | st.floats(0, 1e6)
COUNTS = st.none() | st.integers(0, 10**6)
FAILURES = st.none() | st.builds(Failure, st.text(), st.text(), st.text(), is_refusal=st.booleans())
MEASURED = st.builds(
    Measured, first_token_s=SECONDS, decode_s=SECONDS, tokens=COUNTS, steps=COUNTS, accepted=COUNTS,
    ids=st.none() | st.lists(st.integers(0, 10**6)).map(tuple), text=st.text(), failure=FAILURES,
    per_position=st.none() | st.lists(st.integers(0, 9)).map(tuple), notes=st.lists(st.text()).map(tuple),
)  # fmt: skip
SAMPLES = st.builds(
    Sample, st.integers(0, 9), st.integers(0, 9), st.sampled_from(Side), st.lists(MEASURED, max_size=3).map(tuple),
    st.floats(0, 2e9), st.integers(0, 99),
)  # fmt: skip
OFF = ServerInfo("http://gpu01:8001", "0.32.0", model="tiny/chat", draft_length=0)


def record_of(samples: list[Sample], plan: Plan | None = None, **changes: object) -> Record:
    given: dict[str, object] = {
        "plan": plan or plan_for(2, repeats=1),
        "servers": {Side.ON: server_info(), Side.OFF: OFF},
        "way": Way.SERVER,
        "samples": samples,
        "fingerprint": "f" * 64,
    }
    return Record(**(given | changes))  # type: ignore[arg-type]


@given(SAMPLES)
def test_a_sample_survives_being_written_down(sample: Sample) -> None:
    assert sample_from(json.loads(json.dumps(sample_object(sample)))) == sample


@pytest.mark.parametrize("wrong", [{}, {"prompt": "x"}, {**sample_object(both(2, 1)[0]), "side": "up"}])
def test_what_is_no_sample_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"sample|Side"):
        sample_from(wrong)


def test_what_a_later_version_adds_to_a_sample_is_left_out() -> None:
    value = json.loads(json.dumps(sample_object(both(2, 1)[0])))
    value["replies"][0]["joules"] = 3
    assert sample_from(value) == both(2, 1)[0]


def test_a_file_of_samples_is_gone_on_with_even_where_its_last_line_was_cut(tmp_path: Path) -> None:
    path, (one, other) = tmp_path / "new" / "s.jsonl", both(2, 1)
    with begin(path, "print", "today", {"settings": {}}) as file:
        file.add(one)
    with path.open("a") as broken:
        broken.write('{"sample": {"pro')
    with go_on(path) as file:
        file.add(other)
        file.add_meaning("off by the hook")
        file.add_notes(["on: a note"])
    kept = read_samples(path)
    assert kept is not None
    assert (kept.fingerprint, kept.started, kept.samples) == ("print", "today", (one, other))
    assert (kept.off_meant, kept.notes) == ("off by the hook", ("on: a note",))


def test_a_new_comparison_leaves_the_old_file_under_a_number(tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    for number in range(3):
        begin(path, str(number), "", {}).__exit__()
    prints = {file.name: kept.fingerprint for file in tmp_path.iterdir() if (kept := read_samples(file))}
    assert prints == {"s.jsonl": "2", "s-1.jsonl": "0", "s-2.jsonl": "1"}


def test_a_file_of_another_kind_is_refused_and_stays(tmp_path: Path) -> None:
    path = tmp_path / "notes.jsonl"
    path.write_text("mine\n")
    with pytest.raises(ConfigurationError, match="no file of samples"):
        read_samples(path)
    assert path.read_text() == "mine\n"
    assert read_samples(tmp_path / "none") is None


def test_json_has_ratio_and_interval_for_each_prompt_and_in_total() -> None:
    samples = [*both(30, 10), *both(18, 10, prompt=1)]
    value = json.loads(json.dumps(compare_object(record_of(samples))))
    assert value["schema"] == "specchat.compare/1"
    assert [one["speed_ratio"] for one in value["prompts"]] == pytest.approx([3.0, 1.8])
    total = value["total"]
    assert total["speed_ratio"] == pytest.approx(2.4)
    assert total["interval"]["low"] <= 2.4 <= total["interval"]["high"]
    assert (total["within_noise"], value["off"]["is_true_baseline"]) == (False, True)
    assert len(value["samples"]) == 4
    assert [one["speed_ratio"] for one in value["pairs"]] == pytest.approx([3.0, 1.8])


def test_every_acceptance_length_says_how_it_was_aggregated() -> None:
    samples = [sample_at(30, Side.ON, **counted(10, 20)), sample_at(10, Side.OFF)]
    value = compare_object(record_of(samples))
    lengths: list[dict[str, object]] = []

    def collect(node: object, key: str = "") -> None:
        if isinstance(node, dict):
            if key.startswith("acceptance_length"):
                lengths.append(node)
            for name, child in node.items():
                collect(child, name)
        elif isinstance(node, list):
            for child in node:
                collect(child)

    collect(value | {"definitions": {}})
    assert len(lengths) == 8
    assert {one["aggregation"] for one in lengths} == {"pooled over steps", "mean of requests"}
    text = compare_markdown(record_of(samples))
    assert "AL, pooled over steps" in text
    assert "as mean of requests it is 3.00" in text


def test_a_named_prompt_s_text_is_in_no_export() -> None:
    plan = Plan((Prompt(("secret words",), name="q1"), Prompt(("open words",))), repeats=1)
    samples = [*both(2, 1), *both(2, 1, prompt=1)]
    for text in (json.dumps(compare_object(record_of(samples, plan))), compare_markdown(record_of(samples, plan))):
        assert "secret" not in text
        assert "q1" in text
        assert "open words" in text


def test_markdown_takes_nothing_of_a_server_for_markup() -> None:
    plan = Plan((Prompt(("a | b <img> *c*",)),), repeats=1)
    record = record_of(both(2, 1), plan, notes=["`x` | y"])
    text = compare_markdown(record)
    row = next(line for line in text.splitlines() if "img" in line)
    assert row.replace("\\|", "").count("|") == 10
    assert "\\<img\\>" in row
    assert "\\`x\\` \\| y" in text


def test_a_comparison_without_anything_measured_has_exports_too() -> None:
    error = SpecchatError("The server was lost.", "Start it.")
    for samples in ([], [failed(Side.ON)]):
        record = record_of(samples, ending="lost", error=error)
        assert json.loads(json.dumps(compare_object(record)))["error"]["hint"] == "Start it."
        assert "Nothing can be said of the speed" in compare_markdown(record)
