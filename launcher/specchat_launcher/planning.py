"""From a profile to a server that is ready to be started on this machine.

Owns what is looked up here: interpreters, versions, folders, numbers of groups. Starts no server. With `prepare` it
installs what the CPU engine needs; without, it changes nothing.
"""

import ipaddress
import os
import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from specchat_launcher.arguments import Argument, rendered
from specchat_launcher.commands.vllm import speculative_config
from specchat_launcher.engine_specs import engine_spec
from specchat_launcher.errors import HookError, InstallError, LauncherError, ProfileError
from specchat_launcher.hook import find_hook, hook_folder, plugins_loaded_unnamed
from specchat_launcher.install import Engine, install_engine, why_broken
from specchat_launcher.models import SMOLLM2, ModelFiles, draft_model_directory, prepare_models
from specchat_launcher.paths import DataLayout
from specchat_launcher.plan_container import container_run, image_version, system_group
from specchat_launcher.ports import free_port
from specchat_launcher.profiles import Profile
from specchat_launcher.progress import Report
from specchat_launcher.server_python import ServerPython, find_server_python, package_folders
from specchat_launcher.spec import KEY_VARIABLE, Hook, Origin, RunsIn, ServerKind, ServerSpec, Speculation
from specchat_launcher.vllm_options import supported, version_of

VLLM_PLUGINS = ("lora_filesystem_resolver",)
"""What vLLM loads of its own while no plugin is named."""
COMMANDS: dict[ServerKind, tuple[str, ...]] = {
    ServerKind.VLLM: ("vllm", "serve"),
    ServerKind.SGLANG: ("python3", "-m", "sglang.launch_server", "--model-path"),
    ServerKind.TRANSFORMERS: ("transformers", "serve"),
}
"""How each server's command begins where it is found by its name."""
MODULES: dict[ServerKind, tuple[str, ...]] = {
    # Not `vllm serve`, which asks the metadata of a distribution named "vllm": other builds have other names.
    ServerKind.VLLM: ("-m", "vllm.entrypoints.openai.api_server", "--model"),
    ServerKind.SGLANG: ("-m", "sglang.launch_server", "--model-path"),
    ServerKind.TRANSFORMERS: ("-m", "transformers.cli.transformers", "serve"),
}
"""The same for an interpreter, where the package brought no command."""
NAMES = {ServerKind.VLLM: "vLLM", ServerKind.SGLANG: "SGLang", ServerKind.TRANSFORMERS: "transformers"}
WITHOUT_HOOK = "The server runs without the hook, so rejected tokens stay unseen."


def plan(
    profile: Profile,
    root: Path,
    *,
    report: Report,
    port: int | None = None,
    host: str | None = None,
    hook: bool = True,
    environ: Mapping[str, str] = os.environ,
    prepare: bool = True,
    home: Path | None = None,
    group: Callable[[str], int | None] = system_group,
) -> ServerSpec:
    """Everything that a profile's server consists of on this machine.

    Args:
        profile: The profile, of one server.
        root: The data directory.
        report: Receives the progress of what is installed; an exception from it cancels and cleans up.
        port: Port to listen on; None for the profile's own, or a free one.
        host: Address to listen on; None for the profile's own.
        hook: Load specchat's hook, where the profile has it.
        environ: The user's environment.
        prepare: Install and fetch what is missing, and refuse what cannot be started. Without, what is missing is
            assumed, and a notice says so.
        home: The user's home directory; None asks the system.
        group: Looks the number of a group up.

    Raises:
        ProfileError: The profile starts no server, or several, or must not listen on that address.
        LauncherError: Something that it needs is missing, with what to do next.
    """
    _require_one_server(profile)
    address = host if host is not None else profile.host
    needs_key = _needs_key(profile, address, environ)
    home = home if home is not None else Path.home()
    _require_folders(profile, home)
    chosen = port if port is not None else profile.port
    if chosen is None:
        chosen = free_port(random.Random())  # noqa: S311 - any free port will do
    if profile.runs_in is RunsIn.CPU_ENGINE:
        spec = _in_cpu_engine(profile, root, report, chosen, hook=hook, prepare=prepare)
    elif profile.runs_in is RunsIn.CONTAINER:
        spec = _in_container(profile, chosen, address, environ, home, group=group, hook=hook, prepare=prepare)
    else:
        spec = _in_python(profile, chosen, environ, home, hook=hook, prepare=prepare)
    return replace(
        spec,
        host=address,
        needs_key=needs_key,
        profile=profile.name,
        server=profile.server,
        runs_in=profile.runs_in,
        gpus=profile.gpus,
        expected=profile.expected,
        timeouts=profile.timeouts,
        origin=_origin(profile, spec, hook=hook),
        notices=(*spec.notices, *_age(profile, spec.engine_version)),
    )


def cpu_engine_spec(
    profile: Profile, engine: Engine, models: ModelFiles, port: int, *, hook: bool = True, whole: bool = True
) -> ServerSpec:
    """The spec of a profile of the CPU engine, from an engine and models that are in place.

    Args:
        profile: The profile.
        engine: The engine.
        models: Its models.
        port: Port to listen on.
        hook: Load specchat's hook, where the profile has it.
        whole: Refuse an engine that is not whole any more.

    Raises:
        InstallError: The engine is not whole.
    """
    if whole and (broken := why_broken(engine_spec(engine.version), DataLayout(engine.directory.parent.parent))):
        raise InstallError(f"Engine {engine.version} was changed meanwhile: {broken}.", "Start again.")
    # Measured with speculation: 1.4 times the tokens per second of the OpenMP library that torch brings.
    openmp = engine.directory / "env" / "lib" / "libiomp5.so"
    found, notices = _hook(hook and profile.hook, lambda: find_hook(engine.python, dict(profile.environment)))
    return ServerSpec(
        engine_version=engine.version,
        python=engine.python,
        cache=engine.cache,
        model=models.target,
        served_name=profile.served_name,
        host=profile.host,
        port=port,
        speculation=_speculation(profile, str(models.draft)),
        flags=profile.flags,
        environment=profile.environment,
        preload=openmp if openmp.is_file() else None,
        hook=found,
        notices=notices,
    )


def is_loopback(host: str) -> bool:
    """Whether an address is reached from this machine alone."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


def _origin(profile: Profile, spec: ServerSpec, *, hook: bool) -> Origin:
    # What the PATH holds may be another one next time.
    found = str(spec.python) if profile.runs_in is RunsIn.PYTHON and spec.python is not None else ""
    return Origin(profile.changes, hook, profile.tokens_anew, found)


def _require_one_server(profile: Profile) -> None:
    if profile.members:
        raise ProfileError(
            f"{profile.name} starts several servers.", f"Start them one by one: {', '.join(profile.members)}."
        )
    if profile.runs_in is RunsIn.ELSEWHERE:
        raise ProfileError(
            f"{profile.name} cannot be started by specchat. {profile.cannot}",
            f"Connect to one that runs: specchat --url {profile.url}",
        )


def _in_cpu_engine(profile: Profile, root: Path, report: Report, port: int, *, hook: bool, prepare: bool) -> ServerSpec:
    version = engine_spec(profile.engine or "").version
    layout = DataLayout(root)
    if prepare:
        engine = install_engine(version, root, report)
        return cpu_engine_spec(profile, engine, prepare_models(root, engine, report), port, hook=hook)
    directory = layout.engine(version)
    engine = Engine(version, directory, directory / "env" / "bin" / "python")
    models = ModelFiles(layout.models / SMOLLM2.name, draft_model_directory(Path(__file__).parent))
    spec = cpu_engine_spec(profile, engine, models, port, hook=hook, whole=False)
    if engine.python.exists():
        return spec
    notice = (
        f"Engine {version} is not installed yet: `specchat engine install {version}`, or the start itself, does it."
    )
    return replace(spec, notices=(*spec.notices, notice))


def _in_python(
    profile: Profile, port: int, environ: Mapping[str, str], home: Path, *, hook: bool, prepare: bool
) -> ServerSpec:
    found = find_server_python(profile.server, profile.python, environ, home)
    if found is None and prepare:
        raise _no_python(profile)
    version = found.version if found is not None else profile.version or ""
    behind = [Path(entry) for entry in environ.get("PYTHONPATH", "").split(os.pathsep) if entry]
    folders = [*behind, *package_folders(found.python, home)] if found is not None else []
    delivered, hook_notices = _hook(
        hook and profile.hook and profile.server is ServerKind.VLLM,
        lambda: Hook(hook_folder(), plugins_loaded_unnamed(folders) if folders else VLLM_PLUGINS),
    )
    arguments, notices = _arguments(profile, version)
    missing = () if found is not None else (_not_found(profile),)
    return ServerSpec(
        engine_version=version,
        python=found.python if found is not None else None,
        cache=None,
        model=_expanded(profile.model, home),
        served_name=profile.served_name,
        host=profile.host,
        port=port,
        speculation=_speculation(profile, _draft(profile, home)),
        flags=rendered(arguments),
        environment=_environment(profile),
        preload=None,
        hook=delivered,
        notices=(*missing, *notices, *hook_notices),
        program=_program(profile.server, found),
    )


def _in_container(
    profile: Profile,
    port: int,
    host: str,
    environ: Mapping[str, str],
    home: Path,
    *,
    group: Callable[[str], int | None],
    hook: bool,
    prepare: bool,
) -> ServerSpec:
    if profile.container is None:
        raise ProfileError(f"{profile.name} runs in a container and does not say which.", "Add [container].")
    version = image_version(profile.container.image)
    delivered, hook_notices = _hook(
        hook and profile.hook and profile.server is ServerKind.VLLM, lambda: Hook(hook_folder(), VLLM_PLUGINS)
    )
    arguments, notices = _arguments(profile, version)
    run, run_notices = container_run(profile, port, environ, home, group, prepare=prepare)
    unknown = () if version else (f"The tag of {profile.container.image} says no version: every argument is kept.",)
    return ServerSpec(
        engine_version=version,
        python=None,
        cache=None,
        model=_expanded(profile.model, home),
        served_name=profile.served_name,
        host=host,
        port=port,
        speculation=_speculation(profile, _draft(profile, home)),
        flags=rendered(arguments),
        environment=_environment(profile),
        preload=None,
        hook=delivered,
        notices=(*unknown, *run_notices, *notices, *hook_notices),
        container=run,
        program=COMMANDS[profile.server],
    )


def _arguments(profile: Profile, version: str) -> tuple[tuple[tuple[str, Argument], ...], tuple[str, ...]]:
    """What this version takes of a profile's arguments, with the speculative configuration of vLLM at its place."""
    if profile.server is not ServerKind.VLLM:
        return profile.arguments, ()
    kept, notices = supported(profile.arguments, version, speculates=profile.speculation is not None)
    speculation = _speculation(profile, profile.speculation.draft if profile.speculation else "")
    config = speculative_config(speculation) if speculation is not None else False
    placed = [(name, config if name == "speculative-config" else value) for name, value in kept]
    if "speculative-config" not in dict(kept):
        placed.append(("speculative-config", config))
    return tuple(placed), notices


def _hook(wanted: bool, find: Callable[[], Hook]) -> tuple[Hook | None, tuple[str, ...]]:
    if not wanted:
        return None, ()
    try:
        return find(), ()
    except HookError as error:
        return None, (f"{WITHOUT_HOOK} {error}",)


def _speculation(profile: Profile, draft: str) -> Speculation | None:
    wanted = profile.speculation
    if wanted is None:
        return None
    return Speculation(wanted.method, draft, wanted.tokens, wanted.attention_backend)


def _environment(profile: Profile) -> tuple[tuple[str, str], ...]:
    if profile.gpus is None or not profile.gpus.visible or "HIP_VISIBLE_DEVICES" in dict(profile.environment):
        return profile.environment
    return (*profile.environment, ("HIP_VISIBLE_DEVICES", ",".join(map(str, profile.gpus.visible))))


def _program(server: ServerKind, found: ServerPython | None) -> tuple[str, ...]:
    if found is None:
        return COMMANDS[server]
    if found.script is not None and COMMANDS[server][0] == found.script.name:
        return (str(found.script), *COMMANDS[server][1:])
    return (str(found.python), *MODULES[server])


def _needs_key(profile: Profile, host: str, environ: Mapping[str, str]) -> bool:
    """Whether the API asks for a key.

    Raises:
        ProfileError: The address can be reached from the network, and there is no key, or none that can be kept secret.
    """
    key = bool(environ.get(KEY_VARIABLE))
    if is_loopback(host):
        # vLLM asks for a key as soon as it finds one; the CPU engine is given none of the user's variables.
        return key and profile.server is ServerKind.VLLM and profile.runs_in is not RunsIn.CPU_ENGINE
    if profile.server is not ServerKind.VLLM:
        name = NAMES.get(profile.server, profile.server.value)
        raise ProfileError(
            f"{host} can be reached from the network, and {name} takes no API key that others on this machine could "
            "not read.",
            f"Stay on 127.0.0.1 and reach it through ssh -L {profile.port or 8000}:127.0.0.1:{profile.port or 8000}.",
        )
    if not key:
        raise ProfileError(
            f"{host} can be reached from the network, and there is no API key to guard the server.",
            f"Set one in the environment, export {KEY_VARIABLE}=…, or stay on 127.0.0.1.",
        )
    return True


def _require_folders(profile: Profile, home: Path) -> None:
    named = [("model", profile.model)]
    if profile.speculation is not None:
        named.append(("speculation.draft", profile.speculation.draft))
    for key, value in named:
        if value.startswith(("/", "~", "./", "../")) and not Path(_expanded(value, home)).is_dir():
            raise ProfileError(
                f'{profile.name} has "{value}" for "{key}", and there is no such folder.',
                "Name a folder that holds a model, or its repository.",
            )


def _draft(profile: Profile, home: Path) -> str:
    return _expanded(profile.speculation.draft, home) if profile.speculation is not None else ""


def _expanded(value: str, home: Path) -> str:
    if value.startswith("~/"):
        return str(home / value[2:])
    return str(Path(value).absolute()) if value.startswith(("./", "../")) else value


def _no_python(profile: Profile) -> LauncherError:
    name = NAMES[profile.server]
    if profile.python is not None:
        return ProfileError(
            f'{profile.name} has "{profile.python}" for "python", and {name} is not installed there.',
            f"Name the interpreter of an environment that has {name}: --set python=/path/to/bin/python.",
        )
    return ProfileError(
        f"{profile.name} needs a Python with {name}, and none was found on the PATH.",
        f"Name its interpreter, --set python=/path/to/bin/python, or start the profile {profile.name}-container."
        if profile.server is not ServerKind.TRANSFORMERS
        else "Name its interpreter: --set python=/path/to/bin/python.",
    )


def _not_found(profile: Profile) -> str:
    name = NAMES[profile.server]
    assumed = f"; this is the command for {name} {profile.version}" if profile.version else ""
    return f"No Python with {name} was found here{assumed}. Name one with --set python=/path/to/bin/python."


def _age(profile: Profile, version: str) -> tuple[str, ...]:
    found, least = version_of(version), version_of(profile.minimum or "")
    if found is None or least is None or found >= least:
        return ()
    name = NAMES.get(profile.server, profile.server.value)
    return (f"{name} {version} is too old for this model: {profile.minimum} is the first that has it.",)
