"""The GPUs of this machine as lines: one row each, or all in one. Plain functions of what they say of themselves."""

from collections.abc import Callable, Sequence

from specchat.session.local_servers import GpuLine
from specchat.ui.panels.drawing import NONE, WIDTH, Line, Run, bar, line, percent

_GIB = 2**30
_BAR_CELLS = 6
_WIDE_BAR_CELLS = 8
_WIDE_FROM = 53
"""Cells from which memory and power stand against what there is of them."""
_NEAR = 0.97
"""Share of the memory or of the power cap that is worth a colour."""
_HOT = 100.0
"""Degrees of a hotspot that are worth a colour."""


def gpu_rows(gpus: Sequence[GpuLine], width: int = WIDTH) -> tuple[Line, ...]:
    """A heading and one row a GPU: use, memory, power and hotspot.

    Args:
        gpus: At least one.
        width: Cells; with enough of them memory and power stand against their limits.
    """
    if width >= _WIDE_FROM:
        head = f"{'':2}{'use':<{_WIDE_BAR_CELLS + 5}}{'memory':>15}{'power':>15}{'hotspot':>8}"
        return line((head, "dim")), *map(_wide, gpus)
    head = f"{'':2}{'use':<{_BAR_CELLS + 5}}{'GiB':>5}{'W':>6}{'°C':>4}"
    return line((head, "dim")), *map(_narrow, gpus)


def gpu_sum(gpus: Sequence[GpuLine]) -> Line:
    """All GPUs in one line of a panel: mean use, memory and power together, the hottest spot."""
    used, power = _total(gpus, lambda gpu: gpu.vram_used), _total(gpus, lambda gpu: gpu.power)
    hottest = max((gpu.hotspot for gpu in gpus if gpu.hotspot is not None), default=None)
    count = f"{len(gpus)} {'GPU' if len(gpus) == 1 else 'GPUs'}"
    return line(
        (f"{count:<7}", "dim"),
        (percent(mean_use(gpus))[1:], ""),
        (f"{f'{_gib(used)}G':>6}", ""),
        (f"{f'{_kilowatts(power)}W':>6}", _near_cap(power, _total(gpus, lambda gpu: gpu.power_cap))),
        (f"{f'{_whole(hottest)}°':>5}", _hot(hottest)),
    )


def gpu_figures(gpus: Sequence[GpuLine]) -> tuple[Run, ...]:
    """All GPUs for the status line, the most important first."""
    runs: list[Run] = []
    use, used = mean_use(gpus), _total(gpus, lambda gpu: gpu.vram_used)
    if use is not None:
        runs.append((f"{len(gpus)} GPU{'s' * (len(gpus) > 1)} {percent(use).strip()}", ""))
    if used is not None:
        runs.append((f"VRAM {used / _GIB:.0f} GiB", ""))
    return tuple(runs)


def mean_use(gpus: Sequence[GpuLine]) -> float | None:
    """Share of the time in which the GPUs computed, over those that tell."""
    known = [gpu.use for gpu in gpus if gpu.use is not None]
    return sum(known) / len(known) if known else None


def _narrow(gpu: GpuLine) -> Line:
    return line(
        (f"{gpu.index:<2}", "dim"),
        (bar(gpu.use or 0.0, _BAR_CELLS), "accent"),
        (percent(gpu.use), ""),
        (f"{_gib(gpu.vram_used):>5}", _near(gpu.vram_used, gpu.vram_total)),
        (f"{_whole(gpu.power):>6}", _near_cap(gpu.power, gpu.power_cap)),
        (f"{_whole(gpu.hotspot):>4}", _hot(gpu.hotspot)),
    )


def _wide(gpu: GpuLine) -> Line:
    return line(
        (f"{gpu.index:<2}", "dim"),
        (bar(gpu.use or 0.0, _WIDE_BAR_CELLS), "accent"),
        (percent(gpu.use), ""),
        (f"{_gib(gpu.vram_used):>5}", _near(gpu.vram_used, gpu.vram_total)),
        (f" / {_gib(gpu.vram_total)} GiB".ljust(10), "dim"),
        (f"{_whole(gpu.power):>6}", _near_cap(gpu.power, gpu.power_cap)),
        (f" / {_whole(gpu.power_cap)} W".ljust(9), "dim"),
        (f"{_whole(gpu.hotspot):>5}", _hot(gpu.hotspot)),
        (" °C", "dim"),
    )


def _total(gpus: Sequence[GpuLine], of: Callable[[GpuLine], float | None]) -> float | None:
    """The sum over all GPUs; None unless there are some and each of them tells."""
    values = [value for gpu in gpus if (value := of(gpu)) is not None]
    return sum(values) if values and len(values) == len(gpus) else None


def _gib(value: float | None) -> str:
    return NONE if value is None else f"{value / _GIB:.0f}"


def _whole(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


def _kilowatts(value: float | None) -> str:
    return NONE if value is None else f"{value / 1000:.1f}k"


def _near(value: float | None, limit: float | None) -> str:
    return "bad" if value is not None and limit and value / limit > _NEAR else ""


def _near_cap(power: float | None, cap: float | None) -> str:
    return "accent" if power is not None and cap and power / cap > _NEAR else ""


def _hot(degrees: float | None) -> str:
    return "bad" if degrees is not None and degrees >= _HOT else ""
