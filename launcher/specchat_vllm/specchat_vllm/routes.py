"""The routes, below /v1/ where vLLM's API key guards them: what the hook can do, and the traces."""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

from specchat_vllm.asked import is_key
from specchat_vllm.engine import METHOD
from specchat_vllm.front import HUB
from specchat_vllm.fuse import FUSE
from specchat_vllm.reading import lines
from specchat_vllm.status import describe
from specchat_vllm.texts import Texts

PATH = "/v1/specchat"
_STATE = "specchat"
_LONGEST_NUMBER = 9
"""Digits of a row's number."""


class Routes:
    """vLLM's endpoint plugin."""

    name = "specchat_http"
    required_tasks = ("generate",)

    def attach_router(self, app: Any) -> None:
        """Add the two routes to a FastAPI application."""
        from fastapi import APIRouter, Request

        router = APIRouter()

        async def status(request: Request) -> Any:
            return await _status(request.app.state)

        async def trace(request: Request, key: str) -> Any:
            return await _trace(request.app.state, key, request.query_params.get("from", "0"))

        router.add_api_route(PATH, status, methods=["GET"], response_model=None)
        router.add_api_route(PATH + "/trace/{key}", trace, methods=["GET"], response_model=None)
        app.include_router(router)
        HUB.open = True

    async def init_state(self, engine_client: Any, state: Any, args: Any) -> None:
        """VLLM tells its engine; the routes find it in the application's state, as older versions have it too."""


def plugin() -> Routes:
    """VLLM's `vllm.endpoint_plugins` entry point."""
    return Routes()


class _Server:
    """What the routes need of the server."""

    def __init__(self, engine_client: Any, servers: int) -> None:
        self.engine = engine_client
        self.servers = servers
        self.core: dict[str, Any] | None = None
        self._texts: Texts | None = None

    async def ask_engine(self) -> dict[str, Any] | None:
        """What the engine says; asked once, since the question stands between its steps."""
        if self.core is None and self.engine is not None:
            try:
                self.core = json.loads(await self.engine.engine_core.call_utility_async(METHOD))
            except Exception as error:  # an engine without the method, or a dead one: it is said, and asked again
                FUSE.problems[:] = [one for one in FUSE.problems if not one.startswith("the engine")]
                FUSE.problems.append(f"the engine does not know the hook: {type(error).__name__}")
        return self.core

    def text_of(self, token_id: int) -> str:
        """The text of an id; U+FFFD if the tokenizer fails at it."""
        try:
            if self._texts is None:
                self._texts = Texts(self.engine.get_tokenizer())
            return self._texts.of(token_id)
        except Exception:  # a tokenizer of a kind that is not known: ids are still right
            return "\ufffd"

    def is_dead(self) -> bool:
        """Has the engine died?"""
        return bool(getattr(self.engine, "errored", False))


def _server_of(state: Any) -> _Server:
    server: _Server | None = getattr(state, _STATE, None)
    if server is None:
        count = getattr(getattr(state, "args", None), "api_server_count", None)
        server = _Server(getattr(state, "engine_client", None), int(count or 1))
        setattr(state, _STATE, server)
    return server


async def _status(state: Any) -> Any:
    from fastapi.responses import JSONResponse

    server = _server_of(state)
    core = await server.ask_engine()
    return JSONResponse(
        describe(
            vllm=_vllm_version(),
            core=core,
            front=sorted(FUSE.patched),
            problems=FUSE.problems,
            servers=server.servers,
            late=HUB.late,
        )
    )


def _vllm_version() -> str | None:
    import vllm

    return getattr(vllm, "__version__", None)


async def _trace(state: Any, key: str, start: str) -> Any:
    from fastapi.responses import JSONResponse, StreamingResponse

    server = _server_of(state)
    if not is_key(key) or not start.isdecimal() or len(start) > _LONGEST_NUMBER:
        return JSONResponse(_error("A trace's key has 32 to 64 letters, digits, - or _."), status_code=404)
    trace = HUB.reader_of(key)
    if trace is None:
        return JSONResponse(_error("This trace has a reader already."), status_code=409)
    stream = lines(HUB, trace, int(start), server.text_of, server.is_dead)
    # Begun here, so that the trace is left again, and may have another reader, where the client has gone already.
    first = await anext(stream)
    return StreamingResponse(
        _joined(first, stream),
        media_type="text/event-stream",
        headers={"Cache-Control": "no-cache", "X-Accel-Buffering": "no"},
    )


async def _joined(first: str, rest: AsyncGenerator[str]) -> AsyncGenerator[str]:
    async with aclosing(rest):
        yield first
        async for line in rest:
            yield line


def _error(message: str) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", "code": None}}
