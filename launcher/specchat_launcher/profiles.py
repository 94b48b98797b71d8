"""The known servers: what ships with specchat in `profiles/`, and the user's own.

Owns what a profile is, and the making of one from its content. Resolves nothing on this machine and starts nothing.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from specchat_launcher.arguments import Argument, rendered
from specchat_launcher.errors import ProfileError
from specchat_launcher.profile_changes import parsed_changes
from specchat_launcher.profile_files import ProfileFiles, joined_tables, user_profiles_folder
from specchat_launcher.profile_rules import check_profile
from specchat_launcher.profile_schema import PHASES
from specchat_launcher.spec import Expected, GpuNeed, RunsIn, ServerKind

__all__ = [
    "ContainerNeed",
    "Expected",
    "GpuNeed",
    "Profile",
    "ProfileSpeculation",
    "RunsIn",
    "ServerKind",
    "load_profile",
    "load_profiles",
    "parse_profile",
    "profile_names",
]


@dataclass(frozen=True, slots=True)
class ProfileSpeculation:
    """The speculation of a profile.

    Attributes:
        method: vLLM's name of the method.
        draft: Name, folder or repository of the draft model.
        tokens: Proposals for each step.
        attention_backend: The draft's attention backend; None for the server's own choice.
    """

    method: str
    draft: str
    tokens: int
    attention_backend: str | None = None


@dataclass(frozen=True, slots=True)
class ContainerNeed:
    """The container that a profile's server runs in.

    Attributes:
        image: The image with its tag.
        tools: Programs that may run it, the preferred one first.
        devices: Devices of the host that it is given.
        groups: Groups of the host whose rights it is given, by name.
        mounts: Folders of the host and where they are inside.
        options: Further arguments of `run`, as they are.
    """

    image: str
    tools: tuple[str, ...] = ("docker", "podman")
    devices: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    mounts: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """One known server, or several that are started together.

    Attributes:
        name: What the user calls it.
        title: What it is, in a few words.
        summary: What it is for, as a sentence or two.
        server: Whose server it is.
        runs_in: What it runs in.
        engine: Version of the CPU engine; None for what runs in something else.
        version: The server's version that the profile was written for; a dry run assumes it where none is found.
        minimum: The oldest version that can serve the model; None where not known.
        python: Interpreter with the server in it, a path or a name on the PATH; None looks for one.
        model: Repository, folder, or name of a model of the CPU engine.
        served_name: The model's name in the API.
        attention_heads: Of the model; None where not known.
        host: Address to listen on.
        port: Port to listen on; None for a free one.
        speculation: How it speculates; None for plain decoding.
        arguments: Name of a further argument, without dashes, and its value.
        environment: Further variables of the server, name and value.
        hook: Whether specchat's hook is loaded into it.
        gpus: The GPUs it needs; None for none.
        container: Its container; None unless it runs in one.
        expected: What a healthy start shows; None where nothing is known.
        timeouts: A phase of its start, and the seconds it may take.
        disk_gib: Size of the weights, in GiB; None where not known.
        gated: Whether the weights are given only to those who have a token.
        members: Names of the profiles that are started together; empty for one server.
        cannot: Why it cannot be started, as a sentence; empty where it can.
        url: Where it answers, if it cannot be started.
        file: The user's file that it comes from; None for one that ships with specchat.
        changes: Lines that were laid over the files, as the user gave them.
        tokens_anew: Proposals for each step that a launch anew gives it, 0 for none; None otherwise.
    """

    name: str
    title: str
    summary: str
    server: ServerKind
    runs_in: RunsIn
    engine: str | None
    version: str | None
    minimum: str | None
    python: str | None
    model: str
    served_name: str
    attention_heads: int | None
    host: str
    port: int | None
    speculation: ProfileSpeculation | None
    arguments: tuple[tuple[str, Argument], ...]
    environment: tuple[tuple[str, str], ...]
    hook: bool
    gpus: GpuNeed | None
    container: ContainerNeed | None
    expected: Expected | None
    timeouts: tuple[tuple[str, float], ...]
    disk_gib: float | None
    gated: bool
    members: tuple[str, ...]
    cannot: str
    url: str
    file: Path | None = None
    changes: tuple[str, ...] = ()
    tokens_anew: int | None = None

    @property
    def flags(self) -> tuple[str, ...]:
        """The further arguments as a command line has them."""
        return rendered(self.arguments)


def profile_names(user_folder: Path | None = None) -> tuple[str, ...]:
    """Every profile there is, in alphabetical order.

    Args:
        user_folder: The folder of the user's own profiles; None for the usual one.
    """
    return _files(user_folder).names()


def load_profile(name: str, *, user_folder: Path | None = None, changes: Sequence[str] = ()) -> Profile:
    """Look a profile up by its name.

    Args:
        name: The profile.
        user_folder: The folder of the user's own profiles; None for the usual one.
        changes: Lines such as "port=8001" or "arguments.max-model-len=12288", which win over what the files say.

    Raises:
        UnknownNameError: There is none of that name.
        ProfileError: A file or a change has something wrong in it.
    """
    content, file = _files(user_folder).joined(name)
    if changes and "members" in content:
        raise ProfileError(
            f"{name} starts several servers, and a change is for one of them.",
            f"Start them one by one: {', '.join(content['members'])}.",
        )
    content = joined_tables(content, parsed_changes(changes))
    profile = _checked(name, content, file.where if not changes else f"{file.where} with --set", file.path)
    return replace(profile, changes=tuple(changes))


def load_profiles(name: str, *, user_folder: Path | None = None, changes: Sequence[str] = ()) -> tuple[Profile, ...]:
    """The profiles whose servers a name starts: the profile itself, or the members of a pair.

    Args:
        name: The profile.
        user_folder: The folder of the user's own profiles; None for the usual one.
        changes: As for `load_profile`; those of a pair go to each member, apart from the port.

    Raises:
        UnknownNameError: There is none of that name.
        ProfileError: A file or a change has something wrong in it.
    """
    content, _ = _files(user_folder).joined(name)
    members = content.get("members")
    if members is None:
        return (load_profile(name, user_folder=user_folder, changes=changes),)
    load_profile(name, user_folder=user_folder)
    if any(key in parsed_changes(changes) for key in ("port", "served_name")):
        raise ProfileError(
            f"{name} starts several servers, and they cannot share a port or a name.",
            f"Start them one by one: {', '.join(members)}.",
        )
    return tuple(load_profile(member, user_folder=user_folder, changes=changes) for member in members)


def parse_profile(name: str, content: Mapping[str, Any], file: Path | None = None) -> Profile:
    """A profile from the joined content of its files, whose types have been checked.

    Raises:
        ProfileError: It names no model.
    """
    if "model" not in content and "members" not in content:
        raise ProfileError(f"The profile {name} names no model.", 'Add the key "model".')
    speculation, gpus, container = content.get("speculation"), content.get("gpus"), content.get("container")
    model = content.get("model", "")
    port = content.get("port")
    return Profile(
        name=name,
        title=content.get("title", name),
        summary=content.get("summary", ""),
        server=ServerKind(content.get("server", "vllm")),
        runs_in=RunsIn(content.get("runs_in", "python")),
        engine=content.get("engine"),
        version=content.get("version"),
        minimum=content.get("minimum"),
        python=content.get("python"),
        model=model,
        served_name=content.get("served_name", model),
        attention_heads=content.get("attention_heads"),
        host=content.get("host", "127.0.0.1"),
        port=port,
        speculation=ProfileSpeculation(**speculation) if speculation else None,
        arguments=tuple(content.get("arguments", {}).items()),
        environment=tuple(content.get("environment", {}).items()),
        hook=content.get("hook", True),
        gpus=GpuNeed(**gpus | {"visible": tuple(gpus.get("visible", ()))}) if gpus else None,
        container=_container(container) if container else None,
        expected=_expected(content.get("expected")),
        timeouts=tuple((PHASES.get(key, key), float(value)) for key, value in content.get("timeouts", {}).items()),
        disk_gib=content.get("disk_gib"),
        gated=content.get("gated", False),
        members=tuple(content.get("members", ())),
        cannot=content.get("cannot", ""),
        url=content.get("url", ""),
        file=file,
    )


def _files(user_folder: Path | None) -> ProfileFiles:
    return ProfileFiles(user_folder if user_folder is not None else user_profiles_folder())


def _checked(name: str, content: Mapping[str, Any], where: str, file: Path | None) -> Profile:
    check_profile(name, content, where)
    return parse_profile(name, content, file)


def _container(table: Mapping[str, Any]) -> ContainerNeed:
    lists = {key: tuple(value) for key, value in table.items() if key not in {"image", "mounts"}}
    mounts = tuple(_mount(text) for text in table.get("mounts", ()))
    return ContainerNeed(image=table["image"], mounts=mounts, **lists)


def _mount(text: str) -> tuple[str, str]:
    host, _, inside = text.partition(":")
    return host, inside


def _expected(table: Mapping[str, Any] | None) -> Expected | None:
    if not table:
        return None
    band = table.get("acceptance_length")
    return Expected(
        moe_backend=table.get("moe_backend"),
        draft_backend=table.get("draft_backend"),
        acceptance_length=(float(band[0]), float(band[1])) if band else None,
    )
