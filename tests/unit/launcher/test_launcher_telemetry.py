"""What the GPUs are doing, from the cheapest source that works."""

import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu_machines import (
    GIB,
    MI355X,
    MIB,
    Box,
    Tools,
    amd_smi_metric,
    amd_smi_static,
    amd_smi_unknown,
    bare,
    broken,
    eight,
    partitioned,
    rocm_smi,
)
from specchat_launcher.telemetry import APART_S, FAILURES, Telemetry, find_telemetry
from specchat_launcher.telemetry_amd_smi import facts_of_static, readings_of_metric
from specchat_launcher.telemetry_rocm_smi import readings_of_rocm_smi
from specchat_launcher.tool_runs import Ran, run_tool

METRIC, STATIC = ("amd-smi", "metric"), ("amd-smi", "static")


class Clock:
    """Seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def telemetry_of(box: Box, clock: Callable[[], float] = time.monotonic) -> Telemetry:
    found = find_telemetry(box.sys, str(box.bin), box.tools, clock)
    assert found is not None
    return found


def with_tools(root: Path, answers: dict[tuple[str, ...], Ran | None], *names: str) -> Box:
    """A machine whose driver shows nothing that could be read, with tools."""
    box = broken(root)
    box.tools = Tools(answers)
    for name in names:
        box.program(name)
    return box


def test_the_files_of_the_driver_are_enough(tmp_path: Path) -> None:
    box = eight(tmp_path, used=10 * GIB)
    box.program("amd-smi")
    telemetry = telemetry_of(box)
    readings = telemetry.read()
    assert telemetry.source == "sysfs"
    assert box.tools.runs == []
    assert [reading.index for reading in readings] == list(range(8))
    first, last = readings[0], readings[7]
    assert (first.name, first.use, first.vram_used, first.vram_total) == ("MI355X", 0.37, 10 * GIB, 288 * GIB)
    assert (first.power, last.power, first.power_cap, first.hotspot) == (200.0, 207.0, 1400.0, 61.0)


def test_a_split_gpu_is_one_row(tmp_path: Path) -> None:
    assert len(telemetry_of(partitioned(tmp_path)).read()) == 8


def test_an_average_of_the_power_is_taken_where_there_is_one(tmp_path: Path) -> None:
    box = eight(tmp_path)
    box.write("sys/bus/pci/devices/0000:05:00.0/hwmon/hwmon4/power1_average", 512_000_000)
    assert telemetry_of(box).read()[0].power == 512.0


def test_a_sleeping_gpu_is_not_woken_to_be_read(tmp_path: Path) -> None:
    box = eight(tmp_path)
    box.write("sys/bus/pci/devices/0000:05:00.0/power/runtime_status", "suspended")
    reading = telemetry_of(box).read()[0]
    assert (reading.use, reading.power, reading.hotspot) == (None, None, None)
    assert reading.vram_used == 300 * MIB


def test_a_graphics_card_without_compute_is_found_among_the_cards(tmp_path: Path) -> None:
    box = bare(tmp_path)
    box.write("sys/module/amdgpu/version", "6.12")
    for card, vendor in (("card0", "0x8086"), ("card1", "0x1002"), ("card1-DP-1", "0x1002")):
        box.write(f"sys/class/drm/{card}/device/vendor", vendor)
        box.write(f"sys/class/drm/{card}/device/gpu_busy_percent", 5)
    readings = telemetry_of(box).read()
    assert [(reading.use, reading.power) for reading in readings] == [(0.05, None)]


def test_without_a_gpu_there_is_no_telemetry_and_no_tool_is_run(tmp_path: Path) -> None:
    box = bare(tmp_path)
    box.program("amd-smi")
    box.program("rocm-smi")
    assert find_telemetry(box.sys, str(box.bin), box.tools) is None
    assert box.tools.runs == []


def test_a_driver_that_shows_nothing_and_no_tool_is_no_telemetry(tmp_path: Path) -> None:
    box = broken(tmp_path)
    assert find_telemetry(box.sys, str(box.bin), box.tools) is None


@pytest.mark.parametrize("envelope", [True, False])
def test_amd_smi_is_read_in_both_envelopes(envelope: bool) -> None:
    readings = readings_of_metric(amd_smi_metric(envelope=envelope))
    assert [reading.index for reading in readings] == list(range(8))
    first = readings[0]
    assert (first.use, first.power, first.hotspot) == (0.4, 900.0, 71.0)
    assert (first.vram_total, first.vram_used) == (294_896 * MIB, 271_000 * MIB)


@pytest.mark.parametrize("flat", [True, False])
def test_names_and_power_caps_come_from_amd_smis_other_answer(flat: bool) -> None:
    facts = facts_of_static(amd_smi_static(flat=flat))
    assert {(fact.name, fact.power_cap) for fact in facts.values()} == {("MI355X", 1400.0)}


def test_what_amd_smi_does_not_know_is_unknown_and_not_nothing() -> None:
    for reading in readings_of_metric(amd_smi_unknown()):
        assert (reading.use, reading.vram_used, reading.power, reading.hotspot) == (None, None, None, None)
        assert not reading.says_something


def test_warnings_before_the_json_and_an_exit_code_do_not_matter(tmp_path: Path) -> None:
    noise = "WARNING: User is missing [render] group {see docs}, [] \nERROR: code [25]\n"
    box = with_tools(tmp_path, {METRIC: Ran(1, noise + amd_smi_metric(), "more noise")}, "amd-smi")
    assert len(telemetry_of(box).read()) == 8


def test_a_tool_runs_again_only_after_two_seconds_and_its_last_words_are_kept_meanwhile(tmp_path: Path) -> None:
    clock = Clock()
    box = with_tools(tmp_path, {METRIC: Ran(0, amd_smi_metric()), STATIC: Ran(0, amd_smi_static())}, "amd-smi")
    telemetry = telemetry_of(box, clock)
    first = telemetry.read()
    assert [run[1] for run in box.tools.runs] == ["metric"]
    assert first[0].power_cap is None
    clock.now += APART_S - 0.01
    assert telemetry.read() == first
    assert len(box.tools.runs) == 1
    clock.now += 0.01
    second = telemetry.read()
    assert [run[1] for run in box.tools.runs] == ["metric", "static"]
    assert (second[0].name, second[0].power_cap, second[0].power) == ("MI355X", 1400.0, 900.0)
    for _ in range(3):
        clock.now += APART_S
        telemetry.read()
    assert [run[1] for run in box.tools.runs] == ["metric", "static", "metric", "metric", "metric"]


def test_a_tool_that_fails_three_times_is_given_up_on_for_the_next_one(tmp_path: Path) -> None:
    clock = Clock()
    box = with_tools(tmp_path, {("rocm-smi",): Ran(0, rocm_smi())}, "amd-smi", "rocm-smi")
    telemetry = telemetry_of(box, clock)
    told = []
    for _ in range(FAILURES + 1):
        told.append(len(telemetry.read()))
        clock.now += APART_S
    assert told == [0, 0, 0, 8]
    assert telemetry.source == "rocm-smi"
    assert [Path(run[0]).name for run in box.tools.runs] == ["amd-smi"] * FAILURES + ["rocm-smi"]


def test_when_every_tool_was_given_up_on_none_is_run_any_more(tmp_path: Path) -> None:
    clock = Clock()
    box = with_tools(tmp_path, {}, "amd-smi")
    telemetry = telemetry_of(box, clock)
    for _ in range(10):
        assert telemetry.read() == ()
        clock.now += APART_S
    assert len(box.tools.runs) == FAILURES
    assert telemetry.source == ""


@pytest.mark.parametrize("as_text", [True, False])
def test_rocm_smi_is_read_with_numbers_and_with_texts(as_text: bool) -> None:
    readings = readings_of_rocm_smi("WARNING: one or more\n" + rocm_smi(as_text=as_text))
    assert len(readings) == 8
    first = readings[0]
    assert (first.name, first.use, first.power, first.power_cap, first.hotspot) == (
        "MI355X",
        0.88,
        1012.0,
        1400.0,
        66.0,
    )
    assert (first.vram_used, first.vram_total) == (260 * GIB, MI355X.memory)


def test_older_parts_name_their_power_otherwise() -> None:
    (reading,) = readings_of_rocm_smi('{"card0": {"Average Graphics Package Power (W)": "88.0"}, "system": {}}')
    assert (reading.power, reading.name) == (88.0, "GPU")


ENVELOPE = ["gpu_data", "gpu", "value", "unit", "card0", "card1"]
BLOCKS = ["usage", "gfx_activity", "power", "socket_power", "mem_usage", "used_vram", "total_vram"]
FACTS = ["asic", "market_name", "limit", "ppt0", "max_power"]
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("N/A")
names = st.sampled_from([*ENVELOPE, *BLOCKS, *FACTS, "GPU use (%)", "VRAM Total Memory (B)"])
anything = st.recursive(
    leaves,
    lambda part: st.lists(part, max_size=4) | st.dictionaries(names, part, max_size=5),
    max_leaves=20,
)


@given(value=anything, before=st.text(max_size=30))
def test_no_json_of_a_tool_is_an_error(value: object, before: str) -> None:
    text = before + json.dumps(value)
    for reading in (*readings_of_metric(text), *readings_of_rocm_smi(text)):
        assert reading.use is None or 0 <= reading.use <= 1
        assert reading.vram_used is None or reading.vram_used >= 0
        assert reading.power is None or 0 <= reading.power < 10_000
    facts_of_static(text)


@given(text=st.text())
def test_no_output_of_a_tool_is_an_error(text: str) -> None:
    assert readings_of_metric(text) == ()
    assert readings_of_rocm_smi(text) == ()


def test_a_tool_that_hangs_is_killed_and_does_not_hold_its_reader_up() -> None:
    assert run_tool(("/bin/sh", "-c", "sleep 60 & sleep 60"), 0.2) is None


def test_a_tool_that_is_not_there_is_no_error() -> None:
    assert run_tool(("/nonexistent/amd-smi",), 1.0) is None


def test_what_a_tool_prints_is_returned_with_its_exit_code() -> None:
    assert run_tool(("/bin/sh", "-c", "echo out; echo err >&2; exit 3"), 10.0) == Ran(3, "out\n", "err\n")
