"""A server's address as people type it, and the URLs that follow from it. Knows no HTTP and never resolves a name."""

import ipaddress
import re
from dataclasses import dataclass
from urllib.parse import urlsplit

from specchat.core.errors import ConfigurationError
from specchat.core.harmless import one_line

_SCHEME = re.compile(r"^[A-Za-z][A-Za-z0-9+.-]*://")
_ROUTE = re.compile(r"/(chat/completions|completions|models|responses|embeddings)$")
_VERSION = re.compile(r"/v\d+[a-z0-9]*$")
_EXAMPLE = "Write it like http://gpu01:8000 or https://host/prefix/v1."


@dataclass(frozen=True, slots=True)
class Address:
    """Where an OpenAI-compatible server is."""

    scheme: str
    """`http` or `https`."""
    host: str
    """Name or IP address; IPv6 without brackets."""
    port: int | None
    """None is the scheme's own."""
    prefix: str = ""
    """Path before the version, such as `/engines`, without a slash at its end."""
    version_path: str = "/v1"
    """Path of the API's version."""

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Read an address with or without scheme, /v1, a route or a slash at its end.

        Raises:
            ConfigurationError: If it is no http(s) address, or holds a user name, a password or a query.
        """
        text = text.strip()
        shown = one_line(text.split("?")[0].rsplit("@", 1)[-1], 120)
        if not _SCHEME.match(text):
            text = f"http://{_bracketed(text)}"
        try:
            parts = urlsplit(text)
            host, port = parts.hostname, parts.port
        except ValueError:
            host, port, parts = None, None, urlsplit("")
        if parts.scheme.lower() not in {"http", "https"} or not host or re.search(r"[\s\x00-\x1f\\]", parts.netloc):
            raise ConfigurationError(f"“{shown}” is no address of a server.", _EXAMPLE)
        if "@" in parts.netloc:
            raise ConfigurationError(
                f"The address of {host} holds a user name or a password, which specchat does not send.",
                "Leave them out; give a key with --api-key-file or SPECCHAT_API_KEY.",
            )
        if parts.query:
            raise ConfigurationError(f"The address of {host} holds a query (?…), which would be lost.", _EXAMPLE)
        prefix, version = _split_path(parts.path)
        return cls(parts.scheme.lower(), host, port, prefix, version)

    @property
    def origin(self) -> str:
        """Scheme, host and port."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}" + ("" if self.port is None else f":{self.port}")

    @property
    def root_url(self) -> str:
        """Base of /metrics, /version and /detokenize, without a slash at its end."""
        return self.origin + self.prefix

    @property
    def api_url(self) -> str:
        """Base of /chat/completions and /models, without a slash at its end."""
        return self.root_url + self.version_path

    @property
    def is_loopback(self) -> bool:
        """Is the server on this machine? Then no proxy is asked."""
        if self.host.lower() == "localhost" or self.host.lower().endswith(".localhost"):
            return True
        try:
            ip = ipaddress.ip_address(self.host.split("%")[0])
        except ValueError:
            return False
        return ip.is_loopback or ip.is_unspecified

    def __str__(self) -> str:
        """The address as it is shown: without the version."""
        return self.root_url


def _bracketed(text: str) -> str:
    """A bare IPv6 address needs brackets before it can stand in a URL."""
    try:
        return f"[{text}]" if ipaddress.ip_address(text).version == 6 else text
    except ValueError:
        return text


def _split_path(path: str) -> tuple[str, str]:
    path = re.sub(r"/{2,}", "/", path).rstrip("/")
    path = _ROUTE.sub("", path)
    version = _VERSION.search(path)
    if version is None:
        return path, "/v1"
    return path[: version.start()], version[0]
