"""What to copy into the shell of whoever starts a server, so that it loads the hook. Pure: texts only."""

import shlex
from pathlib import PurePath

IN_CONTAINER = "/specchat_vllm"
"""Where a container sees the hook's folder."""
_NAMES = "specchat,specchat_http"

WARNING = (
    "VLLM_PLUGINS then names every plugin that is loaded, of all kinds: where that environment has other plugins of "
    "vLLM, add their names behind a comma (docs/guide/operators.md has a line that lists them)."
)


def shell_lines(folder: PurePath) -> tuple[str, ...]:
    """Two lines for any POSIX shell; what its environment already names stays behind the hook."""
    return (
        f'export PYTHONPATH="{_in_double_quotes(str(folder))}${{PYTHONPATH:+:$PYTHONPATH}}"',
        f'export VLLM_PLUGINS="{_NAMES}${{VLLM_PLUGINS:+,$VLLM_PLUGINS}}"',
    )


def container_arguments(folder: PurePath) -> str:
    """Arguments of `docker run` or `podman run`, before the image's name."""
    volume = shlex.quote(f"{folder}:{IN_CONTAINER}:ro")
    return f"-v {volume} -e PYTHONPATH={IN_CONTAINER} -e VLLM_PLUGINS={_NAMES}"


def _in_double_quotes(text: str) -> str:
    for letter in ("\\", '"', "$", "`"):
        text = text.replace(letter, f"\\{letter}")
    return text
