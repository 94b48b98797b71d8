"""Settings to a session: two servers, several models, and what is remembered."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from scripted_server import Request, ScriptedServer, answer, chunk, models, sse
from specchat.config import paths
from specchat.config.last_server import recall, remember
from specchat.core.errors import ConfigurationError, ModelChoiceNeeded
from specchat.wiring import Connection, Sessions, connection_from, open_session

COUNTERS = [
    "vllm:spec_decode_num_drafts_total{%s}",
    "vllm:spec_decode_num_draft_tokens_total{%s}",
    "vllm:spec_decode_num_accepted_tokens_total{%s}",
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{%s,position="0"}',
    'vllm:spec_decode_num_accepted_tokens_per_pos_total{%s,position="1"}',
]
PLAIN = ["vllm:num_requests_running{%s}"]


def server(*names: str, metrics: Sequence[str] = PLAIN) -> ScriptedServer:
    """A vLLM that serves these models and says their name."""

    def said(request: Request) -> bytes:
        return sse(chunk(str(request.json["model"]), ids=[1], finish="stop"), "[DONE]")

    page = "".join(line % f'model_name="{name}"' + " 0\n" for name in names for line in metrics)
    return ScriptedServer(
        {
            "/v1/models": models(*names),
            "/metrics": answer("200 OK", page, "text/plain"),
            "/v1/chat/completions": said,
        }
    )


def connection(**typed: object) -> Connection:
    return connection_from(typed)


async def test_the_baseline_s_only_model_is_taken_whatever_its_name() -> None:
    async with (
        server("big", metrics=COUNTERS) as fast,
        server("big-plain") as slow,
        open_session(connection(url=fast.url, baseline_url=slow.url)) as session,
    ):
        assert session.server.draft_length == 2
        session.switch()
        assert (session.server.model, session.server.draft_length) == ("big-plain", 0)
        async for _ in session.ask("hi"):
            pass
        assert session.conversation.turns[-1].reply.text == "big-plain"


async def test_of_a_baseline_s_several_models_the_one_of_the_same_name_is_taken() -> None:
    async with (
        server("big", metrics=COUNTERS) as fast,
        server("other", "big") as slow,
        open_session(connection(url=fast.url, baseline_url=slow.url)) as session,
    ):
        session.switch()
        assert session.server.model == "big"


async def test_a_baseline_that_speculates_is_refused_with_the_reason() -> None:
    async with server("big", metrics=COUNTERS) as fast, server("big", metrics=COUNTERS) as other:
        with pytest.raises(ConfigurationError, match="speculates too"):
            async with open_session(connection(url=fast.url, baseline_url=other.url)):
                pass


async def test_several_models_are_offered() -> None:
    async with server("one", "two") as several:
        with pytest.raises(ModelChoiceNeeded) as choice:
            async with open_session(connection(url=several.url)):
                pass
        assert choice.value.models == ("one", "two")
        async with open_session(connection(url=several.url, model="two")) as session:
            assert session.server.model == "two"


async def test_a_password_in_the_address_is_neither_sent_nor_shown() -> None:
    wrong = connection(url="http://me:secret@127.0.0.1:9")
    assert "secret" not in wrong.shown_url
    with pytest.raises(ConfigurationError) as raised:
        async with open_session(wrong):
            pass
    assert "secret" not in str(raised.value)


def test_settings_of_the_file_reach_the_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('url = "http://h:1"\nmax_tokens = 7\ntemperature = 0.5\n')
    monkeypatch.setenv("SPECCHAT_CONFIG", str(file))
    made = connection_from({}, stop=("END",))
    assert (made.sampling.max_tokens, made.sampling.temperature, made.sampling.stop) == (7, 0.5, ("END",))


def test_without_a_server_an_app_may_choose_one_later() -> None:
    with pytest.raises(ConfigurationError, match="No server is named"):
        connection_from({})
    made = connection_from({}, may_choose=True)

    assert made.settings.url is None
    assert not made.is_remembered


def test_an_address_of_last_time_is_told_from_one_that_was_named() -> None:
    remember(paths.last_server_file(), "http://gpu01:8000", "m")

    assert connection_from({}, may_choose=True).is_remembered
    assert not connection_from({"url": "http://gpu02:8000"}, may_choose=True).is_remembered


async def test_another_server_gets_no_key_and_no_baseline_of_the_first_one() -> None:
    async with server("big") as first, server("small") as second:
        sessions = Sessions(
            connection(url=first.url, baseline_url="http://127.0.0.1:1", api_key="secret"), remember_server=True
        )
        session = await sessions.other(second.url, None, False)
        assert session.server.model == "small"
        assert all("authorization" not in request.headers for request in second.requests)
        await sessions.keep_only(session)
        await sessions.close()

    assert recall(paths.last_server_file()) == (second.url, "small")


async def test_the_demo_answers_greedily_and_is_not_remembered() -> None:
    async with server("tiny") as demo:
        sessions = Sessions(connection_from({}, may_choose=True), remember_server=True)
        session = await sessions.other(demo.url, None, True)
        assert (session.sampling.temperature, session.sampling.max_tokens) == (0.0, 400)
        await sessions.close()

    assert recall(paths.last_server_file()) is None
