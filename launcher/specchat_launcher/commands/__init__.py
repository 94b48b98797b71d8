"""From a server's description to the command that runs it, one module for each kind of server. Pure."""

from collections.abc import Mapping

from specchat_launcher.commands.container import INSIDE_HOST, container_argv, container_environment
from specchat_launcher.commands.sglang import sglang_arguments
from specchat_launcher.commands.shell import command_text, comment, exports
from specchat_launcher.commands.transformers import transformers_arguments
from specchat_launcher.commands.vllm import server_argv, server_environment, vllm_arguments
from specchat_launcher.spec import KEY_VARIABLE, RunsIn, ServerKind, ServerSpec

__all__ = ["server_command", "shell_text"]

ARGUMENTS = {
    ServerKind.VLLM: vllm_arguments,
    ServerKind.SGLANG: sglang_arguments,
    ServerKind.TRANSFORMERS: transformers_arguments,
}


def server_command(spec: ServerSpec, environ: Mapping[str, str]) -> tuple[tuple[str, ...], dict[str, str]]:
    """The command that runs a server, and the whole environment of its process.

    Args:
        spec: The server.
        environ: The user's environment.
    """
    if spec.container is not None:
        argv = container_argv(spec, spec.container, ARGUMENTS[spec.server](spec, INSIDE_HOST))
        return argv, container_environment(spec, environ)
    if spec.runs_in is RunsIn.CPU_ENGINE:
        return server_argv(spec), server_environment(spec, environ)
    return (*spec.program, *ARGUMENTS[spec.server](spec, spec.host)), server_environment(spec, environ)


def shell_text(spec: ServerSpec, environ: Mapping[str, str]) -> str:
    """What `--dry-run` prints: the command for a shell, what it sets, and what was left out and why.

    Args:
        spec: The server.
        environ: The user's environment; what a shell with it has already is not set again.
    """
    argv, environment = server_command(spec, environ)
    image = spec.container.image if spec.container is not None else None
    lines = [comment(_heading(spec)), *exports(environment, environ), command_text(argv, image)]
    if spec.needs_key:
        lines.append(comment(f"The API asks for the key in {KEY_VARIABLE}, which is taken from the environment."))
    lines += [comment(notice) for notice in spec.notices]
    return "\n".join(lines) + "\n"


def _heading(spec: ServerSpec) -> str:
    kind = {ServerKind.VLLM: "vLLM", ServerKind.SGLANG: "SGLang"}.get(spec.server, spec.server.value)
    version = f"{kind} {spec.engine_version}" if spec.engine_version else f"{kind}, version unknown"
    return f"{spec.profile}: {version}, on {spec.host}:{spec.port}"
