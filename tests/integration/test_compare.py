"""`specchat compare` with servers that speak HTTP: the measurement, its files, and all that can go wrong."""

import asyncio
import io
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from hooked_server import hook_status
from paced_server import CHAT, PacedServer, dies_at
from scripted_server import Answer, ScriptedServer, answer
from specchat.cli.compare import Wishes, run_compare
from specchat.cli.compare_command import compare
from specchat.config import paths
from specchat.core.errors import CannotSwitch, ConfigurationError, ServerUnreachable, SpecchatError
from specchat.wiring import connection_from

TOO_LONG = answer(
    "400 Bad Request",
    json.dumps({"error": {"message": "This model's maximum context length is 2048 tokens.", "code": 400}}),
)


@pytest.fixture(autouse=True)
def own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))


@pytest.fixture
def prompts(tmp_path: Path) -> Path:
    file = tmp_path / "prompts.txt"
    file.write_text("one\ntwo\nthree\n")
    return file


def fast(**changes: Any) -> PacedServer:  # noqa: ANN401
    return PacedServer(**({"k": 3, "per_step": 3} | changes))


async def compared(prompts: Path, *servers: ScriptedServer, **wishes: Any) -> tuple[int, str, str]:  # noqa: ANN401
    """Exit code, stdout and stderr; servers that run already."""
    typed = {"url": servers[0].url, "max_tokens": 13} | ({"baseline_url": servers[1].url} if servers[1:] else {})
    out, err = io.StringIO(), io.StringIO()
    given: dict[str, Any] = {"prompts": prompts, "repeats": 2, "warm_up": 1, "settle_s": 0}
    made = Wishes(**(given | wishes))
    code = await asyncio.to_thread(run_compare, connection_from(typed), made, out=out, err=err)
    return code, out.getvalue(), err.getvalue()


def measured_in(file: Path) -> int:
    """How many samples a file has."""
    return sum(line.startswith('{"sample"') for line in file.read_text().splitlines())


async def test_two_servers_are_compared_prompt_by_prompt(prompts: Path) -> None:
    async with fast() as on, PacedServer() as off:
        code, out, _ = await compared(prompts, on, off, as_json=True)
    value = json.loads(out)
    assert (code, value["ending"], len(value["samples"])) == (0, "complete", 12)
    # Three tokens a step against one, at the same pace of steps.
    assert 2 < value["total"]["speed_ratio"] < 4.5
    assert value["total"]["interval"]["low"] > 1
    assert value["total"]["on"]["acceptance_length"] == {
        "value": 3.0, "aggregation": "pooled over steps", "evidence": "counted",
    }  # fmt: skip
    assert value["total"]["on"]["per_position_rate"] == [1.0, 1.0, 0.0]
    assert (value["off"]["way"], value["off"]["is_true_baseline"]) == ("server", True)
    assert all(one["divergence"] is None for one in value["pairs"])
    assert {sample["replies"][0]["was_alone"] for sample in value["samples"]} == {True}


async def test_no_text_of_a_token_is_asked_for_while_it_is_measured(prompts: Path) -> None:
    async with fast() as on, PacedServer() as off:
        await compared(prompts, on, off)
        assert not [one.path for one in (*on.requests, *off.requests) if "tokenize" in one.path or "trace" in one.path]


async def test_a_table_says_what_its_figures_are(prompts: Path) -> None:
    async with fast() as on, PacedServer(word_at=lambda index: 1000 + index + (index == 5)) as off:
        code, out, err = await compared(prompts, on, off)
    assert code == 0
    assert "Decoding is faster with speculation on" in out
    assert "pooled over steps" in out
    assert "token 5" in out
    assert "In 6 of 6 pairs the texts part." in out
    assert "every reply measured is in" in err


async def test_divergences_are_those_of_an_id_by_id_comparison(prompts: Path) -> None:
    async with fast() as on, PacedServer(word_at=lambda index: 1000 + index + (index == 9)) as off:
        _, out, _ = await compared(prompts, on, off, as_json=True)
    value = json.loads(out)
    ids = {(one["prompt"], one["repeat"], one["side"]): one["replies"][0]["ids"] for one in value["samples"]}
    for pair in value["pairs"]:
        one, other = (ids[pair["prompt"], pair["repeat"], side] for side in ("on", "off"))
        first = next(index for index in range(13) if one[index] != other[index])
        assert pair["divergence"]["token"] == first == 9


async def test_the_same_server_twice_is_within_the_noise(prompts: Path) -> None:
    async with fast() as one, fast() as other:
        code, out, _ = await compared(prompts, one, other, allow_speculating_baseline=True, as_json=True, repeats=3)
    value = json.loads(out)
    assert (code, value["names"]) == (0, {"on": "first server", "off": "second server"})
    assert value["total"]["interval"]["low"] < 1.3
    assert "speculates too, as was allowed" in " ".join(value["notes"])


async def test_jsonl_with_turns_is_a_conversation_on_each_side(tmp_path: Path) -> None:
    file = tmp_path / "p.jsonl"
    file.write_text('{"id": "q1", "turns": ["a", "b"]}\n')
    async with fast() as on, PacedServer() as off:
        _, out, _ = await compared(file, on, off, as_json=True, repeats=1, warm_up=0)
        last = on.chat_requests()[-1].json["messages"]
    assert [one["role"] for one in last] == ["user", "assistant", "user"]  # type: ignore[attr-defined]
    value = json.loads(out)
    assert [len(sample["replies"]) for sample in value["samples"]] == [2, 2]
    assert (value["prompts"][0]["name"], value["prompts"][0]["begins"]) == ("q1", None)


async def test_fixed_length_goes_on_past_the_end_of_a_reply(prompts: Path) -> None:
    async with fast() as on, PacedServer() as off:
        await compared(prompts, on, off, fixed_length=True, repeats=1)
        assert all(one.json["ignore_eos"] is True for one in on.chat_requests())
        await compared(prompts, on, off, repeats=1)
        assert "ignore_eos" not in on.chat_requests()[-1].json


async def test_requests_beside_each_other_are_one_server_s_throughput(prompts: Path) -> None:
    async with fast() as on, PacedServer() as off:
        code, out, _ = await compared(prompts, on, off, concurrency=3, warm_up=3, as_json=True)
    value = json.loads(out)
    assert (code, value["total"]["samples"]) == (0, 12)
    for side in ("on", "off"):
        assert value["total"][side]["throughput"] > value["total"][side]["decode_rate"]
    assert {sample["replies"][0]["was_alone"] for sample in value["samples"]} == {None}
    assert "3 requests ran beside each other" in " ".join(value["notes"])


async def test_markdown_is_written_and_samples_beside_it(prompts: Path, tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    async with fast() as on, PacedServer() as off:
        code, _, _ = await compared(prompts, on, off, markdown=report)
    assert code == 0
    assert "| **all** | 6 | " in report.read_text()
    assert measured_in(tmp_path / "report.samples.jsonl") == 12


# -- one server, switched by its hook ---------------------------------------------------------------------------------


class Hooked(PacedServer):
    """With a hook that switches and does not trace."""

    def __init__(self) -> None:
        super().__init__(k=3, per_step=3)
        self.answers["/v1/specchat"] = hook_status(trace=False)


async def test_without_a_baseline_the_hook_switches_and_its_bias_is_part_of_the_result(prompts: Path) -> None:
    async with Hooked() as server:
        code, out, _ = await compared(prompts, server, as_json=True)
        asked = [one.json.get("vllm_xargs") for one in server.chat_requests()]
    value = json.loads(out)
    assert code == 0
    assert asked.count({"specchat_k": 0}) == asked.count(None) == 7
    assert (value["off"]["way"], value["off"]["is_true_baseline"]) == ("hook", False)
    assert value["total"]["speed_ratio"] > 1.5
    notes = " ".join(value["notes"])
    assert "that is no server without a draft" in notes
    assert "one draft forward remains" in notes


async def test_a_server_without_a_hook_or_a_baseline_is_refused_with_both_ways(prompts: Path) -> None:
    async with fast() as server:
        with pytest.raises(CannotSwitch, match="--baseline-url"):
            await compared(prompts, server)


# -- what makes no sense ----------------------------------------------------------------------------------------------


async def refusal(prompts: Path, on: ScriptedServer, off: ScriptedServer, **wishes: Any) -> str:  # noqa: ANN401
    async with on, off:
        with pytest.raises(SpecchatError) as raised:
            await compared(prompts, on, off, **wishes)
        assert [*on.chat_requests(), *off.chat_requests()] == []
    return str(raised.value)


async def test_a_baseline_that_speculates_is_refused_unless_it_is_allowed(prompts: Path) -> None:
    text = await refusal(prompts, fast(), fast(k=1, per_step=2))
    assert "speculates too (its /metrics counts drafts, k = 1)" in text
    assert "--allow-speculating-baseline" in text
    async with fast() as on, fast(k=1, per_step=2) as off:
        code, out, _ = await compared(prompts, on, off, allow_speculating_baseline=True, as_json=True)
    assert (code, json.loads(out)["names"]) == (0, {"on": "k = 3", "off": "k = 1"})


async def test_unequal_models_are_refused_unless_they_are_said_to_be_the_same(prompts: Path) -> None:
    text = await refusal(prompts, fast(model="org/big"), PacedServer(model="org/small"))
    assert "different models: org/big at" in text
    async with fast(model="org/big") as on, PacedServer(model="org/small") as off:
        code, _, _ = await compared(prompts, on, off, baseline_model="org/small")
    assert code == 0


async def test_a_model_under_another_folder_is_the_same(prompts: Path) -> None:
    async with fast(model="org/big") as on, PacedServer(model="/models/Big/") as off:
        assert (await compared(prompts, on, off))[0] == 0


async def test_one_address_twice_is_refused(prompts: Path) -> None:
    async with PacedServer() as server:
        with pytest.raises(ConfigurationError, match="Both addresses are the same server"):
            await compared(prompts, server, server)


async def test_different_maximum_lengths_are_said_and_the_rest_is_compared(prompts: Path) -> None:
    async with (
        fast(max_model_len=4096) as on,
        PacedServer(fail=lambda number: TOO_LONG if number == 2 else None) as off,
    ):
        code, out, _ = await compared(prompts, on, off, repeats=1, as_json=True)
    value = json.loads(out)
    assert code == 0
    assert "different maximum lengths, 4096 and 2048 tokens" in " ".join(value["notes"])
    assert value["total"]["ratio_pairs"] == 2
    assert sorted(one["refused_by"] for one in value["prompts"]) == [[], [], ["off"]]


async def test_a_prompt_that_both_refuse_is_told_and_the_rest_is_compared(prompts: Path) -> None:
    refuse = lambda number: TOO_LONG if number == 1 else None  # noqa: E731
    async with fast(fail=refuse) as on, PacedServer(fail=refuse) as off:
        code, out, _ = await compared(prompts, on, off, repeats=1)
    assert code == 0
    assert "was refused by on and off:" in out
    assert "2 pairs over 2 prompts" in out


async def test_where_every_prompt_is_refused_nothing_is_said_of_the_speed(prompts: Path) -> None:
    async with fast(fail=lambda _: TOO_LONG) as on, PacedServer() as off:
        code, out, _ = await compared(prompts, on, off)
    assert code == 1
    assert "Nothing can be said of the speed" in out


async def test_a_server_that_is_not_there_is_a_sentence(prompts: Path) -> None:
    async with fast() as on:
        gone = PacedServer()
        gone.port = 9
        with pytest.raises(ServerUnreachable):
            await compared(prompts, on, gone)


async def test_what_cannot_be_written_is_refused_before_anything_is_measured(prompts: Path, tmp_path: Path) -> None:
    text = await refusal(prompts, fast(), PacedServer(), markdown=tmp_path / "none" / "x.md")
    assert "cannot be written" in text


# -- what goes wrong on the way ---------------------------------------------------------------------------------------


async def test_a_server_that_dies_in_mid_run_loses_nothing_and_the_run_goes_on_later(prompts: Path) -> None:
    async with fast() as on:
        async with PacedServer(fail=dies_at(3)) as off:
            # Dead for new connections too, as a process is.
            off.answers["/v1/models"] = _lives(off, off.answers["/v1/models"], until=3)
            code, out, err = await compared(prompts, on, off)
            port = off.port
        assert code == 1
        assert f"specchat: The server at http://127.0.0.1:{port} was lost" in err
        assert "The comparison is not whole" in out
        asked = len(on.chat_requests())
        again = PacedServer()
        again.port = port
        async with again:
            code, out, err = await compared(prompts, on, again, as_json=True)
    value = json.loads(out)
    assert "goes on with the comparison of" in err
    assert (code, value["total"]["samples"], value["ending"]) == (0, 12, "complete")
    # One warm-up reply each time, and no sample twice.
    assert len(on.chat_requests()) == 6 + 2
    assert asked >= 3


def _lives(server: PacedServer, while_alive: Answer, *, until: int) -> Answer:
    def told(_: object) -> bytes:
        assert isinstance(while_alive, bytes)
        return while_alive if len(server.chat_requests()) <= until else answer("503 Service Unavailable", "gone")

    return told


async def test_an_unfinished_run_of_another_plan_is_refused_and_stays(prompts: Path, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    async with fast() as on, PacedServer() as off:
        await compared(prompts, on, off, samples=file)
        before = file.read_bytes()
        with pytest.raises(ConfigurationError, match="holds another comparison"):
            await compared(prompts, on, off, samples=file, repeats=3)
        assert file.read_bytes() == before
        code, _, _ = await compared(prompts, on, off, samples=file, repeats=3, resume=False)
    assert code == 0
    assert (tmp_path / "mine-1.jsonl").read_bytes() == before


async def test_a_server_that_came_back_as_another_is_no_way_to_go_on(prompts: Path) -> None:
    async with fast() as on, PacedServer() as off:
        await compared(prompts, on, off)
    again = PacedServer(version="0.33.0")
    again.port = off.port
    async with on, again:
        with pytest.raises(
            ConfigurationError, match=r"off side is another server .* version was 0\.32\.0 and is 0\.33\.0"
        ):
            await compared(prompts, on, again, resume=True)


async def test_a_whole_run_is_made_anew_unless_it_is_to_be_told_again(prompts: Path) -> None:
    async with fast() as on, PacedServer() as off:
        _, first, _ = await compared(prompts, on, off, as_json=True)
        asked = len(on.chat_requests())
        _, told, _ = await compared(prompts, on, off, as_json=True, resume=True)
        assert len(on.chat_requests()) == asked
        _, anew, _ = await compared(prompts, on, off, as_json=True)
        assert len(on.chat_requests()) == 2 * asked
    assert json.loads(told)["samples"] == json.loads(first)["samples"]
    assert json.loads(anew)["samples"] != json.loads(first)["samples"]
    assert len(list(paths.comparisons_directory().iterdir())) == 2


async def test_nothing_to_resume_is_a_sentence(prompts: Path) -> None:
    async with fast() as on, PacedServer() as off:
        with pytest.raises(ConfigurationError, match="nothing to resume"):
            await compared(prompts, on, off, resume=True)


async def test_two_servers_of_one_machine_rest_before_the_other_one_is_asked(tmp_path: Path) -> None:
    prompts = tmp_path / "one.txt"
    prompts.write_text("one prompt")
    async with fast() as on, PacedServer() as off:
        _, out, _ = await compared(prompts, on, off, as_json=True, repeats=1, warm_up=0, settle_s=None)
    told = json.loads(out)
    first, second = sorted(one["started_at"] for one in told["samples"])
    assert second - first > told["settings"]["settle_s"] == 1.25
    assert any("with 1.25 s of rest in between" in note for note in told["notes"])


async def test_ctrl_c_keeps_what_was_measured_and_prints_it(prompts: Path, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    program = (
        "import sys, typer; from specchat.cli.compare_command import compare; a = typer.Typer(); "
        "a.command()(compare); a()"
    )
    async with fast(step_seconds=0.03) as on, PacedServer(step_seconds=0.03) as off:
        arguments = ["--url", on.url, "--baseline-url", off.url, "--prompts", str(prompts), "--samples", str(file)]
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, *arguments, "--max-tokens", "13", "--warm-up", "0", "--settle", "0",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env={**os.environ, "COLUMNS": "120"},
        )  # fmt: skip
        async with asyncio.timeout(60):
            while len(off.chat_requests()) < 3:  # noqa: ASYNC110 - the fake has no event for it
                await asyncio.sleep(0.01)
            process.send_signal(signal.SIGINT)
            out, err = await process.communicate()
    assert process.returncode == 130, err.decode()
    assert "of 18 replies were measured" in out.decode()
    kept = measured_in(file)
    assert kept >= 4
    assert f"{kept} of 18 replies" in out.decode()
    assert "Traceback" not in err.decode()


@pytest.mark.parametrize("side", ["on", "off"])
async def test_a_reply_in_which_others_were_served_is_marked(prompts: Path, side: str) -> None:
    async with fast() as on, PacedServer() as off:
        server = {"on": on, "off": off}[side]
        reply = server.answers[CHAT]
        assert callable(reply)

        def with_another(request: Any) -> Any:  # noqa: ANN401
            server.finished += 1
            return reply(request)

        server.answers[CHAT] = with_another
        _, out, _ = await compared(prompts, on, off, as_json=True)
    value = json.loads(out)
    alone = {one: {s["replies"][0]["was_alone"] for s in value["samples"] if s["side"] == one} for one in ("on", "off")}
    assert alone == {one: {one != side} for one in ("on", "off")}
    assert value["total"][side]["disturbed"] == 6


def test_the_command_takes_its_options_and_refuses_a_wrong_one(prompts: Path) -> None:
    app = typer.Typer()
    app.command()(compare)
    with pytest.raises(ConfigurationError, match="No server is named"):
        app(["--prompts", str(prompts), "--fresh", "--repeats", "2"], standalone_mode=False)
