"""What a GPU is doing right now, as plain values.

Owns the type. Reads nothing.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU at one moment. None is unknown, 0 was measured.

    Attributes:
        index: Its number.
        name: Product name, or its architecture where that is unknown.
        use: Share of time in which it was busy, 0 to 1.
        vram_used: Bytes of memory in use.
        vram_total: Bytes of memory.
        power: Watts that it draws.
        power_cap: Watts that it may draw.
        hotspot: The hottest place's temperature in degrees Celsius.
    """

    index: int
    name: str
    use: float | None = None
    vram_used: int | None = None
    vram_total: int | None = None
    power: float | None = None
    power_cap: float | None = None
    hotspot: float | None = None

    @property
    def says_something(self) -> bool:
        """Whether anything was measured."""
        return any(value is not None for value in (self.use, self.vram_used, self.power, self.hotspot))
