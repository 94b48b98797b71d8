"""What the GPUs are doing, as amd-smi says it.

Owns what is asked of it and the reading of its answers, of the envelope of every release. Runs nothing by itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from specchat_launcher.gpus import NAMES
from specchat_launcher.telemetry_reading import GpuReading
from specchat_launcher.telemetry_sysfs import MOST_CELSIUS, MOST_WATTS
from specchat_launcher.tool_json import a_dict, at_most, find_json, number, share, size

METRIC = ("metric", "--usage", "--power", "--temperature", "--mem-usage", "--json")
STATIC = ("static", "--asic", "--limit", "--json")


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """What does not change while a GPU runs.

    Attributes:
        name: Its product name; empty unknown.
        power_cap: Watts that it may draw; None unknown.
    """

    name: str
    power_cap: float | None


def readings_of_metric(text: str) -> tuple[GpuReading, ...]:
    """What `amd-smi metric --json` printed; empty where nothing can be made of it."""
    found = []
    for position, entry in enumerate(_entries(text)):
        usage, power = a_dict(entry.get("usage")), a_dict(entry.get("power"))
        temperature, memory = a_dict(entry.get("temperature")), a_dict(entry.get("mem_usage"))
        found.append(
            GpuReading(
                index=_index(entry, position),
                name="GPU",
                use=share(usage.get("gfx_activity")),
                vram_used=size(memory.get("used_vram")),
                vram_total=size(memory.get("total_vram")) or None,
                power=_first_watts(power, "socket_power", "current_socket_power", "average_socket_power"),
                power_cap=_first_watts(power, "power_limit") or None,
                hotspot=at_most(temperature.get("hotspot"), MOST_CELSIUS),
            )
        )
    return tuple(found)


def facts_of_static(text: str) -> dict[int, GpuFacts]:
    """What `amd-smi static --json` printed, by the number of the GPU."""
    return {
        _index(entry, position): GpuFacts(_name(a_dict(entry.get("asic"))), _cap(a_dict(entry.get("limit"))))
        for position, entry in enumerate(_entries(text))
    }


def with_facts(readings: tuple[GpuReading, ...], facts: Mapping[int, GpuFacts]) -> tuple[GpuReading, ...]:
    """The readings with names and power caps."""
    return tuple(
        replace(
            reading,
            name=facts[reading.index].name or reading.name,
            power_cap=facts[reading.index].power_cap if reading.power_cap is None else reading.power_cap,
        )
        if reading.index in facts
        else reading
        for reading in readings
    )


def _entries(text: str) -> list[dict[str, object]]:
    """One dictionary for each GPU: in a list, or in the list `gpu_data` of an object."""
    value = find_json(text)
    if isinstance(value, dict):
        value = value.get("gpu_data", [value] if "gpu" in value else [])
    return [entry for entry in value if isinstance(entry, dict)] if isinstance(value, list) else []


def _index(entry: Mapping[str, object], position: int) -> int:
    index = number(entry.get("gpu"))
    return int(index) if index is not None and index < 1024 else position


def _name(asic: Mapping[str, object]) -> str:
    market = asic.get("market_name")
    if isinstance(market, str) and market.strip() not in {"", "N/A"}:
        return "".join(letter for letter in market if letter.isprintable()).removeprefix("AMD Instinct ").strip()[:40]
    device = asic.get("device_id")
    try:
        return NAMES.get(int(device, 16), "") if isinstance(device, str) else ""
    except ValueError:
        return ""


def _cap(limit: Mapping[str, object]) -> float | None:
    # Since ROCm 7 the limits stand in a group of their own; before, they were flat.
    for group in (a_dict(limit.get("ppt0")), limit):
        watts = _first_watts(group, "socket_power_limit", "socket_power", "max_power_limit", "max_power")
        if watts:
            return watts
    return None


def _first_watts(block: Mapping[str, object], *names: str) -> float | None:
    return next((watts for name in names if (watts := at_most(block.get(name), MOST_WATTS)) is not None), None)
