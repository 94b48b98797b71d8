"""From a `ServerSpec` to the command line and environment of a vLLM server. Pure."""

import json
from collections.abc import Mapping

from specchat_launcher.hook import hook_environment
from specchat_launcher.server_environment import offline_environment, user_environment
from specchat_launcher.spec import KEY_VARIABLE, RunsIn, ServerSpec, Speculation

# The first version that tells, for each request, what every step accepted.
FIRST_WITH_STEP_METRICS = (0, 29)


def vllm_arguments(spec: ServerSpec, host: str) -> tuple[str, ...]:
    """What follows the command of a server that the user installed: the model, and all arguments.

    Args:
        spec: The server. Its flags hold the speculative configuration already.
        host: The address to listen on, as seen from inside a container where it runs in one.
    """
    name = () if spec.served_name == str(spec.model) else ("--served-model-name", spec.served_name)
    return (str(spec.model), *spec.flags, *name, "--host", host, "--port", str(spec.port))


def speculative_config(speculation: Speculation) -> dict[str, object]:
    """The value of `--speculative-config`, with its keys in the order that model cards use."""
    config: dict[str, object] = {
        "method": speculation.method,
        "model": str(speculation.draft),
        "num_speculative_tokens": speculation.tokens,
    }
    if speculation.attention_backend is not None:
        config["attention_backend"] = speculation.attention_backend
    return config


def server_argv(spec: ServerSpec) -> tuple[str, ...]:
    """The command that runs the server.

    For the CPU engine `python -m` and not `vllm serve`, which asks the metadata of a distribution named "vllm", and the
    CPU build has another name. `-P -s` keep the working directory and the user's own packages off its path.
    """
    if spec.runs_in is not RunsIn.CPU_ENGINE:
        return (*spec.program, *vllm_arguments(spec, spec.host))
    argv = [
        str(spec.python),
        *("-P", "-s", "-m", "vllm.entrypoints.openai.api_server"),
        *("--model", str(spec.model)),
        *("--served-model-name", spec.served_name),
        *("--host", spec.host),
        *("--port", str(spec.port)),
        *spec.flags,
        "--enable-per-request-metrics",
    ]
    if spec.speculation is not None:
        argv += ["--speculative-config", json.dumps(speculative_config(spec.speculation))]
        # A server without speculation refuses to start with this flag.
        if version_numbers(spec.engine_version) >= FIRST_WITH_STEP_METRICS:
            argv += ["--per-request-spec-decode-metrics", "detailed"]
    return tuple(argv)


def server_environment(spec: ServerSpec, environ: Mapping[str, str]) -> dict[str, str]:
    """The server's whole environment.

    Args:
        spec: The server.
        environ: The user's environment, of which the CPU engine takes little over.
    """
    if spec.cache is None:
        env = user_environment(environ)
    else:
        env = offline_environment(environ, spec.cache)
        env["VLLM_CACHE_ROOT"] = str(spec.cache / "vllm")
        env["VLLM_CONFIG_ROOT"] = str(spec.cache / "config")
        env["VLLM_NO_USAGE_STATS"] = "1"
        if spec.needs_key and KEY_VARIABLE in environ:
            env[KEY_VARIABLE] = environ[KEY_VARIABLE]
    # The loader splits this variable at blanks and colons and knows no quotes.
    if spec.preload is not None and not any(letter in str(spec.preload) for letter in " \t:"):
        env["LD_PRELOAD"] = str(spec.preload)
    env.update(spec.environment)
    # A log that is read while it is written needs every line at once.
    env.setdefault("PYTHONUNBUFFERED", "1")
    if spec.hook is not None:
        env.update(hook_environment(env, spec.hook))
    return env


def version_numbers(version: str) -> tuple[int, int]:
    """Major and minor number of a version such as "0.32.0"; (0, 0) where it has none."""
    parts = version.split(".")
    if len(parts) < 2 or not (parts[0].isdigit() and parts[1].isdigit()):
        return (0, 0)
    return int(parts[0]), int(parts[1])
