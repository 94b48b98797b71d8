"""What a session needs from the outside world. Adapters are chosen in `specchat.wiring` alone."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Protocol

from specchat.core.counters import CounterReading
from specchat.core.events import Event, StepsTraced, TraceEnded
from specchat.core.server import ServerInfo


@dataclass(frozen=True, slots=True)
class Sampling:
    """What a request asks of the sampler; None leaves it to the server."""

    max_tokens: int | None = None
    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """Texts that end a reply."""
    top_k: int | None = None
    """How many of the likeliest tokens are drawn from; -1 for all."""
    min_p: float | None = None
    """Least probability of a token, as a share of the likeliest one's."""
    presence_penalty: float | None = None
    frequency_penalty: float | None = None
    repetition_penalty: float | None = None
    thinking: bool | None = None
    """Should the model think first? Goes to the chat template, which may know no such thing."""
    ignore_eos: bool | None = None
    """Should the reply go on past the end that the model would give it, up to `max_tokens`? vLLM's, for measuring."""

    def given(self) -> dict[str, object]:
        """The parameters that are set, by name, ready for JSON."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value is not None and value != ()
        }


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation as the server sees it."""

    role: str
    """`system`, `user` or `assistant`."""
    content: str


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request for a reply."""

    messages: tuple[Message, ...]
    sampling: Sampling = field(default_factory=Sampling)
    continues: bool = False
    """Is the last message the beginning of the reply that is asked for?"""
    trace_key: str | None = None
    """Under which the server hook keeps the reply's trace; None asks for none. Only for a server that has the hook."""
    limit: int | None = None
    """At most so many proposals a step, 0 for none; None leaves it to the server. Only for a server with the hook."""


class Clock(Protocol):
    """Monotonic seconds."""

    def __call__(self) -> float:
        """The time now."""
        ...


class ChatBackend(Protocol):
    """A server that can be asked for replies. Every method may raise SpecchatError, and nothing else."""

    async def connect(self) -> ServerInfo:
        """Find out what the server is; chooses the model.

        Raises:
            ServerUnreachable: If nothing answers.
            ServerRefused: If it answers with an error.
        """
        ...

    def stream(self, request: ChatRequest) -> AsyncGenerator[Event, None]:
        """Ask for a reply; events come as they happen and the last one is StreamEnded.

        Closing the iterator ends the request. A failure is raised as SpecchatError after the events before it.
        """
        ...

    def trace(self, key: str) -> AsyncGenerator[StepsTraced | TraceEnded, None]:
        """The trace of the request that has this key, as it happens; may begin before the request is sent.

        The last event is a TraceEnded. Never raises: a failure is in its sentence.
        """
        ...

    async def read_counters(self) -> CounterReading | None:
        """Read the server's counters for the model; None where there are none to read. Never raises."""
        ...

    async def learn_pieces(
        self, ids: Sequence[int], runs: Sequence[tuple[int, ...]]
    ) -> tuple[Mapping[int, str], Mapping[tuple[int, ...], str]] | None:
        """Texts of ids alone and of runs together; None where the server cannot tell. Never raises."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
