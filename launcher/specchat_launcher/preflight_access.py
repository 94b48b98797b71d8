"""Whether this user may use the GPUs, and what of the system speeds them up or slows them down.

Owns these judgements and the commands that mend them. Changes nothing.
"""

from dataclasses import dataclass
from pathlib import Path

from specchat_launcher.checks import Check, ok, problem, unknown, warning
from specchat_launcher.preflight_wanted import GpuView, Wanted, listed
from specchat_launcher.server_python import package_folders
from specchat_launcher.spec import RunsIn
from specchat_launcher.sysfs import read_text

USUAL_GROUPS = ("render", "video")
OLDEST_ROCM = (7, 0)
"""The first release that knows gfx950."""
NEW_ARCHITECTURE = "gfx950"


def checks_of_access(wanted: Wanted, view: GpuView) -> list[Check]:
    """What is to be said about permissions, ROCm and the kernel's settings."""
    return [*([_permission(wanted, view)] if view.found else []), _rocm(wanted), _numa(wanted)]


def _permission(wanted: Wanted, view: GpuView) -> Check:
    name, machine = "permission", wanted.machine
    devices = [machine.dev / "kfd", *(gpu.render_node for gpu in view.chosen if gpu.render_node is not None)]
    missing = [device for device in devices if not device.exists()]
    if missing:
        return problem(
            name,
            f"{_shown(wanted, missing)} {'is' if len(missing) == 1 else 'are'} not there",
            "In a container: start it with the devices and with the number of their group."
            if machine.inside_container
            else "Load the driver; if the devices stay away, the kernel's log says why.",
            f"--device /dev/kfd --device /dev/dri{_group_options(wanted)}"
            if machine.inside_container
            else "sudo modprobe amdgpu",
        )
    if _opened_by_docker(wanted):
        return ok(name, "Docker's daemon opens the devices, not this user")
    closed = [device for device in devices if not machine.may_use(device)]
    if not closed:
        return ok(name, f"{machine.user} may use {_shown(wanted, devices)}")
    return _closed(wanted, closed)


def _opened_by_docker(wanted: Wanted) -> bool:
    run = wanted.spec.container if wanted.spec is not None else None
    return run is not None and run.tool.name != "podman"


def _closed(wanted: Wanted, closed: list[Path]) -> Check:
    name, machine = "permission", wanted.machine
    evidence = f"{machine.user} may not read and write {_shown(wanted, closed)}"
    numbers = {machine.group_of(device) for device in closed} - {None, 0}
    groups = sorted({machine.group_name(number) for number in numbers}) or list(USUAL_GROUPS)
    if machine.inside_container:
        return problem(
            name,
            evidence,
            "Start the container with the number of the group of the devices.",
            _group_options(wanted).strip(),
        )
    listed_in = all(
        machine.user in machine.system_groups[group].members for group in groups if group in machine.system_groups
    )
    if listed_in and not numbers & machine.groups and any(group in machine.system_groups for group in groups):
        return problem(
            name,
            f"{evidence}: this session is older than the membership in {listed(groups)}",
            "Log out and in again, or open a shell that has the group:",
            f"newgrp {groups[0]}",
        )
    wanted_groups = ",".join(
        dict.fromkeys([*groups, *(group for group in USUAL_GROUPS if group in machine.system_groups)])
    )
    return problem(
        name,
        evidence,
        "Add the user to the groups of the devices, then log out and in again.",
        f"sudo usermod -aG {wanted_groups} $USER",
    )


def _group_options(wanted: Wanted) -> str:
    machine = wanted.machine
    devices = [machine.dev / "kfd", *(machine.dev / "dri").glob("renderD*")]
    numbers = sorted({number for device in devices if (number := machine.group_of(device)) is not None} - {0})
    return (
        "".join(f" --group-add {number}" for number in numbers) or " --group-add $(getent group render | cut -d: -f3)"
    )


def _shown(wanted: Wanted, devices: list[Path]) -> str:
    """Devices in a few words; of several render nodes only how many."""
    dev = wanted.machine.dev
    render = [device for device in devices if device.name.startswith("renderD")]
    named = devices if len(render) == 1 else [device for device in devices if device not in render]
    names = [f"/dev/{device.relative_to(dev)}" if device.is_relative_to(dev) else str(device) for device in named]
    if len(render) > 1:
        names.append(f"the render nodes of {len(render)} GPUs")
    return " and ".join(names)


def _rocm(wanted: Wanted) -> Check:
    name, profile = "ROCm", wanted.profile
    if profile.runs_in is RunsIn.CONTAINER:
        driver = read_text(wanted.machine.sys / "module/amdgpu/version")
        image = profile.container.image if profile.container is not None else "the image"
        return ok(name, f"in {image}; driver {driver or 'of the kernel'}")
    version = rocm_version(wanted)
    build = torch_build(wanted)
    in_engine = build.hip if build is not None else ""
    needs = profile.gpus is not None and profile.gpus.architecture == NEW_ARCHITECTURE
    if version is None and not in_engine:
        return unknown(
            name,
            "no ROCm in /opt/rocm, and none that the engine brings",
            "Install it, or use a profile with a container.",
        )
    if version is None:
        return warning(
            name,
            f"{in_engine} in the engine, and none in /opt/rocm",
            "AITER compiles kernels at the first start and needs ROCm's compiler for it.",
        )
    numbers = _numbers(version)
    if needs and numbers is not None and numbers < OLDEST_ROCM:
        return problem(
            name, f"{version} in /opt/rocm, which does not know {NEW_ARCHITECTURE}", "Install ROCm 7.0 or later."
        )
    return ok(name, f"{version}{f', {in_engine} in the engine' if in_engine else ''}")


def rocm_version(wanted: Wanted) -> str | None:
    """The version of the system's ROCm; None where it has none."""
    machine = wanted.machine
    said = machine.environ.get("ROCM_PATH") or machine.environ.get("ROCM_HOME")
    for folder in ([Path(said)] if said else []) + [machine.opt / "rocm"]:
        text = read_text(folder / ".info/version")
        if text and text[:1].isdecimal():
            return "".join(letter for letter in text.split()[0] if letter.isprintable())[:40]
    return None


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """What an engine's PyTorch was built for.

    Attributes:
        hip: The version of ROCm; empty where it was not built for that.
        cuda: The version of CUDA; empty where it was not built for that.
    """

    hip: str
    cuda: str


def torch_build(wanted: Wanted) -> TorchBuild | None:
    """What the engine's PyTorch was built for; None where that cannot be told."""
    python = wanted.spec.python if wanted.spec is not None else None
    for packages in package_folders(python, wanted.machine.home) if python is not None else ():
        text = read_text(packages / "torch/version.py")
        if text and "hip" in text:
            return TorchBuild(_assigned(text, "hip"), _assigned(text, "cuda"))
    return None


def _assigned(text: str, variable: str) -> str:
    """The text that a line such as `hip: Optional[str] = '7.2.1'` gives a variable."""
    for line in text.splitlines():
        left, equals, right = line.partition("=")
        if equals and left.partition(":")[0].strip() == variable:
            value = right.strip().strip("'\"")
            return "" if value == "None" or not value.isprintable() else value[:40]
    return ""


def _numbers(version: str) -> tuple[int, int] | None:
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdecimal() and parts[1].isdecimal()):
        return None
    return int(parts[0]), int(parts[1])


def _numa(wanted: Wanted) -> Check:
    name = "NUMA"
    value = read_text(wanted.machine.proc / "sys/kernel/numa_balancing")
    if value is None:
        return ok(name, "this kernel does not balance")
    if value == "0":
        return ok(name, "balancing is off")
    return warning(
        name,
        "balancing is on",
        "The kernel moves memory between processors behind the server's back, which costs time on machines with "
        "several GPUs. Switch it off until the next restart of the machine:",
        "sudo sysctl kernel.numa_balancing=0",
    )
