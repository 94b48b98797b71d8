"""A scripted vLLM server that has the specchat hook."""

import json
from collections.abc import Callable, Sequence

from scripted_server import SSE, Answer, Request, ScriptedServer, Step, answer, chunk, models, sse
from specchat.core.trace import TracedStep
from traces import PREFILL, row

CHAT = "/v1/chat/completions"
ROWS = (PREFILL, row(1, (2, 3, 9), (2, 3, 4)), row(2, (), (5,)), row(3, (6, 7, 8), (6, 7, 8, 10)))
IDS = (1000, 2, 3, 4, 5, 6, 7, 8, 10)
TEXTS = {9: " nine"}
STREAM = sse(
    chunk("A", ids=[1000]),
    chunk("bcd", ids=[2, 3, 4]),
    chunk("e", ids=[5]),
    chunk("fghi", ids=[6, 7, 8, 10], finish="length"),
    "[DONE]",
)
HEAD = SSE.encode()
END = b'data: {"end": "length", "steps": 4, "dropped": 0}\n\ndata: [DONE]\n\n'
_STATUS, _TRACE = "/v1/specchat", "/v1/specchat/trace/"

TraceAnswer = Callable[[int, int], "bytes | Sequence[Step]"]
"""Which connection of the reply's trace this is, counted from 0, and the row that it asks for, to the answer."""


def told(*rows: TracedStep, texts: dict[int, str] | None = None) -> bytes:
    """An event of a trace, as the hook writes it."""
    steps = [
        {
            "n": one.number, "t": one.at, "proposed": one.proposed, "drafted": one.drafted, "accepted": one.accepted,
            "emitted": one.emitted, "width": one.width, "graph": one.graph, "of a later version": [1],
        }
        for one in rows
    ]  # fmt: skip
    value: dict[str, object] = {"steps": steps}
    if texts:
        value["texts"] = {str(token): text for token, text in texts.items()}
    return f"data: {json.dumps(value)}\n\n".encode()


WHOLE = HEAD + b": waiting\n\n" + told(*ROWS[:2], texts=TEXTS) + told(*ROWS[2:]) + END


def hook_status(**changes: object) -> bytes:
    """The answer of GET /v1/specchat."""
    said: dict[str, object] = {
        "protocol": 1, "hook": "1.0", "vllm": "0.32.0", "trace": True, "switch": True, "k": 3, "method": "eagle3",
        "runner": "V1", "async_scheduling": False, "tensor_parallel": 1, "off": {"draft_forwards": 1, "why": "Cache."},
        "problems": [],
    }  # fmt: skip
    return answer("200 OK", json.dumps(said | changes))


class HookedServer(ScriptedServer):
    """Answers its n-th trace connection by what a test gives it; records whose key asked for which row."""

    def __init__(
        self, trace: TraceAnswer | None = None, *, chat: Answer = STREAM, status: Answer | None = None
    ) -> None:
        self.trace = trace or (lambda _connection, _row: WHOLE)
        self.asked: list[tuple[str, int]] = []
        routes: dict[str, Answer] = {
            "/v1/models": models("demo-model", owned_by="vllm"),
            "/version": answer("200 OK", '{"version": "0.32.0"}'),
            _STATUS: hook_status() if status is None else status,
            CHAT: chat,
        }
        super().__init__(_Routes(self, routes))

    def answer_trace(self, request: Request) -> "bytes | Sequence[Step]":
        key, _, first = request.path.removeprefix(_TRACE).partition("?from=")
        connection = sum(asked == key for asked, _ in self.asked)
        self.asked.append((key, int(first)))
        return self.trace(connection, int(first))


class _Routes(dict[str, Answer]):
    """Traces have a path for each key."""

    def __init__(self, server: HookedServer, routes: dict[str, Answer]) -> None:
        super().__init__(routes)
        self._server = server

    def __ror__(self, other: dict[str, Answer]) -> "_Routes":  # type: ignore[override]
        return _Routes(self._server, {**other, **self})

    def get(self, path: str, default: Answer | None = None) -> Answer | None:  # type: ignore[override]
        return self._server.answer_trace if path.startswith(_TRACE) else super().get(path, default)
