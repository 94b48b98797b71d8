"""Failures below HTTP, each told apart by its cause: refused, unknown host, TLS, time-out, no HTTP at all."""

import socket
import ssl
from collections.abc import Iterator

from specchat.backends.address import Address
from specchat.backends.redaction import redact
from specchat.core.errors import ServerUnreachable
from specchat.core.harmless import one_line

_IS_IT_UP = "Is the server running, and are host and port right?"


def unreachable(error: BaseException, address: Address, *, secrets: tuple[str | None, ...] = ()) -> ServerUnreachable:
    """The failure behind an exception of the HTTP library, for a request that got no answer."""
    causes = list(_causes(error))
    return _tls(causes, address.origin) or _unconnected(causes, address, secrets) or _silent(causes, address, secrets)


def _unconnected(
    causes: list[BaseException], address: Address, secrets: tuple[str | None, ...]
) -> ServerUnreachable | None:
    where = address.origin
    if any(isinstance(cause, socket.gaierror) for cause in causes):
        return ServerUnreachable(f"There is no host named {address.host}.", "Check the name in the URL.")
    if any("Proxy" in type(cause).__name__ for cause in causes):
        return ServerUnreachable(
            f"The proxy on the way to {where} failed: {_reason(causes, secrets)}", "Check HTTP_PROXY and NO_PROXY."
        )
    if any(isinstance(cause, ConnectionRefusedError) for cause in causes):
        return ServerUnreachable(f"Nothing listens at {where}: the connection was refused.", _IS_IT_UP)
    if any("ConnectTimeout" in type(cause).__name__ for cause in causes):
        return ServerUnreachable(f"{where} did not answer in time: the connection timed out.", _IS_IT_UP)
    return None


def _silent(causes: list[BaseException], address: Address, secrets: tuple[str | None, ...]) -> ServerUnreachable:
    where = address.origin
    if any("Timeout" in type(cause).__name__ for cause in causes):
        text = f"{where} took the connection but gave no answer in time."
        return ServerUnreachable(text, "Is the server busy or stuck?")
    if any("ProtocolError" in type(cause).__name__ or "ReadError" in type(cause).__name__ for cause in causes):
        return ServerUnreachable(
            f"{where} closed the connection or does not speak HTTP: {_reason(causes, secrets)}",
            "Check the port, and whether it wants https:// instead.",
        )
    return ServerUnreachable(f"No connection to {where}: {_reason(causes, secrets)}", _IS_IT_UP)


def _tls(causes: list[BaseException], where: str) -> ServerUnreachable | None:
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return ServerUnreachable(
                f"The certificate of {where} is not trusted: {one_line(cause.verify_message or str(cause), 200)}.",
                "Give the certificate that signed it with --ca-file, or skip the check with --insecure.",
            )
    for cause in causes:
        # A handshake that waits for an answer is no fault of TLS.
        if isinstance(cause, ssl.SSLError) and not isinstance(cause, ssl.SSLWantReadError | ssl.SSLWantWriteError):
            plain = "WRONG_VERSION_NUMBER" in str(cause) or "UNKNOWN_PROTOCOL" in str(cause)
            hint = "It seems to speak plain HTTP: try http://." if plain else "Check the URL and the certificate."
            return ServerUnreachable(f"No TLS connection to {where}: {one_line(str(cause), 200)}", hint)
    return None


def _reason(causes: list[BaseException], secrets: tuple[str | None, ...]) -> str:
    # An empty queue inside the library is how it notices the end, and says nothing of the server.
    told = [cause for cause in causes if not isinstance(cause, LookupError)]
    said = next((text for cause in reversed(told) if (text := str(cause))), type(told[-1]).__name__)
    reason = one_line(redact(said, secrets), 200)
    return reason if reason.endswith((".", "…")) else f"{reason}."


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The exception, what caused it, and the members of groups, outermost first."""
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        cause = pending.pop(0)
        if cause is None or id(cause) in seen:
            continue
        seen.add(id(cause))
        yield cause
        pending += [cause.__cause__, cause.__context__]
        if isinstance(cause, BaseExceptionGroup):
            pending += cause.exceptions
