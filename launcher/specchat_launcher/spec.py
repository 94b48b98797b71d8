"""What a server to be started consists of, as plain values.

Owns the types that profiles and commands share. Knows no file formats and starts nothing.
"""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

KEY_VARIABLE = "VLLM_API_KEY"
"""The environment variable that holds the key of a vLLM server's API."""


class ServerKind(StrEnum):
    """Whose server it is, which decides its command and what it can report."""

    VLLM = "vllm"
    SGLANG = "sglang"
    TRANSFORMERS = "transformers"
    DOCKER_MODEL_RUNNER = "docker-model-runner"


def key_variable(server: ServerKind) -> str:
    """The environment variable that holds the key of a server's API."""
    return KEY_VARIABLE if server is ServerKind.VLLM else "SPECCHAT_SERVER_KEY"


class RunsIn(StrEnum):
    """What a server runs in."""

    CPU_ENGINE = "cpu-engine"
    """An engine that specchat installs itself."""
    PYTHON = "python"
    """An environment of the user's, by its interpreter."""
    CONTAINER = "container"
    ELSEWHERE = "elsewhere"
    """Something else starts it: it can only be connected to."""


@dataclass(frozen=True, slots=True)
class GpuNeed:
    """The GPUs that a server needs.

    Attributes:
        count: How many.
        architecture: As ROCm names it, e.g. "gfx950"; None for any.
        memory_gib: Weights and the smallest useful KV cache, all GPUs together, in GiB; None where not known.
        visible: Indices of the GPUs it is given; empty for the first `count`.
    """

    count: int
    architecture: str | None = None
    memory_gib: float | None = None
    visible: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Expected:
    """What a healthy start shows.

    Attributes:
        moe_backend: vLLM's name of the mixture-of-experts kernels, as its log has it; None for any.
        draft_backend: Attention backend of the draft; None for any.
        acceptance_length: Lowest and highest sane mean acceptance length; None where not known.
    """

    moe_backend: str | None = None
    draft_backend: str | None = None
    acceptance_length: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Speculation:
    """How a server speculates.

    Attributes:
        method: vLLM's name of the method, e.g. "eagle3".
        draft: Folder or repository of the draft model.
        tokens: Proposals for each step.
        attention_backend: The draft's attention backend; None for the server's own choice.
    """

    method: str
    draft: Path | str
    tokens: int
    attention_backend: str | None = None


@dataclass(frozen=True, slots=True)
class Hook:
    """specchat's hook, to be loaded into a server.

    Attributes:
        folder: The folder to put on the server's path.
        loaded_unnamed: The plugins that the server loads while `VLLM_PLUGINS` is not set.
    """

    folder: Path
    loaded_unnamed: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """The container that a server runs in.

    Attributes:
        tool: The program that runs it: Docker's client or Podman.
        image: The image with its tag, as this tool wants it named.
        name: The container's name.
        options: What stands between `run` and the image, apart from the name and the environment.
        passed: Variables that are handed through by name, so that their values stand on no command line.
    """

    tool: Path
    image: str
    name: str
    options: tuple[str, ...] = ()
    passed: tuple[str, ...] = ()

    @property
    def stop_argv(self) -> tuple[str, ...]:
        """Asks the container to end, with the signal and the patience that it was started with."""
        return (str(self.tool), "stop", self.name)

    @property
    def remove_argv(self) -> tuple[str, ...]:
        """Kills what is left of it and removes it; harmless when it is gone."""
        return (str(self.tool), "rm", "-f", self.name)

    @property
    def inspect_argv(self) -> tuple[str, ...]:
        """Prints its state, e.g. "running" or "exited"; fails when there is none of that name."""
        return (str(self.tool), "inspect", "--type", "container", "--format", "{{.State.Status}}", self.name)


@dataclass(frozen=True, slots=True)
class Origin:
    """What a server was started with beside its profile, so that it can be started once more as it was.

    Attributes:
        changes: Lines such as "port=8001", as the user gave them.
        hook: Whether the hook was wanted, where the profile has it.
        tokens: Proposals for each step that a launch anew was given in place of the profile's, 0 for none; None for a
            server that is as its profile and the changes say.
        python: The interpreter that was found for it; "" where the launcher found none or needs to find none.
    """

    changes: tuple[str, ...] = ()
    hook: bool = True
    tokens: int | None = None
    python: str = ""


@dataclass(frozen=True, slots=True)
class ServerSpec:
    """One server, ready to be turned into a command.

    Attributes:
        engine_version: The server's version, which decides what it understands; empty where not known.
        python: The interpreter it runs on; None in a container, and where a dry run found none.
        cache: The folder that vLLM may cache in; None for the user's own caches.
        model: Folder or repository of the target model.
        served_name: The model's name in the API.
        host: Address to listen on.
        port: Port to listen on.
        speculation: How it speculates; None for plain decoding.
        flags: Further arguments, as they are; what this version does not take is left out already.
        environment: Further variables, name and value.
        preload: A library to load into the server's processes; None for none.
        hook: The hook to load into it; None for none.
        notices: What was wanted and is not part of it, and why, a line each.
        profile: Name of the profile it comes from.
        server: Whose server it is.
        runs_in: What it runs in.
        container: Its container; None where it runs in none.
        gpus: The GPUs it needs; None for none.
        expected: What a healthy start shows; None where nothing is known.
        timeouts: Name of a phase of its start, and the seconds it may take.
        needs_key: Whether its API asks for the key that `KEY_VARIABLE` of the environment holds.
        program: How its command begins, up to the model; empty for the CPU engine, which has a way of its own.
        origin: What it was started with beside its profile; None where that is not known.
    """

    engine_version: str
    python: Path | None
    cache: Path | None
    model: Path | str
    served_name: str
    host: str
    port: int
    speculation: Speculation | None
    flags: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    preload: Path | None
    hook: Hook | None = None
    notices: tuple[str, ...] = ()
    profile: str = ""
    server: ServerKind = ServerKind.VLLM
    runs_in: RunsIn = RunsIn.CPU_ENGINE
    container: ContainerRun | None = None
    gpus: GpuNeed | None = None
    expected: Expected | None = None
    timeouts: tuple[tuple[str, float], ...] = ()
    needs_key: bool = False
    program: tuple[str, ...] = ()
    origin: Origin | None = None
