"""The chat in a real terminal: what it leaves behind, being stopped and brought back, few colours, other sizes."""

import asyncio
import os
import pty
import re
import signal
import stat
import subprocess
import sys
import termios
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from scripted_server import SSE, Answer, Pause, ScriptedServer, Step, chunk, models
from terminals import JobTerminal, specchat

COLOUR = re.compile(rb"\x1b\[[0-9;]*m")


def words(count: int, seconds: float) -> list[Step]:
    """A reply of one word each `seconds`, which then never ends."""
    steps: list[Step] = [SSE.encode()]
    for number in range(count):
        steps += [f"data: {chunk(f'word{number} ', ids=[number])}\n\n".encode(), Pause(seconds)]
    return [*steps, Pause()]


@pytest.fixture
async def server() -> AsyncIterator[ScriptedServer]:
    answers: dict[str, Answer] = {"/v1/models": models("demo-model"), "/v1/chat/completions": words(400, 0.01)}
    async with ScriptedServer(answers) as server:
        yield server


@pytest.fixture
async def terminal(server: ScriptedServer, tmp_path: Path) -> AsyncIterator[JobTerminal]:
    terminal = JobTerminal(specchat("--url", server.url), {"HOME": str(tmp_path)})
    yield terminal
    terminal.close()


@pytest.mark.parametrize(
    ("keys", "number", "code"),
    [
        (b"\x11", None, 0),
        (b"\x03\x03", None, 0),
        (b"/quit\r", None, 0),
        (b"", signal.SIGTERM, 143),
        (b"", signal.SIGHUP, 129),
    ],
    ids=["Ctrl+Q", "Ctrl+C twice", "/quit", "SIGTERM", "SIGHUP"],
)
@pytest.mark.parametrize("streaming", [False, True], ids=["idle", "streaming"])
async def test_every_way_out_gives_the_terminal_back(
    terminal: JobTerminal, keys: bytes, number: signal.Signals | None, code: int, streaming: bool
) -> None:
    await terminal.shows("Ask something")
    if streaming:
        terminal.type(b"hi\r")
        await terminal.shows("word9")
    if number is not None:
        terminal.signal(number)
    for key in (keys[at : at + 1] for at in range(len(keys))):
        terminal.type(key)
        await asyncio.sleep(0.02)

    assert await terminal.ended() == code
    assert terminal.left_on() == []
    assert termios.tcgetattr(terminal.fd) == terminal.before


@pytest.mark.parametrize("fault", ["worker", "render", "handler", "timer"])
async def test_an_error_of_its_own_ends_in_a_sentence_and_a_file(
    server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    terminal = crashing(fault, server, tmp_path)
    try:
        assert await terminal.ended() == 1
        assert terminal.left_on() == []
        assert termios.tcgetattr(terminal.fd) == terminal.before
        after = terminal.raw.rpartition(b"\x1b[?1006l")[2].decode()
        report = only_report(tmp_path)
        assert after.count("\n") == 1
        assert after.startswith("specchat stopped because of an error of its own (LookupError): please report it")
        assert str(report) in after
    finally:
        terminal.close()

    told = report.read_text(encoding="utf-8")
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert "in fail" in told
    assert "textual 8." in told
    assert "TERM=xterm-256color" in told
    assert "terminal 100x30" in told
    assert "a-key-in-a-variable" not in told
    assert "sk-secret" not in told


@pytest.mark.parametrize("fault", ["loop", "thread"])
async def test_an_error_behind_the_scenes_goes_to_a_file_and_the_chat_goes_on(
    server: ScriptedServer, tmp_path: Path, fault: str
) -> None:
    terminal = crashing(fault, server, tmp_path)
    try:
        await terminal.shows("goes on after")
        assert b"Traceback" not in terminal.raw
        assert "in fail" in only_report(tmp_path).read_text(encoding="utf-8")
        terminal.type(b"hi\r")
        await terminal.shows("word9")
        terminal.type(b"\x11")
        assert await terminal.ended() == 0
        assert terminal.left_on() == []
    finally:
        terminal.close()


def crashing(fault: str, server: ScriptedServer, home: Path) -> JobTerminal:
    program = Path(__file__).parent.parent / "crashing_chat.py"
    return JobTerminal(
        [sys.executable, str(program), fault, server.url], {"HOME": str(home), "SPECCHAT_API_KEY": "sk-secret"}
    )


def only_report(home: Path) -> Path:
    (report,) = home.rglob("crash-*.txt")
    return report


async def test_ctrl_z_gives_the_shell_its_screen_and_fg_brings_the_chat_back(terminal: JobTerminal) -> None:
    await terminal.shows("Ask something")
    terminal.type(b"hi\r")
    await terminal.shows("word9")
    terminal.type(b"half a prompt")
    await terminal.shows("half a prompt")
    terminal.type(b"\x1a")
    await terminal.until(lambda: "stop" in terminal.news())
    await terminal.until(lambda: not terminal.left_on())
    assert termios.tcgetattr(terminal.fd) == terminal.before

    silent_from = len(terminal.raw)
    await asyncio.sleep(0.5)
    terminal.read()
    assert len(terminal.raw) == silent_from
    terminal.screen.reset()
    terminal.resize(90, 26)
    terminal.foreground()

    await terminal.shows("half a prompt")
    await terminal.shows("word399")
    assert "alternate screen" in terminal.left_on()
    terminal.type(b" goes on")
    await terminal.shows("half a prompt goes on")
    terminal.type(b"\x11")
    assert await terminal.ended() == 0
    assert terminal.left_on() == []


async def test_ctrl_z_without_a_shell_stops_nothing(server: ScriptedServer, tmp_path: Path) -> None:
    terminal = JobTerminal(specchat("--url", server.url), {"HOME": str(tmp_path)}, leads=True)
    try:
        await terminal.shows("Ask something")
        terminal.type(b"\x1a")
        await terminal.shows("There is no shell to go back to")
        terminal.type(b"hi\r")
        await terminal.shows("word9")
    finally:
        terminal.close()


async def test_a_terminal_that_goes_away_ends_the_chat(terminal: JobTerminal) -> None:
    await terminal.shows("Ask something")
    terminal.type(b"hi\r")
    await terminal.shows("word9")
    terminal.hang_up()

    assert await terminal.ended() in {-signal.SIGHUP, 128 + signal.SIGHUP}


async def test_a_terminal_that_goes_away_without_a_signal_is_missed(server: ScriptedServer, tmp_path: Path) -> None:
    terminal, mine = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "HOME": str(tmp_path)}
    program = subprocess.Popen(  # noqa: ASYNC220
        specchat("--url", server.url),
        stdin=mine,
        stdout=mine,
        stderr=mine,
        env=environment,
        start_new_session=True,
    )
    os.close(mine)
    raw = b""
    while b"sk something" not in raw:  # the caret may stand on the first letter
        raw += await asyncio.to_thread(os.read, terminal, 65536)
    os.close(terminal)

    assert await asyncio.to_thread(program.wait, 15) == -signal.SIGHUP


@pytest.mark.parametrize("kind", ["dumb", "unknown"])
async def test_a_terminal_without_a_cursor_is_refused(server: ScriptedServer, tmp_path: Path, kind: str) -> None:
    terminal = JobTerminal(specchat("--url", server.url), {"HOME": str(tmp_path), "TERM": kind})
    try:
        assert await terminal.ended() == 1
        assert f"This terminal (TERM={kind}) cannot show the chat." in terminal.raw.decode()
        assert b"\x1b[?1049h" not in terminal.raw
    finally:
        terminal.close()


async def test_resizing_in_mid_stream_leaves_no_garbage(terminal: JobTerminal) -> None:
    await terminal.shows("Ask something")
    terminal.type(b"hi\r")
    await terminal.shows("word9")
    for columns, rows in ((60, 20), (300, 60), (61, 24), (132, 40), (80, 24), (60, 20), (200, 50)):
        terminal.resize(columns, rows)
        await asyncio.sleep(0.4)
        terminal.read()
    await terminal.shows("word399")
    await asyncio.sleep(0.3)
    terminal.read()
    resized = terminal.text
    # What is drawn after the last change must be what a screen that is drawn anew shows.
    terminal.screen.reset()
    terminal.resize(201, 50)
    await terminal.shows("word399")
    terminal.resize(200, 50)
    await asyncio.sleep(0.5)
    terminal.read()

    shown = re.findall(r"word\d+", resized)
    assert shown[-100:] == [f"word{number}" for number in range(300, 400)]
    assert without_clock(resized) == without_clock(terminal.text)


def without_clock(text: str) -> list[str]:
    """The rows without figures, which move on."""
    return [re.sub(r"[\d.,█▁▂▃▄▅▆▇ ]+", " ", row).strip() for row in text.splitlines()]


@pytest.mark.parametrize(
    ("environment", "allowed"),
    [
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor"}, rb"0|[1-9]|22|[34]8;2;\d+;\d+;\d+"),
        ({"TERM": "xterm-256color"}, rb"0|[1-9]|22|[34]8;5;\d+"),
        ({"TERM": "xterm"}, rb"0|[1-9]|22|3[0-79]|4[0-79]|9[0-7]|10[0-7]"),
        ({"TERM": "xterm-256color", "COLORTERM": "truecolor", "NO_COLOR": "1"}, rb"0|[1-9]|22|39|49"),
    ],
    ids=["truecolor", "256", "16", "NO_COLOR"],
)
@pytest.mark.parametrize("theme", ["dark", "light"])
async def test_only_colours_that_the_terminal_has_are_sent(
    server: ScriptedServer, tmp_path: Path, theme: str, environment: dict[str, str], allowed: bytes
) -> None:
    terminal = JobTerminal(specchat("--url", server.url, "--theme", theme), {"HOME": str(tmp_path), **environment})
    try:
        await terminal.shows("Ask something")
        terminal.type(b"hi\r")
        await terminal.shows("word99")
        terminal.type(b"\x1bOP")
        await terminal.shows("Keys and commands")
    finally:
        terminal.close()
    sent = set(COLOUR.findall(terminal.raw))
    attributes = rb"\x1b\[(?:(?:%s)(?:;|(?=m)))*m" % allowed

    assert sent
    assert [code for code in sent if not re.fullmatch(attributes, code)] == []


WIDE = "中文字符 日本語 e\u0301a\u0308 👩\u200d👩\u200d👧 👍🏽 🇩🇪 ❤\ufe0f שלום مرحبا "


async def test_no_row_is_wider_than_the_screen_whatever_the_script(tmp_path: Path) -> None:
    data = f"data: {chunk(WIDE * 30, ids=[1])}\n\n".encode()
    answers: dict[str, Answer] = {
        "/v1/models": models("demo-model"),
        "/v1/chat/completions": [SSE.encode(), data, Pause()],
    }
    async with ScriptedServer(answers) as server:
        for columns in (60, 83, 120):
            terminal = JobTerminal(specchat("--url", server.url), {"HOME": str(tmp_path)}, columns=columns)
            try:
                await terminal.shows("Ask something")
                terminal.type(b"hi\r")
                await terminal.shows("中")
                await asyncio.sleep(0.5)
                terminal.read()
                frames = [row for row in terminal.rows if row.startswith(("│", "╭", "╰"))]
                assert [row[columns - 1] for row in frames] == ["╮", "│", "╯"]
                assert not re.search("[\u200e\u200f\u202a-\u202e\u2066-\u2069]", terminal.raw.decode(errors="replace"))
            finally:
                terminal.close()


async def test_a_terminal_that_takes_nothing_for_a_while_gets_few_frames_afterwards(terminal: JobTerminal) -> None:
    await terminal.shows("Ask something")
    terminal.type(b"hi\r")
    await terminal.shows("word9")
    await asyncio.sleep(5)  # the rest of the reply comes, and nobody reads the screen
    before = len(terminal.raw)
    await terminal.shows("word399")

    # A frame of this reply takes some kilobytes; 15 frames a second for 4 seconds would be several hundred of them.
    assert len(terminal.raw) - before < 60_000
