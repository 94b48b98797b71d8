# ruff: noqa: ANN401, ARG002 - stand-ins for objects of vLLM, which is not here
"""The routes, without FastAPI: which requests are answered how, and that a trace is never left taken."""

import asyncio
import gc
import json
from types import SimpleNamespace
from typing import Any

import pytest

import fake_vllm
from fake_vllm import KEY
from specchat_vllm import old_server, routes
from specchat_vllm.fuse import Fuse, Unsupported
from specchat_vllm.hub import Hub
from specchat_vllm.rows import Row


class JSONResponse:
    def __init__(self, content: Any, status_code: int = 200) -> None:
        self.content = json.loads(json.dumps(content))
        self.status_code = status_code


class StreamingResponse:
    def __init__(self, content: Any, media_type: str, headers: dict[str, str]) -> None:
        self.content, self.media_type, self.headers = content, media_type, headers
        self.status_code = 200


class Router:
    """APIRouter, and the application that takes it in."""

    def __init__(self) -> None:
        self.routes: dict[str, Any] = {}

    def add_api_route(self, path: str, handler: Any, *, methods: list[str], response_model: None) -> None:
        assert methods == ["GET"]
        self.routes[path] = handler

    def include_router(self, router: "Router") -> None:
        self.routes.update(router.routes)


class Engine:
    """The engine's client."""

    errored = False

    def __init__(self, status: dict[str, Any] | None) -> None:
        self.engine_core = self
        self.status = status
        self.asked = 0

    async def call_utility_async(self, method: str) -> str:
        assert method == "specchat_status"
        self.asked += 1
        if self.status is None:
            raise RuntimeError("no such method")
        return json.dumps(self.status)

    def get_tokenizer(self) -> Any:
        return SimpleNamespace(encode=lambda _, **_options: [0], decode=decoded)


def decoded(ids: list[int], **_options: object) -> str:
    return "".join({0: "a", 5: " five"}[one] for one in ids)


STATUS = {
    "patched": ["the scheduler"], "problems": [], "k": 3, "method": "eagle3", "async_scheduling": False,
    "tensor_parallel": 1, "step_k": True,
    "workers": [{"runner": "V1", "patched": ["model runner V1"], "problems": [], "honours_step_k": True}],
}  # fmt: skip


@pytest.fixture(autouse=True)
def _fastapi() -> None:
    fake_vllm.install("fastapi", APIRouter=Router, Request=object)
    fake_vllm.install("fastapi.responses", JSONResponse=JSONResponse, StreamingResponse=StreamingResponse)


class App(Router):
    """vLLM's application."""

    def __init__(self, engine: Engine | None, servers: int | None = None) -> None:
        super().__init__()
        self.state = SimpleNamespace(engine_client=engine, args=SimpleNamespace(api_server_count=servers))
        routes.plugin().attach_router(self)

    async def get(self, path: str, start: str | None = None, **parts: str) -> Any:
        query = {} if start is None else {"from": start}
        return await self.routes[path](SimpleNamespace(app=self, query_params=query), **parts)

    async def trace(self, key: str = KEY, start: str | None = None) -> Any:
        return await self.get("/v1/specchat/trace/{key}", start, key=key)


async def freed() -> None:
    """Generators that nobody has any more are closed by the event loop."""
    gc.collect()
    for _ in range(5):
        await asyncio.sleep(0)


def row(number: int, proposed: list[int]) -> Row:
    return Row("a", "" if number else KEY, number, len(proposed), 0, proposed, 0, [number], 5.0, 3, None)


def test_the_plugin_opens_the_traces_where_it_adds_its_routes(hub: Hub) -> None:
    hub.open = False
    app = App(None)
    assert hub.open
    assert set(app.routes) == {"/v1/specchat", "/v1/specchat/trace/{key}"}
    assert (routes.plugin().name, routes.plugin().required_tasks) == ("specchat_http", ("generate",))


async def test_the_status_is_put_together_from_all_processes(hub: Hub, fresh_fuse: Fuse) -> None:
    fresh_fuse.patched = {"the front end"}
    hub.late = 2
    engine = Engine(STATUS)
    app = App(engine)
    for _ in range(2):
        answer = await app.get("/v1/specchat")
    assert (answer.status_code, answer.content["trace"], answer.content["switch"]) == (200, True, True)
    assert (answer.content["vllm"], answer.content["late_steps"]) == ("0.32.0", 2)
    assert engine.asked == 1


@pytest.mark.usefixtures("hub")
async def test_several_api_servers_are_counted(fresh_fuse: Fuse) -> None:
    fresh_fuse.patched = {"the front end"}
    answer = await App(Engine(STATUS), servers=2).get("/v1/specchat")
    assert not answer.content["trace"]


@pytest.mark.usefixtures("hub")
async def test_an_engine_without_the_hook_is_said_once_and_asked_again() -> None:
    engine = Engine(None)
    app = App(engine)
    for _ in range(2):
        answer = await app.get("/v1/specchat")
    assert engine.asked == 2
    assert answer.content["problems"] == ["the engine does not know the hook: RuntimeError"]
    engine.status = STATUS
    assert (await app.get("/v1/specchat")).content["switch"]


@pytest.mark.usefixtures("hub")
async def test_a_server_without_an_engine_says_nothing_of_it() -> None:
    assert (await App(None).get("/v1/specchat")).content["k"] is None


async def test_a_trace_is_streamed_with_texts(hub: Hub) -> None:
    for one in (row(0, []), row(1, [5, 6])):
        hub.add(one)
    hub.end("a", "length")
    answer = await App(Engine(STATUS)).trace()
    text = "".join([line async for line in answer.content])
    assert answer.media_type == "text/event-stream"
    assert answer.headers["X-Accel-Buffering"] == "no"
    assert text.startswith(": waiting\n\n")
    assert '"texts": {"5": " five", "6": "\\ufffd"}' in text
    assert text.endswith("data: [DONE]\n\n")


async def test_from_names_the_first_row(hub: Hub) -> None:
    for number in range(3):
        hub.add(row(number, []))
    hub.end("a", "length")
    text = "".join([line async for line in (await App(None).trace(start="2")).content])
    assert '"n": 2' in text
    assert '"n": 1' not in text


@pytest.mark.parametrize(
    ("key", "start"),
    [("short", None), (KEY + "/", None), (KEY, "-1"), (KEY, "x"), (KEY, ""), pytest.param(KEY, "9" * 5000, id="huge")],
)
async def test_what_is_malformed_is_not_found_and_takes_nothing(key: str, start: str | None, hub: Hub) -> None:
    answer = await App(None).trace(key, start)
    assert answer.status_code == 404
    assert answer.content["error"]["type"] == "invalid_request_error"
    assert len(hub) == 0


async def test_a_trace_that_has_a_reader_is_refused(hub: Hub) -> None:
    app = App(None)
    first = await app.trace()
    assert (await app.trace()).status_code == 409
    await first.content.aclose()
    await freed()
    assert hub.readers == 0


@pytest.mark.parametrize("lines_read", [0, 1])
async def test_a_client_that_goes_before_or_after_the_answer_begins_leaves_the_trace_free(
    lines_read: int, hub: Hub
) -> None:
    app = App(None)
    hub.add(row(0, []))
    answer = await app.trace()
    for _ in range(lines_read):
        await anext(answer.content)
    del answer
    await freed()
    assert hub.readers == 0
    assert (await app.trace()).status_code == 200


async def test_a_dead_engine_ends_a_trace(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat_vllm.reading._PULSE_SECONDS", 0.01)
    engine = Engine(STATUS)
    engine.errored = True
    hub.add(row(0, []))
    text = "".join([line async for line in (await App(engine).trace()).content])
    assert '"end": "error"' in text


# Versions without endpoint plugins


def serve_module() -> Any:
    return SimpleNamespace(register_vllm_serve_api_routers=lambda app, *args: ("added", app, *args))


@pytest.mark.usefixtures("hub")
def test_an_old_server_gets_the_routes_where_it_adds_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_vllm.install("vllm.plugins")
    monkeypatch.setenv("VLLM_PLUGINS", "specchat,specchat_http")
    module, app = serve_module(), Router()
    old_server.patch(module)
    assert module.register_vllm_serve_api_routers(app, 1) == ("added", app, 1)
    assert "/v1/specchat" in app.routes


@pytest.mark.usefixtures("hub")
def test_an_old_server_gets_no_routes_that_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_vllm.install("vllm.plugins")
    monkeypatch.setenv("VLLM_PLUGINS", "specchat")
    module, app = serve_module(), Router()
    old_server.patch(module)
    module.register_vllm_serve_api_routers(app)
    assert not app.routes


def test_a_server_that_loads_endpoint_plugins_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VLLM_PLUGINS", "specchat,specchat_http")
    plugins = fake_vllm.install("vllm.plugins.endpoint_plugins")
    plugins.__spec__ = SimpleNamespace()  # type: ignore[assignment]
    module = serve_module()
    before = module.register_vllm_serve_api_routers
    old_server.patch(module)
    assert module.register_vllm_serve_api_routers is before


def test_an_unknown_old_server_is_left_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_vllm.install("vllm.plugins")
    monkeypatch.setenv("VLLM_PLUGINS", "specchat_http")
    with pytest.raises(Unsupported, match="register_vllm_serve_api_routers"):
        old_server.patch(SimpleNamespace(__name__="vllm.entrypoints.serve"))
