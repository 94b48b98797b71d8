"""Whether the CPU engine can run here: processor, Python, memory and disk.

Owns these judgements. Installs nothing.
"""

from specchat_launcher.checks import Check, ok, problem, unknown, warning
from specchat_launcher.engine_specs import ENGINE_DISK_BYTES
from specchat_launcher.errors import LauncherError, UnknownNameError
from specchat_launcher.install import list_engines
from specchat_launcher.models import CONVERSION_DISK_BYTES, SMOLLM2
from specchat_launcher.paths import DataLayout
from specchat_launcher.platform_check import require_supported
from specchat_launcher.preflight_wanted import GIB, Wanted, gib
from specchat_launcher.sysfs import as_int, read_text

SCARCE_BYTES = 3 * GIB
LEAST_BYTES = 2 * GIB


def checks_of_cpu(wanted: Wanted) -> list[Check]:
    """What is to be said about a server on the processor."""
    return [_system(wanted), _python(wanted), _memory(wanted), *_disk(wanted)]


def _system(wanted: Wanted) -> Check:
    platform = wanted.machine.platform
    try:
        require_supported(platform)
    except LauncherError as error:
        return problem("system", error.message, error.hint)
    glibc = ".".join(map(str, platform.glibc or ()))
    avx2 = ", AVX2" if "avx2" in platform.cpu_flags else ""
    return ok("system", f"{platform.system} on {platform.architecture}{avx2}, glibc {glibc}")


def _python(wanted: Wanted) -> Check:
    try:
        python = wanted.machine.engine_python()
    except LauncherError as error:
        return problem("Python", error.message, error.hint)
    return ok("Python", f"{python}")


def _memory(wanted: Wanted) -> Check:
    name, free = "memory", _available(wanted)
    if free is None:
        return unknown(name, "how much is free cannot be told")
    if free < LEAST_BYTES:
        return problem(
            name, f"{gib(free)} free, and the server needs about {gib(SCARCE_BYTES)}", "Close other programs."
        )
    if free < SCARCE_BYTES:
        return warning(
            name, f"{gib(free)} free, and the server needs about {gib(SCARCE_BYTES)}", "Close other programs."
        )
    return ok(name, f"{gib(free)} free")


def _available(wanted: Wanted) -> int | None:
    """Bytes that programs can still get, by /proc/meminfo."""
    for line in (read_text(wanted.machine.proc / "meminfo") or "").splitlines():
        name, _, rest = line.partition(":")
        if name == "MemAvailable":
            kib = as_int(rest.replace("kB", "").strip())
            return None if kib is None else kib * 1024
    return None


def _disk(wanted: Wanted) -> list[Check]:
    name, root = "engine", wanted.root
    version = wanted.profile.engine or ""
    has_engine = _is_installed(wanted, version)
    has_model = (DataLayout(root).models / SMOLLM2.name).is_dir()
    needed = (0 if has_engine else ENGINE_DISK_BYTES) + (0 if has_model else CONVERSION_DISK_BYTES)
    if not needed:
        return [ok(name, f"vLLM {version} and its model are in {root}")]
    what = "the model is still to be fetched" if has_engine else f"vLLM {version} is still to be installed"
    free = wanted.machine.free_bytes(root)
    if free is None:
        return [unknown(name, f"{what} in {root}, where the free space cannot be told")]
    if free < needed:
        return [
            problem(
                name,
                f"{what}: that needs {gib(needed)} in {root}, and {gib(free)} are free",
                "Free some space, or set SPECCHAT_DATA_DIR to a folder on a larger disk.",
            )
        ]
    return [
        warning(
            name,
            f"{what}, in {root}; {gib(needed)} of {gib(free)} free",
            "The first start does it by itself, with network.",
        )
    ]


def _is_installed(wanted: Wanted, version: str) -> bool:
    try:
        return any(engine.version == version and engine.state == "installed" for engine in list_engines(wanted.root))
    except (UnknownNameError, OSError):
        return False
