"""Delivers the hook to a vLLM server: a folder on its path, and the names of its plugins.

Owns where the hook's folder is, and how its names join `VLLM_PLUGINS` without taking anything from the server that it
would have loaded by itself. Installs nothing, and imports neither the hook nor vLLM.

vLLM loads a plugin that adds HTTP routes only where `VLLM_PLUGINS` names it, and that variable then is the list of all
plugins that are loaded, of every group. So a server that had the variable keeps its names, and one that had it not gets
the name of each plugin that it would have loaded without it.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import Distribution, distributions
from pathlib import Path

from specchat_launcher.errors import HookError
from specchat_launcher.spec import Hook

HOOK_PLUGINS = ("specchat", "specchat_http")
"""The names of the hook's entry points: the one that patches, and the one that adds the routes."""
HOOK_PACKAGE = "specchat_vllm"
LOADED_UNNAMED = frozenset(
    {
        "vllm.general_plugins",
        "vllm.platform_plugins",
        "vllm.io_processor_plugins",
        "vllm.stat_logger_plugins",
    }
)
"""The groups of which vLLM loads everything while `VLLM_PLUGINS` is not set."""
CONSENT_BY_NAME = frozenset({"lora_hf_hub_resolver"})
"""vLLM's own plugins that do nothing until they are named: naming this one allows downloads at run time."""


def hook_folder(package: Path = Path(__file__).parent) -> Path:
    """Where the hook is: inside an installed package, or beside it in a checkout.

    Args:
        package: The folder of this package.

    Returns:
        The folder to put on a server's path; it holds the hook's package and its metadata.

    Raises:
        HookError: It is in neither place, or its path cannot stand in PYTHONPATH.
    """
    for candidate in (package / "_bundled_hook", package.parent / HOOK_PACKAGE):
        if (candidate / HOOK_PACKAGE / "__init__.py").is_file() and _has_entry_points(candidate):
            if os.pathsep in str(candidate):
                raise HookError(
                    f"The folder of the hook, {candidate}, has a “{os.pathsep}” in its path, which PYTHONPATH cannot "
                    "hold.",
                    "Install specchat in another folder.",
                )
            return candidate
    raise HookError("The hook that ships with specchat is missing.", "Reinstall specchat.")


def find_hook(python: Path, environ: Mapping[str, str], package: Path = Path(__file__).parent) -> Hook:
    """The hook, for the server that an interpreter runs.

    Args:
        python: The interpreter of the engine's environment.
        environ: The server's environment without the hook.
        package: The folder of this package.

    Raises:
        HookError: There is no hook that could be delivered.
    """
    folder = hook_folder(package)
    behind = [Path(entry) for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    return Hook(folder, plugins_loaded_unnamed([*behind, *site_packages(python)]))


def site_packages(python: Path) -> tuple[Path, ...]:
    """The folders that hold the packages of a virtual environment, by its interpreter."""
    environment = python.parent.parent
    return tuple(sorted(path for lib in ("lib", "lib64") for path in environment.glob(f"{lib}/python3*/site-packages")))


def plugins_loaded_unnamed(paths: Iterable[Path]) -> tuple[str, ...]:
    """The names of the plugins that vLLM loads from these folders while `VLLM_PLUGINS` is not set, in order.

    A plugin that only adds HTTP routes is not among them, because vLLM would not load it. Two plugins of the same name,
    one of which adds routes, cannot be told apart: the variable knows only names.
    """
    names: set[str] = set()
    for distribution in distributions(path=[str(path) for path in paths]):
        names.update(_loaded_unnamed(distribution))
    return tuple(sorted(names - CONSENT_BY_NAME))


def merged_names(current: str | None, loaded_unnamed: Sequence[str]) -> str:
    """The value of `VLLM_PLUGINS` with the hook.

    Args:
        current: Its value without the hook; None where it is not set. An empty one means that no plugin is loaded.
        loaded_unnamed: What the server loads while the variable is not set.
    """
    # vLLM compares names as they stand between the commas, blanks included, so they are kept as they are.
    kept = loaded_unnamed if current is None else [name for name in current.split(",") if name]
    return ",".join(dict.fromkeys([*kept, *HOOK_PLUGINS]))


def hook_environment(environ: Mapping[str, str], hook: Hook) -> dict[str, str]:
    """The two variables that load the hook.

    Args:
        environ: The server's environment without the hook.
        hook: What to load, and what must go on being loaded.
    """
    # An empty entry would stand for the working directory.
    behind = environ.get("PYTHONPATH", "")
    path = f"{hook.folder}{os.pathsep}{behind}" if behind else str(hook.folder)
    return {"PYTHONPATH": path, "VLLM_PLUGINS": merged_names(environ.get("VLLM_PLUGINS"), hook.loaded_unnamed)}


def _has_entry_points(folder: Path) -> bool:
    return any(folder.glob(f"{HOOK_PACKAGE}-*.dist-info/entry_points.txt"))


def _loaded_unnamed(distribution: Distribution) -> list[str]:
    try:
        return [point.name for point in distribution.entry_points if point.group in LOADED_UNNAMED]
    except (OSError, ValueError, TypeError):
        # A damaged package of somebody else's: vLLM will say so itself.
        return []
