"""GPUs and those who hold them, found without any tool."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_machines import (
    GIB,
    MI300X,
    MI355X,
    Box,
    Model,
    bare,
    broken,
    eight,
    held_by_a_server,
    held_by_an_orphan,
    partitioned,
)
from specchat_launcher.gpu_holders import Holder, find_holders
from specchat_launcher.gpus import (
    Gpu,
    architecture_of,
    find_gpus,
    has_driver,
    hidden_nodes,
    packages_of,
)


def gpus_of(box: Box, *, with_partition: bool = False) -> tuple[Gpu, ...]:
    return find_gpus(box.sys, box.root / "dev", with_partition=with_partition)


def holders_of(box: Box, uid: int = 1000) -> tuple[Holder, ...]:
    return find_holders(gpus_of(box), box.sys, box.proc, uid)


@pytest.mark.parametrize("model", [MI355X, MI300X])
def test_every_gpu_is_found_with_its_kind_and_its_memory(tmp_path: Path, model: Model) -> None:
    gpus = gpus_of(eight(tmp_path, model))
    assert [gpu.index for gpu in gpus] == list(range(8))
    assert {gpu.architecture for gpu in gpus} == {model.architecture}
    assert {gpu.name for gpu in gpus} == {model.name}
    assert {gpu.vram_total for gpu in gpus} == {model.memory}
    assert gpus[0].bdf == "0000:05:00.0"
    assert gpus[7].bdf == "0000:75:00.0"
    assert gpus[7].render_node == tmp_path / "dev/dri/renderD135"
    assert packages_of(gpus) == 8


@pytest.mark.parametrize(
    ("target", "name"), [(90500, "gfx950"), (90402, "gfx942"), (90010, "gfx90a"), (110001, "gfx1101"), (0, "")]
)
def test_the_architecture_is_named_as_rocm_names_it(target: int, name: str) -> None:
    assert architecture_of(target) == name


def test_the_parts_of_a_split_gpu_are_counted_as_one_package(tmp_path: Path) -> None:
    gpus = gpus_of(partitioned(tmp_path), with_partition=True)
    assert (len(gpus), packages_of(gpus)) == (64, 8)
    assert {gpu.vram_total for gpu in gpus} == {36 * GIB}
    # The driver counts the use of the whole GPU, which is no part's.
    assert {gpu.vram_used for gpu in gpus} == {None}
    assert (gpus[0].partition, gpus[0].memory_partition) == ("CPX", "NPS4")


def test_older_drivers_put_the_part_into_the_function_of_the_address(tmp_path: Path) -> None:
    box = bare(tmp_path)
    box.gpu(MI355X, 0)
    for part in range(1, 3):
        box.node({"simd_count": 128, "gfx_target_version": 90500, "location_id": 0x500 | part, "domain": 0}, 77 + part)
    assert packages_of(gpus_of(box)) == 1


def test_the_partition_mode_is_read_only_where_it_is_asked_for(tmp_path: Path) -> None:
    box = eight(tmp_path)
    assert {gpu.partition for gpu in gpus_of(box)} == {None}
    assert {gpu.partition for gpu in gpus_of(box, with_partition=True)} == {"SPX"}


def test_a_machine_without_gpus_has_none_and_no_driver(tmp_path: Path) -> None:
    box = bare(tmp_path)
    assert gpus_of(box) == ()
    assert not has_driver(box.sys)
    assert holders_of(box) == ()


def test_nonsense_in_every_file_is_no_gpu_and_no_error(tmp_path: Path) -> None:
    box = broken(tmp_path)
    assert gpus_of(box, with_partition=True) == ()
    assert hidden_nodes(box.sys) == 0


def test_an_engine_whose_front_end_is_gone_is_an_orphan_with_all_above_it(tmp_path: Path) -> None:
    (holder,) = holders_of(held_by_an_orphan(tmp_path))
    assert (holder.pid, holder.name, holder.gpus, holder.vram) == (4242, "VLLM::Worker_TP", (3,), 264 * GIB)
    assert holder.is_vllm
    assert holder.is_orphan
    assert holder.to_end == (4242, 4100)


def test_an_orphan_that_a_subreaper_took_in_is_one_too(tmp_path: Path) -> None:
    box = held_by_an_orphan(tmp_path)
    box.process(800, "systemd", parent=1)
    box.process(4100, "VLLM::EngineCor", parent=800, group=4000)
    assert holders_of(box)[0].to_end == (4242, 4100)


def test_the_processes_of_a_server_that_runs_are_no_orphans(tmp_path: Path) -> None:
    holders = holders_of(held_by_a_server(tmp_path))
    assert [holder.pid for holder in holders] == list(range(4200, 4208))
    assert not any(holder.is_orphan for holder in holders)


@pytest.mark.parametrize("front", ["VLLM::APIServer", "VLLM::DPSupervi"])
def test_a_front_end_with_a_name_of_vllm_is_no_orphan_of_the_shell_that_started_it(tmp_path: Path, front: str) -> None:
    box = held_by_a_server(tmp_path)
    box.process(900, "bash", parent=1)
    box.process(4000, front, parent=900, group=4000)
    assert not any(holder.is_orphan for holder in holders_of(box))


def test_a_script_of_the_users_own_that_holds_memory_is_no_orphan(tmp_path: Path) -> None:
    box = eight(tmp_path)
    box.process(5000, "python3", parent=1)
    box.holds(5000, 0, 20 * GIB)
    (holder,) = holders_of(box)
    assert not holder.is_orphan
    assert not holder.is_vllm


def test_inside_a_container_the_numbers_of_the_machine_name_nobody(tmp_path: Path) -> None:
    box = held_by_an_orphan(tmp_path)
    link = tmp_path / "proc/self/ns/pid"
    link.unlink()
    link.symlink_to("pid:[4026532500]")
    (holder,) = holders_of(box)
    assert (holder.pid, holder.name) == (4242, "")
    assert not holder.is_orphan
    assert not holder.is_ours


def test_what_another_user_runs_is_not_ours_to_end_except_for_root(tmp_path: Path) -> None:
    box = held_by_an_orphan(tmp_path)
    assert holders_of(box, uid=1000)[0].is_ours
    assert not holders_of(box, uid=1001)[0].is_ours
    assert holders_of(box, uid=0)[0].is_ours


@settings(max_examples=25, deadline=None)
@given(garbage=st.binary(max_size=300), number=st.integers(0, 500))
def test_no_content_of_any_file_is_an_error(garbage: bytes, number: int) -> None:
    with TemporaryDirectory() as folder:
        box = held_by_an_orphan(Path(folder))
        files = sorted(path for path in box.root.rglob("*") if path.is_file())
        files[number % len(files)].write_bytes(garbage)
        gpus = gpus_of(box, with_partition=True)
        assert 7 <= len(gpus) <= 9
        assert len(find_holders(gpus, box.sys, box.proc, 1000)) <= 1
