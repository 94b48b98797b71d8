"""The adapter of `ChatBackend` to OpenAI-compatible servers, vLLM first. Owns the order of requests and retries.

What bytes mean is decided in `reply_reader`, what an error means in `http_errors`; this module only moves them.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from specchat.backends.address import Address
from specchat.backends.closing_notes import ClosingNotes
from specchat.backends.discovery import counters_for, discover
from specchat.backends.hook import HOOK_ROUTE
from specchat.backends.http_client import CONNECT_SECONDS, checked_key, make_client
from specchat.backends.http_errors import Asked, error_of_answer
from specchat.backends.piece_source import PieceSource
from specchat.backends.redaction import redact
from specchat.backends.refused_fields import to_leave_out
from specchat.backends.reply_reader import ReplyReader
from specchat.backends.request_body import can_leave_out, loss_note, request_body
from specchat.backends.trace_reader import read_trace
from specchat.backends.transport_errors import unreachable
from specchat.backends.unpacking import DamagedData, Unpacker
from specchat.core.counters import CounterReading
from specchat.core.errors import ConfigurationError, FieldRefused, SpecchatError, StreamBroken
from specchat.core.events import Event, NoteAdded, StepsTraced, StreamEnded, SwitchRefused, TraceEnded
from specchat.core.harmless import one_line
from specchat.core.server import ServerInfo
from specchat.session.ports import ChatRequest

if TYPE_CHECKING:
    import httpx2
    from openai import AsyncOpenAI

_COUNTERS_SECONDS = 3.0
_LINGER_SECONDS = 5.0
"""How long usage and reports may follow the finish reason; some servers never close."""
_DRAIN_SECONDS = 0.2
"""How long the end of the body may follow `[DONE]`, so that the connection can be used again."""
_FOR_HOOK = "vllm_xargs"
"""The field that carries what the server hook is asked for."""
_NO_KEY = "none"
"""The SDK insists on a key; the header guard removes it."""


class OpenAICompatibleBackend:
    """Talks to one server, of which nothing but /v1/chat/completions is required.

    Usable from one event loop after the other, not from two at once.
    """

    def __init__(
        self,
        address: Address,
        *,
        clock: Callable[[], float],
        model: str | None = None,
        key: str | None = None,
        ca_file: Path | None = None,
        insecure: bool = False,
        unsent_openai_key: bool = False,
    ) -> None:
        """Prepare to talk; connects to nothing yet.

        Args:
            address: Where the server is.
            clock: Monotonic seconds, the session's.
            model: The model to talk to; None takes the server's only one.
            key: Sent as a bearer token, shown nowhere.
            ca_file: Certificates, in PEM, to trust besides the system's.
            insecure: Trust any certificate.
            unsent_openai_key: Is OPENAI_API_KEY set, and kept from this host? Only for the words of an error.

        Raises:
            ConfigurationError: If the key cannot be one.
        """
        self._address = address
        self._clock = clock
        self._model = model
        self._key = checked_key(key)
        self._ca_file = ca_file
        self._insecure = insecure
        self._unsent_openai_key = unsent_openai_key
        self._server: ServerInfo | None = None
        self._metric_names: tuple[str | None, ...] = ()
        self._has_metrics = True
        self._left_out: set[str] = set()
        self._notes = ClosingNotes()
        self._pieces: PieceSource | None = None
        self._http: httpx2.AsyncClient | None = None
        self._sdk: AsyncOpenAI | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def connect(self) -> ServerInfo:
        """Find out what the server is, and choose the model.

        Raises:
            ServerUnreachable: If nothing answers.
            ServerRefused: If it answers with an error.
            ModelChoiceNeeded: If it serves several models and none was named.
        """
        # A client of its own, since what follows may run in another event loop.
        async with self._new_client() as client:
            found = await discover(client, self._address, self._model, self._asked())
        self._server = found.server
        self._model = found.server.model
        self._metric_names, self._has_metrics = found.metric_names, found.has_metrics
        return found.server

    async def warm_up(self) -> None:
        """Load the SDK, which takes about a second; a first reply does it otherwise, before its clock starts."""
        await self._sdk_now()

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Event, None]:
        """Ask for a reply. A field that the server refuses is left out, and the question asked again.

        Raises:
            SpecchatError: After the events that came before the failure.
        """
        if self._model is None:
            raise ConfigurationError("No model was chosen.", "Name one with --model.")
        sdk = await self._sdk_now()
        left_out = set(self._left_out)
        if _FOR_HOOK in left_out:
            for event in _unhooked(request):
                yield event
        while True:
            body = request_body(request, self._model, left_out)
            reader = ReplyReader(self._asked())
            try:
                async with aclosing(self._exchange(sdk, body, reader)) as events:
                    async for event in events:
                        yield event
            except FieldRefused as refusal:
                fields = can_leave_out(to_leave_out(refusal.fields), body)
                if not fields or reader.chunks.spoke:
                    raise
                left_out.update(fields)
                for note in filter(None, map(loss_note, fields)):
                    yield NoteAdded(note)
                for event in _unhooked(request) if _FOR_HOOK in fields else ():
                    yield event
            else:
                break
        self._left_out = left_out
        for note in self._notes.after(reader.chunks, self._server, left_out):
            yield NoteAdded(note)
        yield StreamEnded(self._clock(), reader.done)

    async def trace(self, key: str) -> AsyncGenerator[StepsTraced | TraceEnded, None]:
        """The trace of the request that has this key, as it happens. Never raises."""
        url = f"{self._address.api_url}/{HOOK_ROUTE}/trace/{key}"
        async with aclosing(read_trace(self._http_now, url, key=self._key)) as events:
            async for event in events:
                yield event

    async def read_counters(self) -> CounterReading | None:
        """Read the server's counters for the model; None where there are none to read. Never raises."""
        import httpx2

        # The session's clock for a reply starts after this: loading belongs before it.
        try:
            await self._sdk_now()
        except SpecchatError:
            return None
        if not self._has_metrics or self._model is None:
            return None
        try:
            response = await self._http_now().get(f"{self._address.root_url}/metrics", timeout=_COUNTERS_SECONDS)
        except (httpx2.HTTPError, httpx2.InvalidURL, SpecchatError):
            return None
        if not response.is_success:
            return None
        return counters_for(response.content.decode("utf-8", "replace"), self._metric_names or (self._model,))

    async def learn_pieces(
        self, ids: Sequence[int], runs: Sequence[tuple[int, ...]]
    ) -> tuple[Mapping[int, str], Mapping[tuple[int, ...], str]] | None:
        """Texts of ids alone and of runs together; None where the server cannot tell. Never raises."""
        if self._model is None:
            return None
        return await self._piece_source(self._model).learn(ids, runs)

    def _piece_source(self, model: str) -> PieceSource:
        if self._pieces is None:
            self._pieces = PieceSource(f"{self._address.root_url}/detokenize", model, self._http_now)
        return self._pieces

    async def close(self) -> None:
        """Give back connections."""
        client, self._http, self._sdk = self._http, None, None
        # Sockets of a loop that is gone went with it.
        if client is not None and self._loop is asyncio.get_running_loop():
            await client.aclose()

    async def _exchange(
        self, sdk: "AsyncOpenAI", body: dict[str, object], reader: ReplyReader
    ) -> AsyncGenerator[Event, None]:
        import httpx2
        import openai

        fields: dict[str, Any] = dict(body)
        named = {name: fields.pop(name) for name in ("model", "messages", "stream")}
        broken: StreamBroken | None = None
        try:
            async with (
                sdk.chat.completions.with_streaming_response.create(**named, extra_body=fields) as response,
                aclosing(self._feed(response.http_response, reader)) as events,
            ):
                async for event in events:
                    self._piece_source(str(body["model"])).separator = reader.chunks.first_prompt_id
                    yield event
        except openai.APIStatusError as error:
            answer = error.response
            raise error_of_answer(answer.status_code, answer.headers, answer.content, self._asked()) from None
        except openai.APIConnectionError as error:
            raise unreachable(error, self._address, secrets=(self._key,)) from None
        except (httpx2.HTTPError, DamagedData) as error:
            broken = self._broken(error)
        for event in reader.finish(self._clock(), broken=broken is not None):
            yield event
        failure = reader.failure(broken)
        if failure is not None:
            raise failure

    async def _feed(self, response: "httpx2.Response", reader: ReplyReader) -> AsyncGenerator[Event, None]:
        """The events of the body; ends with it, or soon after the reply's own end."""
        loop = asyncio.get_running_loop()
        deadline: float | None = None
        was_done = False
        unpacker = Unpacker(response.headers.get("content-encoding", ""))
        async with aclosing(response.aiter_raw()) as pieces:
            while not reader.has_failed:
                try:
                    async with asyncio.timeout_at(deadline):
                        piece = await anext(pieces)
                except (StopAsyncIteration, TimeoutError):
                    break
                for event in reader.feed(unpacker.feed(piece), self._clock()):
                    yield event
                if reader.done and not was_done:
                    was_done, deadline = True, loop.time() + _DRAIN_SECONDS
                elif deadline is None and reader.is_complete:
                    deadline = loop.time() + _LINGER_SECONDS
        if rest := unpacker.flush():
            for event in reader.feed(rest, self._clock()):
                yield event

    def _broken(self, error: Exception) -> StreamBroken:
        reason = one_line(redact(str(error), (self._key,)), 200) or type(error).__name__
        if isinstance(error, DamagedData):
            return StreamBroken(
                f"The rest of the answer cannot be read: {reason}.", "Does a proxy before the server compress it?"
            )
        return StreamBroken(
            f"The connection broke before the reply ended: {reason}.", "What came is kept; is the server still running?"
        )

    def _asked(self) -> Asked:
        served = () if self._server is None else tuple(model.name for model in self._server.models)
        return Asked(str(self._address), self._model, served, self._key, self._unsent_openai_key)

    def _new_client(self) -> "httpx2.AsyncClient":
        return make_client(self._address, key=self._key, ca_file=self._ca_file, insecure=self._insecure)

    def _http_now(self) -> "httpx2.AsyncClient":
        """The client of the running loop."""
        loop = asyncio.get_running_loop()
        if self._http is None or self._loop is not loop:
            self._http, self._sdk, self._loop = self._new_client(), None, loop
        return self._http

    async def _sdk_now(self) -> "AsyncOpenAI":
        client = self._http_now()
        if self._sdk is None:
            # Beside the event loop, so that a screen goes on drawing.
            self._sdk = await asyncio.to_thread(self._load_sdk, client)
        return self._sdk

    def _load_sdk(self, client: "httpx2.AsyncClient") -> "AsyncOpenAI":
        import httpx2
        from openai import AsyncOpenAI

        sdk = AsyncOpenAI(
            api_key=self._key or _NO_KEY,
            base_url=self._address.api_url,
            http_client=client,
            max_retries=0,
            timeout=httpx2.Timeout(None, connect=CONNECT_SECONDS, write=60.0),
        )
        # Its resources are imported as they are first asked for.
        _ = sdk.chat.completions.with_streaming_response
        return sdk


def _unhooked(request: ChatRequest) -> list[Event]:
    """What a reply loses where the server takes no wishes for its hook."""
    events: list[Event] = []
    if request.limit is not None:
        events.append(SwitchRefused("speculation was not switched: the reply has what the server does by itself"))
    if request.trace_key is not None:
        events.append(TraceEnded(None))
    return events
