"""Machines to be looked at, as small trees of files: eight GPUs, none, one that is split, one that is held, and so on.

The shapes of the files are those of the amdgpu driver, from its documentation and its source; none was copied from a
machine.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from specchat_launcher import platform_check
from specchat_launcher.preflight_machine import Group, Machine
from specchat_launcher.tool_runs import Ran

MIB, GIB = 1024**2, 1024**3
RENDER, VIDEO = 993, 44
HOST_PIDS = "pid:[4026531836]"


@dataclass(frozen=True)
class Model:
    """A kind of GPU."""

    name: str
    device: int
    target: int
    memory: int
    watts: int

    @property
    def architecture(self) -> str:
        return {90500: "gfx950", 90402: "gfx942"}[self.target]


MI355X = Model("MI355X", 0x75A3, 90500, 288 * GIB, 1400)
MI300X = Model("MI300X", 0x74A1, 90402, 192 * GIB, 750)


class Tools:
    """Tools that answer from a table, by the beginning of their command; what is not in it cannot be run."""

    def __init__(self, answers: Mapping[tuple[str, ...], Ran | None] | None = None) -> None:
        self.answers = dict(answers or {})
        self.runs: list[tuple[str, ...]] = []

    def __call__(self, argv: Sequence[str], timeout_s: float) -> Ran | None:
        assert timeout_s > 0
        command = (Path(argv[0]).name, *argv[1:])
        self.runs.append(tuple(argv))
        fitting = [words for words in self.answers if command[: len(words)] == words]
        return self.answers[max(fitting, key=len)] if fitting else None


@dataclass
class Box:
    """A machine in the making."""

    root: Path
    nodes: int = 0
    tools: Tools = field(default_factory=Tools)
    forbidden: set[Path] = field(default_factory=set)
    groups: frozenset[int] = frozenset({1000, RENDER, VIDEO})
    members: frozenset[str] = frozenset({"ada"})
    environ: dict[str, str] = field(default_factory=dict)
    uid: int = 1000
    glibc: tuple[int, int] | None = (2, 39)
    free: int = 4000 * GIB
    taken: set[int] = field(default_factory=set)
    inside_container: bool = False

    @property
    def sys(self) -> Path:
        return self.root / "sys"

    @property
    def proc(self) -> Path:
        return self.root / "proc"

    @property
    def home(self) -> Path:
        return self.root / "home/ada"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    def machine(self) -> Machine:
        return Machine(
            platform=platform_check.Machine("Linux", "x86_64", frozenset({"avx2"}), self.glibc),
            sys=self.sys,
            dev=self.root / "dev",
            proc=self.proc,
            opt=self.root / "opt",
            home=self.home,
            environ={"PATH": str(self.bin), **self.environ},
            user="ada",
            uid=self.uid,
            groups=self.groups,
            system_groups={"render": Group(RENDER, self.members), "video": Group(VIDEO, self.members)},
            inside_container=self.inside_container,
            run=self.tools,
            may_use=lambda path: path.exists() and path not in self.forbidden,
            group_of=lambda path: RENDER if path.exists() else None,
            free_bytes=lambda _: self.free,
            can_bind=lambda _, port: port not in self.taken,
            engine_python=lambda: Path("/usr/bin/python3.11"),
        )

    def write(self, path: str | Path, content: object) -> Path:
        file = self.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{content}\n", encoding="utf-8")
        return file

    def node(self, properties: Mapping[str, int], gpu_id: int) -> None:
        folder = f"sys/class/kfd/kfd/topology/nodes/{self.nodes}"
        self.write(f"{folder}/gpu_id", gpu_id)
        self.write(f"{folder}/properties", "\n".join(f"{name} {value}" for name, value in properties.items()))
        self.nodes += 1

    def processor(self) -> None:
        self.node({"cpu_cores_count": 96, "simd_count": 0, "gfx_target_version": 0, "location_id": 0}, 0)

    def gpu(
        self,
        model: Model,
        number: int,
        *,
        used: int = 300 * MIB,
        shares: int = 1,
        modes: tuple[str, str] = ("SPX", "NPS1"),
    ) -> None:
        bus = 0x05 + 0x10 * number
        bdf = f"0000:{bus:02x}:00.0"
        for share in range(shares):
            minor = 128 + number * shares + share
            self.node(
                {
                    "cpu_cores_count": 0,
                    "simd_count": 1024 // shares,
                    "gfx_target_version": model.target,
                    "vendor_id": 0x1002,
                    "device_id": model.device,
                    "location_id": bus << 8 | share << 28,
                    "domain": 0,
                    "drm_render_minor": minor,
                },
                gpu_id(number, share),
            )
            bank = f"sys/class/kfd/kfd/topology/nodes/{self.nodes - 1}/mem_banks/0/properties"
            self.write(bank, f"heap_type 1\nsize_in_bytes {model.memory // shares}\nflags 0")
            self.write(f"dev/dri/renderD{minor}", "")
        device = f"sys/bus/pci/devices/{bdf}"
        for name, value in {
            "vendor": "0x1002",
            "device": f"0x{model.device:04x}",
            "gpu_busy_percent": 37,
            "mem_info_vram_total": model.memory,
            "mem_info_vram_used": used,
            "current_compute_partition": modes[0],
            "current_memory_partition": modes[1],
            "power/runtime_status": "active",
            "hwmon/hwmon4/name": "amdgpu",
            "hwmon/hwmon4/power1_input": (200 + number) * 1_000_000,
            "hwmon/hwmon4/power1_cap": model.watts * 1_000_000,
            "hwmon/hwmon4/temp1_label": "junction",
            "hwmon/hwmon4/temp1_input": 61_000,
            "hwmon/hwmon4/temp2_label": "mem",
            "hwmon/hwmon4/temp2_input": 55_000,
        }.items():
            self.write(f"{device}/{name}", value)

    def process(self, pid: int, name: str, *, parent: int = 1, group: int | None = None, uid: int = 1000) -> None:
        self.write(f"proc/{pid}/comm", name)
        self.write(f"proc/{pid}/stat", f"{pid} ({name}) S {parent} {group or pid} 900 0 -1 4194304")
        self.write(f"proc/{pid}/status", f"Name:\t{name}\nUid:\t{uid}\t{uid}\t{uid}\t{uid}")

    def holds(self, pid: int, number: int, size: int) -> None:
        self.write(f"sys/class/kfd/kfd/proc/{pid}/vram_{gpu_id(number)}", size)

    def program(self, name: str) -> None:
        self.write(f"bin/{name}", "#!/bin/sh").chmod(0o755)

    def weights(self, repository: str, size: int, *, config: Mapping[str, Any] | None = None) -> None:
        """A repository in the cache of Hugging Face; its file has the size without the bytes."""
        folder = self.home / ".cache/huggingface/hub" / f"models--{repository.replace('/', '--')}"
        blob = self.write(folder / "blobs/1234", "")
        with blob.open("r+b") as file:
            file.truncate(size)
        self.write(folder / "refs/main", "abcd")
        self.write(folder / "snapshots/abcd/config.json", json.dumps(config or {"num_attention_heads": 64}))


def gpu_id(number: int, share: int = 0) -> int:
    return 10_000 + 100 * number + share


def bare(root: Path) -> Box:
    """A machine without GPUs and without their driver."""
    box = Box(root)
    box.write("proc/meminfo", "MemTotal: 65536000 kB\nMemAvailable: 32768000 kB")
    box.write("proc/sys/kernel/numa_balancing", 0)
    box.process(1, "systemd", parent=0)
    (root / "proc/self/ns").mkdir(parents=True)
    (root / "proc/self/ns/pid").symlink_to(HOST_PIDS)
    return box


def eight(root: Path, model: Model = MI355X, *, used: int = 300 * MIB) -> Box:
    """A workstation with eight GPUs and ROCm."""
    box = bare(root)
    box.processor()
    box.processor()
    for number in range(8):
        box.gpu(model, number, used=used)
    box.write("dev/kfd", "")
    box.write("sys/class/kfd/kfd/topology/system_properties", "platform_oem 0")
    box.write("opt/rocm/.info/version", "7.2.1-81")
    return box


def partitioned(root: Path) -> Box:
    """Eight GPUs that are split into eight parts each."""
    box = bare(root)
    box.processor()
    for number in range(8):
        box.gpu(MI355X, number, shares=8, modes=("CPX", "NPS4"))
    box.write("dev/kfd", "")
    return box


def held_by_an_orphan(root: Path) -> Box:
    """Eight GPUs, the fourth of which an engine core holds whose front end was killed."""
    box = eight(root)
    box.write("sys/bus/pci/devices/0000:35:00.0/mem_info_vram_used", 265 * GIB)
    box.process(4100, "VLLM::EngineCor", parent=1, group=4000)
    box.process(4242, "VLLM::Worker_TP", parent=4100, group=4000)
    box.holds(4242, 3, 264 * GIB)
    return box


def held_by_a_server(root: Path) -> Box:
    """Eight GPUs, all held by a server that runs."""
    box = eight(root, used=265 * GIB)
    box.process(4000, "vllm", parent=900, group=4000)
    box.process(4100, "VLLM::EngineCor", parent=4000, group=4000)
    for number in range(8):
        box.process(4200 + number, "VLLM::Worker_TP", parent=4100, group=4000)
        box.holds(4200 + number, number, 264 * GIB)
    return box


def without_permission(root: Path) -> Box:
    """Eight GPUs, and a user who is in none of the groups of the devices."""
    box = eight(root)
    box.groups, box.members = frozenset({1000}), frozenset()
    box.forbidden = {root / "dev/kfd", *(root / f"dev/dri/renderD{128 + number}" for number in range(8))}
    return box


def broken(root: Path) -> Box:
    """Eight GPUs whose files hold nonsense."""
    box = eight(root)
    for file in (root / "sys").rglob("*"):
        if file.is_file():
            file.write_bytes(b"\xff\xfe\x00 nonsense -1 99999999999999999999999999\n")
    return box


def amd_smi_metric(count: int = 8, *, envelope: bool = True) -> str:
    """What amd-smi metric prints, in the envelope of today's or in the list of older releases."""
    entries = [
        {
            "gpu": number,
            "usage": {
                "gfx_activity": {"value": 40 + number, "unit": "%"},
                "umc_activity": {"value": 12, "unit": "%"},
                "mm_activity": "N/A",
                "vcn_activity": ["N/A", {"value": 0, "unit": "%"}],
            },
            "power": {
                "socket_power": {"value": 900 + number, "unit": "W"},
                "gfx_voltage": "N/A",
                "throttle_status": "UNTHROTTLED",
                "power_management": "ENABLED",
            },
            "temperature": {
                "edge": "N/A",
                "hotspot": {"value": 71, "unit": "C"},
                "mem": {"value": 60, "unit": "C"},
            },
            "mem_usage": {
                "total_vram": {"value": 294_896, "unit": "MB"},
                "used_vram": {"value": 271_000, "unit": "MB"},
                "free_vram": {"value": 23_896, "unit": "MB"},
            },
        }
        for number in range(count)
    ]
    return json.dumps({"gpu_data": entries} if envelope else entries, indent=4)


def amd_smi_static(count: int = 8, *, flat: bool = False) -> str:
    """What amd-smi static prints, with the limits of ROCm 7 or the flat ones of before."""
    watts = {"value": 1400, "unit": "W"}
    limit = {"max_power": watts} if flat else {"ppt0": {"max_power_limit": watts, "socket_power_limit": watts}}
    entries = [
        {"gpu": number, "asic": {"market_name": "AMD Instinct MI355X", "device_id": "0x75a3"}, "limit": limit}
        for number in range(count)
    ]
    return json.dumps(entries if flat else {"gpu_data": entries})


def amd_smi_unknown(count: int = 2) -> str:
    """What amd-smi prints where it knows nothing: "N/A" as a leaf, inside a leaf, and in place of a whole block."""
    return json.dumps(
        {
            "gpu_data": [
                {
                    "gpu": number,
                    "usage": {"gfx_activity": "N/A", "umc_activity": {"value": "N/A", "unit": "%"}},
                    "power": "N/A",
                    "temperature": {"hotspot": {"value": "N/A", "unit": "C"}},
                    "mem_usage": "N/A",
                }
                for number in range(count)
            ]
        }
    )


def rocm_smi(count: int = 8, *, as_text: bool = True) -> str:
    """What rocm-smi prints: numbers as text in some releases, as numbers in others."""
    value = str if as_text else float
    return json.dumps(
        {
            f"card{number}": {
                "GPU use (%)": value(88),
                "VRAM Total Memory (B)": str(MI355X.memory) if as_text else MI355X.memory,
                "VRAM Total Used Memory (B)": str(260 * GIB) if as_text else 260 * GIB,
                "Temperature (Sensor junction) (C)": value(66.0),
                "Temperature (Sensor memory) (C)": value(50.0),
                "Current Socket Graphics Package Power (W)": value(1012.0),
                "Max Graphics Package Power (W)": value(1400.0),
                "Card Series": "AMD Instinct MI355X",
                "Card SKU": "M3550101",
            }
            for number in range(count)
        }
    )
