"""The program with standard streams that are closed, full, or of a narrow encoding."""

import asyncio
import os
import subprocess
import sys

import pytest

from scripted_server import ScriptedServer, chunk, models, sse

REPLY = sse(chunk("Café 👍"), chunk("", finish="stop"), "[DONE]")


async def shell(line: str, **environ: str) -> tuple[int, str, str]:
    """Run a line of shell in which $S is the program; returns exit code, stdout and stderr."""
    environ = {**os.environ, "S": f"{sys.executable} -m specchat", **environ}
    process = await asyncio.create_subprocess_exec(
        "sh", "-c", line, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environ, stdin=subprocess.DEVNULL
    )
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("$S ask --url http://127.0.0.1:9 <&-", "The prompt is empty."),
        ("$S --url http://127.0.0.1:9 <&-", "The chat needs a terminal."),
        ("$S demo <&- >&-", "The chat needs a terminal."),
        ("$S engine list >/dev/full", "could not be read or written: No space left on device. Make room"),
    ],
)
async def test_a_stream_that_is_closed_or_full_is_one_sentence(line: str, said: str) -> None:
    code, _, err = await shell(line)
    assert code == 1
    assert said in err
    assert err.count("\n") == 1


async def test_closed_streams_take_nothing_from_a_reply() -> None:
    async with ScriptedServer({"/v1/models": models("tiny"), "/v1/chat/completions": REPLY}) as server:
        without_stderr = await shell(f"$S ask --url {server.url} hi 2>&-")
        without_stdout = await shell(f"$S ask --url {server.url} hi >&-")
        without_any = await shell(f"$S ask --url {server.url} hi <&- >&- 2>&-")
    assert without_stderr == (0, "Café 👍\n", "")
    assert without_stdout[:2] == (0, "")
    assert "token" in without_stdout[2]
    assert without_any == (0, "", "")


@pytest.mark.parametrize("option", ["", "--json"])
async def test_a_disk_that_fills_up_in_a_reply_is_one_sentence(option: str) -> None:
    async with ScriptedServer({"/v1/models": models("tiny"), "/v1/chat/completions": REPLY}) as server:
        code, _, err = await shell(f"$S ask {option} --url {server.url} hi >/dev/full")
    assert code == 1
    assert err.startswith("specchat: Something could not be read or written: No space left on device.")
    assert err.count("\n") == 1


async def test_arguments_that_are_no_text_do_not_break_the_request() -> None:
    async with ScriptedServer({"/v1/models": models("tiny"), "/v1/chat/completions": REPLY}) as server:
        bad = "$(printf '\\377')"
        code, out, _ = await shell(f'$S ask --url {server.url} --system "{bad}" --stop "{bad}" "a{bad}"')
    assert (code, out) == (0, "Café 👍\n")


async def test_a_narrow_encoding_costs_letters_and_nothing_else() -> None:
    async with ScriptedServer({"/v1/models": models("tiny"), "/v1/chat/completions": REPLY}) as server:
        code, out, _ = await shell(f"$S ask --url {server.url} hi", PYTHONIOENCODING="ascii", LC_ALL="C")
    assert (code, out) == (0, "Caf? ?\n")
