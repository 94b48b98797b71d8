"""What the container of a server is made of on this machine.

Owns the choice of the tool, the numbers of groups, the folders that are mounted, and which variables of the user's go
in by name. Starts nothing.
"""

import grp
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

from specchat_launcher.errors import ProfileError
from specchat_launcher.paths import ensure
from specchat_launcher.profiles import ContainerNeed, Profile
from specchat_launcher.secret_names import is_secret
from specchat_launcher.spec import KEY_VARIABLE, ContainerRun

HANDED_THROUGH = (
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "HF_ENDPOINT",
    "HF_HUB_OFFLINE",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    KEY_VARIABLE,
)
"""Variables of the user's that a server in a container needs as well, where they are set."""
TAG = re.compile(r":(v?\d+\.\d+(?:\.\d+)?)[^:/]*$")
HUGGINGFACE_CACHE = "~/.cache/huggingface"


def image_version(image: str) -> str:
    """The version that an image's tag begins with; empty where it says none, as "latest"."""
    found = TAG.search(image)
    return found[1].removeprefix("v") if found else ""


def system_group(name: str) -> int | None:
    """The number of a group of this machine; None where there is none of that name."""
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        return None


def container_run(
    profile: Profile,
    port: int,
    environ: Mapping[str, str],
    home: Path,
    group: Callable[[str], int | None],
    *,
    prepare: bool,
) -> tuple[ContainerRun, tuple[str, ...]]:
    """The container of a profile's server, and a sentence for each thing that is missing.

    Args:
        profile: The profile, with a container.
        port: The port that is published; it makes the container's name unique.
        environ: The user's environment.
        home: The user's home directory.
        group: Looks the number of a group up.
        prepare: Make the folders that are mounted, and refuse to go on without a tool.

    Raises:
        ProfileError: There is no tool to run a container with.
    """
    need = profile.container
    if need is None:
        raise ProfileError(f"{profile.name} runs in a container and does not say which.", "Add [container].")
    tool, notices = _tool(profile.name, need, environ, prepare=prepare)
    podman = tool.name == "podman"
    groups, missing = _groups(need, group, podman=podman)
    mounts = [(_host_folder(host, environ, home), inside) for host, inside in need.mounts]
    if prepare:
        for folder, _ in mounts:
            # Docker would make it itself, and it would belong to root.
            ensure(folder)
    models = [value for value in _local(profile, home) if ":" not in value]
    options = (
        *(part for device in need.devices for part in ("--device", device)),
        *(part for number in groups for part in ("--group-add", number)),
        # Where SELinux is on, it would keep the container from the mounted folders and the GPUs.
        *(("--security-opt=label=disable",) if podman else ()),
        *need.options,
        *(part for folder, inside in mounts for part in ("-v", f"{folder}:{inside}")),
        *(part for folder in models for part in ("-v", f"{folder}:{folder}:ro")),
    )
    run = ContainerRun(
        tool=tool,
        image=_qualified(need.image) if podman else need.image,
        name=f"specchat-{profile.name}-{port}",
        options=options,
        passed=tuple(dict.fromkeys([*_present(environ), *_secrets(profile)])),
    )
    return run, (*notices, *missing)


def _tool(name: str, need: ContainerNeed, environ: Mapping[str, str], *, prepare: bool) -> tuple[Path, tuple[str, ...]]:
    for tool in need.tools:
        if (found := shutil.which(tool, path=environ.get("PATH", ""))) is not None:
            return Path(found), ()
    words = " nor ".join(need.tools)
    sentence = f"Neither {words} is on the PATH" if len(need.tools) > 1 else f"{words} is not on the PATH"
    if prepare:
        raise ProfileError(
            f"{name} runs in a container. {sentence}.", 'Install one of them, or set "container.tools" to another.'
        )
    return Path(need.tools[0]), (f"{sentence}: this is the command for {need.tools[0]}.",)


def _groups(
    need: ContainerNeed, group: Callable[[str], int | None], *, podman: bool
) -> tuple[list[str], tuple[str, ...]]:
    if podman and need.groups:
        # Without root a number would be one of the user's own range; this keeps the groups that the user is in.
        return ["keep-groups"], ()
    numbers = {name: group(name) for name in need.groups}
    missing = tuple(
        f"The group {name} is left out: this machine has none of that name."
        for name, number in numbers.items()
        if number is None
    )
    return [str(number) for number in numbers.values() if number is not None], missing


def _host_folder(host: str, environ: Mapping[str, str], home: Path) -> Path:
    if host == HUGGINGFACE_CACHE and environ.get("HF_HOME"):
        return Path(environ["HF_HOME"]).absolute()
    return home / host[2:] if host.startswith("~/") else Path(host).absolute()


def _local(profile: Profile, home: Path) -> list[str]:
    named = [profile.model, *([profile.speculation.draft] if profile.speculation is not None else [])]
    folders = [str(home / name[2:]) if name.startswith("~/") else name for name in named]
    return [str(Path(name).absolute()) for name in folders if name.startswith(("/", "./", "../"))]


def _qualified(image: str) -> str:
    # Podman asks, or fails, where a name does not say which registry it is of.
    first = image.split("/", 1)[0]
    return image if "/" in image and ("." in first or ":" in first) else f"docker.io/{image}"


def _present(environ: Mapping[str, str]) -> list[str]:
    return [name for name in HANDED_THROUGH if environ.get(name)]


def _secrets(profile: Profile) -> list[str]:
    return [name for name, _ in profile.environment if is_secret(name)]
