"""The launcher's own commands."""

import io
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import specchat_launcher
from specchat_launcher import cli
from specchat_launcher.errors import LauncherError
from specchat_launcher.install import EngineStatus
from specchat_launcher.ports import free_port
from specchat_launcher.progress import Phase, Progress
from unit.launcher.conftest import gone_within

SERVE = """
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from specchat_launcher import cli
from specchat_launcher.server import start_server
from specchat_launcher.spec import ServerSpec
root = Path(sys.argv[2])
spec = ServerSpec("0.32.0", Path(sys.argv[3]), root, root, "tiny", "127.0.0.1", int(sys.argv[4]), None, (), (), None)
cli.start_profile = lambda name, *, root, engine, port, hook, report: start_server(spec, root, report)
sys.exit(cli.serve("cpu-smollm2", root, out=sys.stdout))
"""


def test_engines_are_listed_one_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = [
        EngineStatus("0.32.0", "installed", tmp_path, 1_708_518_133, "3.11.7", ""),
        EngineStatus("0.27.1", "broken", tmp_path, None, None, "its Python is gone"),
    ]
    monkeypatch.setattr(cli, "list_engines", lambda _root: statuses)
    out = io.StringIO()
    assert cli.print_engines(tmp_path, out) == 0
    first, second = out.getvalue().splitlines()
    assert first.split() == ["0.32.0", "installed", "1.7", "GB", "Python", "3.11.7", str(tmp_path)]
    assert second.endswith("its Python is gone")


def test_a_failure_is_one_line_and_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_args: object) -> None:
        raise LauncherError("The disk is full.", "Free some space.")

    monkeypatch.setattr(cli, "install_engine", fail)
    assert cli.main(["--data-dir", str(tmp_path), "engine", "install", "0.32.0"]) == 1
    assert capsys.readouterr().err == "The disk is full. Free some space.\n"


def test_removing_what_is_not_there_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--data-dir", str(tmp_path), "engine", "remove", "0.32.0"]) == 1
    assert "engine list" in capsys.readouterr().err


def test_printed_progress_is_thinned_out_but_keeps_every_phase() -> None:
    out = io.StringIO()
    printer = cli.ProgressPrinter(out)
    for done in range(100):
        printer(Progress(Phase.INSTALLING, f"{done} of 100", done / 100))
    printer(Progress(Phase.CONVERTING, "the model", None))
    assert out.getvalue() == "installing   0%  0 of 100\nconverting  the model\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_served_model_ends_tidily_with_its_command(
    number: signal.Signals, tmp_path: Path, fake_server_python: Path
) -> None:
    launcher = str(Path(specchat_launcher.__file__).parents[1])
    port = str(free_port(random.Random()))
    argv = [sys.executable, "-c", SERVE, launcher, str(tmp_path), str(fake_server_python), port]
    command = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert command.stdout is not None
    lines = []
    for line in command.stdout:
        lines.append(line)
        if "Chat with it" in line:
            break
    assert f"http://127.0.0.1:{port}" in lines[-1]
    pids = {pid for pid in _serving(port) if pid != command.pid}
    assert pids
    command.send_signal(number)
    rest, _ = command.communicate(timeout=20)
    assert rest.endswith("Stopped.\n")
    assert command.returncode == 0
    assert gone_within(pids, 1)


class EndedServer:
    """A server that runs without the hook, and has ended by the time anybody looks."""

    url, model, engine_version, log_path = "http://127.0.0.1:1", "m", "0.32.0", "server.log"
    notices = ("The server runs without the hook.",)

    def __enter__(self) -> "EndedServer":
        return self

    def __exit__(self, *_: object) -> None: ...

    def is_running(self) -> bool:
        return False

    def exit_reason(self) -> str:
        return "It fell."


def test_what_is_missing_in_a_server_is_said_before_its_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cli, "start_profile", lambda *_, **__: EndedServer())
    out = io.StringIO()
    assert cli.serve("cpu-smollm2", tmp_path, out=out) == 1
    lines = out.getvalue().splitlines()
    assert lines[0] == "Note: The server runs without the hook."
    assert "http://127.0.0.1:1" in lines[1]


@pytest.mark.parametrize(("options", "wanted"), [((), True), (("--no-hook",), False)])
def test_the_hook_is_loaded_unless_told_otherwise(
    options: tuple[str, ...], wanted: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def serve(_name: str, _root: Path, *, hook: bool, **_more: object) -> int:
        asked.append(hook)
        return 0

    monkeypatch.setattr(cli, "serve", serve)
    assert cli.main(["--data-dir", str(tmp_path), "serve", "cpu-smollm2", *options]) == 0
    assert asked == [wanted]


def _serving(port: str) -> set[int]:
    time.sleep(0.1)
    found = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().split(b"\0")
            except OSError:
                continue
            if b"--port" in words and port.encode() in words:
                found.add(int(folder.name))
    return found
