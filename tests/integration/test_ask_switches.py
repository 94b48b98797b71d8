"""`specchat ask` with a server that has the hook: the switch, the proposals, and what is said where it has none."""

import asyncio
import io
import json

import pytest

from hooked_server import HookedServer
from scripted_server import ScriptedServer, answer
from specchat.cli.commands import run
from specchat.cli.options import typed


async def said(
    server: ScriptedServer, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[int, io.StringIO, str]:
    """Exit code, stdout and stderr."""
    async with server:
        code = await asyncio.to_thread(run, ["ask", "hi", "--url", server.url, *options])
    captured = capsys.readouterr()
    return code, io.StringIO(captured.out), captured.err


async def test_json_holds_the_proposals_and_what_switching_meant(capsys: pytest.CaptureFixture[str]) -> None:
    server = HookedServer()
    code, out, _ = await said(server, capsys, "--json", "--speculation", "2")
    reply = json.load(out)
    assert code == 0
    assert server.chat_requests()[0].json["vllm_xargs"]["specchat_k"] == 2  # type: ignore[index]
    assert [one["id"] for one in reply["steps"][0]["proposed"]] == [2, 3, 9]
    assert (reply["speculation"]["limit"], reply["speculation"]["way"]) == (2, "hook")
    # This server proposes three all the same.
    assert reply["speculation"]["obeyed"] is False
    assert reply["evidence"]["acceptance_length"] == "traced"


async def test_the_lines_after_a_reply_say_traced_and_how_it_was_made(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = await said(HookedServer(), capsys, "--speculation", "off", "--proposals")
    assert (code, out.getvalue()) == (0, "Abcdefghi\n")
    assert "note: speculation off by the hook" in err
    assert "traced by the server hook" in err
    assert "--json holds the proposals" in err


async def test_a_switch_that_is_impossible_is_a_sentence_and_asks_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    server = HookedServer(status=answer("404 Not Found", "{}"))
    code, out, err = await said(server, capsys, "--json", "--speculation", "off")
    assert code == 1
    assert json.load(out)["error"]["kind"] == "CannotSwitch"
    assert "has no specchat hook" in err
    assert err.count("\n") == 1
    assert server.chat_requests() == []


async def test_on_asks_any_server(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = await said(
        HookedServer(status=answer("404 Not Found", "{}")), capsys, "--speculation", "on", "--proposals"
    )
    assert code == 0
    assert "which alone tells them" in err


def test_what_was_not_typed_is_no_setting() -> None:
    assert typed(url=None, seed=0) == {"seed": 0}
