"""A vLLM-like server that decodes at a pace a test gives it, counts what it drafts, and can be made to fail."""

import json
from collections.abc import Callable, Sequence

from scripted_server import SSE as HEAD
from scripted_server import Cut, Pause, Request, ScriptedServer, Step, answer, chunk

CHAT = "/v1/chat/completions"


class PacedServer(ScriptedServer):
    """Each step takes `step_seconds` and yields `per_step` tokens, of k + 1 at most; k = 0 does not speculate.

    Attributes:
        fail: Called with the number of the chat request, counted from 0; what it returns is sent instead of a reply.
        word_at: Called with a token's index; gives its id.
    """

    def __init__(
        self,
        *,
        k: int = 0,
        per_step: int = 1,
        step_seconds: float = 0.006,
        tokens: int = 13,
        model: str = "demo-model",
        max_model_len: int = 2048,
        fail: Callable[[int], "bytes | Sequence[Step] | None"] = lambda _: None,
        word_at: Callable[[int], int] = lambda index: 1000 + index,
        version: str = "0.32.0",
    ) -> None:
        self.k, self.per_step, self.step_seconds, self.tokens, self.model = k, per_step, step_seconds, tokens, model
        self.fail, self.word_at = fail, word_at
        self.drafts = self.generated = self.finished = 0
        entry = {"id": model, "object": "model", "owned_by": "vllm", "max_model_len": max_model_len}
        super().__init__(
            {
                "/v1/models": _page(json.dumps({"object": "list", "data": [entry]})),
                "/version": _page(json.dumps({"version": version})),
                "/metrics": lambda _: _page(self._metrics(), "text/plain"),
                CHAT: self._reply,
            }
        )

    async def __aenter__(self) -> "PacedServer":
        await super().__aenter__()
        return self

    def _metrics(self) -> str:
        label = f'model_name="{self.model}"'
        accepted = self.drafts * (self.per_step - 1)
        lines = [
            f"vllm:num_requests_running{{{label}}} 0",
            f"vllm:generation_tokens_total{{{label}}} {self.generated}",
            f"vllm:request_success_total{{{label}}} {self.finished}",
        ]
        if self.k:
            lines += [
                f"vllm:spec_decode_num_drafts_total{{{label}}} {self.drafts}",
                f"vllm:spec_decode_num_draft_tokens_total{{{label}}} {self.drafts * self.k}",
                f"vllm:spec_decode_num_accepted_tokens_total{{{label}}} {accepted}",
            ]
            lines += [
                f'vllm:spec_decode_num_accepted_tokens_per_pos_total{{{label},position="{i}"}} '
                f"{self.drafts if i < self.per_step - 1 else 0}"
                for i in range(self.k)
            ]
        return "\n".join(lines) + "\n"

    def _reply(self, request: Request) -> "bytes | Sequence[Step]":
        number = len(self.chat_requests()) - 1
        instead = self.fail(number)
        if instead is not None:
            return instead
        length = min(self.tokens, int(str(request.json.get("max_tokens", self.tokens))))
        ids = [self.word_at(index) for index in range(length)]
        per_step = self.per_step
        xargs = request.json.get("vllm_xargs")
        if isinstance(xargs, dict) and xargs.get("specchat_k") == 0:
            per_step = 1
        starts = range(1, length, per_step)
        steps: list[Step] = [HEAD.encode(), self._event(ids[:1])]
        for start in starts:
            steps += [Pause(self.step_seconds), self._event(ids[start : start + per_step])]
        steps.append(f"data: {chunk(finish='length')}\n\n".encode())
        usage = {"usage": {"prompt_tokens": 7, "completion_tokens": length}, "id": "c1", "choices": []}
        steps.append(f"data: {json.dumps(usage)}\n\ndata: [DONE]\n\n".encode())
        self.generated += length
        self.finished += 1
        if self.k and per_step > 1:
            self.drafts += len(starts)
        return steps

    def _event(self, ids: list[int]) -> bytes:
        return f"data: {chunk(''.join(f' w{i}' for i in ids), ids=ids)}\n\n".encode()


def _page(body: str, kind: str = "application/json") -> bytes:
    """An answer on a connection that ends with it, so that no client finds it closed when it uses it again."""
    return answer("200 OK", body, kind, connection="close")


def dies_at(number: int) -> Callable[[int], "Sequence[Step] | None"]:
    """Every chat from this one on breaks off in mid-stream, as that of a killed process does."""

    def fail(request: int) -> "Sequence[Step] | None":
        half = f"data: {chunk(' w', ids=[1000])}\n\n".encode()
        return [HEAD.encode(), half, Cut()] if request >= number else None

    return fail
