"""A server is ready when it answers, says why when it does not, and ends with whoever started it."""

import http.server
import os
import random
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from specchat_launcher import server as server_module
from specchat_launcher.errors import EngineBusyError, PortError, ServerStartError
from specchat_launcher.install import remove_engine
from specchat_launcher.paths import DataLayout
from specchat_launcher.ports import free_port
from specchat_launcher.process import SupervisedProcess
from specchat_launcher.progress import Phase, Progress
from specchat_launcher.server import RunningServer, start_profile, start_server
from specchat_launcher.spec import ServerSpec
from specchat_launcher.supervisor import process_table
from specchat_launcher.waiting import StartFailed
from unit.launcher.conftest import gone_within


def silent(_progress: Progress) -> None:
    pass


@pytest.fixture
def spec(tmp_path: Path, fake_server_python: Path) -> ServerSpec:
    return ServerSpec(
        engine_version="0.32.0",
        python=fake_server_python,
        cache=tmp_path / "cache",
        model=tmp_path,
        served_name="tiny",
        host="127.0.0.1",
        port=free_port(random.Random()),
        speculation=None,
        flags=(),
        environment=(),
        preload=None,
    )


@pytest.fixture
def server(spec: ServerSpec, tmp_path: Path) -> Iterator[RunningServer]:
    with start_server(spec, tmp_path, silent) as running:
        yield running


def ends_within(server: RunningServer, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while server.is_running() and time.monotonic() < deadline:
        time.sleep(0.05)
    return not server.is_running()


def with_mode(spec: ServerSpec, mode: str) -> ServerSpec:
    return replace(spec, environment=(("FAKE_MODE", mode),))


def test_a_server_is_ready_when_it_answers_with_its_model(spec: ServerSpec, tmp_path: Path) -> None:
    seen: list[Progress] = []
    with start_server(spec, tmp_path, seen.append) as running:
        assert running.url == f"http://127.0.0.1:{spec.port}"
        assert running.model == "tiny"
        assert running.is_running()
        assert running.exit_reason() is None
        assert running.log_path.is_file()
    assert seen[-1].phase is Phase.READY
    assert seen[0].phase is Phase.STARTING
    assert seen[-1].fraction == 1
    assert not running.is_running()
    assert running.exit_reason() is None


def test_stopping_ends_every_process_of_the_server(server: RunningServer) -> None:
    pids = {entry.pid for entry in process_table().values() if entry.session == server.pid}
    assert len(pids) == 2
    server.stop()
    assert gone_within(pids, 0.5)


def test_a_proxy_in_the_environment_is_not_asked(
    spec: ServerSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with start_server(spec, tmp_path, silent) as running:
        assert running.is_running()


def test_a_server_that_dies_while_starting_gives_the_cause_and_the_log(spec: ServerSpec, tmp_path: Path) -> None:
    with pytest.raises(StartFailed) as caught:
        start_server(with_mode(spec, "dies"), tmp_path, silent)
    assert "No memory for the KV cache" in " ".join([str(caught.value), *caught.value.diagnosis.lines])
    assert str(tmp_path / "logs") in caught.value.hint
    assert "See root cause above" not in str(caught.value)


def test_a_server_that_never_answers_is_given_up_and_ended(spec: ServerSpec, tmp_path: Path) -> None:
    with pytest.raises(ServerStartError, match="did not answer within 1 s"):
        start_server(with_mode(spec, "hangs"), tmp_path, silent, timeout_s=1)
    assert not _mine(tmp_path)


@pytest.mark.parametrize("phase", [Phase.STARTING, Phase.READY])
def test_an_exception_in_the_report_stops_what_was_started(spec: ServerSpec, tmp_path: Path, phase: Phase) -> None:
    def cancel(progress: Progress) -> None:
        if progress.phase is phase:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        start_server(spec, tmp_path, cancel)
    assert not _mine(tmp_path)


def test_a_server_that_ends_by_itself_says_why(server: RunningServer) -> None:
    with server.log_path.open("a", encoding="utf-8") as log:
        log.write("MemoryError: out of it\n")
    os.kill(server.pid, signal.SIGTERM)
    assert ends_within(server, 5)
    ending = server.ending()
    assert ending is not None
    assert "MemoryError: out of it" in ending.lines
    assert ending.title in str(server.exit_reason())


def test_a_server_killed_for_memory_is_told_apart(server: RunningServer) -> None:
    os.kill(server.pid, signal.SIGKILL)
    assert ends_within(server, 5)
    server.stop()
    assert "memory ran out" in str(server.exit_reason())


def test_an_engine_in_use_cannot_be_removed(server: RunningServer, tmp_path: Path) -> None:
    DataLayout(tmp_path).engine("0.32.0").mkdir(parents=True)
    with pytest.raises(EngineBusyError):
        remove_engine("0.32.0", tmp_path)
    server.stop()
    remove_engine("0.32.0", tmp_path)


def test_an_answer_from_someone_else_s_server_does_not_count(spec: ServerSpec, tmp_path: Path) -> None:
    class Impostor(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"data": [{"id": "tiny"}]}')

        def log_message(self, *_args: object) -> None:
            pass

    impostor = http.server.HTTPServer(("127.0.0.1", spec.port), Impostor)
    thread = threading.Thread(target=impostor.serve_forever)
    thread.start()
    try:
        with pytest.raises(PortError, match="taken by another program"):
            start_server(with_mode(spec, "hangs"), tmp_path, silent)
    finally:
        impostor.shutdown()
        thread.join()
        impostor.server_close()


class Started:
    """Records the ports that were tried."""

    def __init__(self, *outcomes: Exception | None) -> None:
        self.outcomes = list(outcomes)
        self.ports: list[int] = []

    def __call__(self, spec: ServerSpec, _root: Path, _report: object) -> str:
        self.ports.append(spec.port)
        outcome = self.outcomes.pop(0)
        if outcome is not None:
            raise outcome
        return "running"


@pytest.fixture
def prepared(spec: ServerSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    """An engine and models that are in place."""
    monkeypatch.setattr(server_module, "plan", lambda *_, port, **__: replace(spec, port=port))


@pytest.mark.usefixtures("prepared")
def test_a_port_lost_to_another_program_is_replaced_by_another(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(PortError("taken", "hint"), None)
    monkeypatch.setattr(server_module, "start_server", started)
    assert start_profile("cpu-smollm2", root=tmp_path, report=silent) == "running"  # type: ignore[comparison-overlap]
    assert len(set(started.ports)) == 2


@pytest.mark.usefixtures("prepared")
def test_a_port_the_user_named_is_never_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started = Started(PortError("taken", "hint"), None)
    monkeypatch.setattr(server_module, "start_server", started)
    port = free_port(random.Random())
    with pytest.raises(PortError):
        start_profile("cpu-smollm2", root=tmp_path, port=port, report=silent)
    assert started.ports == [port]


def test_a_server_that_lost_its_port_while_loading_says_so(spec: ServerSpec, tmp_path: Path) -> None:
    with pytest.raises(PortError, match="taken by another program"):
        start_server(with_mode(spec, "port"), tmp_path, silent)


def _mine(folder: Path) -> list[int]:
    found = []
    for pid in process_table():
        try:
            if str(folder) in Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8", errors="replace"):
                found.append(pid)
        except OSError:
            continue
    return found


def test_closing_the_pipe_that_this_process_holds_is_enough_to_stop_a_server(spec: ServerSpec, tmp_path: Path) -> None:
    running = start_server(spec, tmp_path, silent)
    pid = running.pid
    assert isinstance(running._process, SupervisedProcess)
    pipe = running._process._supervisor.stdin
    assert pipe is not None
    pipe.close()
    assert gone_within({pid}, 10)
    running.stop()
