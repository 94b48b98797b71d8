"""The reported cases once more, as a user meets them: `specchat ask`, its output, its errors and its exit code."""

import asyncio
import json
import os
import sys
from io import StringIO
from typing import Any

import pytest

from reported_cases import CASES, of_kind, server_for
from specchat.cli.ask import run_ask
from specchat.wiring import connection_from


async def run(url: str, *, as_json: bool) -> tuple[int, str, str]:
    out, err = StringIO(), StringIO()
    connection = connection_from({"url": url})
    code = await asyncio.to_thread(
        run_ask, connection, "Hello", as_json=as_json, idle_limit_seconds=20, out=out, err=err
    )
    return code, out.getvalue(), err.getvalue()


@of_kind("stream", "http")
async def test_ask_copes_with_a_reported_case(case: dict[str, Any]) -> None:
    async with server_for(case) as server:
        code, out, err = await run(server.url, as_json=False)
        json_code, printed, _ = await run(server.url, as_json=True)
    assert case["expected_text"] in out
    assert (code != 0) is (json_code != 0) is case["expected_exit_nonzero"]
    assert not case["expected_stderr_any"] or any(text in err for text in case["expected_stderr_any"]), err
    assert "Traceback" not in err
    reply = json.loads(printed)
    assert case["expected_text"] in reply["text"]
    for text in case.get("forbidden_text", []):
        assert text not in out
    for text in case.get("json_must_contain", []):
        assert text in printed
    if "reasoning" in case:
        assert case["reasoning"] in printed
        assert out.strip() == case["expected_text"]


@pytest.mark.parametrize("identity", ["s37-event-error-toplevel", "s49-sglext-tail"])
async def test_the_program_itself_does_so_too(identity: str) -> None:
    case = next(case for case in CASES if case["id"] == identity)
    async with server_for(case) as server:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "specchat", "ask", "--url", server.url, "Hello",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=os.environ,
        )  # fmt: skip
        out, err = await process.communicate()
    assert case["expected_text"] in out.decode()
    assert (process.returncode != 0) is case["expected_exit_nonzero"]
    assert not case["expected_stderr_any"] or any(text in err.decode() for text in case["expected_stderr_any"])
