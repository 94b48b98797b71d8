"""What is to be launched, and on which machine: what each of the looks before a launch is given.

Owns the reading of a profile's arguments and environment for these looks. Judges nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specchat_launcher.checks import Check
from specchat_launcher.gpu_holders import Holder, find_holders
from specchat_launcher.gpus import Gpu, find_gpus, hidden_nodes
from specchat_launcher.preflight_machine import Machine
from specchat_launcher.profiles import Profile
from specchat_launcher.spec import RunsIn, ServerSpec

GIB = 1024**3
VISIBLE = ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")


@dataclass(frozen=True, slots=True)
class Wanted:
    """One launch that may be tried.

    Attributes:
        profile: What is to be launched.
        machine: Where.
        spec: The server that the profile comes to here; None where that is not known.
        root: The data directory.
    """

    profile: Profile
    machine: Machine
    spec: ServerSpec | None
    root: Path

    def argument(self, *names: str) -> object:
        """The value of the first of these arguments that the profile gives; None where it gives none."""
        given = dict(self.profile.arguments)
        return next((given[name] for name in names if name in given), None)

    def number(self, *names: str) -> float | None:
        """The same as a number; None where it is none."""
        value = self.argument(*names)
        try:
            return float(value) if isinstance(value, int | float | str) and not isinstance(value, bool) else None
        except ValueError:
            return None

    def variable(self, name: str) -> str | None:
        """A variable as the server would get it."""
        own = dict(self.profile.environment if self.spec is None else self.spec.environment)
        if name in own:
            return own[name]
        # The other kinds get an environment of their own.
        return self.machine.environ.get(name) if self.profile.runs_in is RunsIn.PYTHON else None


@dataclass(frozen=True, slots=True)
class GpuView:
    """The GPUs of the machine, as far as one launch is concerned.

    Attributes:
        found: All of them.
        chosen: Those that the server would get.
        missing: Indices that it is to get and that are not there.
        limited_by: The variable of the user's that hides GPUs from it; empty where none does.
        hidden: Number of GPUs and processors whose description may not be read.
        holders: Who holds memory of the chosen ones.
    """

    found: tuple[Gpu, ...]
    chosen: tuple[Gpu, ...]
    missing: tuple[int, ...] = ()
    limited_by: str = ""
    hidden: int = 0
    holders: tuple[Holder, ...] = field(default=())


def view_of(wanted: Wanted) -> GpuView:
    """Look at the GPUs. This may wake those that sleep."""
    machine, need = wanted.machine, wanted.profile.gpus
    found = find_gpus(machine.sys, machine.dev, with_partition=True)
    count = need.count if need is not None else 0
    limited_by = ""
    indices: Sequence[int] = need.visible if need is not None else ()
    if not indices:
        limited_by, limited = _limit(wanted)
        indices = limited[:count] if limited_by else range(min(count, len(found)))
    by_index = {gpu.index: gpu for gpu in found}
    chosen = tuple(by_index[index] for index in indices if index in by_index)
    numbers = {gpu.index for gpu in chosen}
    holders = find_holders(found, machine.sys, machine.proc, machine.uid)
    return GpuView(
        found=found,
        chosen=chosen,
        missing=tuple(index for index in indices if index not in by_index),
        limited_by=limited_by,
        hidden=hidden_nodes(machine.sys),
        holders=tuple(holder for holder in holders if numbers & set(holder.gpus)),
    )


def gib(size: float) -> str:
    """A number of bytes for people."""
    value = size / GIB
    return f"{value:.0f} GiB" if value >= 10 else f"{value:.1f} GiB"


def counted(number: int, word: str) -> str:
    """A number with its word, in the plural where it needs one."""
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def listed(names: Sequence[str], most: int = 8) -> str:
    """Some words in a row, and how many were left out."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"


def without_doubles(checks: Sequence[Check]) -> tuple[Check, ...]:
    """The checks without those that say the same of the same thing."""
    return tuple(dict.fromkeys(checks))


def _limit(wanted: Wanted) -> tuple[str, tuple[int, ...]]:
    """The variable that says which GPUs the server sees, and their indices."""
    for name in VISIBLE:
        value = wanted.variable(name)
        parts = [part.strip() for part in (value or "").split(",")]
        if value == "-1":
            return name, ()
        # Names of GPUs may stand there too, and cannot be told without ROCm.
        if value and all(part.isascii() and part.isdecimal() and len(part) < 4 for part in parts):
            return name, tuple(int(part) for part in parts)
    return "", ()


def settings(environ: Mapping[str, str], *names: str) -> str:
    """The first of these variables that is set and not empty."""
    return next((value for name in names if (value := environ.get(name))), "")
