"""Asks a starting server over HTTP whether it is ready.

Owns the questions. It talks to the loopback address directly; a proxy that the user has set is never asked.
"""

import http.client
import json
from dataclasses import dataclass

TIMEOUT_S = 2.0
LARGEST = 4 * 1024 * 1024
"""Bytes of an answer that are read at most: any program may stand behind a port."""
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - they are told apart, not bound
"""Where to ask a server that listens on every address."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back.

    Attributes:
        status: The HTTP status.
        body: The body.
    """

    status: int
    body: bytes


def is_healthy(host: str, port: int, *, timeout_s: float = TIMEOUT_S) -> bool:
    """Whether `/health` answers 200."""
    answer = ask(host, port, "/health", timeout_s=timeout_s)
    return answer is not None and answer.status == http.client.OK


def needs_key(host: str, port: int, *, key: str | None = None) -> bool:
    """Whether `/v1/models` refuses for want of a key, or of the right one."""
    answer = ask(host, port, "/v1/models", key=key)
    return answer is not None and answer.status in {http.client.UNAUTHORIZED, http.client.FORBIDDEN}


def served_models(host: str, port: int, *, key: str | None = None) -> tuple[str, ...]:
    """The names in `/v1/models`; empty where it does not answer."""
    answer = ask(host, port, "/v1/models", key=key)
    return model_names(answer)


def model_names(answer: Answer | None) -> tuple[str, ...]:
    """The names in an answer to `/v1/models`; empty where it holds none."""
    body = answer.body if answer is not None and answer.status == http.client.OK else b""
    try:
        return tuple(str(entry["id"]) for entry in json.loads(body or b"{}").get("data", []))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ()


def ask(host: str, port: int, path: str, *, key: str | None = None, timeout_s: float = TIMEOUT_S) -> Answer | None:
    """One GET request; None where nothing answers that speaks HTTP.

    Args:
        host: Address that the server listens on.
        port: Its port.
        path: What to ask for.
        key: The key of its API.
        timeout_s: Seconds for the connection, and for each read.
    """
    connection = http.client.HTTPConnection(ANY_ADDRESS.get(host, host), port, timeout=timeout_s)
    try:
        connection.request("GET", path, headers={"Authorization": f"Bearer {key}"} if key else {})
        response = connection.getresponse()
        return Answer(response.status, response.read(LARGEST))
    except (OSError, http.client.HTTPException, ValueError):
        return None
    finally:
        connection.close()
