"""Lines about servers, starts and GPUs: what they say, and that no width breaks them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from fake_local_servers import CHECKS, GOOD_CHECKS, LAUNCHED, LOADING_VIEW, MI355X, NO_KV_ROOM, PROFILES
from specchat.session.local_servers import CheckLine, GpuLine
from specchat.ui.panels.column import arrange, height
from specchat.ui.panels.drawing import WIDTH
from specchat.ui.panels.gpu_rows import gpu_figures, gpu_rows, gpu_sum
from specchat.ui.panels.launch_lines import copied_failure, failure_lines, progress_lines
from specchat.ui.panels.model import PanelsView
from specchat.ui.panels.server_facts import check_lines, facts_lines, verdict
from specchat.ui.panels.server_rows import fit_row, list_rows
from specchat.ui.panels.texts import brief_log, lasted, log_lines, sentences


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0.4, "0 s"), (59.4, "59 s"), (60, "1 min 0 s"), (551, "9 min 11 s"), (7500, "2 h 5 min"), (180_000, "2 d 2 h")],
)
def test_how_long_something_took(seconds: float, said: str) -> None:
    assert lasted(seconds) == said


@given(text=st.text(max_size=200), width=st.integers(20, 90))
def test_no_text_is_wider_than_its_width_or_holds_controls(text: str, width: int) -> None:
    for lines in (sentences(text, width, indent="  "), log_lines([text], width), brief_log([text], width)):
        for line in lines:
            assert cell_len(line.text) <= width
            assert line.text.isprintable() or "\N{NO-BREAK SPACE}" in line.text or not line.text.isascii()
            assert "\x1b" not in line.text


@given(width=st.integers(24, 120))
def test_no_line_of_a_start_or_a_server_is_wider_than_its_width(width: int) -> None:
    pages = (
        check_lines(CHECKS, width), failure_lines(NO_KV_ROOM, width), facts_lines(LAUNCHED, width),
        *(facts_lines(profile, width) for profile in PROFILES),
    )  # fmt: skip
    for page in pages:
        assert all(cell_len(line.text) <= max(width, 40) for line in page)
    rows = list_rows(None, [LAUNCHED], PROFILES)
    assert all(cell_len(fit_row(row, width).text) <= max(width, 30) for row in rows)


def test_of_vllms_heads_the_time_is_left_and_a_long_line_is_cut() -> None:
    dump = "config=" + "setting=value, " * 100
    first, second, *_, last = brief_log(
        [
            "(EngineCore pid=8) ERROR 11-30 21:02:11 [core.py:902] It failed.",
            f"INFO 11-30 21:02:12 [core.py:1] {dump}",
        ],
        60,
    )

    assert first.runs == (("21:02:11 ", "dim"), ("It failed.", "bad"))
    assert second.text.startswith("21:02:12 config=setting=value")
    assert last.text.endswith("…")


def test_the_verdict_is_about_problems_alone() -> None:
    assert verdict(GOOD_CHECKS) == ("nothing is in the way of a launch", "good")
    assert verdict(CHECKS)[1] == "bad"
    assert verdict([CheckLine("x", "warning", "odd"), CheckLine("y", "unknown", "?")])[1] == "accent"


def test_a_start_shows_what_is_done_and_what_runs() -> None:
    text = [line.text for line in progress_lines(LOADING_VIEW, 60)]

    assert text[1].split() == ["✓", "compiling", "kernels", "9", "min", "11", "s"]
    assert text[2].split() == ["◌", "loading", "weights", "2", "min", "11", "s"]
    assert "42 %" in text[3]


def test_a_copied_failure_holds_cause_remedy_lines_and_log() -> None:
    text = copied_failure(NO_KV_ROOM)

    assert text.startswith(NO_KV_ROOM.finding.title)
    assert NO_KV_ROOM.finding.remedy in text
    assert text.rstrip().endswith(str(NO_KV_ROOM.log))


def test_a_gpu_that_tells_nothing_shows_dashes_and_one_that_is_hot_stands_out() -> None:
    rows = gpu_rows([GpuLine(7), GpuLine(3, hotspot=101.0, power=1390.0, power_cap=1400.0)])

    assert rows[1].text.count("—") == 4
    looks = {text.strip(): look for text, look in rows[2].runs}
    assert (looks["101"], looks["1390"]) == ("bad", "accent")


@pytest.mark.parametrize("width", [WIDTH, 53, 80])
def test_every_row_of_gpus_is_as_wide_and_fits(width: int) -> None:
    cells = {cell_len(row.text) for row in gpu_rows(MI355X, width)[1:]}

    assert len(cells) == 1
    assert cells.pop() <= width
    assert cell_len(gpu_sum(MI355X).text) <= WIDTH


def test_sums_are_dashes_where_one_gpu_does_not_tell() -> None:
    assert "—" in gpu_sum(MI355X).text
    assert gpu_figures((GpuLine(0),)) == ()
    assert [text for text, _ in gpu_figures(MI355X[:2])] == ["2 GPUs 89 %", "VRAM 502 GiB"]


@pytest.mark.parametrize("rows", range(4, 60))
def test_the_panels_with_gpus_fit_into_any_height(rows: int) -> None:
    assert height(arrange(PanelsView(gpus=MI355X), rows)) <= max(rows, 3)


def test_without_gpus_there_is_no_panel_of_them() -> None:
    assert "gpus" not in arrange(PanelsView(), 40)
    assert len(arrange(PanelsView(gpus=MI355X), 40)["gpus"]) >= len(MI355X)
