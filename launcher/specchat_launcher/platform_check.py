"""Whether this machine can run the CPU engine, and which Python would run it.

Owns the list of what is supported. Every fact comes in as an argument, so that each refusal can be tested.
"""

import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from specchat_launcher.errors import UnsupportedPlatformError

ENGINE_PYTHON = (3, 11)
MINIMUM_GLIBC = (2, 28)
ELSEWHERE = "Connect to a server that runs elsewhere instead: specchat --url URL"


@dataclass(frozen=True, slots=True)
class Machine:
    """What the CPU engine depends on.

    Attributes:
        system: As `platform.system()` says it, e.g. "Linux".
        architecture: As `platform.machine()` says it, e.g. "x86_64".
        cpu_flags: The processor's feature flags; empty where unknown.
        glibc: Version of the GNU C library, None where the C library is another one.
    """

    system: str
    architecture: str
    cpu_flags: frozenset[str]
    glibc: tuple[int, int] | None


def this_machine() -> Machine:
    """Describe the machine this runs on."""
    library, version = platform.libc_ver()
    numbers = version.split(".")
    return Machine(
        system=platform.system(),
        architecture=platform.machine(),
        cpu_flags=_cpu_flags(Path("/proc/cpuinfo")),
        glibc=(int(numbers[0]), int(numbers[1])) if library == "glibc" and len(numbers) > 1 else None,
    )


def require_supported(machine: Machine) -> None:
    """Refuse a machine that the engine's packages were not built for.

    Raises:
        UnsupportedPlatformError: With the reason.
    """
    if machine.system != "Linux":
        raise UnsupportedPlatformError(
            f"The built-in CPU engine runs on Linux only, and this is {machine.system}.", ELSEWHERE
        )
    if machine.architecture not in {"x86_64", "AMD64"}:
        raise UnsupportedPlatformError(
            f"The built-in CPU engine needs an x86_64 processor, and this is {machine.architecture}.", ELSEWHERE
        )
    if machine.cpu_flags and "avx2" not in machine.cpu_flags:
        raise UnsupportedPlatformError("The built-in CPU engine needs a processor with AVX2.", ELSEWHERE)
    if machine.glibc is None or machine.glibc < MINIMUM_GLIBC:
        raise UnsupportedPlatformError(
            "The built-in CPU engine needs the GNU C library 2.28 or newer, which this system does not have.",
            ELSEWHERE,
        )


def find_engine_python(running: tuple[int, int], implementation: str, candidates: Iterable[Path]) -> Path:
    """The interpreter to build an engine's environment with.

    Args:
        running: Major and minor version of the Python that runs specchat.
        implementation: Its implementation, e.g. "cpython".
        candidates: Interpreters to ask when the running one is not the right version.

    Raises:
        UnsupportedPlatformError: No CPython of the right version was found.
    """
    if running == ENGINE_PYTHON and implementation == "cpython":
        return Path(sys.executable)
    for candidate in candidates:
        if _is_engine_python(candidate):
            return candidate
    wanted = ".".join(map(str, ENGINE_PYTHON))
    raise UnsupportedPlatformError(
        f"The built-in CPU engine needs CPython {wanted}, and specchat runs on {'.'.join(map(str, running))}.",
        f"Install python{wanted} so that it is on the PATH, or connect to a server that runs elsewhere: "
        "specchat --url URL",
    )


def engine_python() -> Path:
    """The interpreter to build an engine's environment with on this machine.

    Raises:
        UnsupportedPlatformError: No CPython of the right version was found.
    """
    name = f"python{ENGINE_PYTHON[0]}.{ENGINE_PYTHON[1]}"
    on_path = (shutil.which(name, path=folder) for folder in os.environ.get("PATH", "").split(os.pathsep) if folder)
    return find_engine_python(
        sys.version_info[:2], sys.implementation.name, (Path(found) for found in on_path if found is not None)
    )


def _is_engine_python(candidate: Path) -> bool:
    # Asking is the only sure way: version managers put a shim of every name on the PATH, installed or not.
    question = "import sys; print(sys.implementation.name, *sys.version_info[:2])"
    try:
        answer = subprocess.run(
            [str(candidate), "-I", "-c", question], capture_output=True, text=True, timeout=20, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return answer.stdout.split() == ["cpython", *map(str, ENGINE_PYTHON)]


def _cpu_flags(cpuinfo: Path) -> frozenset[str]:
    try:
        text = cpuinfo.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return frozenset()
    for line in text.splitlines():
        name, _, value = line.partition(":")
        if name.strip() == "flags":
            return frozenset(value.split())
    return frozenset()
