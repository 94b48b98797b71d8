"""Asks a starting server over HTTP whether it is ready.

Owns the questions. It talks to the loopback address directly; a proxy that the user has set is never asked.
"""

import http.client
import json

TIMEOUT_S = 2.0


def is_healthy(host: str, port: int) -> bool:
    """Whether `/health` answers 200."""
    return _get(host, port, "/health") is not None


def served_models(host: str, port: int) -> tuple[str, ...]:
    """The names in `/v1/models`; empty where it does not answer."""
    body = _get(host, port, "/v1/models")
    try:
        return tuple(str(entry["id"]) for entry in json.loads(body or b"{}").get("data", []))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ()


def _get(host: str, port: int, path: str) -> bytes | None:
    connection = http.client.HTTPConnection(host, port, timeout=TIMEOUT_S)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        body = response.read()
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()
    return body if response.status == http.client.OK else None
