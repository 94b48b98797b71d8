"""Traces of the server hook over real HTTP: whatever happens to one, the reply is whole and says what it rests on."""

import asyncio
import json
import time

import pytest

from chatting import ask, session_with
from hooked_server import CHAT, END, HEAD, IDS, ROWS, STREAM, TEXTS, WHOLE, HookedServer, hook_status, told
from scripted_server import Cut, Pause, ScriptedServer, Step, answer, chunk, sse
from specchat.core.errors import CannotSwitch
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of
from specchat.core.switching import Speculation, Way
from specchat.exports import reply_object

CHUNKED = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
"""The head of an answer whose early end shows."""


async def reply_from(server: ScriptedServer) -> Reply:
    async with server, session_with(server.url) as session:
        return await ask(session)


def is_whole(reply: Reply) -> None:
    """Is the reply the server's, traced to its last token?"""
    assert (reply.text, reply.outcome) == ("Abcdefghi", Outcome.FINISHED)
    assert reply.is_traced, reply.notes
    assert [step.proposed for step in reply.steps] == [row.proposed for row in ROWS[1:]]
    assert figures_of(reply).evidence["acceptance_length"] == "traced"
    assert not [note for note in reply.notes if "trace" in note]


def fell_back(reply: Reply, *words: str) -> None:
    """Is the reply whole, on the next evidence, and does it say why?"""
    assert (reply.text, reply.outcome, reply.error) == ("Abcdefghi", Outcome.FINISHED, None)
    assert not reply.is_traced
    assert figures_of(reply).evidence["acceptance_length"] == "inferred"
    said = [note for note in reply.notes if "trace" in note]
    assert said
    for word in words:
        assert any(word in note for note in said), said


async def test_a_reply_is_traced_with_what_the_draft_wanted() -> None:
    server = HookedServer()
    reply = await reply_from(server)
    is_whole(reply)
    assert [step.rejected for step in reply.steps] == [(9,), (), ()]
    assert reply.text_of_proposal(9) == " nine"
    key = server.chat_requests()[0].json["vllm_xargs"]["specchat_trace"]  # type: ignore[index]
    assert server.asked == [(key, 0)]


async def test_the_trace_is_opened_before_the_reply_is_asked_for() -> None:
    server = HookedServer()
    await reply_from(server)
    paths = [request.path for request in server.requests]
    asked = next(place for place, path in enumerate(paths) if path.startswith("/v1/specchat/trace/"))
    assert asked < paths.index(CHAT)


async def test_every_reply_has_a_key_of_its_own_that_nobody_guesses() -> None:
    server = HookedServer()
    async with server, session_with(server.url) as session:
        for _ in range(3):
            is_whole(await ask(session))
    keys = {key for key, _ in server.asked}
    assert len(keys) == 3
    assert all(len(key) >= 32 and key.isalnum() for key in keys)


@pytest.mark.parametrize("rows_before", [0, 1, 3])
async def test_a_connection_that_breaks_is_made_again_and_goes_on_where_it_was(rows_before: int) -> None:
    def trace(connection: int, first: int) -> list[Step]:
        if connection < 3:
            # A row that was cut in half comes again whole.
            part = told(*ROWS[first:rows_before], texts=TEXTS) + told(ROWS[3])[:40]
            return [CHUNKED + f"{len(part):x}\r\n".encode() + part + b"\r\n", Pause(0.02), Cut()]
        return [HEAD + told(*ROWS[first:]) + END]

    server = HookedServer(trace, chat=[STREAM[:-200], Pause(0.9), STREAM[-200:]])
    is_whole(await reply_from(server))
    assert [row for _, row in server.asked] == [0, rows_before, rows_before, rows_before]


async def test_a_trace_that_ends_without_its_end_is_asked_for_again() -> None:
    server = HookedServer(lambda connection, first: HEAD + told(*ROWS[first : 2 + 2 * connection]) + END * connection)
    is_whole(await reply_from(server))


async def test_a_connection_that_keeps_breaking_is_given_up_with_a_sentence() -> None:
    server = HookedServer(
        lambda _connection, _first: [HEAD + told(*ROWS[:2]), Cut()],
        chat=[STREAM[:-200], Pause(1.2), STREAM[-200:]],
    )
    fell_back(await reply_from(server), "the connection broke", "covers 4 of 9 tokens")
    assert len(server.asked) == 4


async def test_a_reader_that_the_server_has_not_missed_yet_does_not_shut_the_next_one_out() -> None:
    def trace(connection: int, first: int) -> list[Step]:
        if connection == 0:
            return [HEAD + told(*ROWS[:2], texts=TEXTS), Cut()]
        taken = answer("409 Conflict", '{"error": {"message": "This trace has a reader already."}}')
        return [taken if connection == 1 else HEAD + told(*ROWS[first:]) + END]

    is_whole(await reply_from(HookedServer(trace)))


async def test_a_trace_that_never_answers_delays_a_reply_by_a_second_at_most() -> None:
    server = HookedServer(lambda _connection, _first: [Pause()])
    started = time.monotonic()
    fell_back(await reply_from(server), "sent nothing of it")
    assert time.monotonic() - started < 4


@pytest.mark.parametrize(
    ("refusal", "words"),
    [
        (
            answer("404 Not Found", '{"error": {"message": "No such key."}}'),
            "does not know this reply (“No such key.”)",
        ),
        (answer("401 Unauthorized", '{"error": "Unauthorized"}'), "wants an API key"),
        (answer("409 Conflict", '{"error": {"message": "It has a reader."}}'), "somebody else reads it"),
        (answer("500 Internal Server Error", "boom"), "answers 500 (“boom”)"),
    ],
)
async def test_a_trace_that_is_refused_is_given_up_at_once(refusal: bytes, words: str) -> None:
    server = HookedServer(lambda _connection, _first: refusal)
    fell_back(await reply_from(server), words)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    "body",
    [
        b"<html>Sign in</html>\n",
        b"data: {broken\n\n",
        b'data: {"steps": [{"n": 0}]}\n\n',
        b'data: {"steps": [{"n": 0, "t": 0, "proposed": [1], "drafted": 2, "accepted": 0, "emitted": [1000]}]}\n\n',
        b'data: {"steps": [{"n": 0, "t": 0, "proposed": ["x"], "drafted": 1, "accepted": 0, "emitted": [1000]}]}\n\n',
        b'data: {"steps": [{"n": -1, "t": 0, "proposed": [], "accepted": 0, "emitted": [1000]}]}\n\n',
        b'data: {"error": {"message": "The hook broke."}}\n\n',
    ],
)
async def test_what_is_no_trace_ends_it_with_a_sentence(body: bytes) -> None:
    server = HookedServer(lambda _connection, _first: HEAD + body + WHOLE[len(HEAD) :])
    fell_back(await reply_from(server), "cannot be read")
    assert len(server.asked) == 1


async def test_a_trace_that_comes_byte_by_byte_is_read() -> None:
    def trace(_connection: int, _first: int) -> list[Step]:
        return [step for byte in WHOLE for step in (bytes([byte]), Pause(0))]

    is_whole(await reply_from(HookedServer(trace)))


async def test_a_trace_ahead_of_the_stream_colours_each_token_as_it_comes() -> None:
    held: list[Step] = [STREAM[:-400], Pause(0.4), STREAM[-400:]]
    server = HookedServer(chat=held)
    seen: set[str] = set()
    async with server, session_with(server.url) as session:
        async for _ in session.ask("Hello"):
            reply = session.conversation.turns[-1].reply
            # Live, before the last chunk: none of what is shown is a guess.
            seen |= {str(label.evidence) for label in reply.labels} if reply.is_running else set()
        is_whole(session.conversation.turns[-1].reply)
    assert seen == {"traced"}


async def test_a_trace_behind_the_stream_is_waited_for() -> None:
    def trace(_connection: int, _first: int) -> list[Step]:
        return [HEAD + told(*ROWS[:2], texts=TEXTS), Pause(0.5), told(*ROWS[2:]), Pause(0.1), END]

    is_whole(await reply_from(HookedServer(trace)))


async def test_a_trace_that_lags_too_far_behind_is_left() -> None:
    server = HookedServer(lambda _connection, _first: [HEAD + told(*ROWS[:3]), Pause()])
    fell_back(await reply_from(server), "did not come in time", "covers 5 of 9 tokens")


async def test_rows_of_another_reply_are_refused() -> None:
    strange = [row._replace(emitted=tuple(token + 1 for token in row.emitted)) for row in ROWS]
    server = HookedServer(lambda _connection, _first: HEAD + told(*strange) + END)
    fell_back(await reply_from(server), "does not fit the reply")


async def test_rows_that_the_server_has_dropped_are_missed_and_named() -> None:
    lost = b'data: {"end": "lost", "steps": 4, "dropped": 2}\n\n'
    server = HookedServer(lambda _connection, _first: HEAD + told(*ROWS[2:]) + lost)
    fell_back(await reply_from(server), "dropped 2 steps", "step 0 is missing")


async def test_a_stop_waits_a_moment_for_the_rows_of_what_came() -> None:
    def trace(_connection: int, _first: int) -> list[Step]:
        return [HEAD + told(*ROWS[:1]), Pause(0.2), told(*ROWS[1:3]) + END.replace(b"length", b"abort")]

    server = HookedServer(trace, chat=[STREAM[:300], Pause()])
    async with server, session_with(server.url) as session:
        async for _ in session.ask("Hello"):
            if session.conversation.turns[-1].reply.output_tokens:
                session.stop()
    reply = session.conversation.turns[-1].reply
    assert reply.outcome is Outcome.STOPPED
    assert reply.is_traced
    assert reply.trace_ended is not None
    assert reply.trace_ended.reason == "abort"


@pytest.mark.parametrize("protocol", [2, "1.1", None])
async def test_a_hook_that_speaks_another_protocol_is_not_used_and_that_is_said(protocol: object) -> None:
    server = HookedServer(status=hook_status(protocol=protocol))
    async with server, session_with(server.url) as session:
        assert session.server.hook is None
        assert any(f"speaks protocol {protocol}" in gap for gap in session.server.gaps)
        reply = await ask(session)
    assert reply.text == "Abcdefghi"
    assert server.asked == []
    assert "vllm_xargs" not in server.chat_requests()[0].json


@pytest.mark.parametrize(
    "page",
    [
        answer("404 Not Found", "no"), answer("200 OK", "<html>", "text/html"), answer("200 OK", "{}"), [Cut()],
        answer("200 OK", "[1]"), answer("503 Busy", ""), answer("200 OK", '{"protocol": 1}'),
    ],
)  # fmt: skip
async def test_a_server_without_a_hook_is_asked_for_nothing_of_it(page: bytes | list[Step]) -> None:
    server = HookedServer(status=page)
    async with server, session_with(server.url) as session:
        assert session.server.hook is None
        assert any("no specchat hook" in gap for gap in session.server.gaps)
        await ask(session)
        with pytest.raises(CannotSwitch, match="--baseline-url"):
            session.set_speculation(0)
    assert "vllm_xargs" not in server.chat_requests()[0].json


async def test_a_hook_that_can_only_trace_says_why_it_cannot_switch() -> None:
    status = hook_status(switch=False, problems=["This runner has no place for it."])
    async with HookedServer(status=status) as server, session_with(server.url) as session:
        assert any("no place for it" in gap for gap in session.server.gaps)
        with pytest.raises(CannotSwitch, match="no place for it"):
            session.set_speculation(0)
        is_whole(await ask(session))


async def test_a_hook_that_can_only_switch_is_asked_for_no_trace() -> None:
    server = HookedServer(status=hook_status(trace=False))
    async with server, session_with(server.url) as session:
        session.set_speculation(1)
        await ask(session)
    assert server.chat_requests()[0].json["vllm_xargs"] == {"specchat_k": 1}
    assert server.asked == []


async def test_the_switch_goes_with_each_reply_as_it_stands_then() -> None:
    server = HookedServer()
    async with server, session_with(server.url) as session:
        for limit in (None, 0, 1, 3, 2):
            session.set_speculation(limit)
            await ask(session)
        turns = session.conversation.turns
    sent = [request.json["vllm_xargs"].get("specchat_k") for request in server.chat_requests()]  # type: ignore[attr-defined]
    assert sent == [None, 0, 1, None, 2]
    assert [turn.reply.speculation.limit for turn in turns] == sent
    assert [turn.reply.speculating for turn in turns] == [True, False, None, True, None]
    spoken = reply_object(turns[1])["speculation"]
    assert isinstance(spoken, dict)
    # This server proposes all the same, and the trace shows it.
    assert (spoken["limit"], spoken["way"], spoken["obeyed"]) == (0, "hook", False)
    assert "did not obey" in spoken["meant"]


async def test_a_server_that_refuses_the_wishes_is_never_silently_taken_to_have_switched() -> None:
    def chat(request: object) -> bytes:
        refused = '{"error": {"message": "vllm_xargs: extra inputs are not permitted", "code": 400}}'
        return answer("400 Bad Request", refused) if "vllm_xargs" in request.json else STREAM  # type: ignore[attr-defined]

    server = HookedServer(lambda _connection, _first: [Pause()], chat=chat)
    async with server, session_with(server.url) as session:
        session.set_speculation(0)
        for _ in range(2):
            reply = await ask(session)
            assert (reply.text, reply.speculation, reply.speculating) == ("Abcdefghi", Speculation(), None)
            assert any("speculation was not switched" in note for note in reply.notes)
            assert not any("trace of this reply" in note for note in reply.notes)  # nor was it waited for
            assert session.speculation == Speculation(0, Way.HOOK)
    assert len(server.chat_requests()) == 3


async def test_a_server_that_begins_anew_in_mid_reply_ends_reply_and_trace_with_a_sentence_each() -> None:
    cut: list[Step] = [STREAM[:400], Pause(0.1), Cut()]
    server = HookedServer(lambda _connection, _first: [HEAD + told(*ROWS[:1]), Cut()], chat=cut)
    async with server, session_with(server.url) as session:
        reply = await ask(session)
        assert reply.outcome is Outcome.FAILED
        server.trace = lambda _connection, _first: WHOLE
        server.answers[CHAT] = STREAM
        is_whole(await ask(session))


async def test_many_replies_of_one_server_are_each_traced_by_their_own_key() -> None:
    server = HookedServer()
    async with server:

        async def one() -> Reply:
            async with session_with(server.url) as session:
                return await ask(session)

        for reply in await asyncio.gather(*(one() for _ in range(6))):
            is_whole(reply)
    assert len({key for key, _ in server.asked}) == 6


async def test_an_export_carries_the_proposals_kept_ones_included() -> None:
    async with HookedServer() as server, session_with(server.url) as session:
        await ask(session)
        exported = json.loads(json.dumps(reply_object(session.conversation.turns[-1])))
    assert [[one["id"] for one in step["proposed"]] for step in exported["steps"]] == [[2, 3, 9], [], [6, 7, 8]]
    assert exported["steps"][0]["proposed"][2] == {"id": 9, "text": " nine"}
    assert {step["evidence"] for step in exported["steps"]} == {"traced"}
    assert exported["trace"] == {"used": True, "covered": len(IDS), "end": "length", "beyond": []}
    assert exported["server"]["hook"]["off_draft_forwards"] == 1


async def test_a_reply_without_ids_is_whole_all_the_same() -> None:
    stream = sse(chunk("Abcdefghi", finish="length"), "[DONE]")
    reply = await reply_from(HookedServer(chat=stream))
    assert (reply.text, reply.outcome, reply.is_traced) == ("Abcdefghi", Outcome.FINISHED, False)
