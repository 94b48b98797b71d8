"""The clipboard: the exact bytes for each kind of terminal, the desktop's tools, and a sentence that is true."""

import base64
import os
import pty
import select
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from specchat.ui.clipboard import OSC_52_LIMIT, Copied, copy, run_tools, sequence

SSH = {"SSH_CONNECTION": "a b c d", "DISPLAY": "localhost:10.0", "WAYLAND_DISPLAY": "w"}


def nothing(_: str) -> str | None:
    return None


def having(*names: str):  # type: ignore[no-untyped-def]  # noqa: ANN201 - the type is that of shutil.which
    return lambda name: f"/bin/{name}" if name in names else None


def copied(text: str, environment: dict[str, str], *tools: str) -> tuple[str, Copied]:
    written: list[str] = []
    done = copy(text, written.append, environment, having(*tools))
    return "".join(written), done


def test_a_bare_terminal_gets_osc_52() -> None:
    written, done = copied("é\n", SSH)

    assert written == "\x1b]52;c;w6kK\a"
    assert done == Copied("Copied 2 characters to the terminal's clipboard (OSC 52).")


def test_tmux_gets_it_passed_through_with_every_escape_doubled() -> None:
    assert sequence("hi", {"TMUX": "/run/tmux-0/default,1,0"}) == "\x1bPtmux;\x1b\x1b]52;c;aGk=\a\x1b\\"


def test_screen_gets_it_in_strings_that_it_does_not_cut() -> None:
    written = sequence("x" * 1000, {"STY": "1.tty"})
    parts = written.split("\x1b\\")[:-1]

    assert all(part.startswith("\x1bP") and len(part) <= 256 for part in parts)
    assert "".join(part[2:] for part in parts) == sequence("x" * 1000, {})


@pytest.mark.parametrize(
    ("environment", "there", "command"),
    [
        ({}, ["pbcopy"], ("pbcopy",)),
        ({"WAYLAND_DISPLAY": "w", "DISPLAY": ":0"}, ["wl-copy", "xclip"], ("wl-copy",)),
        ({"DISPLAY": ":0"}, ["xclip", "xsel"], ("xclip", "-selection", "clipboard")),
        ({"DISPLAY": ":0"}, ["xsel"], ("xsel", "--clipboard", "--input")),
        ({"WSL_DISTRO_NAME": "Debian"}, ["clip.exe", "xclip"], ("clip.exe",)),
    ],
)
def test_a_local_session_uses_the_desktops_tool_too(
    environment: dict[str, str], there: list[str], command: tuple[str, ...]
) -> None:
    written, done = copied("hi", environment, *there)

    assert [tool.command for tool in done.tools] == [command]
    assert written == sequence("hi", {})
    assert done.sentence.startswith("Copied 2 characters to the clipboard")


def test_over_ssh_no_tool_of_the_far_machine_is_used() -> None:
    assert copied("hi", SSH, "pbcopy", "wl-copy", "xclip")[1].tools == ()


def test_a_text_too_large_for_many_terminals_is_not_said_to_have_arrived() -> None:
    large = "x" * (OSC_52_LIMIT + 1)

    assert "many terminals take only 75 kB" in copied(large, SSH)[1].sentence
    assert "many terminals" in copied(large, {"TMUX": "t", **SSH}, "tmux")[1].sentence
    assert "many terminals" not in copied(large, {"DISPLAY": ":0"}, "xclip")[1].sentence
    assert "many terminals" not in copied(large[:-1], SSH)[1].sentence


def test_a_terminal_known_to_take_nothing_is_not_said_to_have_taken_it() -> None:
    done = copied("hi", {"TERM": "linux"})[1]

    assert "install a tool" in done.sentence
    assert "Copied" not in done.sentence


def test_nothing_is_copied_where_there_is_nothing() -> None:
    assert copied("", {}) == ("", Copied("There is nothing to copy."))


@pytest.fixture
def tool_folder(tmp_path: Path) -> Path:
    folder = tmp_path / "bin"
    folder.mkdir()
    return folder


def make_tool(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def with_path(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    return {"DISPLAY": ":7", "PATH": os.environ["PATH"]}


def test_a_tool_gets_the_text_as_it_is(tool_folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_tool(tool_folder, "xclip", f'echo "$@ $DISPLAY" > {tmp_path}/how; cat > {tmp_path}/what')
    environment = with_path(tool_folder, monkeypatch)
    done = copy("é\n\n", lambda _: None, environment)

    assert run_tools(done.tools, "é\n\n", environment) is None
    assert (tmp_path / "what").read_text(encoding="utf-8") == "é\n\n"
    assert (tmp_path / "how").read_text(encoding="utf-8") == "-selection clipboard :7\n"


def test_a_tool_that_stays_to_serve_the_clipboard_holds_nobody_up(
    tool_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_tool(tool_folder, "xclip", "cat > /dev/null; sleep 3 &")
    environment = with_path(tool_folder, monkeypatch)
    begun = time.monotonic()

    assert run_tools(copy("hi", lambda _: None, environment).tools, "hi", environment) is None
    assert time.monotonic() - begun < 2


@pytest.mark.parametrize(
    ("script", "words"), [("exit 3", "xclip failed with exit code 3"), ("sleep 9", "xclip did not answer within")]
)
def test_a_tool_that_fails_is_named(
    tool_folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, words: str
) -> None:
    monkeypatch.setattr("specchat.ui.clipboard.TOOL_SECONDS", 0.3)
    make_tool(tool_folder, "xclip", f"cat > /dev/null; exec {script}" if "sleep" in script else script)
    environment = with_path(tool_folder, monkeypatch)
    failure = run_tools(copy("hi", lambda _: None, environment).tools, "hi", environment)

    assert failure is not None
    assert words in failure


class Outer:
    """A terminal around tmux or screen, of which only the bytes count."""

    def __init__(self, command: list[str], environment: dict[str, str]) -> None:
        self.raw = b""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            inherited = {name: value for name, value in os.environ.items() if name not in {"TMUX", "STY"}}
            os.execvpe(command[0], command, {**inherited, "TERM": "xterm-256color", "SHELL": "/bin/sh", **environment})

    def wait_for(self, text: bytes, seconds: float = 8) -> bool:
        deadline = time.monotonic() + seconds
        while text not in self.raw and time.monotonic() < deadline:
            if select.select([self.fd], [], [], 0.1)[0]:
                self.raw += os.read(self.fd, 65536)
        return text in self.raw

    def close(self) -> None:
        os.close(self.fd)
        os.waitpid(self.pid, 0)


@pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
@pytest.mark.parametrize("length", [12, 50_000])
def test_tmux_as_it_comes_hands_the_text_to_its_buffer_and_its_terminal(tmp_path: Path, length: int) -> None:
    socket, tmux = str(tmp_path / "tmux"), str(shutil.which("tmux"))
    outer = Outer(["tmux", "-S", socket, "-f", "/dev/null", "new-session", "cat"], {})
    try:
        assert outer.wait_for(b"\x1b[?1049h")
        text = "words — " * (length // 8)
        environment = {**os.environ, **SSH, "TMUX": f"{socket},0,0"}
        done = copy(text, lambda _: None, environment)

        assert run_tools(done.tools, text, environment) is None
        assert "tmux's buffer and the terminal's clipboard" in done.sentence
        assert subprocess.check_output([tmux, "-S", socket, "show-buffer"], text=True) == text
        assert outer.wait_for(base64.b64encode(text.encode()) + b"\x07")
    finally:
        subprocess.run([tmux, "-S", socket, "kill-server"], check=False)
        outer.close()


@pytest.mark.skipif(shutil.which("screen") is None, reason="screen is not installed")
def test_screen_hands_a_long_text_to_its_terminal_whole(tmp_path: Path) -> None:
    text = "words and words " * 2000
    (tmp_path / "sequence").write_text(sequence(text, {"STY": "1"}), encoding="utf-8", newline="")
    folder = tmp_path / "s"
    folder.mkdir(mode=0o700)
    command = ["screen", "-c", "/dev/null", "sh", "-c", f"cat {tmp_path}/sequence; echo SHOWN; sleep 1"]
    outer = Outer(command, {"SCREENDIR": str(folder)})
    try:
        assert outer.wait_for(b"SHOWN")
        assert b"\x1b]52;c;" + base64.b64encode(text.encode()) + b"\x07" in outer.raw
    finally:
        outer.wait_for(b"is terminating")
        outer.close()


def test_screen_and_tmux_in_one_another_get_a_sequence_that_neither_prints() -> None:
    both = {"STY": "1.pts", "TMUX": "socket,1,0"}

    assert sequence("copied", both) == sequence("copied", {"STY": "1.pts"})
    assert "tmux;" not in sequence("copied", both)
