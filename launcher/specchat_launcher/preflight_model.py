"""Whether the model is here or can come: the cache of Hugging Face, the disk, and the token.

Owns where that cache is, and how much of a model is in it. Downloads nothing, and never shows a token.
"""

import json
from pathlib import Path

from specchat_launcher.checks import Check, ok, problem, unknown, warning
from specchat_launcher.preflight_wanted import GIB, Wanted, gib, listed, settings
from specchat_launcher.spec import RunsIn, ServerKind
from specchat_launcher.sysfs import folders, read_text

LARGEST_CONFIG = 1_000_000
MOST_FILES = 20_000
UNFINISHED = ".incomplete"
CACHE_LEAST = 1 * GIB
CACHE_GOOD = 5 * GIB
"""Compiled kernels and graphs are kept between starts. How large they get was not measured on an MI355X."""
MAKE_ROOM = "Free some space, or set HF_HOME to a folder on a larger disk."


def checks_of_model(wanted: Wanted) -> list[Check]:
    """What is to be said about the weights, the caches and the token."""
    names = repositories(wanted)
    cached = {name: cached_bytes(hub_folder(wanted), name) for name in names}
    checks = [_local_folder(wanted)] if not names else [_weights(wanted, cached)]
    if wanted.profile.server in {ServerKind.VLLM, ServerKind.SGLANG}:
        checks.append(_caches(wanted))
    if wanted.profile.gated and names:
        checks.append(_token(wanted, is_here=_is_complete(wanted, cached)))
    return checks


def repositories(wanted: Wanted) -> tuple[str, ...]:
    """The Hugging Face repositories that the server loads; empty where the model is a folder."""
    speculation = wanted.profile.speculation
    names = [wanted.profile.model] if speculation is None else [wanted.profile.model, speculation.draft]
    return tuple(name for name in dict.fromkeys(names) if _is_repository(name))


def hub_folder(wanted: Wanted) -> Path:
    """Where the server looks for downloaded repositories, on this side of a container's wall."""
    mounts = wanted.profile.container.mounts if wanted.profile.container is not None else ()
    for host, inside in mounts:
        if inside.rstrip("/").endswith(".cache/huggingface"):
            return _mounted(wanted, host) / "hub"
    environ = wanted.machine.environ
    if hub := settings(environ, "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        return _home_expanded(wanted, hub)
    return _hf_home(wanted) / "hub"


def cached_bytes(hub: Path, repository: str) -> int:
    """Bytes of a repository that are in the cache, begun downloads included, since they are continued."""
    size = 0
    for file in list(folders(hub / _folder_name(repository) / "blobs"))[:MOST_FILES]:
        try:
            size += file.stat().st_size
        except OSError:
            continue
    return size


def model_config(wanted: Wanted) -> dict[str, object]:
    """The model's config.json, or the part of it about text; empty where it is not here."""
    for folder in _config_folders(wanted):
        try:
            with (folder / "config.json").open("rb") as file:
                value = json.loads(file.read(LARGEST_CONFIG))
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            text = value.get("text_config")
            return text if isinstance(text, dict) else value
    return {}


def _config_folders(wanted: Wanted) -> list[Path]:
    model = wanted.profile.model
    if not _is_repository(model):
        return [_home_expanded(wanted, model)]
    repository = hub_folder(wanted) / _folder_name(model)
    current = read_text(repository / "refs/main")
    found = list(folders(repository / "snapshots"))
    return sorted(found, key=lambda folder: folder.name != current)


def _is_repository(name: str) -> bool:
    owner, slash, rest = name.partition("/")
    return bool(slash and owner and rest) and "/" not in rest and not name.startswith((".", "~"))


def _folder_name(repository: str) -> str:
    return f"models--{repository.replace('/', '--')}"


def _hf_home(wanted: Wanted) -> Path:
    environ = wanted.machine.environ
    if said := environ.get("HF_HOME"):
        return _home_expanded(wanted, said)
    if said := environ.get("XDG_CACHE_HOME"):
        return _home_expanded(wanted, said) / "huggingface"
    return wanted.machine.home / ".cache/huggingface"


def _mounted(wanted: Wanted, host: str) -> Path:
    """The folder of this machine that a container is given: the user's own cache, wherever that is."""
    return _hf_home(wanted) if host == "~/.cache/huggingface" else _home_expanded(wanted, host)


def _home_expanded(wanted: Wanted, path: str) -> Path:
    home = str(wanted.machine.home)
    if path == "~" or path.startswith("~/"):
        return Path(home + path[1:])
    return Path(path.replace("${HOME}", home).replace("$HOME", home))


def _local_folder(wanted: Wanted) -> Check:
    folder = _home_expanded(wanted, wanted.profile.model)
    if (folder / "config.json").is_file():
        return ok("weights", f"in {folder}")
    return problem(
        "weights",
        f"{folder} has no config.json, so there is no model in it",
        "Name the folder of a model, or a repository as owner/name, with --set model=….",
    )


def _weights(wanted: Wanted, cached: dict[str, int]) -> Check:
    name, hub, here = "weights", hub_folder(wanted), sum(cached.values())
    free = wanted.machine.free_bytes(hub)
    if wanted.profile.disk_gib is None:
        begun = f"{gib(here)} in {hub}" if here else f"nothing in {hub} yet"
        return unknown(name, f"{begun}; how large the whole is, the profile does not say")
    whole = wanted.profile.disk_gib * GIB
    missing = max(0.0, whole - here)
    if _is_complete(wanted, cached):
        return ok(name, f"{gib(here)} in {hub}")
    if free is None:
        return unknown(name, f"{gib(missing)} are to come, and how much is free in {hub} cannot be told")
    begun = f"{gib(here)} of about {gib(whole)} here" if here else f"about {gib(whole)} to download"
    if free < missing:
        return problem(name, f"{begun}, and {gib(free)} are free for {hub}", MAKE_ROOM)
    return warning(
        name,
        f"{begun}, {gib(free)} free for {hub}",
        "The first start downloads the rest. It can be done before:",
        "; ".join(f"hf download {repository}" for repository in cached),
    )


def _is_complete(wanted: Wanted, cached: dict[str, int]) -> bool:
    """Whether all that the server loads is here. Sizes are rounded in profiles, so a twentieth may lack."""
    hub = hub_folder(wanted)
    if not all(cached.values()) or any(_is_unfinished(hub, name) for name in cached):
        return False
    return wanted.profile.disk_gib is None or sum(cached.values()) >= 0.95 * wanted.profile.disk_gib * GIB


def _is_unfinished(hub: Path, repository: str) -> bool:
    return any(file.name.endswith(UNFINISHED) for file in folders(hub / _folder_name(repository) / "blobs"))


def _caches(wanted: Wanted) -> Check:
    name, machine = "caches", wanted.machine
    places = [machine.home / ".aiter", machine.home / ".triton"]
    if wanted.profile.server is ServerKind.VLLM:
        said = settings(machine.environ, "VLLM_CACHE_ROOT")
        places.insert(0, _home_expanded(wanted, said) if said else machine.home / ".cache/vllm")
    if wanted.profile.runs_in is RunsIn.CONTAINER and wanted.profile.container is not None:
        places = [_mounted(wanted, host) for host, _ in wanted.profile.container.mounts]
    sizes = [free for place in places if (free := machine.free_bytes(place)) is not None]
    where = listed([str(place) for place in places])
    if not sizes:
        return unknown(name, f"how much is free for {where or 'them'} cannot be told")
    free = min(sizes)
    advice = "Compiled kernels are kept there, so that a second start is quick: free some space."
    if free < CACHE_LEAST:
        return problem(name, f"{gib(free)} free for {where}", advice)
    if free < CACHE_GOOD:
        return warning(name, f"{gib(free)} free for {where}", advice)
    return ok(name, f"{gib(free)} free for {where}")


def _token(wanted: Wanted, *, is_here: bool) -> Check:
    name, names = "token", listed(list(repositories(wanted)))
    environ = wanted.machine.environ
    if settings(environ, "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        return ok(name, "HF_TOKEN is set")
    said = environ.get("HF_TOKEN_PATH")
    file = _home_expanded(wanted, said) if said else _hf_home(wanted) / "token"
    if read_text(file):
        return ok(name, f"one is in {file}")
    if is_here:
        return ok(name, "none, and none is needed: the model is here already")
    return problem(
        name,
        f"{names} may be downloaded only with a token of Hugging Face, and there is none",
        "Accept the licence on the page of the model, make a token there, and store it:",
        "hf auth login",
    )
