"""The AMD GPUs of this machine, from the files of its kernel driver, without any tool.

Owns the reading of the KFD topology and of what a GPU's PCI folder says about its memory. Wakes no GPU, except where
the partition mode is asked for. GPUs of other makers are not looked for.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from specchat_launcher.sysfs import as_int, folders, read_int, read_properties, read_text

SYS = Path("/sys")
DEV = Path("/dev")
TOPOLOGY = "class/kfd/kfd/topology/nodes"
AMD_VENDOR = 0x1002
NAMES: Mapping[int, str] = {
    0x7408: "MI250X",
    0x740C: "MI250",
    0x740F: "MI210",
    0x74A0: "MI300A",
    0x74A1: "MI300X",
    0x74A2: "MI308X",
    0x74A5: "MI325X",
    0x74A9: "MI300X HF",
    0x74B5: "MI300X VF",
    0x75A0: "MI350X",
    0x75A3: "MI355X",
    0x75B0: "MI350X VF",
    0x75B3: "MI355X VF",
}
"""Product names by PCI device id."""


@dataclass(frozen=True, slots=True)
class Gpu:
    """One GPU as programs see it. Of a partitioned GPU, each partition is one.

    Attributes:
        index: Its number for `HIP_VISIBLE_DEVICES`.
        node: Number of its node in the KFD topology.
        gpu_id: The driver's number of it, which names the files of those who use it.
        architecture: E.g. "gfx950"; empty where unknown.
        name: Product name, e.g. "MI355X"; empty where unknown.
        bdf: PCI address, e.g. "0000:05:00.0"; partitions of a GPU share it. Empty where unknown.
        render_node: Its device file; None where unknown.
        vram_total: Bytes of memory; None unknown. Of a partition: its share.
        vram_used: Bytes in use; None unknown. The driver counts the whole GPU only.
        partition: Compute partition mode, e.g. "SPX"; None unknown or not asked for.
        memory_partition: Memory partition mode, e.g. "NPS1"; None unknown or not asked for.
    """

    index: int
    node: int
    gpu_id: int
    architecture: str
    name: str
    bdf: str
    render_node: Path | None
    vram_total: int | None
    vram_used: int | None
    partition: str | None = None
    memory_partition: str | None = None

    @property
    def vram_free(self) -> int | None:
        """Bytes that are not in use; None unknown."""
        if self.vram_total is None or self.vram_used is None:
            return None
        return max(0, self.vram_total - self.vram_used)


def find_gpus(sys: Path = SYS, dev: Path = DEV, *, with_partition: bool = False) -> tuple[Gpu, ...]:
    """Every GPU that the driver shows, in the order that ROCm counts them.

    Args:
        sys: Where /sys is.
        dev: Where /dev is.
        with_partition: Also read the partition mode. That may wake a sleeping GPU, so it is not for polling.
    """
    nodes = _nodes(sys)
    shares = Counter(node.bdf for node in nodes if node.bdf)
    return tuple(
        _gpu(sys, dev, index, node, shares=shares.get(node.bdf, 1), with_partition=with_partition)
        for index, node in enumerate(nodes)
    )


def hidden_nodes(sys: Path = SYS) -> int:
    """Number of topology nodes that exist and may not be read, as in a container without those GPUs."""
    return sum(
        1
        for folder in folders(sys / TOPOLOGY)
        if as_int(folder.name) is not None and read_text(folder / "properties") is None
    )


def has_driver(sys: Path = SYS) -> bool:
    """Whether the driver of AMD's GPUs is loaded, so that asking its tools makes sense."""
    return (sys / "class/kfd/kfd").exists() or (sys / "module/amdgpu").exists()


def pci_folder(sys: Path, bdf: str) -> Path:
    """Where the driver keeps a GPU's figures."""
    return sys / "bus/pci/devices" / bdf


def packages_of(gpus: Sequence[Gpu]) -> int:
    """Number of physical GPUs: partitions of one have the same address."""
    return len({gpu.bdf or f"node {gpu.node}" for gpu in gpus})


def architecture_of(target_version: int) -> str:
    """The name of a `gfx_target_version`: 90500 is gfx950, 110001 is gfx1101; empty for 0."""
    if not target_version:
        return ""
    major, minor, step = target_version // 10_000, target_version // 100 % 100, target_version % 100
    return f"gfx{major}{minor:x}{step:x}"


def name_of(device_id: int | None) -> str:
    """The product name of a PCI device id; empty where unknown."""
    return NAMES.get(device_id or 0, "")


@dataclass(frozen=True, slots=True)
class _Node:
    """One GPU node of the topology."""

    number: int
    folder: Path
    gpu_id: int
    properties: Mapping[str, int]
    bdf: str


def _nodes(sys: Path) -> list[_Node]:
    found = []
    for folder in folders(sys / TOPOLOGY):
        properties = read_properties(folder / "properties")
        # Nodes without SIMD units are processors.
        number = as_int(folder.name)
        if number is not None and properties.get("simd_count"):
            gpu_id = read_int(folder / "gpu_id") or 0
            found.append(_Node(number, folder, gpu_id, properties, _bdf(sys, properties)))
    return found


def _gpu(sys: Path, dev: Path, index: int, node: _Node, *, shares: int, with_partition: bool) -> Gpu:
    folder = pci_folder(sys, node.bdf) if node.bdf else None
    # The driver's figures are of the whole GPU, so a partition has its own only in the topology.
    whole = shares == 1
    minor = node.properties.get("drm_render_minor", 0)
    return Gpu(
        index=index,
        node=node.number,
        gpu_id=node.gpu_id,
        architecture=architecture_of(node.properties.get("gfx_target_version", 0)),
        name=name_of(node.properties.get("device_id")),
        bdf=node.bdf,
        render_node=dev / "dri" / f"renderD{minor}" if minor else None,
        vram_total=_first(read_int(folder / "mem_info_vram_total") if folder and whole else None, _banks(node.folder)),
        vram_used=read_int(folder / "mem_info_vram_used") if folder and whole else None,
        partition=read_text(folder / "current_compute_partition") if folder and with_partition else None,
        memory_partition=read_text(folder / "current_memory_partition") if folder and with_partition else None,
    )


def _first(*numbers: int | None) -> int | None:
    """The first of these that is known and more than nothing."""
    return next((number for number in numbers if number), None)


def _bdf(sys: Path, properties: Mapping[str, int]) -> str:
    location = properties.get("location_id")
    if not location:
        return ""
    # The bits above 16 count the partitions of a GPU; older drivers put that number into the function instead.
    bus, device, function = location >> 8 & 0xFF, location >> 3 & 0x1F, location & 7
    slot = f"{properties.get('domain', 0) & 0xFFFFFFFF:04x}:{bus:02x}:{device:02x}"
    return f"{slot}.{function}" if pci_folder(sys, f"{slot}.{function}").exists() else f"{slot}.0"


def _banks(node: Path) -> int | None:
    """Bytes of the memory banks of a node."""
    sizes = [read_properties(bank / "properties").get("size_in_bytes", 0) for bank in folders(node / "mem_banks")]
    return sum(sizes) or None
