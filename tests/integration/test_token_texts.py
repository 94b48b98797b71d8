"""Texts of token ids over HTTP: few calls, each id once, and silence where the server has no tokenizer."""

import json

import pytest

from chatting import ask, session_with
from scripted_server import Answer, Cut, Request, ScriptedServer, Step, answer, chunk, sse
from specchat.core.reply import Reply

CHAT = "/v1/chat/completions"
WORDS = {1: "<|im_start|>", 2: "A", 3: " b", 4: "é"}


def text_of(ids: list[int]) -> str:
    """As a byte-level tokenizer: 7 and 8 are the halves of one character."""
    text = ""
    for index, token in enumerate(ids):
        if token == 7:
            text += "é" if ids[index + 1 : index + 2] == [8] else "\ufffd"
        elif token == 8:
            text += "" if index and ids[index - 1] == 7 else "\ufffd"
        else:
            text += WORDS.get(token, f" w{token}")
    return text


def detokenize(request: Request) -> bytes:
    ids = request.json["tokens"]
    assert isinstance(ids, list)
    return answer("200 OK", json.dumps({"prompt": text_of(ids)}))


def stream(first_prompt_id: int, *ids: int) -> bytes:
    return sse(
        chunk("", prompt_token_ids=[first_prompt_id, 5]),
        chunk(text_of(list(ids)), ids=list(ids), finish="stop"),
        "[DONE]",
    )


async def reply_and_calls(body: bytes, route: Answer = detokenize) -> tuple[list[Reply], list[object]]:
    server = ScriptedServer({CHAT: body, "/detokenize": route})
    async with server, session_with(server.url) as session:
        replies = [await ask(session), await ask(session)]
    return replies, [request.json["tokens"] for request in server.requests if request.path == "/detokenize"]


async def test_many_ids_go_into_one_call_and_are_asked_for_once() -> None:
    replies, calls = await reply_and_calls(stream(1, 2, 3, *range(20, 60)))
    assert [token.text for token in replies[0].tokens][:3] == ["A", " b", " w20"]
    assert [token.text for token in replies[1].tokens] == [token.text for token in replies[0].tokens]
    assert len(calls) == 2
    assert calls[0] == [1]


async def test_without_a_special_token_ids_are_asked_for_one_by_one() -> None:
    replies, calls = await reply_and_calls(stream(2, 2, 3, 4))
    assert [token.text for token in replies[0].tokens] == ["A", " b", "é"]
    assert sorted(map(str, calls)) == ["[2]", "[3]", "[4]"]


async def test_a_character_of_two_tokens_belongs_to_the_first() -> None:
    replies, _ = await reply_and_calls(stream(1, 2, 7, 8, 3))
    assert [token.text for token in replies[0].tokens] == ["A", "é", "", " b"]


@pytest.mark.parametrize(
    "route",
    [
        answer("404 Not Found", "no"),
        answer("401 Unauthorized", "no"),
        answer("200 OK", "[]"),
        answer("200 OK", "<html>"),
    ],
)
async def test_a_server_without_a_tokenizer_is_asked_once_and_the_text_stays_whole(route: bytes) -> None:
    replies, calls = await reply_and_calls(stream(2, 2), route)
    assert [reply.text for reply in replies] == ["A", "A"]
    assert len(calls) == 1


async def test_a_connection_that_breaks_once_costs_no_token_its_text() -> None:
    seen = []

    def breaks_once(request: Request) -> bytes | list[Step]:
        seen.append(request)
        return [Cut()] if len(seen) == 1 else detokenize(request)

    replies, _ = await reply_and_calls(stream(1, 2, 3, 4), breaks_once)

    assert [token.text for token in replies[0].tokens] == ["A", " b", "é"]
