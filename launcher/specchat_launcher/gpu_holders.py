"""Who holds the memory of the GPUs, from the files of the kernel driver, without any tool.

Owns the reading of the driver's list of processes, and the question whether one is left over from a server that is
gone. Ends nothing.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from specchat_launcher.gpus import SYS, Gpu
from specchat_launcher.sysfs import as_int, folders, read_int, read_text

PROC = Path("/proc")
PROCESSES = "class/kfd/kfd/proc"
VLLM_PREFIX = "VLLM::"
ENGINE_NAMES = ("VLLM::EngineCor", "VLLM::Worker", "sglang::schedul", "sglang::detoken")
"""How the processes of a server name themselves that have to end with its front end, which may have such a name too.
The kernel keeps 15 characters."""
FIRST_PID_NAMESPACE = "pid:[4026531836]"
"""The kernel gives the machine's own namespace this number. Inside another one, the driver's numbers of processes mean
nothing, since it counts those of the machine."""
LONGEST_CHAIN = 64


@dataclass(frozen=True, slots=True)
class Holder:
    """A process that holds memory of GPUs.

    Attributes:
        pid: Its number on the machine.
        name: The name it gave itself, e.g. "VLLM::Worker_TP3"; empty where it cannot be seen.
        held: Index of each GPU it holds memory of, and the bytes.
        is_vllm: Whether it is one of vLLM's.
        to_end: The processes to end where it is of a server whose front end is gone, so that nothing else ever will:
            itself, and those of the same server above it. Empty where it is no such orphan.
        is_ours: Whether this user may end it.
    """

    pid: int
    name: str
    held: tuple[tuple[int, int], ...]
    is_vllm: bool
    to_end: tuple[int, ...]
    is_ours: bool

    @property
    def vram(self) -> int:
        """Bytes that it holds, on all GPUs together."""
        return sum(size for _, size in self.held)

    @property
    def gpus(self) -> tuple[int, ...]:
        """Indices of the GPUs it holds memory of."""
        return tuple(index for index, _ in self.held)

    @property
    def is_orphan(self) -> bool:
        """Whether it outlived the front end of its server."""
        return bool(self.to_end)


@dataclass(frozen=True, slots=True)
class _Process:
    parent: int
    group: int


def find_holders(gpus: Sequence[Gpu], sys: Path = SYS, proc: Path = PROC, uid: int | None = None) -> tuple[Holder, ...]:
    """Every process that holds memory of these GPUs, the largest first.

    Args:
        gpus: The GPUs to look at.
        sys: Where /sys is.
        proc: Where /proc is.
        uid: The user's id; None for that of this process.
    """
    user = os.getuid() if uid is None else uid
    indices = {gpu.gpu_id: gpu.index for gpu in gpus if gpu.gpu_id}
    visible = sees_every_process(proc)
    found = []
    for folder in folders(sys / PROCESSES):
        pid = as_int(folder.name)
        if not pid:
            continue
        held = {
            index: size
            for gpu_id, index in indices.items()
            if (size := read_int(folder / f"vram_{gpu_id}")) is not None and size > 0
        }
        if held:
            found.append(_holder(pid, held, proc, user, visible=visible))
    return tuple(sorted(found, key=lambda holder: (-holder.vram, holder.pid)))


def sees_every_process(proc: Path = PROC) -> bool:
    """Whether the numbers of processes here are the machine's, which they are not in most containers."""
    try:
        return str((proc / "self/ns/pid").readlink()) == FIRST_PID_NAMESPACE
    except (OSError, ValueError):
        return False


def orphans_of(pid: int, proc: Path = PROC) -> tuple[int, ...]:
    """A server's process that outlived its front end, and those of the same server above it; empty where it did not.

    A server's processes keep the process group that they were born into. Where the topmost of them has a parent
    outside that group, the one that started it has ended, and init or a subreaper has taken it in.
    """
    chain: list[int] = []
    while len(chain) < LONGEST_CHAIN:
        process = _process(pid, proc)
        if process is None or not _is_engine(pid, proc):
            return ()
        chain.append(pid)
        parent = _process(process.parent, proc)
        if parent is None:
            # One that cannot be seen may be alive; that of init's children is init.
            return tuple(chain) if process.parent == 1 else ()
        if parent.group != process.group:
            return tuple(chain)
        pid = process.parent
    return ()


def _is_engine(pid: int, proc: Path) -> bool:
    return (read_text(proc / str(pid) / "comm") or "").startswith(ENGINE_NAMES)


def _holder(pid: int, held: dict[int, int], proc: Path, user: int, *, visible: bool) -> Holder:
    name = (read_text(proc / str(pid) / "comm") or "") if visible else ""
    return Holder(
        pid=pid,
        name="".join(letter if letter.isprintable() else "?" for letter in name[:64]),
        held=tuple(sorted(held.items())),
        is_vllm=name.startswith(VLLM_PREFIX),
        to_end=orphans_of(pid, proc) if visible else (),
        is_ours=visible and user in {0, _owner(pid, proc)},
    )


def _process(pid: int, proc: Path) -> _Process | None:
    text = read_text(proc / str(pid) / "stat")
    # The name stands in brackets and may hold brackets and blanks itself.
    fields = (text or "").rpartition(")")[2].split()
    parent, group = (as_int(field) for field in (fields[1:3] if len(fields) > 3 else ("", "")))
    return None if parent is None or group is None else _Process(parent, group)


def _owner(pid: int, proc: Path) -> int | None:
    for line in (read_text(proc / str(pid) / "status") or "").splitlines():
        if line.startswith("Uid:"):
            first = line.split()[1:2]
            return as_int(first[0]) if first else None
    return None
