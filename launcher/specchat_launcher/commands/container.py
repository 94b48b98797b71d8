"""From a `ServerSpec` to the command that runs its server in a container. Pure.

Owns what every container of a server gets, whatever its profile says: a name, removal at its end, an init process, and
a way to end that works in every phase of a start.
"""

from collections.abc import Mapping, Sequence

from specchat_launcher.hook import hook_environment
from specchat_launcher.secret_names import is_secret
from specchat_launcher.server_environment import user_environment
from specchat_launcher.spec import ContainerRun, ServerSpec

INSIDE_HOST = "0.0.0.0"  # noqa: S104 - of the container's own network; outside only the published address is reached
STOP_SECONDS = 60


def container_argv(spec: ServerSpec, container: ContainerRun, arguments: Sequence[str]) -> tuple[str, ...]:
    """The command that runs the container in the foreground and ends with it.

    Args:
        spec: The server.
        container: Its container.
        arguments: Of the server, from the model on.
    """
    entrypoint, *begin = spec.program
    host = f"[{spec.host}]" if ":" in spec.host else spec.host
    return (
        *(str(container.tool), "run", "--rm"),
        *("--name", container.name),
        # Process 1 of a container ignores signals that it does not handle, and reaps no orphans: an init does both.
        "--init",
        # vLLM ignores SIGTERM while it loads, and SIGINT ends it in every phase.
        *("--stop-signal", "SIGINT"),
        *("--stop-timeout", str(STOP_SECONDS)),
        *("-p", f"{host}:{spec.port}:{spec.port}"),
        *container.options,
        *_hook_mount(spec),
        *(part for name, value in _open_environment(spec) for part in ("-e", f"{name}={value}")),
        # By name alone: the value of a key or token must not stand on a command line.
        *(part for name in container.passed for part in ("-e", name)),
        *("--entrypoint", entrypoint),
        container.image,
        *begin,
        *arguments,
    )


def container_environment(spec: ServerSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """The environment of the tool that runs the container, with the values of what is handed through by name.

    Args:
        spec: The server.
        environ: The user's environment.
    """
    return user_environment(environ) | {name: value for name, value in spec.environment if is_secret(name)}


def _open_environment(spec: ServerSpec) -> list[tuple[str, str]]:
    environment = {name: value for name, value in spec.environment if not is_secret(name)}
    environment.setdefault("PYTHONUNBUFFERED", "1")
    if spec.hook is not None:
        environment |= hook_environment(environment, spec.hook)
    return list(environment.items())


def _hook_mount(spec: ServerSpec) -> tuple[str, ...]:
    return () if spec.hook is None else ("-v", f"{spec.hook.folder}:{spec.hook.folder}:ro")
