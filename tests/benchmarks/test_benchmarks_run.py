"""The benchmarks still run and have figures for everything they compare. How good these are is no test's matter."""

import math
import re

import pytest

from benchmarks.benchmark_report import PARTS, Scale, table

TINY = Scale(seconds=0.3, repeats=1, shown=320, long=(300,), idle_seconds=0.2, starts=1, versions=1)
ROWS = {
    "streaming": ["specchat, 300", "Textual `Markdown", "a growing `Static`", "specchat, 1000", "a bare Textual app"],
    "traced": [
        "specchat, 300",
        "traced, proposals hidden",
        "traced, proposals counted",
        "traced, proposals shown, 1000",
    ],
    "long": ["specchat, 300 tokens", "traced, proposals shown, 300 tokens"],
    "idle": ["specchat at rest"],
    "startup": ["`specchat --version`", "a bare Textual app", "`specchat --url`"],
}


@pytest.mark.parametrize("part", PARTS, ids="part-{}".format)
def test_a_part_has_a_figure_in_every_cell(part: str) -> None:
    rows = PARTS[part](TINY)

    names = [row[0] for row in rows[1:]]
    assert all(any(name.startswith(wanted) for name in names) for wanted in ROWS[part])
    for row in rows[1:]:
        figures = [float(figure) for cell in row[1:] for figure in re.findall(r"[\d.]+", cell)]
        assert figures, row
        assert all(math.isfinite(figure) for figure in figures), row
    assert len({len(row) for row in rows}) == 1
    assert table(rows).count("\n") == len(rows)
