"""What reaches a server: our own headers and body, and nothing that the environment would add."""

import pytest

from chatting import ask, ask_server, session_with
from scripted_server import ScriptedServer, chunk, sse
from specchat.core.errors import ConfigurationError
from specchat.session.ports import Sampling

CHAT = "/v1/chat/completions"
GOOD = sse(chunk("Hi", finish="stop"), "[DONE]")


async def test_the_body_asks_for_usage_and_ids_and_holds_the_history() -> None:
    async with ScriptedServer({CHAT: GOOD}) as server:
        async with session_with(server.url, Sampling(temperature=0.0, stop=("END",))) as session:
            await ask(session, "One")
            await ask(session, "Two")
        body = server.chat_requests()[1].json
    assert body == {
        "model": "demo-model",
        "messages": [
            {"role": "user", "content": "One"},
            {"role": "assistant", "content": "Hi"},
            {"role": "user", "content": "Two"},
        ],
        "stream": True,
        "stream_options": {"include_usage": True},
        "return_token_ids": True,
        "temperature": 0.0,
        "stop": ["END"],
    }


async def test_nothing_of_the_sdks_environment_leaks(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("API_KEY", "ADMIN_KEY", "ORG_ID", "PROJECT_ID", "WEBHOOK_SECRET"):
        monkeypatch.setenv(f"OPENAI_{name}", f"leaked-{name}")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/leaked")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer leaked\nX-Custom: leaked\nCookie: leaked")
    async with ScriptedServer({CHAT: GOOD}) as server:
        assert (await ask_server(server.url)).text == "Hi"
        seen = [(request.headers, request.body) for request in server.requests]
    assert len(seen) == 5
    assert "leaked" not in str(seen)
    assert all("authorization" not in headers for headers, _ in seen)
    assert all(not name.startswith(("openai", "x-custom")) for headers, _ in seen for name in headers)


async def test_our_own_key_goes_with_every_request() -> None:
    async with ScriptedServer({CHAT: GOOD}) as server:
        await ask_server(server.url, key=" sk-mine\n")
        assert {request.headers["authorization"] for request in server.requests} == {"Bearer sk-mine"}


async def test_a_proxy_never_takes_a_request_to_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    async with ScriptedServer() as proxy, ScriptedServer({CHAT: GOOD}) as server:
        for name in ("http_proxy", "HTTP_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.setenv(name, proxy.url)
        assert (await ask_server(server.url)).text == "Hi"
        assert proxy.requests == []


@pytest.mark.parametrize("key", ["two words", "ключ", "a\nb"])
async def test_a_key_that_cannot_be_one_is_refused_without_repeating_it(key: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        await ask_server("http://127.0.0.1:1", key=key)
    assert key not in str(caught.value)
