"""Whether the GPUs are there, of the right kind, whole, and enough of them.

Owns these judgements. What they hold in memory is judged elsewhere.
"""

from collections import Counter
from collections.abc import Sequence

from specchat_launcher.checks import Check, ok, problem, unknown, warning
from specchat_launcher.gpus import Gpu, has_driver, packages_of
from specchat_launcher.preflight_model import model_config
from specchat_launcher.preflight_wanted import GpuView, Wanted, counted, gib, listed
from specchat_launcher.spec import GpuNeed

TENSOR = ("tensor-parallel-size", "tp-size", "tp")
PIPELINE = ("pipeline-parallel-size", "pp-size", "pp")
DATA = ("data-parallel-size", "dp-size", "dp")
TIMES = "\N{MULTIPLICATION SIGN}"
WHOLE, ONE_MEMORY = "SPX", "NPS1"
SMALLER = "Choose a profile for fewer GPUs, or change gpus.count and the parallel sizes with --set."


def checks_of_gpus(wanted: Wanted, need: GpuNeed, view: GpuView) -> list[Check]:
    """What is to be said about number, kind, partitions and parallel sizes."""
    count = _count(wanted, need, view)
    if not view.found:
        return [count]
    return [count, _architecture(need, view), _partitions(need, view), *_parallel(wanted, need)]


def describe(gpus: Sequence[Gpu]) -> str:
    """GPUs in a few words: how many of which kind, and how much memory each has."""
    kinds = Counter((gpu.name, gpu.architecture, gpu.vram_total) for gpu in gpus)
    return "; ".join(
        f"{number} {TIMES} {_kind(name, architecture)}"
        + ("" if memory is None else f", {gib(memory)}{' each' if number > 1 else ''}")
        for (name, architecture, memory), number in kinds.items()
    )


def _kind(name: str, architecture: str) -> str:
    if name and architecture:
        return f"{name} ({architecture})"
    return name or architecture or "GPU of an unknown kind"


def _count(wanted: Wanted, need: GpuNeed, view: GpuView) -> Check:
    name, wants = "GPUs", counted(need.count, "GPU")
    if not view.found:
        return _none(wanted, view, wants)
    found = describe(view.found)
    if view.missing:
        numbers = listed([str(index) for index in view.missing])
        return problem(name, f"{found}; the profile asks for number {numbers}, which is not there", SMALLER)
    if len(view.chosen) >= need.count:
        return ok(name, found)
    if view.limited_by:
        return problem(
            name,
            f"{found}; {view.limited_by} shows a program {len(view.chosen)} of them, "
            f"and the profile needs {need.count}",
            f"Take {view.limited_by} out of the environment, or let it name {need.count} GPUs.",
            f"unset {view.limited_by}",
        )
    return problem(name, f"{found}, and the profile needs {need.count}", SMALLER)


def _none(wanted: Wanted, view: GpuView, wants: str) -> Check:
    name, machine = "GPUs", wanted.machine
    if view.hidden:
        return problem(
            name,
            f"the driver is loaded, but this user may not see its GPUs; the profile needs {wants}",
            "In a container: start it with the devices of the GPUs.",
            "--device /dev/kfd --device /dev/dri",
        )
    if has_driver(machine.sys):
        return problem(
            name,
            f"the amdgpu driver is loaded and shows no GPU that computes; the profile needs {wants}",
            "The kernel's log says why, and a restart of the machine often helps.",
            "sudo dmesg | grep -i -e amdgpu -e kfd | tail -n 50",
        )
    return problem(
        name,
        f"no AMD GPU was found, and the profile needs {wants}",
        "Use this profile on a machine with such GPUs and AMD's driver. Without a GPU, specchat demo runs a small "
        "model on the processor.",
    )


def _architecture(need: GpuNeed, view: GpuView) -> Check:
    name, gpus = "architecture", view.chosen or view.found
    if need.architecture is None:
        return ok(
            name, f"{listed(sorted({gpu.architecture or 'unknown' for gpu in gpus}))}; the profile needs no other"
        )
    others = [gpu for gpu in gpus if gpu.architecture != need.architecture]
    if not others:
        return ok(name, f"{need.architecture}, as the profile needs")
    if any(gpu.architecture for gpu in others):
        kinds = listed(sorted({_kind(gpu.name, gpu.architecture) for gpu in others}))
        return problem(
            name,
            f"{kinds}, and the profile needs {need.architecture}",
            f"Its model and its kernels were made for {need.architecture}: choose another profile for these GPUs.",
        )
    return unknown(name, f"the driver does not say it; the profile needs {need.architecture}")


def _partitions(need: GpuNeed, view: GpuView) -> Check:
    name = "partitions"
    modes = sorted({gpu.partition for gpu in view.found if gpu.partition})
    memory = sorted({gpu.memory_partition for gpu in view.found if gpu.memory_partition})
    packages = packages_of(view.found)
    split = packages < len(view.found)
    if split or any(mode != WHOLE for mode in modes):
        shown = f" ({listed([*modes, *memory])})" if modes or memory else ""
        if split:
            evidence = f"{counted(packages, 'GPU')} split into {len(view.found)}{shown}"
        else:
            evidence = f"the mode is {listed([*modes, *memory])}"
        return problem(
            name,
            f"{evidence}; {counted(need.count, 'whole GPU')} needed",
            "Make the GPUs whole again while no program uses them.",
            f"sudo amd-smi set --gpu all --compute-partition {WHOLE}",
        )
    if any(mode != ONE_MEMORY for mode in memory):
        return warning(
            name,
            f"memory is split ({listed(memory)})",
            f"{ONE_MEMORY} is what the profiles were written for.",
            f"sudo amd-smi set --gpu all --memory-partition {ONE_MEMORY}",
        )
    if modes:
        return ok(name, f"none: {listed([*modes, *memory])}")
    return ok(name, f"none: {counted(packages, 'GPU')}, {counted(len(view.found), 'device')}")


def _parallel(wanted: Wanted, need: GpuNeed) -> list[Check]:
    name = "parallelism"
    sizes = [wanted.number(*names) or 1 for names in (TENSOR, PIPELINE, DATA)]
    tensor, ranks = int(sizes[0]), int(sizes[0] * sizes[1] * sizes[2])
    if ranks > need.count:
        return [
            problem(
                name,
                f"{_sizes(sizes)} takes {counted(ranks, 'GPU')}, and the profile gives {need.count}",
                f"Set arguments.tensor-parallel-size to {need.count} or less, or gpus.count to {ranks}.",
                f"--set arguments.tensor-parallel-size={need.count}",
            )
        ]
    heads = model_config(wanted).get("num_attention_heads", wanted.profile.attention_heads)
    if isinstance(heads, int) and tensor > 0 and heads % tensor:
        return [
            problem(
                name,
                f"tensor-parallel-size {tensor} does not divide the model's {heads} attention heads",
                f"Choose a size that divides {heads}.",
                f"--set arguments.tensor-parallel-size={_largest_divisor(heads, tensor)}",
            )
        ]
    if need.count % ranks:
        return [
            warning(
                name,
                f"{_sizes(sizes)} takes {ranks} of {counted(need.count, 'GPU')}",
                "The others stay idle: set gpus.count to what is used.",
                f"--set gpus.count={ranks}",
            )
        ]
    return [ok(name, f"{_sizes(sizes)} on {counted(need.count, 'GPU')}")]


def _sizes(sizes: Sequence[float]) -> str:
    words = ("tensor", "pipeline", "data")
    parts = [f"{word}-parallel-size {int(size)}" for word, size in zip(words, sizes, strict=True) if size != 1]
    return ", ".join(parts) or "tensor-parallel-size 1"


def _largest_divisor(number: int, most: int) -> int:
    return next(size for size in range(min(most, number), 0, -1) if number % size == 0) if number > 0 else 1
