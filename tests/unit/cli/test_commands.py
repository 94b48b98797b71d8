"""The command line without a server."""

import io
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

from specchat import __version__
from specchat.cli import commands
from specchat.cli.commands import run
from specchat.cli.options import speculation_limit
from specchat.config import paths
from specchat.config.last_server import remember
from specchat_launcher.serving import Wish


def out_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run(arguments)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


@pytest.fixture
def stdin(monkeypatch: pytest.MonkeyPatch) -> io.BytesIO:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(raw, encoding="utf-8"))
    return raw


def test_the_version_is_there_at_once() -> None:
    started = time.monotonic()
    done = subprocess.run([sys.executable, "-m", "specchat", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"specchat {__version__}\n"
    assert time.monotonic() - started < 10


def test_no_server_is_a_sentence_that_names_both_ways_to_one(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = out_of(capsys, "ask", "hi")
    assert (code, out) == (1, "")
    assert "specchat --url URL" in err
    assert "specchat demo" in err


def test_a_failure_to_connect_is_in_the_json_too(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = out_of(capsys, "ask", "--json", "--url", "http://127.0.0.1:9", "hi")
    said = json.loads(out)
    assert code == 1
    assert said["error"]["kind"] == "ServerUnreachable"
    assert said["server"]["url"] == "http://127.0.0.1:9"
    assert err.count("\n") == 1


def test_the_last_server_is_asked_when_none_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    remember(paths.last_server_file(), "http://127.0.0.1:9", "m")
    _, _, err = out_of(capsys, "ask", "hi")
    assert "127.0.0.1:9" in err


def test_an_empty_prompt_is_refused(capsys: pytest.CaptureFixture[str], stdin: io.BytesIO) -> None:
    stdin.write(b"  \n")
    stdin.seek(0)
    code, _, err = out_of(capsys, "ask", "-", "--url", "http://127.0.0.1:9")
    assert code == 1
    assert "prompt is empty" in err


def test_a_prompt_of_bytes_that_are_no_text_is_read(stdin: io.BytesIO) -> None:
    stdin.write(b"caf\xe9")
    stdin.seek(0)
    assert commands._prompt_text("-") == "caf\ufffd"
    assert commands._prompt_text("caf\udce9") == "caf\ufffd"


def test_the_chat_in_a_pipe_points_to_ask(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = out_of(capsys, "--url", "http://127.0.0.1:9")
    assert code == 1
    assert "specchat ask" in err


def test_options_before_a_command_are_not_lost_silently(capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = out_of(capsys, "--url", "http://127.0.0.1:9", "ask", "hi")
    assert code == 1
    assert "behind the command" in err


@pytest.mark.parametrize(
    "arguments", [["bogus"], ["ask", "--max-tokens", "0", "x"], ["ask", "--temperature", "hot", "x"]]
)
def test_wrong_usage_exits_with_two(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = out_of(capsys, *arguments)
    assert code == 2
    assert "Traceback" not in err


def test_an_unknown_profile_names_those_there_are(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECCHAT_DATA_DIR", str(tmp_path))
    code, _, err = out_of(capsys, "serve", "gpu-cluster")
    assert code == 1
    assert "cpu-smollm2" in err


@pytest.mark.parametrize(("options", "wanted"), [((), True), (("--no-hook",), False)])
def test_serve_loads_the_hook_unless_told_otherwise(
    options: tuple[str, ...], wanted: bool, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def serve(wish: Wish, *_: object) -> int:
        asked.append(wish.hook)
        return 0

    monkeypatch.setattr("specchat.cli.local.serve", serve)
    code, _, _ = out_of(capsys, "serve", "cpu-smollm2", *options)
    assert code == 0
    assert asked == [wanted]


def test_a_server_that_ends_by_itself_is_a_failure(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("specchat.cli.local.serve", lambda *_: 1)
    code, _, err = out_of(capsys, "serve", "cpu-smollm2")
    assert code == 1
    assert "ended by itself" in err


def test_engines_are_listed_without_any_installed(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SPECCHAT_DATA_DIR", str(tmp_path))
    code, out, _ = out_of(capsys, "engine", "list", "--json")
    assert code == 0
    assert [(row["version"], row["state"]) for row in json.loads(out)] == [("0.32.0", "absent"), ("0.27.1", "absent")]
    assert not any(tmp_path.iterdir())


def test_ctrl_c_is_no_traceback(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: object) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(commands, "_prompt_text", interrupted)
    code, _, err = out_of(capsys, "ask", "hi")
    assert code == 130
    assert "Traceback" not in err


def test_one_of_several_models_can_be_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = iter(["9", "2"])
    monkeypatch.setattr("rich.console.Console.input", lambda *_, **__: next(answers))
    assert commands._choose_model(["a", "b"]) == "b"


@pytest.mark.parametrize("word", ["maybe", "-1", "1.5", "k=2", "999999"])
def test_a_speculation_that_means_nothing_is_a_sentence(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = out_of(capsys, "ask", "hi", "--url", "http://127.0.0.1:9", f"--speculation={word}")
    assert code == 1
    assert "Give on, off, or a number" in err


@pytest.mark.parametrize(("word", "limit"), [(None, None), ("on", None), ("OFF", 0), ("0", 0), (" 2 ", 2)])
def test_speculation_is_on_off_or_a_number(word: str | None, limit: int | None) -> None:
    assert speculation_limit(word) == limit
