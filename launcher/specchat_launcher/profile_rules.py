"""What the keys of a profile must be to each other, once it has all that it inherits.

Owns these rules and their words. A rule that needs this machine is not here.
"""

from collections.abc import Mapping
from typing import Any

from specchat_launcher.engine_specs import ENGINE_VERSIONS
from specchat_launcher.errors import ProfileError
from specchat_launcher.models import SMOLLM2
from specchat_launcher.spec import RunsIn

REQUIRED = {"speculation": ("method", "draft", "tokens"), "gpus": ("count",), "container": ("image",)}


def check_profile(name: str, content: Mapping[str, Any], where: str) -> None:
    """Refuse a profile whose server could not start.

    Args:
        name: The profile.
        content: All that it has and inherits; its keys and types have been checked.
        where: What its file is called in messages.

    Raises:
        ProfileError: For the first thing that is wrong.
    """
    if "members" in content:
        return
    if "model" not in content:
        raise ProfileError(f"{where} names no model.", 'Add the key "model", e.g. a repository or a folder.')
    for table, keys in REQUIRED.items():
        for key in keys:
            if table in content and key not in content[table]:
                raise ProfileError(f'{where} has [{table}] without "{key}".', f'Add the key "{table}.{key}".')
    _check_place(name, content, where)
    _check_mounts(content, where)
    _check_gpus(content, where)


def _check_place(name: str, content: Mapping[str, Any], where: str) -> None:
    place = RunsIn(content.get("runs_in", RunsIn.PYTHON))
    engine = content.get("engine")
    if place is RunsIn.CPU_ENGINE:
        if engine not in ENGINE_VERSIONS:
            raise ProfileError(
                f'{where} has "{engine}" for "engine", and there is no such engine.'
                if engine
                else f'{where} runs in the CPU engine and has no "engine".',
                f"Choose one of: {', '.join(ENGINE_VERSIONS)}.",
            )
        if content["model"] != SMOLLM2.name:
            raise ProfileError(
                f'{where} has "{content["model"]}" for "model", which the CPU engine does not have.',
                f'Choose {SMOLLM2.name}, or set "runs_in" to "python" or "container".',
            )
    elif engine is not None:
        raise ProfileError(
            f'{where} has "{engine}" for "engine", and {name} does not run in the CPU engine.',
            'Name the interpreter of another version with "python", or another image with "container.image".',
        )
    if place is RunsIn.CONTAINER and "container" not in content:
        raise ProfileError(f"{where} runs in a container and does not say which.", "Add [container] with an image.")
    if place is RunsIn.ELSEWHERE and not (content.get("url") and content.get("cannot")):
        raise ProfileError(
            f'{where} runs elsewhere and lacks "url" or "cannot".', "Say where it answers, and why it is not started."
        )


def _check_mounts(content: Mapping[str, Any], where: str) -> None:
    for mount in content.get("container", {}).get("mounts", ()):
        host, _, inside = mount.partition(":")
        if not host or not inside.startswith("/") or ":" in inside:
            raise ProfileError(
                f'{where} has "{mount}" in "container.mounts", which is no pair of folders.',
                'Write it as "~/.cache/huggingface:/root/.cache/huggingface".',
            )


def _check_gpus(content: Mapping[str, Any], where: str) -> None:
    gpus = content.get("gpus")
    if gpus is None:
        return
    count, visible = gpus["count"], gpus.get("visible", [])
    if visible and (len(set(visible)) != count or len(visible) != count or min(visible) < 0):
        raise ProfileError(
            f'{where} needs {count} GPUs and lists {len(visible)} in "gpus.visible".', "List each of them once."
        )
    arguments = content.get("arguments", {})
    for name in ("tensor-parallel-size", "tp-size"):
        parallel = arguments.get(name)
        if parallel is not None:
            _check_parallel(name, parallel, count, content.get("attention_heads"), where)


def _check_parallel(name: str, parallel: object, count: int, heads: int | None, where: str) -> None:
    if not isinstance(parallel, int) or isinstance(parallel, bool) or parallel < 1:
        raise ProfileError(f'{where} has {parallel!r} for "arguments.{name}".', "It must be a whole number from 1.")
    choices = [str(size) for size in range(1, count + 1) if count % size == 0 and (heads is None or heads % size == 0)]
    if str(parallel) in choices:
        return
    if count % parallel:
        wrong = f"the {count} GPUs of this profile cannot be divided by {parallel}"
    else:
        wrong = f"the model's {heads} attention heads cannot be divided by {parallel}"
    raise ProfileError(
        f'{where} has {parallel} for "arguments.{name}", but {wrong}.',
        f'Choose {" or ".join(choices)}, or change "gpus.count".',
    )
