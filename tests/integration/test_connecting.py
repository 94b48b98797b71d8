"""What a server shows of itself when it is connected to, and what cannot be known about it."""

import json

import pytest

from chatting import ask, session_with
from hooked_server import hook_status
from scripted_server import Answer, Cut, ScriptedServer, answer, chunk, models, sse
from specchat.core.errors import ModelChoiceNeeded, ServerRefused, ServerUnreachable
from specchat.core.reply import Outcome
from specchat.core.server import ServerInfo

CHAT = "/v1/chat/completions"
IDS = sse(
    chunk("A", ids=[1]),
    chunk(" b c", ids=[2, 3]),
    chunk(finish="stop"),
    "[DONE]",
)


def metrics(model: str = "demo-model", drafts: int = 4) -> bytes:
    page = "".join(
        f'vllm:{name}{{model_name="{model}",engine="0"{more}}} {value}\n'
        for name, more, value in [
            ("spec_decode_num_drafts_total", "", drafts),
            ("spec_decode_num_draft_tokens_total", "", 3 * drafts),
            ("spec_decode_num_accepted_tokens_total", "", drafts),
            *[("spec_decode_num_accepted_tokens_per_pos_total", f',position="{i}"', 1) for i in range(3)],
            ("num_requests_running", "", 0),
        ]
    )
    return answer("200 OK", page, "text/plain")


def vllm(version: str, **answers: Answer) -> ScriptedServer:
    routes: dict[str, Answer] = {
        "/v1/models": models("demo-model", owned_by="vllm", max_model_len=2048, root="/weights"),
        "/version": answer("200 OK", json.dumps({"version": version})),
        "/metrics": metrics(),
        CHAT: IDS,
    }
    return ScriptedServer(routes | {f"/{name}": value for name, value in answers.items()})


async def connected(server: ScriptedServer, model: str | None = None) -> ServerInfo:
    async with server, session_with(server.url, model=model) as session:
        return session.server


async def test_a_vllm_tells_version_model_context_and_draft_length() -> None:
    info = await connected(vllm("0.32.0"))
    assert (info.version, info.model, info.max_model_len, info.draft_length) == ("0.32.0", "demo-model", 2048, 3)
    assert info.counters is not None
    assert info.counters.drafts == 4
    assert info.hook is None
    assert ["no specchat hook" in gap for gap in info.gaps] == [True]


async def test_an_older_vllm_says_what_a_newer_one_would_report() -> None:
    info = await connected(vllm("0.27.1"))
    assert len(info.gaps) == 2
    assert "0.27.1" in info.gaps[0]
    assert "--per-request-spec-decode-metrics detailed" in info.gaps[0]


async def test_an_older_vllm_with_the_hook_lacks_no_report() -> None:
    server = vllm("0.27.1", **{"v1/specchat": hook_status(vllm="0.27.1")})
    info = await connected(server)
    assert info.hook is not None
    assert info.gaps == ()


async def test_a_vllm_without_speculation_has_a_draft_length_of_zero() -> None:
    page = answer("200 OK", 'vllm:num_requests_running{model_name="demo-model"} 0\n', "text/plain")
    info = await connected(vllm("0.27.1", metrics=page))
    assert (info.draft_length, info.speculates, info.gaps) == (0, False, ())


async def test_counters_that_cannot_be_read_are_a_gap_and_no_failure() -> None:
    server = vllm("0.32.0", metrics=answer("404 Not Found", "no"))
    async with server, session_with(server.url) as session:
        assert session.server.draft_length is None
        assert any("/metrics" in gap and "404" in gap for gap in session.server.gaps)
        assert (await ask(session)).text == "A b c"
    # Nobody asks again for a page that is not there.
    assert sum(request.path == "/metrics" for request in server.requests) == 1


async def test_counters_of_another_model_are_not_taken() -> None:
    info = await connected(vllm("0.32.0", metrics=metrics("someone-elses")))
    assert info.counters is None
    assert any("no counters of demo-model" in gap for gap in info.gaps)


async def test_an_alias_is_found_under_the_name_that_the_server_counts_by() -> None:
    listed = [{"id": name, "owned_by": "vllm", "root": "/weights"} for name in ("demo-model", "alias")]
    server = vllm("0.32.0")
    server.answers["/v1/models"] = answer("200 OK", json.dumps({"data": listed}))
    info = await connected(server, model="alias")
    assert info.counters is not None
    assert info.draft_length == 3


async def test_several_models_need_a_choice() -> None:
    with pytest.raises(ModelChoiceNeeded) as caught:
        await connected(ScriptedServer({"/v1/models": models("a", "b")}))
    assert caught.value.models == ("a", "b")
    assert (await connected(ScriptedServer({"/v1/models": models("a", "b")}), model="b")).model == "b"


async def test_a_server_that_lists_no_models_works_with_a_named_one() -> None:
    missing = answer("404 Not Found", '{"detail":"Not Found"}')
    async with (
        ScriptedServer({"/v1/models": missing, CHAT: IDS}) as server,
        session_with(server.url, model="mine") as session,
    ):
        assert (await ask(session)).outcome is Outcome.FINISHED


@pytest.mark.parametrize(
    "unlisted", [answer("404 Not Found", '{"detail":"Not Found"}'), answer("501 Not Implemented", ""), [Cut()]]
)
async def test_a_server_that_lists_no_models_and_chats_is_asked_all_the_same(unlisted: Answer) -> None:
    async with ScriptedServer({"/v1/models": unlisted, CHAT: IDS}) as server, session_with(server.url) as session:
        assert any("--model" in gap for gap in session.server.gaps)
        assert (await ask(session)).outcome is Outcome.FINISHED
        assert server.chat_requests()[-1].json["model"] == "default"


async def test_counters_of_a_server_that_lists_no_models_are_those_of_the_only_one_on_its_page() -> None:
    page = answer("200 OK", 'vllm:spec_decode_num_drafts_total{model_name="m"} 3\n', "text/plain")
    missing = answer("404 Not Found", "")
    info = await connected(ScriptedServer({"/v1/models": missing, "/metrics": page, CHAT: IDS}))
    assert info.counters is not None
    assert info.counters.drafts == 3


async def test_an_address_with_neither_models_nor_chats_is_a_wrong_one() -> None:
    missing = answer("404 Not Found", '{"detail":"Not Found"}')
    with pytest.raises(ServerRefused, match="no such route"):
        await connected(ScriptedServer({"/v1/models": missing}))
    with pytest.raises(ServerUnreachable, match="does not speak HTTP"):
        await connected(ScriptedServer({"/v1/models": [Cut()], CHAT: [Cut()]}))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (answer("200 OK", "<html><title>Grafana</title></html>", "text/html"), "Grafana"),
        (answer("200 OK", "hello", "text/plain"), "hello"),
        (answer("200 OK", '{"object":"list","data":[]}'), "lists no model"),
        (answer("503 Service Unavailable", '{"error":{"message":"Loading model","code":503}}'), "still loading"),
        (answer("200 OK", '{"error":{"message":"broken inside"}}'), "broken inside"),
    ],
)
async def test_a_strange_list_of_models_is_explained(body: bytes, words: str) -> None:
    with pytest.raises(ServerRefused, match=words):
        await connected(ScriptedServer({"/v1/models": body}))


@pytest.mark.parametrize(("version", "expected"), [("0.32.0", 1), ("dev", 1), ("0.27.1", 0)])
async def test_a_missing_report_is_said_once_with_the_flag(version: str, expected: int) -> None:
    server = vllm(version)
    async with server, session_with(server.url) as session:
        notes = [[n for n in (await ask(session)).notes if "--per-request-spec-decode-metrics" in n] for _ in range(2)]
    assert [len(found) for found in notes] == [expected, 0]


async def test_a_server_without_ids_says_so_once() -> None:
    async with (
        ScriptedServer({CHAT: sse(chunk("Hi", finish="stop"), "[DONE]")}) as server,
        session_with(server.url) as session,
    ):
        first, second = await ask(session), await ask(session)
    assert sum("token origins cannot be known" in note for note in first.notes) == 1
    assert second.notes == []
