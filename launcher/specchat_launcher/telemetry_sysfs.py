"""What the GPUs are doing, from the files of their kernel driver: the cheapest way there is, and no tool is needed.

Owns the reading of one GPU's PCI folder. A GPU that sleeps is left asleep.
"""

from pathlib import Path

from specchat_launcher.gpus import AMD_VENDOR, SYS, find_gpus, name_of, pci_folder
from specchat_launcher.sysfs import as_int, folders, read_int, read_text
from specchat_launcher.telemetry_reading import GpuReading

HOTTEST = ("junction", "hotspot")
MICRO = 1e6
MILLI = 1e3
MOST_CELSIUS = 200.0
MOST_WATTS = 5000.0


class SysfsSource:
    """Reads every GPU's figures from /sys. One row for each physical GPU, whatever it is partitioned into."""

    name = "sysfs"

    def __init__(self, sys: Path = SYS) -> None:
        self._sys = sys
        self._cards = _cards(sys)

    def read(self) -> tuple[GpuReading, ...]:
        """One reading for each GPU; what cannot be read is None in it."""
        return tuple(_reading(index, name, folder) for index, (name, folder) in enumerate(self._cards))


def _cards(sys: Path) -> tuple[tuple[str, Path], ...]:
    """Name and PCI folder of each physical GPU, in the order of ROCm, else of the graphics cards."""
    found: dict[Path, str] = {}
    for gpu in find_gpus(sys):
        if gpu.bdf:
            found.setdefault(pci_folder(sys, gpu.bdf), gpu.name or gpu.architecture)
    for folder in () if found else folders(sys / "class/drm"):
        device = folder / "device"
        if folder.name.removeprefix("card").isdecimal() and as_int(read_text(device / "vendor")) == AMD_VENDOR:
            found.setdefault(device, "")
    return tuple(
        (name_of(as_int(read_text(folder / "device"))) or name or read_text(folder / "product_name") or "GPU", folder)
        for folder, name in found.items()
    )


def _reading(index: int, name: str, folder: Path) -> GpuReading:
    # Memory is known without asking the GPU itself; everything else would wake it.
    asleep = read_text(folder / "power/runtime_status") == "suspended"
    sensors = None if asleep else _sensors(folder)
    percent = None if asleep else read_int(folder / "gpu_busy_percent")
    return GpuReading(
        index=index,
        name=name,
        use=percent / 100 if percent is not None and percent <= 100 else None,
        vram_used=read_int(folder / "mem_info_vram_used"),
        vram_total=read_int(folder / "mem_info_vram_total") or None,
        power=_power(sensors, "power1_average", "power1_input"),
        power_cap=_power(sensors, "power1_cap") or None,
        hotspot=_hotspot(sensors),
    )


def _sensors(folder: Path) -> Path | None:
    candidates = list(folders(folder / "hwmon"))
    return next((path for path in candidates if read_text(path / "name") == "amdgpu"), next(iter(candidates), None))


def _power(sensors: Path | None, *names: str) -> float | None:
    if sensors is None:
        return None
    watts = (number / MICRO for name in names if (number := read_int(sensors / name)) is not None)
    return next((value for value in watts if value <= MOST_WATTS), None)


def _hotspot(sensors: Path | None) -> float | None:
    if sensors is None:
        return None
    for file in folders(sensors):
        if file.name.startswith("temp") and file.name.endswith("_label") and read_text(file) in HOTTEST:
            value = read_int(sensors / file.name.replace("_label", "_input"))
            if value is not None and value / MILLI <= MOST_CELSIUS:
                return value / MILLI
    return None
