"""What a server says about itself. Every field may be unknown: a server without it is still worth talking to."""

from dataclasses import dataclass, replace
from ipaddress import ip_address
from urllib.parse import urlsplit

from specchat.core.counters import CounterReading


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One entry of /v1/models."""

    name: str
    max_model_len: int | None = None


@dataclass(frozen=True, slots=True)
class Hook:
    """What the hook in a vLLM server says of itself."""

    trace: bool
    """Can it tell each step's proposals?"""
    switch: bool
    """Can it switch speculation for one request?"""
    version: str = ""
    runner: str | None = None
    """vLLM's model runner, V1 or V2; None where unknown."""
    draft_length: int | None = None
    """k; 0 for a server that does not speculate, None where unknown."""
    off_draft_forwards: int | None = None
    """Draft forwards that remain in a step in which speculation is off for all; None unknown."""
    off_why: str = ""
    """Why they remain, a sentence."""
    problems: tuple[str, ...] = ()
    """What does not work, a sentence each."""
    method: str | None = None
    """vLLM's name of the drafting method, such as eagle3; None where unknown or where nothing is drafted."""
    async_scheduling: bool | None = None
    tensor_parallel: int | None = None
    """GPUs that share the model."""


@dataclass(frozen=True, slots=True)
class ServerInfo:
    """A server, as far as it has shown itself."""

    url: str
    """Base address without /v1, user name or password."""
    version: str | None = None
    models: tuple[ServedModel, ...] = ()
    model: str | None = None
    """The model that is talked to."""
    counters: CounterReading | None = None
    """The first reading of its metrics; None where they cannot be read."""
    draft_length: int | None = None
    """k; 0 where the metrics show that the server does not speculate, None where nothing says."""
    hook: Hook | None = None
    """The hook in the server; None where there is none."""
    gaps: tuple[str, ...] = ()
    """What cannot be known here and how to get it, a sentence each."""

    @property
    def max_model_len(self) -> int | None:
        """Tokens that prompt and reply may have together."""
        return next((model.max_model_len for model in self.models if model.name == self.model), None)

    @property
    def speculates(self) -> bool | None:
        """True or False where known, None where the server does not say."""
        if self.draft_length is not None:
            return self.draft_length > 0
        return True if self.counters is not None and self.counters.speculates else None

    def with_draft_length(self, draft_length: int | None) -> "ServerInfo":
        """The same server, once a reply has told k."""
        return self if draft_length is None else replace(self, draft_length=draft_length)


def is_local(url: str) -> bool:
    """Is this an address of this machine's own?"""
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
