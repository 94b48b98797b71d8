"""What is said before a launch, on machines of every kind. Nothing here was seen on a GPU."""

import os
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gpu_machines import (
    GIB,
    MI300X,
    MI355X,
    RENDER,
    Box,
    Tools,
    bare,
    broken,
    eight,
    held_by_a_server,
    held_by_an_orphan,
    partitioned,
    without_permission,
)
from specchat_launcher.checks import Check, CheckState, can_launch
from specchat_launcher.engine_questions import MARK, answer_in, arguments_of
from specchat_launcher.preflight import examine, preflight
from specchat_launcher.profiles import load_profile
from specchat_launcher.tool_runs import Ran

MINIMAX, CONTAINER = "mi355x-minimax-m3", "mi355x-minimax-m3-container"
TIMES = "\N{MULTIPLICATION SIGN}"
DOCKER, IMAGE = Ran(0, "28.1.0\n"), Ran(0, "sha256:1\n")
TARGET, DRAFT = "amd/MiniMax-M3-MXFP4", "amd/MiniMax-M3-EAGLE3.1"
OK, WARNING, PROBLEM, UNKNOWN = CheckState.OK, CheckState.WARNING, CheckState.PROBLEM, CheckState.UNKNOWN


def said(box: Box, profile: str = MINIMAX, *changes: str) -> dict[str, Check]:
    checks = examine(
        load_profile(profile, changes=changes), box.machine(), root=box.root / "data", user_folder=box.root
    )
    assert len({check.name for check in checks}) == len(checks)
    return {check.name: check for check in checks}


def states(checks: dict[str, Check], *wanted: CheckState) -> set[str]:
    return {name for name, check in checks.items() if check.state in wanted}


def with_vllm(box: Box, version: str = "0.27.1", *, hip: str | None = "'7.2.53211'", cuda: str = "None") -> Box:
    """An active environment with vLLM and its PyTorch."""
    environment = box.root / "venv"
    packages = "venv/lib/python3.12/site-packages"
    box.write("venv/bin/python3", "#!/bin/sh").chmod(0o755)
    box.write("venv/pyvenv.cfg", "home = /usr/bin")
    box.write(f"{packages}/vllm-{version}.dist-info/METADATA", f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}")
    box.write(f"{packages}/torch/version.py", f"cuda: Optional[str] = {cuda}\nhip: Optional[str] = {hip}")
    box.environ["VIRTUAL_ENV"] = str(environment)
    return box


def complete(box: Box) -> Box:
    """With vLLM for ROCm, and the weights in the cache."""
    with_vllm(box)
    box.weights(TARGET, 239 * GIB)
    box.weights(DRAFT, 3 * GIB, config={"num_attention_heads": 8})
    return box


def with_docker(box: Box, *, version: Ran | None = DOCKER, image: Ran | None = IMAGE) -> Box:
    box.program("docker")
    box.tools = Tools({("docker", "version"): version, ("docker", "image", "inspect"): image})
    return box


def test_on_eight_mi355x_with_everything_nothing_is_in_the_way(tmp_path: Path) -> None:
    checks = said(complete(eight(tmp_path)))
    assert states(checks, PROBLEM, UNKNOWN) == set()
    assert can_launch(checks.values())
    assert checks["GPUs"].evidence == f"8 {TIMES} MI355X (gfx950), 288 GiB each"
    assert checks["partitions"].evidence == "none: SPX, NPS1"
    assert checks["parallelism"].evidence == "tensor-parallel-size 8 on 8 GPUs"
    assert checks["GPU memory"].evidence == "288 GiB or more free on each, 265 GiB needed"
    assert checks["held by"].evidence == "no process"
    assert checks["ROCm"].evidence == "7.2.1-81, 7.2.53211 in the engine"
    assert checks["engine"].evidence == f"vLLM 0.27.1 in {tmp_path}/venv/bin/python3"
    assert checks["weights"].state is OK
    # The one that 0.27.1 does not know.
    assert states(checks, WARNING) == {"arguments"}
    assert "--per-request-spec-decode-metrics is left out" in checks["arguments"].evidence


def test_a_newer_vllm_takes_every_argument(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    with_vllm(box, "0.32.0")
    (tmp_path / "venv/lib/python3.12/site-packages/vllm-0.27.1.dist-info/METADATA").unlink()
    assert said(box)["arguments"].state is OK


def test_on_eight_mi300x_the_architecture_is_the_problem(tmp_path: Path) -> None:
    checks = said(complete(eight(tmp_path, MI300X)))
    assert states(checks, PROBLEM) == {"architecture"}
    assert checks["architecture"].evidence == "MI300X (gfx942), and the profile needs gfx950"
    assert "192 GiB each" in checks["GPUs"].evidence


def test_a_split_machine_gets_the_command_that_makes_it_whole(tmp_path: Path) -> None:
    check = said(complete(partitioned(tmp_path)))["partitions"]
    assert check.state is PROBLEM
    assert check.evidence == "8 GPUs split into 64 (CPX, NPS4); 8 whole GPUs needed"
    assert check.command == "sudo amd-smi set --gpu all --compute-partition SPX"


def test_what_an_earlier_server_left_is_named_with_the_command_that_ends_it(tmp_path: Path) -> None:
    checks = said(complete(held_by_an_orphan(tmp_path)))
    assert states(checks, PROBLEM) == {"GPU memory", "held by"}
    assert checks["GPU memory"].evidence.startswith("GPU 3 has 23 GiB of 288 GiB free, and the server takes 265 GiB")
    held = checks["held by"]
    assert held.evidence == "VLLM::Worker_TP (process 4242): 264 GiB of GPU 3, left by a server that is gone"
    assert held.command == "kill 4242 4100"


def test_an_orphan_of_another_user_needs_sudo(tmp_path: Path) -> None:
    box = complete(held_by_an_orphan(tmp_path))
    box.uid = 1001
    assert said(box)["held by"].command == "sudo kill 4242 4100"


def test_an_orphan_on_a_gpu_that_is_not_asked_for_is_in_nobodys_way(tmp_path: Path) -> None:
    checks = said(complete(held_by_an_orphan(tmp_path)), "mi355x-minimax-m3-tp4-baseline")
    assert checks["held by"].evidence == "no process"
    assert checks["GPU memory"].state is OK


def test_a_server_that_runs_is_not_to_be_killed(tmp_path: Path) -> None:
    checks = said(complete(held_by_a_server(tmp_path)))
    held = checks["held by"]
    assert states(checks, PROBLEM) == {"GPU memory", "held by"}
    assert "and 7 others likewise" in checks["GPU memory"].evidence
    assert held.command == ""
    assert held.evidence.startswith(
        "VLLM::Worker_TP (processes 4200, 4201, 4202, 4203, 4204, 4205, 4206, 4207): 2112 GiB"
    )
    assert "specchat stop" in held.advice


def test_a_server_that_is_to_take_less_fits_beside_another_program(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    for bus in range(8):
        box.write(f"sys/bus/pci/devices/0000:{5 + 16 * bus:02x}:00.0/mem_info_vram_used", 60 * GIB)
    assert said(box)["GPU memory"].state is PROBLEM
    checks = said(box, MINIMAX, "arguments.gpu-memory-utilization=0.75")
    assert checks["GPU memory"].state is OK
    assert "480 GiB of GPU 0, 1, 2" in checks["held by"].evidence


def test_too_little_memory_in_all_is_told_before_anything_is_loaded(tmp_path: Path) -> None:
    checks = said(complete(eight(tmp_path)), MINIMAX, "arguments.gpu-memory-utilization=0.1")
    assert checks["GPU memory"].evidence.endswith("of which the server may take 10%: 230 GiB; it needs about 257 GiB")


def test_a_user_without_permission_gets_the_command_that_gives_it(tmp_path: Path) -> None:
    checks = said(complete(without_permission(tmp_path)))
    check = checks["permission"]
    assert states(checks, PROBLEM) == {"permission"}
    assert check.evidence == "ada may not read and write /dev/kfd and the render nodes of 8 GPUs"
    assert check.command == "sudo usermod -aG render,video $USER"


def test_a_membership_that_this_session_does_not_know_yet_needs_no_second_command(tmp_path: Path) -> None:
    box = complete(without_permission(tmp_path))
    box.members = frozenset({"ada"})
    check = said(box)["permission"]
    assert "older than the membership" in check.evidence
    assert check.command == "newgrp render"


def test_inside_a_container_the_number_of_the_group_is_given(tmp_path: Path) -> None:
    box = complete(without_permission(tmp_path))
    box.inside_container = True
    assert said(box)["permission"].command == f"--group-add {RENDER}"
    (tmp_path / "dev/kfd").unlink()
    assert said(box)["permission"].command == f"--device /dev/kfd --device /dev/dri --group-add {RENDER}"


def test_without_a_gpu_the_demo_is_named(tmp_path: Path) -> None:
    checks = said(complete(bare(tmp_path)))
    assert checks["GPUs"].evidence == "no AMD GPU was found, and the profile needs 8 GPUs"
    assert "specchat demo" in checks["GPUs"].advice
    assert "architecture" not in checks


def test_a_broken_sysfs_is_a_problem_and_no_error(tmp_path: Path) -> None:
    checks = said(complete(broken(tmp_path)))
    assert checks["GPUs"].state is PROBLEM
    assert "shows no GPU that computes" in checks["GPUs"].evidence
    assert "dmesg" in checks["GPUs"].command


def test_gpus_that_a_container_hides_are_told_from_none(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    for file in (box.sys / "class/kfd/kfd/topology/nodes").glob("*/properties"):
        file.write_text("")
    check = said(box)["GPUs"]
    assert "may not see its GPUs" in check.evidence
    assert check.command == "--device /dev/kfd --device /dev/dri"


def test_too_few_gpus_are_counted(tmp_path: Path) -> None:
    box = complete(bare(tmp_path))
    box.write("dev/kfd", "")
    for number in range(2):
        box.gpu(MI355X, number)
    assert said(box)["GPUs"].evidence == f"2 {TIMES} MI355X (gfx950), 288 GiB each, and the profile needs 8"
    assert said(box, "mi355x-minimax-m3-tp4-baseline")["GPUs"].evidence.endswith(
        "number 4, 5, 6, 7, which is not there"
    )


@pytest.mark.parametrize(("value", "left"), [("0,1", 2), ("-1", 0)])
def test_a_variable_that_hides_gpus_is_named(tmp_path: Path, value: str, left: int) -> None:
    box = complete(eight(tmp_path))
    box.environ["HIP_VISIBLE_DEVICES"] = value
    check = said(box)["GPUs"]
    assert check.state is PROBLEM
    assert f"HIP_VISIBLE_DEVICES shows a program {left} of them" in check.evidence


def test_a_variable_that_chooses_enough_gpus_chooses_those_that_are_looked_at(tmp_path: Path) -> None:
    box = complete(held_by_an_orphan(tmp_path))
    box.environ["HIP_VISIBLE_DEVICES"] = "4,5,6,7"
    changes = ("arguments.tensor-parallel-size=4", "gpus.count=4")
    assert said(box, MINIMAX, *changes)["held by"].evidence == "no process"
    del box.environ["HIP_VISIBLE_DEVICES"]
    assert said(box, MINIMAX, *changes)["held by"].state is PROBLEM


def test_more_ranks_than_gpus_are_refused(tmp_path: Path) -> None:
    check = said(complete(eight(tmp_path)), MINIMAX, "arguments.pipeline-parallel-size=2")["parallelism"]
    assert check.state is PROBLEM
    assert check.evidence == "tensor-parallel-size 8, pipeline-parallel-size 2 takes 16 GPUs, and the profile gives 8"


def test_heads_that_cannot_be_divided_are_read_from_the_model(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    box.weights(TARGET, 239 * GIB, config={"text_config": {"num_attention_heads": 12}})
    check = said(box)["parallelism"]
    assert check.state is PROBLEM
    assert check.evidence == "tensor-parallel-size 8 does not divide the model's 12 attention heads"
    assert check.command == "--set arguments.tensor-parallel-size=6"


def test_without_vllm_the_line_that_installs_it_is_given(tmp_path: Path) -> None:
    box = eight(tmp_path)
    box.program("uv")
    checks = said(box)
    assert checks["engine"].state is PROBLEM
    assert "wheels.vllm.ai/rocm/0.27.1" in checks["engine"].command
    assert checks["C library"].state is OK
    assert checks["Python"].state is OK
    assert checks["arguments"].state is UNKNOWN


def test_a_build_for_cuda_is_told_from_one_for_rocm(tmp_path: Path) -> None:
    box = with_vllm(eight(tmp_path), hip="None", cuda="'12.9'")
    check = said(box)["engine"]
    assert check.state is PROBLEM
    assert "is a build for CUDA 12.9" in check.evidence


def test_a_build_for_processors_is_told_too(tmp_path: Path) -> None:
    assert "for processors alone" in said(with_vllm(eight(tmp_path), hip="None"))["engine"].evidence


def test_a_vllm_that_is_too_old_for_the_model_is_refused(tmp_path: Path) -> None:
    assert said(with_vllm(eight(tmp_path), "0.23.0"))["engine"].state is PROBLEM


def test_an_old_c_library_and_a_missing_python_are_told_where_the_wheels_are_still_to_come(tmp_path: Path) -> None:
    box = eight(tmp_path)
    box.glibc = (2, 31)
    checks = said(box)
    assert {"C library", "Python"} <= states(checks, PROBLEM)
    assert "C library" not in said(complete(box))


def test_rocm_that_does_not_know_the_gpu_is_refused_and_a_missing_one_is_told(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    box.write("opt/rocm/.info/version", "6.4.1-83")
    assert said(box)["ROCm"].state is PROBLEM
    (tmp_path / "opt/rocm/.info/version").unlink()
    assert said(box)["ROCm"].state is WARNING


def test_numa_balancing_is_worth_a_warning(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    box.write("proc/sys/kernel/numa_balancing", 1)
    assert said(box)["NUMA"].command == "sudo sysctl kernel.numa_balancing=0"


def test_a_full_disk_is_told_with_what_is_here_already(tmp_path: Path) -> None:
    box = with_vllm(eight(tmp_path))
    box.weights(TARGET, 100 * GIB)
    box.free = 50 * GIB
    check = said(box)["weights"]
    assert check.state is PROBLEM
    assert check.evidence.startswith("100 GiB of about 240 GiB here, and 50 GiB are free")
    box.free = 500 * GIB
    assert said(box)["weights"].state is WARNING


def test_a_full_disk_for_the_caches_is_a_problem_though_the_weights_are_here(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    box.free = GIB // 2
    assert states(said(box), PROBLEM) == {"caches"}


def test_a_token_is_asked_for_only_where_one_is_needed_and_is_never_shown(tmp_path: Path) -> None:
    box = with_vllm(eight(tmp_path))
    assert "token" not in said(box)
    assert said(box, MINIMAX, "gated=true")["token"].state is PROBLEM
    box.environ["HF_TOKEN"] = "hf_secret"
    assert said(box, MINIMAX, "gated=true")["token"].state is OK
    del box.environ["HF_TOKEN"]
    box.write("home/ada/.cache/huggingface/token", "hf_secret")
    checks = said(box, MINIMAX, "gated=true")
    assert checks["token"].state is OK
    assert "hf_secret" not in repr(checks)


def test_weights_that_are_here_need_no_token(tmp_path: Path) -> None:
    assert said(complete(eight(tmp_path)), MINIMAX, "gated=true")["token"].state is OK


def test_a_port_that_is_taken_is_told_with_who_has_it(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    box.write("proc/net/tcp", f"  sl\n   0: 0100007F:{8000:04X} 00000000:0000 0A 0 0 0 1000 0 4711 1")
    box.process(6000, "python3")
    (tmp_path / "proc/6000/fd").mkdir()
    (tmp_path / "proc/6000/fd/7").symlink_to("socket:[4711]")
    check = said(box)["port"]
    assert check.state is PROBLEM
    assert check.evidence == "8000 on 127.0.0.1 is taken by python3 (process 6000)"
    assert said(box, MINIMAX, "port=8001")["port"].state is OK


def test_a_port_that_cannot_be_listened_on_is_a_problem_too(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    box.taken = {8000}
    assert said(box)["port"].state is PROBLEM


def test_in_a_container_nothing_but_the_tool_and_the_image_is_needed(tmp_path: Path) -> None:
    box = with_docker(eight(tmp_path))
    box.weights(TARGET, 239 * GIB)
    box.weights(DRAFT, 3 * GIB)
    (tmp_path / "opt/rocm/.info/version").unlink()
    checks = said(box, CONTAINER)
    assert states(checks, PROBLEM, UNKNOWN) == set()
    assert checks["container"].evidence == "docker 28.1.0"
    assert checks["image"].evidence == "vllm/vllm-openai-rocm:v0.27.1 is here"
    assert checks["engine"].evidence.startswith("vLLM 0.27.1, by the tag of")


def test_an_image_that_is_not_here_gets_the_command_that_pulls_it(tmp_path: Path) -> None:
    check = said(with_docker(eight(tmp_path), image=Ran(1, "[]\n", "Error: No such image")), CONTAINER)["image"]
    assert check.state is WARNING
    assert check.command == "docker pull vllm/vllm-openai-rocm:v0.27.1"


@pytest.mark.parametrize(
    ("answer", "command"),
    [
        (None, "sudo systemctl restart docker"),
        (
            Ran(1, "", "Cannot connect to the Docker daemon at unix:///var/run/docker.sock."),
            "sudo systemctl start docker",
        ),
        (Ran(1, "", "permission denied while trying to connect to docker.sock"), "sudo usermod -aG docker $USER"),
    ],
)
def test_a_daemon_that_does_not_answer_is_told_with_what_mends_it(
    tmp_path: Path, answer: Ran | None, command: str
) -> None:
    checks = said(with_docker(eight(tmp_path), version=answer), CONTAINER)
    assert checks["container"].state is PROBLEM
    assert checks["container"].command == command
    assert "image" not in checks


def test_without_a_container_tool_both_are_named(tmp_path: Path) -> None:
    assert said(eight(tmp_path), CONTAINER)["container"].evidence == "no docker or podman is on the PATH"


def test_a_pair_is_looked_at_as_both_of_its_servers(tmp_path: Path) -> None:
    box = complete(held_by_an_orphan(tmp_path))
    profile = load_profile("mi355x-minimax-m3-pair")
    checks = examine(profile, box.machine(), root=box.root / "data", user_folder=box.root)
    assert len(set(checks)) == len(checks)
    assert [check.evidence for check in checks if check.name == "port"] == [
        "8000 on 127.0.0.1 is free",
        "8001 on 127.0.0.1 is free",
    ]
    assert not can_launch(checks)


def test_what_cannot_be_launched_says_why(tmp_path: Path) -> None:
    checks = said(bare(tmp_path), "docker-model-runner")
    assert list(checks) == ["launch"]
    assert "12434" in checks["launch"].advice


def test_a_profile_whose_server_cannot_be_planned_says_so_beside_all_else(tmp_path: Path) -> None:
    checks = said(complete(eight(tmp_path)), MINIMAX, "host=0.0.0.0")
    assert checks["profile"].state is PROBLEM
    assert "API key" in checks["profile"].evidence
    assert checks["GPUs"].state is OK


@pytest.mark.parametrize("profile", ["sglang-minimax-m3", "transformers-serve", "cpu-smollm2"])
def test_the_other_servers_are_looked_at_too(tmp_path: Path, profile: str) -> None:
    checks = said(eight(tmp_path), profile)
    assert "engine" in checks
    assert "port" in checks


def test_the_cpu_engine_needs_memory_and_disk(tmp_path: Path) -> None:
    box = bare(tmp_path)
    assert states(said(box, "cpu-smollm2"), PROBLEM) == set()
    assert said(box, "cpu-smollm2")["engine"].state is WARNING
    box.free = GIB
    box.write("proc/meminfo", "MemAvailable: 1048576 kB")
    assert states(said(box, "cpu-smollm2"), PROBLEM) == {"engine", "memory"}


def test_another_system_cannot_run_the_cpu_engine(tmp_path: Path) -> None:
    machine = bare(tmp_path).machine()
    machine = replace(machine, platform=replace(machine.platform, system="Darwin"))
    checks = examine(load_profile("cpu-smollm2"), machine, root=tmp_path)
    assert [check.name for check in checks if check.state is PROBLEM] == ["system"]


def test_an_engine_that_is_asked_has_the_last_word(tmp_path: Path) -> None:
    box = complete(eight(tmp_path))
    from specchat_launcher.planning import plan

    profile = load_profile(MINIMAX)
    spec = plan(profile, tmp_path, report=lambda _: None, environ=box.machine().environ, prepare=False, home=box.home)

    def told(refused: str | None) -> Check:
        checks = preflight(profile, box.machine(), spec=spec, root=tmp_path, refusal=lambda _: refused)
        return next(check for check in checks if check.name == "arguments")

    assert "refuses them: no such option" in told("no such option").evidence
    assert told("no such option").state is PROBLEM
    assert told("").state is WARNING
    assert "could not be asked" in told(None).evidence


def test_the_answer_of_a_parser_is_found_among_what_else_it_prints() -> None:
    assert answer_in(f'INFO loading\n{MARK}{{"refused": "error: unrecognized arguments: --x"}}\n') == (
        "error: unrecognized arguments: --x"
    )
    assert answer_in(f'{MARK}{{"refused": ""}}') == ""
    assert answer_in("Traceback") is None
    assert answer_in(f"{MARK}nonsense") is None


def test_the_arguments_of_a_command_are_those_behind_its_serve() -> None:
    assert arguments_of(("/v/bin/vllm", "serve", "m", "--port", "1")) == ("m", "--port", "1")
    assert arguments_of(("py", "-m", "vllm.entrypoints.openai.api_server", "--model", "m")) == ("--model", "m")
    assert arguments_of(("something", "else")) == ()


@settings(max_examples=25, deadline=None)
@given(garbage=st.binary(max_size=200), number=st.integers(0, 500))
def test_garbage_in_any_file_is_never_an_error(garbage: bytes, number: int) -> None:
    with TemporaryDirectory() as folder:
        box = complete(held_by_an_orphan(Path(folder)))
        # A file of the engine's package is read by Python's own reader of packages, which has its own tests.
        files = sorted(path for path in box.root.rglob("*") if path.is_file() and not os.access(path, os.X_OK))
        files[number % len(files)].write_bytes(garbage)
        assert said(box)
