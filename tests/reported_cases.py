"""The reported cases and neighbours of theirs, and a server that replays one."""

import json
from pathlib import Path
from typing import Any

import pytest

from scripted_server import Request, ScriptedServer, chunk, sse

_FOLDER = Path(__file__).parent / "cases"
_TEXTS = [(_FOLDER / name).read_text("utf-8") for name in ("reported.jsonl", "neighbours.jsonl")]
CASES: list[dict[str, Any]] = [json.loads(line) for text in _TEXTS for line in text.split("\n") if line]


def of_kind(*kinds: str) -> pytest.MarkDecorator:
    """Parametrize over the cases of these kinds, as `case`."""
    cases = [case for case in CASES if case["kind"] in kinds]
    return pytest.mark.parametrize("case", cases, ids=[case["id"] for case in cases])


def server_for(case: dict[str, Any]) -> ScriptedServer:
    """A server whose route of the case sends the bytes of the case."""
    first = case["input"].encode(case.get("encoding", "utf-8"))

    def reply(request: Request) -> bytes:
        wanted = case.get("if_body_contains")
        if wanted is not None and wanted.encode() not in request.body:
            return bytes(case["else_input"].encode())
        return bytes(first)

    path = case.get("path", "/v1/chat/completions")
    return ScriptedServer({"/v1/chat/completions": sse(chunk("x", finish="stop"), "[DONE]"), path: reply})
