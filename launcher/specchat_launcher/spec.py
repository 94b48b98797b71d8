"""What a server to be started consists of, as plain values.

Owns the types. Knows no file formats and starts nothing.
"""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Speculation:
    """How a server speculates.

    Attributes:
        method: vLLM's name of the method, e.g. "eagle3".
        draft: Folder of the draft model.
        tokens: Proposals for each step.
    """

    method: str
    draft: Path
    tokens: int


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
class ServerSpec:
    """One vLLM server, ready to be turned into a command.

    Attributes:
        engine_version: vLLM's version, which decides what it understands.
        python: The interpreter of the engine's environment.
        cache: The folder that vLLM may cache in.
        model: Folder of the target model.
        served_name: The model's name in the API.
        host: Address to listen on.
        port: Port to listen on.
        speculation: How it speculates; None for plain decoding.
        flags: Further arguments, as they are.
        environment: Further variables, name and value.
        preload: A library to load into the server's processes; None for none.
        hook: The hook to load into it; None for none.
        notices: What was wanted and is not part of it, and why, a line each.
    """

    engine_version: str
    python: Path
    cache: Path
    model: Path
    served_name: str
    host: str
    port: int
    speculation: Speculation | None
    flags: tuple[str, ...]
    environment: tuple[tuple[str, str], ...]
    preload: Path | None
    hook: Hook | None = None
    notices: tuple[str, ...] = ()
