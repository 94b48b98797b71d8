"""From a `ServerSpec` to the arguments of an SGLang server. Pure."""

from specchat_launcher.spec import ServerSpec

ALGORITHMS = {"eagle3": "EAGLE3", "eagle": "EAGLE", "ngram": "NGRAM"}
"""SGLang's names of the methods that profiles have by vLLM's."""


def sglang_arguments(spec: ServerSpec, host: str) -> tuple[str, ...]:
    """What follows `sglang.launch_server --model-path`: the model, and all arguments.

    Args:
        spec: The server.
        host: The address to listen on, as seen from inside a container where it runs in one.
    """
    name = () if spec.served_name == str(spec.model) else ("--served-model-name", spec.served_name)
    return (
        str(spec.model),
        *spec.flags,
        *_speculation(spec),
        *name,
        *("--host", host),
        *("--port", str(spec.port)),
    )


def _speculation(spec: ServerSpec) -> tuple[str, ...]:
    speculation = spec.speculation
    if speculation is None:
        return ()
    backend = speculation.attention_backend
    return (
        *("--speculative-algorithm", ALGORITHMS.get(speculation.method, speculation.method.upper())),
        *("--speculative-draft-model-path", str(speculation.draft)),
        *("--speculative-num-steps", str(speculation.tokens)),
        # One branch, as vLLM proposes; SGLang counts the target's own token among the draft's.
        *("--speculative-eagle-topk", "1"),
        *("--speculative-num-draft-tokens", str(speculation.tokens + 1)),
        *(() if backend is None else ("--speculative-draft-attention-backend", backend)),
    )
