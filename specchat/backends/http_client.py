"""Makes the HTTP client that every request to a server goes through, and keeps what leaves it to the necessary.

Refuses what the environment would add: organisation and project names, custom headers, keys meant for other hosts.
"""

import ssl
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from specchat import __version__
from specchat.backends.address import Address
from specchat.backends.error_answers import salvage
from specchat.core.errors import ConfigurationError
from specchat.core.harmless import one_line

if TYPE_CHECKING:
    import httpx2

CONNECT_SECONDS = 10.0
_KEEP_ALIVE_SECONDS = 2.5
"""Below the 5 s after which uvicorn closes an idle connection, so that no request meets a closing one."""
_SENT_HEADERS = {"host", "accept", "content-type", "content-length", "transfer-encoding", "connection"}
_SENT_HEADERS |= {"x-stainless-raw-response"}  # The SDK reads this one back to know how to return the answer.


def checked_key(key: str | None) -> str | None:
    """The key without the white space of a file around it; None for an empty one.

    Raises:
        ConfigurationError: If it cannot be sent in a header. The message does not quote it.
    """
    key = (key or "").strip()
    if not key:
        return None
    if not key.isascii() or not key.isprintable() or " " in key:
        raise ConfigurationError(
            "The API key holds spaces, line breaks or characters outside ASCII, which no key has.",
            "Check SPECCHAT_API_KEY, or the file given with --api-key-file.",
        )
    return key


def make_client(
    address: Address, *, key: str | None = None, ca_file: Path | None = None, insecure: bool = False
) -> "httpx2.AsyncClient":
    """A client for one server. Has no read time-out, since a stream may rest; give one with each short request.

    Raises:
        ConfigurationError: If the certificate file or a proxy variable cannot be used.
    """
    import httpx2

    verify = _ssl_context(ca_file, insecure=insecure)
    try:
        return httpx2.AsyncClient(
            # A proxy variable must never take a request to this machine elsewhere.
            trust_env=not address.is_loopback,
            follow_redirects=False,
            verify=verify,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, write=60.0),
            limits=httpx2.Limits(keepalive_expiry=_KEEP_ALIVE_SECONDS),
            event_hooks={"request": [_header_guard(key)], "response": [salvage]},
        )
    except (ImportError, ValueError) as error:
        raise ConfigurationError(
            f"A proxy variable cannot be used: {one_line(str(error), 200)}",
            "Correct HTTP_PROXY, HTTPS_PROXY or ALL_PROXY, or name the host in NO_PROXY.",
        ) from error


def _header_guard(key: str | None) -> Callable[["httpx2.Request"], Awaitable[None]]:
    async def guard(request: "httpx2.Request") -> None:
        for name in list(request.headers):
            if name.lower() not in _SENT_HEADERS:
                del request.headers[name]
        request.headers["user-agent"] = f"specchat/{__version__}"
        # A compressing proxy collects several chunks before it sends anything.
        request.headers["accept-encoding"] = "identity"
        if key is not None:
            request.headers["authorization"] = f"Bearer {key}"

    return guard


def _ssl_context(ca_file: Path | None, *, insecure: bool) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context()
        if ca_file is not None:
            context.load_verify_locations(cafile=ca_file)
    except (OSError, ssl.SSLError) as error:
        raise ConfigurationError(
            f"The certificate file {ca_file} cannot be read: {one_line(error.strerror or str(error), 200)}.",
            "Give a file in PEM format with --ca-file.",
        ) from error
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
