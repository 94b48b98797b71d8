"""Servers that answer on this machine's usual ports, whoever started them.

Owns the ports and the questions. It asks the loopback address directly, never by way of a proxy, and sends no key.
"""

import http.client
import json
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from specchat_launcher.ports import LOOPBACK
from specchat_launcher.readiness import Answer, ask, model_names

USUAL_PORTS = (8000, 8001, 8080, 11434, 12434, 30000, 1234)
"""vLLM and its second instance, llama.cpp, Ollama, Docker Model Runner, SGLang, LM Studio."""
TIMEOUT_S = 0.7
PREFIXES = {12434: "/engines"}
"""Where a server has its API below a path."""
DRAFTS = (b"vllm:spec_decode_num_drafts", b"sglang:spec_accept_length")
"""Counters that only a server with speculation has."""
COUNTED = (b"vllm:", b"sglang:")


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that answers.

    Attributes:
        url: Its address, without `/v1`.
        port: Its port.
        models: The names of its models; empty where it wants a key first.
        version: What it says its version is; "" where it does not.
        speculates: Whether it counts drafts; None where it counts nothing that tells.
        key_needed: Whether it refused to name its models without a key.
    """

    url: str
    port: int
    models: tuple[str, ...]
    version: str
    speculates: bool | None
    key_needed: bool


def answering(ports: Sequence[int] = USUAL_PORTS, *, timeout_s: float = TIMEOUT_S) -> tuple[FoundServer, ...]:
    """What answers on 127.0.0.1, in the order of the ports. All are asked at once.

    Args:
        ports: Where to ask.
        timeout_s: Seconds that a server has for each answer.
    """
    unique = tuple(dict.fromkeys(ports))
    if not unique:
        return ()
    with ThreadPoolExecutor(max_workers=len(unique), thread_name_prefix="found") as pool:
        asked = list(pool.map(lambda port: _look(port, timeout_s), unique))
    return tuple(server for server in asked if server is not None)


def _look(port: int, timeout_s: float) -> FoundServer | None:
    prefix = PREFIXES.get(port, "")
    deadline = time.monotonic() + 4 * timeout_s
    models = ask(LOOPBACK, port, f"{prefix}/v1/models", timeout_s=timeout_s)
    if models is None:
        return None
    key_needed = models.status in {http.client.UNAUTHORIZED, http.client.FORBIDDEN}
    names = model_names(models)
    if not names and not key_needed and not _is_empty_list(models):
        return None
    version = "" if time.monotonic() > deadline else _version(ask(LOOPBACK, port, "/version", timeout_s=timeout_s))
    metrics = None if time.monotonic() > deadline else ask(LOOPBACK, port, "/metrics", timeout_s=timeout_s)
    return FoundServer(f"http://{LOOPBACK}:{port}{prefix}", port, names, version, _speculates(metrics), key_needed)


def _is_empty_list(answer: Answer) -> bool:
    """Whether a server says that it has no model, which is another thing than being no such server."""
    try:
        return answer.status == http.client.OK and json.loads(answer.body)["data"] in ([], None)
    except (ValueError, KeyError, TypeError):
        return False


def _version(answer: Answer | None) -> str:
    try:
        said = json.loads(answer.body)["version"] if answer is not None and answer.status == http.client.OK else ""
    except (ValueError, KeyError, TypeError):
        return ""
    return said if isinstance(said, str) else ""


def _speculates(answer: Answer | None) -> bool | None:
    if answer is None or answer.status != http.client.OK:
        return None
    if any(name in answer.body for name in DRAFTS):
        return True
    return False if any(name in answer.body for name in COUNTED) else None
