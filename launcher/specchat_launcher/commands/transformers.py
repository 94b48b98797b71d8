"""From a `ServerSpec` to the arguments of `transformers serve`. Pure."""

from specchat_launcher.spec import ServerSpec


def transformers_arguments(spec: ServerSpec, host: str) -> tuple[str, ...]:
    """What follows `transformers serve`: the model, and all arguments.

    Args:
        spec: The server; `transformers serve` has no draft.
        host: The address to listen on.
    """
    return (str(spec.model), *spec.flags, "--host", host, "--port", str(spec.port))
