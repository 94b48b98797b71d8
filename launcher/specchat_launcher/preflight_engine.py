"""Whether the chosen engine is there, is one for these GPUs, and takes every argument of the profile.

Owns these judgements. Installs nothing.
"""

from collections.abc import Callable
from pathlib import Path

from specchat_launcher.checks import Check, ok, problem, unknown, warning
from specchat_launcher.preflight_access import torch_build
from specchat_launcher.preflight_wanted import Wanted, counted
from specchat_launcher.spec import RunsIn, ServerKind, ServerSpec

WHEEL_PYTHON = "3.12"
WHEEL_GLIBC = (2, 35)
WHEEL_INDEX = "https://wheels.vllm.ai/rocm"
INDEX_NOTE = "The address ends with a release of ROCm; not every version of vLLM is there for each."
NAMES = {
    ServerKind.VLLM: "vLLM",
    ServerKind.SGLANG: "SGLang",
    ServerKind.TRANSFORMERS: "Transformers",
    ServerKind.DOCKER_MODEL_RUNNER: "Docker Model Runner",
}
Refusal = Callable[[ServerSpec], str | None]
"""Why the engine's own parser refuses a server's arguments; empty when it takes them, None when it cannot be asked."""


def checks_of_engine(wanted: Wanted, refusal: Refusal | None) -> list[Check]:
    """What is to be said about the engine and its arguments.

    Args:
        wanted: What is to be launched.
        refusal: Asks the engine's own parser; None to believe the list of known arguments.
    """
    engine = _engine(wanted)
    checks = [engine]
    if _needs_rocm_wheel(wanted):
        checks += _for_wheels(wanted)
    if wanted.spec is not None:
        checks.append(check_of_arguments(wanted.spec, refusal))
    return checks


def _engine(wanted: Wanted) -> Check:
    name, spec = "engine", wanted.spec
    server = NAMES[wanted.profile.server]
    if spec is None:
        return unknown(name, "it was not looked for")
    if spec.container is not None:
        version = f"{server} {spec.engine_version}" if spec.engine_version else f"{server} of an unknown version"
        return ok(name, f"{version}, by the tag of {spec.container.image}")
    if spec.python is None or not spec.engine_version:
        where = f" in {spec.python}" if spec.python is not None else " in any Python on the PATH"
        return problem(name, f"{server} was not found{where}", *_how_to_install(wanted))
    evidence = f"{server} {spec.engine_version} in {spec.python}"
    minimum = wanted.profile.minimum
    if minimum and _numbers(spec.engine_version) < _numbers(minimum):
        return problem(
            name,
            f"{evidence}, and this model needs {minimum} or later",
            "Install a newer one, or name the Python of another with --set python=….",
        )
    build = torch_build(wanted)
    if build is not None and not build.hip and wanted.profile.gpus is not None:
        why = f"A Python other than {WHEEL_PYTHON} gets that build. " if build.cuda else ""
        made_for = f"CUDA {build.cuda}" if build.cuda else "processors alone"
        return problem(
            name,
            f"{evidence} is a build for {made_for}: its PyTorch knows no AMD GPU",
            f"{why}Install the one for ROCm from its own index, in an environment of its own. {INDEX_NOTE}",
            _install_line(wanted),
        )
    return ok(name, evidence)


def _how_to_install(wanted: Wanted) -> tuple[str, str]:
    profile = wanted.profile
    if profile.server is ServerKind.VLLM and profile.gpus is not None:
        advice = "Name the Python that has it with --set python=…, use a profile with a container, or install it."
        return f"{advice} {INDEX_NOTE}", _install_line(wanted)
    if profile.server is ServerKind.SGLANG:
        # What the package index has is for CUDA, and SGLang's own guide for AMD is the image.
        return "Use the profile with a container, or name the Python that has it with --set python=….", ""
    package = "vllm" if profile.server is ServerKind.VLLM else "transformers[serving]"
    return "Install it, or name the Python that has it with --set python=….", f"python3 -m pip install '{package}'"


def _install_line(wanted: Wanted) -> str:
    version = wanted.profile.version or wanted.profile.minimum or "VERSION"
    return (
        f"uv venv --python {WHEEL_PYTHON} && uv pip install vllm=={version} "
        f"--extra-index-url {WHEEL_INDEX}/{version}/rocm722"
    )


def _needs_rocm_wheel(wanted: Wanted) -> bool:
    """Whether vLLM for ROCm has still to be installed: what runs already needs neither that Python nor that library."""
    profile, spec = wanted.profile, wanted.spec
    wants_it = profile.runs_in is RunsIn.PYTHON and profile.server is ServerKind.VLLM and profile.gpus is not None
    has_it = spec is not None and spec.python is not None and bool(spec.engine_version)
    build = torch_build(wanted)
    return wants_it and (not has_it or (build is not None and not build.hip))


def _for_wheels(wanted: Wanted) -> list[Check]:
    return [_glibc(wanted), _python(wanted)]


def _glibc(wanted: Wanted) -> Check:
    name, found = "C library", wanted.machine.platform.glibc
    needed = ".".join(map(str, WHEEL_GLIBC))
    if found is None:
        return problem(
            name, "not GNU's, which vLLM's packages for ROCm need", "Use a profile with a container on this machine."
        )
    evidence = f"glibc {'.'.join(map(str, found))}"
    if found < WHEEL_GLIBC:
        return problem(
            name,
            f"{evidence}; vLLM's packages for ROCm need {needed} or later",
            "Use a profile with a container on this machine.",
        )
    return ok(name, f"{evidence}; vLLM's packages for ROCm need {needed}")


def _python(wanted: Wanted) -> Check:
    name, spec = "Python", wanted.spec
    own = _python_version(spec.python) if spec is not None and spec.python is not None else ""
    if own == WHEEL_PYTHON:
        return ok(name, f"{own} in {spec.python if spec is not None else ''}")
    if wanted.machine.program(f"python{WHEEL_PYTHON}") or wanted.machine.program("uv"):
        return ok(name, f"{WHEEL_PYTHON} can be had; vLLM's packages for ROCm are for that one alone")
    return problem(
        name,
        f"no Python {WHEEL_PYTHON}{f', only {own}' if own else ''}; vLLM's packages for ROCm are for that one alone",
        f"Install Python {WHEEL_PYTHON}, or use a profile with a container.",
    )


def _python_version(python: Path) -> str:
    """The version of a virtual environment's Python, by the name of its folder of packages; empty unknown."""
    for name in ("lib", "lib64"):
        for folder in sorted((python.parent.parent / name).glob("python3.*")):
            return folder.name.removeprefix("python")
    return ""


def check_of_arguments(spec: ServerSpec, refusal: Refusal | None) -> Check:
    """What is to be said about the arguments of a server.

    Args:
        spec: The server.
        refusal: Asks the engine's own parser; None to believe the list of known arguments.
    """
    name, version = "arguments", f"{NAMES[spec.server]} {spec.engine_version}".strip()
    count = sum(flag.startswith("--") for flag in spec.flags)
    number = counted(count, "argument") if count else "no argument of the profile's own"
    if spec.python is None and spec.container is None:
        return unknown(name, f"{number}, fit for {version}; the engine that is to take them was not found")
    refused = refusal(spec) if refusal is not None else ""
    if refused:
        return problem(
            name,
            f"{version} refuses them: {refused}",
            "Change the one that it names with --set arguments.NAME=VALUE, or leave it out with =false.",
        )
    asked = f"{version} was asked and takes them" if refusal is not None else f"none that {version} is known to lack"
    if refused is None:
        asked = f"{version} could not be asked, and is not known to lack any"
    # The other notices are about things that have a line of their own.
    left_out = [notice for notice in spec.notices if notice.startswith("--")]
    if left_out:
        return warning(name, f"{number}, {asked}. {' '.join(left_out)}", "The server starts without what is left out.")
    return ok(name, f"{number}, {asked}")


def _numbers(version: str) -> tuple[int, ...]:
    numbers = []
    for part in version.split(".")[:3]:
        digits = "".join(letter for letter in part if letter.isascii() and letter.isdecimal())
        numbers.append(int(digits) if digits and part[:1].isdecimal() else 0)
    return tuple(numbers)
