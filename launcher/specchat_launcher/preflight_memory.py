"""Whether the GPUs have enough free memory, and who has the rest.

Owns these judgements, and the command that ends what an earlier server left. Ends nothing.
"""

from collections.abc import Sequence

from specchat_launcher.checks import Check, CheckState, ok, problem, unknown, warning
from specchat_launcher.gpu_holders import Holder, sees_every_process
from specchat_launcher.gpus import Gpu
from specchat_launcher.preflight_wanted import GIB, GpuView, Wanted, counted, gib, listed
from specchat_launcher.spec import GpuNeed, ServerKind

UTILIZATION = "gpu-memory-utilization"
DEFAULT_UTILIZATION = 0.92
"""What vLLM takes of each GPU unless it is told otherwise, since 0.27."""
UNSEEN_BYTES = 2 * GIB
"""An idle GPU has some hundred megabytes in use that belong to no process."""
MOST_NAMED = 8


def checks_of_memory(wanted: Wanted, need: GpuNeed, view: GpuView) -> list[Check]:
    """What is to be said about the memory of the chosen GPUs."""
    memory = _memory(wanted, need, view.chosen)
    return [memory, *_held(wanted, view, is_short=memory.state is CheckState.PROBLEM)]


def _memory(wanted: Wanted, need: GpuNeed, gpus: Sequence[Gpu]) -> Check:
    name = "GPU memory"
    totals = [gpu.vram_total for gpu in gpus if gpu.vram_total is not None]
    if len(totals) < len(gpus) or not gpus:
        return unknown(name, "the driver does not say how much there is")
    share = _share(wanted)
    usable, needed = share * sum(totals), (need.memory_gib or 0) * GIB
    if usable < needed:
        return problem(
            name,
            f"{gib(sum(totals))} on {counted(len(gpus), 'GPU')}, of which the server may take {share:.0%}: "
            f"{gib(usable)}; it needs about {gib(needed)}",
            "Use more GPUs or a smaller model.",
        )
    free = [gpu.vram_free for gpu in gpus if gpu.vram_free is not None]
    if len(free) < len(gpus):
        return unknown(name, f"{gib(sum(totals))} in all; how much of it is free cannot be told")
    short = [gpu for gpu in gpus if gpu.vram_free is not None and gpu.vram_free < _least(wanted, need, gpu, gpus)]
    if not short:
        most = max(_least(wanted, need, gpu, gpus) for gpu in gpus)
        return ok(name, f"{gib(min(free))}{' or more free on each' if len(gpus) > 1 else ' free'}, {gib(most)} needed")
    worst = min(short, key=lambda gpu: gpu.vram_free or 0)
    others = f", and {counted(len(short) - 1, 'other')} likewise" if len(short) > 1 else ""
    return problem(
        name,
        f"GPU {worst.index} has {gib(worst.vram_free or 0)} of {gib(worst.vram_total or 0)} free, and the server takes "
        f"{gib(_least(wanted, need, worst, gpus))} of each{others}",
        "Free the memory as the next line says"
        + (f", or let the server take less with --set arguments.{UTILIZATION}=…." if _is_vllm(wanted) else "."),
    )


def _share(wanted: Wanted) -> float:
    """The part of each GPU's memory that the server takes at most."""
    if not _is_vllm(wanted):
        return 1.0
    said = wanted.number(UTILIZATION)
    return said if said is not None and 0 < said <= 1 else DEFAULT_UTILIZATION


def _least(wanted: Wanted, need: GpuNeed, gpu: Gpu, gpus: Sequence[Gpu]) -> float:
    """Bytes that have to be free on a GPU. vLLM refuses to start with less than its share, whatever it needs."""
    if _is_vllm(wanted):
        return _share(wanted) * (gpu.vram_total or 0)
    return (need.memory_gib or 0) * GIB / len(gpus)


def _is_vllm(wanted: Wanted) -> bool:
    return wanted.profile.server is ServerKind.VLLM


def _held(wanted: Wanted, view: GpuView, *, is_short: bool) -> list[Check]:
    name, holders = "held by", view.holders
    sentences = _sentences(holders)
    unseen = _unseen(view)
    if not sentences and not unseen:
        return [ok(name, "no process")]
    if unseen:
        sentences.append(f"{unseen} by something that cannot be seen from here")
    evidence = "; ".join(sentences[:MOST_NAMED])
    orphans = [holder for holder in holders if holder.is_orphan]
    if orphans:
        judge = problem if is_short else warning
        return [
            judge(
                name,
                evidence,
                "What an earlier server left behind holds memory, and nothing will end it by itself. End it:",
                _command(orphans),
            )
        ]
    if not is_short:
        return [ok(name, evidence)]
    return [problem(name, evidence, _advice(wanted, holders))]


def _sentences(holders: Sequence[Holder]) -> list[str]:
    """A sentence for the processes of each name, such as the eight workers of a server."""
    alike: dict[tuple[str, bool], list[Holder]] = {}
    for holder in holders:
        alike.setdefault((holder.name, holder.is_orphan), []).append(holder)
    return [_sentence(name, group, left=left) for (name, left), group in alike.items()]


def _sentence(name: str, holders: Sequence[Holder], *, left: bool) -> str:
    pids = listed([str(holder.pid) for holder in holders])
    processes = f"process{'es' if len(holders) > 1 else ''} {pids}"
    who = f"{name} ({processes})" if name else f"{processes} of the machine"
    gpus = sorted({index for holder in holders for index in holder.gpus})
    size = gib(sum(holder.vram for holder in holders))
    ending = ", left by a server that is gone" if left else ""
    return f"{who}: {size} of GPU {listed([str(index) for index in gpus])}{ending}"


def _unseen(view: GpuView) -> str:
    """Memory in use that no process answers for."""
    held: dict[int, int] = {}
    for holder in view.holders:
        for index, size in holder.held:
            held[index] = held.get(index, 0) + size
    unseen = [gpu for gpu in view.chosen if (gpu.vram_used or 0) - held.get(gpu.index, 0) > UNSEEN_BYTES]
    if not unseen:
        return ""
    size = sum((gpu.vram_used or 0) - held.get(gpu.index, 0) for gpu in unseen)
    return f"{gib(size)} of GPU {listed([str(gpu.index) for gpu in unseen])}"


def _advice(wanted: Wanted, holders: Sequence[Holder]) -> str:
    if holders and not sees_every_process(wanted.machine.proc):
        return "These are the machine's numbers: look there, outside this container, and end them if nobody needs them."
    if any(holder.is_vllm for holder in holders):
        return (
            "A server that runs has it. specchat servers shows whether it is one of specchat's, and specchat stop ends "
            "that; any other is for its owner to end."
        )
    return "Wait until those programs end, or end them if nobody needs them."


def _command(orphans: Sequence[Holder]) -> str:
    pids = dict.fromkeys(pid for holder in orphans for pid in holder.to_end)
    return f"{'' if all(holder.is_ours for holder in orphans) else 'sudo '}kill {' '.join(map(str, pids))}"
