"""One test per fault, over real HTTP: the text that came is kept, and the reason is said."""

import asyncio
import json

import pytest

from chatting import ask, ask_server, session_with
from scripted_server import SSE, Cut, Pause, Request, ScriptedServer, Step, answer, chunk, sse
from specchat.core.errors import (
    AuthenticationRefused,
    FieldRefused,
    ModelNotServed,
    PromptTooLong,
    ServerRefused,
    ServerUnreachable,
    StreamBroken,
)
from specchat.core.reply import Outcome, Reply
from specchat.session.ports import Sampling

CHAT = "/v1/chat/completions"
KEY = "sk-very-secret"
ROLE = 'data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n'


def error_json(message: str, **more: object) -> str:
    return json.dumps({"error": {"message": message, **more}})


async def reply_to(*steps: bytes | Pause | Cut) -> Reply:
    async with ScriptedServer({CHAT: steps}) as server:
        return await ask_server(server.url, key=KEY)


def failed(reply: Reply, kind: type[Exception], *words: str, text: str = "") -> None:
    assert reply.outcome is Outcome.FAILED
    assert isinstance(reply.error, kind)
    assert reply.text == text
    for word in words:
        assert word in str(reply.error)
    assert KEY not in str(reply.error)
    assert "\n" not in str(reply.error)


async def test_a_refused_connection_is_said(unused_tcp_port: int) -> None:
    with pytest.raises(ServerUnreachable, match="refused"):
        await ask_server(f"http://127.0.0.1:{unused_tcp_port}")


async def test_an_unknown_host_is_said() -> None:
    with pytest.raises(ServerUnreachable, match=r"no host named no-such-host\.invalid"):
        await ask_server("http://no-such-host.invalid:8000")


async def test_tls_to_a_plain_server_is_said() -> None:
    async with ScriptedServer() as server:
        with pytest.raises(ServerUnreachable, match="try http://"):
            await ask_server(server.url.replace("http:", "https:"))


async def test_something_that_speaks_no_http_is_said() -> None:
    async with ScriptedServer({"/v1/models": b"SSH-2.0-OpenSSH_9.6\r\n"}) as server:
        with pytest.raises(ServerUnreachable, match="does not speak HTTP"):
            await ask_server(server.url)


async def test_a_wanted_key_is_asked_for() -> None:
    async with ScriptedServer({"/v1/models": answer("401 Unauthorized", '{"error":"Unauthorized"}')}) as server:
        with pytest.raises(AuthenticationRefused, match="SPECCHAT_API_KEY"):
            await ask_server(server.url)


async def test_a_wrong_key_is_called_wrong_and_never_shown() -> None:
    refusal = answer("401 Unauthorized", error_json(f"Incorrect API key provided: {KEY}"))
    failed(await reply_to(refusal), AuthenticationRefused, "does not accept the key", "***")


async def test_an_unknown_model_lists_what_is_served() -> None:
    refusal = answer("404 Not Found", error_json("The model `demo-modell` does not exist."))
    failed(await reply_to(refusal), ModelNotServed, "not served", "It offers: demo-model")


async def test_a_prompt_that_is_too_long_is_told_with_the_limit() -> None:
    refusal = answer("400 Bad Request", error_json("This model's maximum context length is 128 tokens. exceeded"))
    failed(await reply_to(refusal), PromptTooLong, "128", "--max-tokens")


@pytest.mark.parametrize("status", ["422 Unprocessable Entity", "400 Bad Request"])
async def test_refused_fields_are_left_out_once_and_remembered(status: str) -> None:
    def strict(request: Request) -> bytes:
        for name in ("return_token_ids", "seed", "max_tokens"):
            if name in request.json:
                return answer(status, json.dumps({"detail": [{"type": "extra_forbidden", "loc": ["body", name]}]}))
        return sse(chunk("Hi", finish="stop"), "[DONE]")

    async with ScriptedServer({CHAT: strict}) as server:
        async with session_with(server.url, Sampling(seed=3, max_tokens=7)) as session:
            first, second = await ask(session), await ask(session)
        requests = [request.json for request in server.chat_requests()]
    assert (first.text, second.text) == ("Hi", "Hi")
    assert any("return_token_ids" in note and "origins cannot be known" in note for note in first.notes)
    assert any("seed" in note for note in first.notes)
    assert second.notes == []
    assert len(requests) == 5
    assert requests[3] == requests[3] | {"max_completion_tokens": 7, "stream": True}
    assert not requests[4].keys() & {"return_token_ids", "seed", "max_tokens"}


async def test_a_server_that_keeps_refusing_a_field_is_asked_no_third_time() -> None:
    refusal = answer("400 Bad Request", error_json("return_token_ids is not supported"))
    async with ScriptedServer({CHAT: refusal}) as server:
        reply = await ask_server(server.url)
        assert len(server.chat_requests()) == 2
    failed(reply, FieldRefused, "return_token_ids")


async def test_a_busy_server_says_when_to_come_back() -> None:
    refusal = answer("429 Too Many Requests", error_json("slow down"), retry_after="20")
    failed(await reply_to(refusal), ServerRefused, "429", "20 s")


async def test_a_server_error_is_asked_once_and_shown() -> None:
    async with ScriptedServer({CHAT: answer("500 Internal Server Error", "boom", "text/plain")}) as server:
        reply = await ask_server(server.url)
        assert len(server.chat_requests()) == 1
    failed(reply, ServerRefused, "500", "boom")


async def test_a_web_page_is_called_one() -> None:
    page = "<!doctype html><html><head><title>Router login</title></head></html>"
    failed(await reply_to(answer("200 OK", page, "text/html")), ServerRefused, "Router login", "URL")


async def test_json_instead_of_a_stream_is_a_reply() -> None:
    body = {"choices": [{"message": {"content": "Whole"}, "finish_reason": "stop"}]}
    reply = await reply_to(answer("200 OK", json.dumps(body)))
    assert (reply.outcome, reply.text) == (Outcome.FINISHED, "Whole")


async def test_a_redirect_is_shown_and_not_followed() -> None:
    async with ScriptedServer() as other:
        redirect = answer("307 Temporary Redirect", "", location=f"{other.url}{CHAT}")
        failed(await reply_to(redirect), ServerRefused, other.url)
        assert other.requests == []


async def test_an_error_line_after_text_keeps_the_text() -> None:
    reply = await reply_to(sse(chunk("Some text"), error_json("engine died", code=500), "[DONE]"))
    failed(reply, ServerRefused, "engine died", text="Some text")


@pytest.mark.parametrize("end", [b"", Cut()], ids=["closed", "broken"])
@pytest.mark.parametrize(
    ("body", "text"),
    [
        (sse(chunk("Kept")) + b'data: {"choices":[{"delta":{"con', "Kept"),
        (sse(chunk("Kept")) + 'data: {"choices":[{"delta":{"content":"ä'.encode()[:-1], "Kept"),
        ((SSE + ROLE).encode(), ""),
        (sse(chunk("Kept")), "Kept"),
    ],
    ids=["in a line", "in a character", "after the role", "between events"],
)
async def test_a_stream_that_is_cut_keeps_what_came(body: bytes, text: str, end: bytes | Cut) -> None:
    failed(await reply_to(body, Pause(0.05), end), StreamBroken, text=text)


async def test_a_chunked_stream_that_breaks_is_a_broken_connection() -> None:
    head = SSE.replace("connection: close", "transfer-encoding: chunked").encode()
    event = f"data: {chunk('Kept')}\n\n".encode()
    reply = await reply_to(head, b"%x\r\n%s\r\n" % (len(event), event))
    failed(reply, StreamBroken, "connection broke", text="Kept")


async def test_a_length_that_was_too_long_is_no_fault_after_the_end() -> None:
    head = SSE.replace("connection: close", "content-length: 99999").encode()
    body = sse(chunk("All"), chunk(finish="stop"), "[DONE]").split(b"\r\n\r\n", 1)[1]
    reply = await reply_to(head, body)
    assert (reply.outcome, reply.text) == (Outcome.FINISHED, "All")


async def test_a_stall_ends_when_the_user_stops_and_keeps_the_text() -> None:
    async with (
        ScriptedServer({CHAT: [sse(chunk("Begun")), Pause()]}) as server,
        session_with(server.url) as session,
    ):
        asking = asyncio.create_task(ask(session, idle_limit_seconds=None))
        while session.current is None or session.current.reply.text != "Begun":  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        session.stop()
        async with asyncio.timeout(5):
            reply = await asking
    assert (reply.outcome, reply.text, reply.error) == (Outcome.STOPPED, "Begun", None)


@pytest.mark.parametrize("data", [[chunk("All"), "[DONE]"], [chunk("All", finish="stop"), "[DONE]"]])
async def test_a_server_that_never_closes_after_done_does_not_hold_the_reply(data: list[str]) -> None:
    async with asyncio.timeout(4):
        reply = await reply_to(sse(*data), Pause())
    assert (reply.outcome, reply.text) == (Outcome.FINISHED, "All")


async def test_a_server_that_dies_in_mid_reply_and_comes_back_is_used_again() -> None:
    whole = sse(chunk("Second", finish="stop"), "[DONE]")
    dying = ScriptedServer({CHAT: [sse(chunk("First")), Pause(0.05), Cut()]})
    async with dying:
        backend = session_with(dying.url)
        session = await backend.__aenter__()
        first = await ask(session)
    gone = await ask(session)
    async with ScriptedServer({CHAT: whole}, port=dying.port):
        again = await ask(session)
        await backend.__aexit__(None, None, None)
    failed(first, StreamBroken, text="First")
    failed(gone, ServerUnreachable, "refused")
    assert (again.outcome, again.text) == (Outcome.FINISHED, "Second")


async def test_a_garbage_line_between_good_ones_is_skipped_and_counted() -> None:
    reply = await reply_to(sse(chunk("A"), "{garbage", chunk("B", finish="stop"), "[DONE]"))
    assert (reply.outcome, reply.text) == (Outcome.FINISHED, "AB")
    assert "1 line of the stream could not be read: “{garbage”" in reply.notes


async def test_a_chunk_of_five_megabytes_arrives_whole() -> None:
    text = "word " * 1_000_000
    reply = await reply_to(sse(chunk(text, finish="stop"), "[DONE]"))
    assert reply.outcome is Outcome.FINISHED
    assert reply.text == text


async def test_pings_are_heard_but_are_no_first_token() -> None:
    end = sse(chunk("x", finish="stop"))[len(SSE) :]
    steps: list[Step] = [SSE.encode() + b": ping\n\n", Pause(0.2), b": ping\n\n", Pause(0.2), end]
    async with ScriptedServer({CHAT: steps}) as server, session_with(server.url) as session:
        reply = await ask(session, idle_limit_seconds=0.35)
    assert (reply.outcome, reply.text) == (Outcome.FINISHED, "x")
    assert reply.clock.first_token_seconds is not None
    assert reply.clock.first_token_seconds >= 0.4
