"""What a request asks of the hook, read from its `vllm_xargs`. Whatever is malformed counts as not asked."""

import re
from typing import Any, NamedTuple

TRACE = "specchat_trace"
LIMIT = "specchat_k"
_KEY = re.compile(r"[0-9A-Za-z_-]{32,64}")


class Asked(NamedTuple):
    """What one request asks for."""

    key: str | None
    """Under which its trace is read; None for no trace."""
    limit: int | None
    """At most so many proposals a step; 0 for none, None for what the server does by itself."""


def is_key(text: object) -> bool:
    """May this be the key of a trace? Short ones could be guessed."""
    return isinstance(text, str) and _KEY.fullmatch(text) is not None


def asked_of(extra_args: Any) -> Asked | None:
    """What is asked for; None if nothing is.

    Args:
        extra_args: `SamplingParams.extra_args`, a dict or None.
    """
    if not isinstance(extra_args, dict) or not (TRACE in extra_args or LIMIT in extra_args):
        return None
    key, limit = extra_args.get(TRACE), extra_args.get(LIMIT)
    if isinstance(limit, float) and limit.is_integer():
        limit = int(limit)
    sound = isinstance(limit, int) and not isinstance(limit, bool) and limit >= 0
    asked = Asked(key if is_key(key) else None, limit if sound else None)
    return asked if asked != (None, None) else None
