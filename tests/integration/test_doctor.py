"""`specchat doctor` against a scripted server, over real HTTP."""

import asyncio
import json
import os
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from scripted_server import Answer, Pause, Request, ScriptedServer, answer, models
from specchat.cli.doctor import run_doctor
from specchat_launcher.errors import HookError

HOOK = {
    "protocol": 1, "hook": "1.0", "vllm": "0.32.0", "trace": True, "switch": True, "k": 3, "method": "eagle3",
    "runner": "V1", "async_scheduling": False, "tensor_parallel": 1,
    "off": {"draft_forwards": 1, "why": "It fills the cache of the draft."}, "problems": [],
}  # fmt: skip
REPLY = {
    "choices": [{"message": {"content": "one two"}}],
    "metrics": {"speculative_decoding": {"per_step_accepted": [3, 1, 2], "per_step_drafted": [3, 3, 3]}},
}
METRICS = "".join(
    f'vllm:{name}{{model_name="demo-model"{more}}} 4\n'
    for name, more in [
        ("spec_decode_num_drafts_total", ""),
        ("spec_decode_num_draft_tokens_total", ""),
        ("spec_decode_num_accepted_tokens_total", ""),
        *[("spec_decode_num_accepted_tokens_per_pos_total", f',position="{i}"') for i in range(3)],
    ]
)


def said(value: object, status: str = "200 OK") -> bytes:
    return answer(status, json.dumps(value))


def vllm(**answers: Answer) -> ScriptedServer:
    routes: dict[str, Answer] = {
        "/v1/models": models("demo-model", owned_by="vllm", max_model_len=2048),
        "/version": said({"version": "0.32.0"}),
        "/metrics": answer("200 OK", METRICS, "text/plain"),
        "/v1/chat/completions": said(REPLY),
        "/v1/specchat": said(HOOK),
    }
    return ScriptedServer(routes | {f"/v1/{name}": value for name, value in answers.items()})


@pytest.fixture(autouse=True)
def hook_in_this_installation(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat.cli.doctor.hook_folder", lambda: tmp_path / "hook")


async def examine(server: ScriptedServer, **typed: str) -> tuple[int, dict[str, Any]]:
    """The exit code, and the report as an object."""
    async with server:
        return await report_on(server.url, **typed)


async def report_on(url: str, **typed: str) -> tuple[int, dict[str, Any]]:
    out = StringIO()
    typed["url"] = url
    code = await asyncio.to_thread(run_doctor, typed, openai_key_confirmed=False, as_json=True, out=out)
    return code, json.loads(out.getvalue())


def states(report: dict[str, Any]) -> dict[str, str]:
    return {check["name"]: check["state"] for check in report["checks"]}


def told(report: dict[str, Any], name: str) -> str:
    return str(next(check for check in report["checks"] if check["name"] == name))


async def test_a_server_with_everything_is_well() -> None:
    code, report = await examine(vllm())
    assert code == 0
    assert report["answers"] is True
    assert set(states(report).values()) == {"ok"}
    assert "eagle3, k = 3" in told(report, "speculation")
    assert "3 steps" in told(report, "report")
    assert "It fills the cache of the draft." in told(report, "hook")


async def test_the_one_reply_that_is_asked_for_is_short() -> None:
    server = vllm()
    await examine(server)
    (request,) = server.chat_requests()
    assert request.json["max_tokens"] == 16
    assert request.json["model"] == "demo-model"


async def test_a_server_without_the_hook_still_counts_as_answering() -> None:
    code, report = await examine(vllm(specchat=answer("404 Not Found", '{"detail":"Not Found"}')))
    assert code == 0
    assert states(report)["hook"] == "missing", report
    assert "export VLLM_PLUGINS" in told(report, "hook")
    assert "from its counters" in told(report, "speculation")


async def test_a_page_for_people_at_the_route_is_no_hook() -> None:
    _, report = await examine(vllm(specchat=answer("200 OK", "<html>Welcome</html>", "text/html")))
    assert states(report)["hook"] == "missing", report


async def test_a_hook_of_another_protocol_is_told() -> None:
    _, report = await examine(vllm(specchat=said(HOOK | {"protocol": 2})))
    assert states(report)["hook"] == "problem"
    assert "protocol 2" in told(report, "hook")


async def test_a_silent_hook_is_given_up_on_and_the_rest_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("specchat.cli.doctor_probe._HOOK_SECONDS", 0.2)
    code, report = await examine(vllm(specchat=[Pause()]))
    assert code == 0
    assert states(report)["hook"] == "problem"
    assert states(report)["report"] == "ok"


async def test_a_server_without_speculation_is_asked_for_no_reply() -> None:
    server = vllm(specchat=answer("404 Not Found", "{}"))
    server.answers["/metrics"] = answer("200 OK", "vllm:num_requests_running 0\n", "text/plain")
    _, report = await examine(server)
    assert server.chat_requests() == []
    assert states(report) | {"server": "ok", "speculation": "missing", "report": "missing"} == states(report)


async def test_a_refused_reply_is_told_with_the_server_s_reason() -> None:
    refusal = said({"error": {"message": "The queue is full.", "code": 503}}, "503 Service Unavailable")
    code, report = await examine(vllm(**{"chat/completions": refusal}))
    assert code == 0
    assert states(report)["report"] == "problem"
    assert "The queue is full" in told(report, "report")


async def test_several_models_are_named_and_the_first_is_looked_at() -> None:
    server = vllm(models=models("demo-model", "other"))
    code, report = await examine(server)
    assert code == 0
    assert states(report)["model"] == "problem"
    assert server.chat_requests()[0].json["model"] == "demo-model"
    _, report = await examine(vllm(models=models("demo-model", "other")), model="demo-model")
    assert states(report)["model"] == "ok"


async def test_nothing_at_the_address_is_a_failure_with_a_sentence() -> None:
    code, report = await report_on("http://127.0.0.1:9")
    assert code == 1
    assert report["answers"] is False
    assert states(report) == {"server": "problem"}


async def test_a_refused_key_is_a_failure_and_is_never_shown() -> None:
    refused = said({"error": "Unauthorized: sk-secret"}, "401 Unauthorized")
    code, report = await examine(vllm(models=refused), api_key="sk-secret")
    assert code == 1
    assert "sk-secret" not in str(report)


async def test_the_key_goes_along_with_every_request() -> None:
    def guarded(good: bytes) -> Answer:
        def check(request: Request) -> bytes:
            return good if request.headers.get("authorization") == "Bearer k" else answer("401 Unauthorized", "{}")

        return check

    routes = {"models": guarded(models("demo-model")), "specchat": guarded(said(HOOK))}
    _, report = await examine(vllm(**routes, **{"chat/completions": guarded(said(REPLY))}), api_key="k")
    assert set(states(report).values()) == {"ok"}


async def test_the_program_prints_lines_that_can_be_copied() -> None:
    async with vllm(specchat=answer("404 Not Found", "{}")) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "specchat", "doctor", "--url", server.url,
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=os.environ,
        )  # fmt: skip
        out, err = await process.communicate()
    assert (process.returncode, err) == (0, b"")
    lines = out.decode().splitlines()
    assert lines[0].split()[:3] == ["ok", "server", server.url]
    assert [line for line in lines if line.startswith("  export VLLM_PLUGINS=")]
    assert next(line for line in lines if line.startswith("  export PYTHONPATH=")).count("launcher/specchat_vllm") == 1


async def test_without_a_server_the_folder_of_the_hook_is_told(tmp_path: Path) -> None:
    out = StringIO()
    code = await asyncio.to_thread(run_doctor, {}, openai_key_confirmed=False, as_json=False, out=out)
    assert code == 0
    assert f'  export PYTHONPATH="{tmp_path / "hook"}' in out.getvalue()


async def test_an_installation_without_the_hook_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> Path:
        raise HookError("The hook is missing.", "Reinstall specchat.")

    monkeypatch.setattr("specchat.cli.doctor.hook_folder", missing)
    out = StringIO()
    code = await asyncio.to_thread(run_doctor, {}, openai_key_confirmed=False, as_json=False, out=out)
    assert code == 1
    assert "Reinstall specchat." in out.getvalue()
