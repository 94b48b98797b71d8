"""The benchmark of the store runs, and its table has what its targets are about."""

from pathlib import Path

from benchmarks.benchmark_storage import Size, measured


def test_the_benchmark_of_the_store_runs(tmp_path: Path) -> None:
    rows = {row[0]: row for row in measured(Size(sessions=8, tokens=4_000, largest=600), tmp_path)}
    assert rows["sessions, tokens"][1].startswith("8, ")
    with_target = {name for name, row in rows.items() if row[2]}
    assert {"open and list 100", "search: a rare word", "open the largest, 600 tokens"} <= with_target
