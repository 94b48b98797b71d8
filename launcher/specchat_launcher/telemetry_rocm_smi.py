"""What the GPUs are doing, as rocm-smi says it, which older installations have in place of amd-smi.

Owns what is asked of it and the reading of its answer. Runs nothing by itself.
"""

from collections.abc import Mapping

from specchat_launcher.telemetry_reading import GpuReading
from specchat_launcher.telemetry_sysfs import MOST_CELSIUS, MOST_WATTS
from specchat_launcher.tool_json import a_dict, at_most, find_json, share, size

ASKED = (
    "--showuse",
    "--showmeminfo",
    "vram",
    "--showpower",
    "--showmaxpower",
    "--showtemp",
    "--showproductname",
    "--json",
)
POWER = (
    "Current Socket Graphics Package Power (W)",
    "Average Graphics Package Power (W)",
    "Average Socket Graphics Package Power (W)",
)


def readings_of_rocm_smi(text: str) -> tuple[GpuReading, ...]:
    """What it printed; empty where nothing can be made of it."""
    found = []
    for name, value in a_dict(find_json(text)).items():
        number = name.removeprefix("card")
        if not (name.startswith("card") and number.isascii() and number.isdecimal() and len(number) < 5):
            continue
        card = a_dict(value)
        found.append(
            GpuReading(
                index=int(number),
                name=_product(card),
                use=share(card.get("GPU use (%)")),
                vram_used=size(card.get("VRAM Total Used Memory (B)"), "B"),
                vram_total=size(card.get("VRAM Total Memory (B)"), "B") or None,
                power=next((watts for key in POWER if (watts := at_most(card.get(key), MOST_WATTS)) is not None), None),
                power_cap=at_most(card.get("Max Graphics Package Power (W)"), MOST_WATTS) or None,
                hotspot=at_most(card.get("Temperature (Sensor junction) (C)"), MOST_CELSIUS),
            )
        )
    return tuple(sorted(found, key=lambda reading: reading.index))


def _product(card: Mapping[str, object]) -> str:
    for key in ("Card Series", "Card series", "Card Model"):
        value = card.get(key)
        if isinstance(value, str) and value.strip() not in {"", "N/A"} and not value.startswith("0x"):
            return (
                "".join(letter for letter in value if letter.isprintable()).removeprefix("AMD Instinct ")[:40].strip()
            )
    return "GPU"
