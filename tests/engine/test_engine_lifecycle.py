"""Real engines: they start, answer, and leave nothing behind however their owner ends."""

import http.client
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest

import specchat_launcher
from specchat_launcher import Progress, RunningServer, list_engines, start_profile
from specchat_launcher.supervisor import descendants, process_table

pytestmark = pytest.mark.engine

OWNER = """
import sys, time
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from specchat_launcher import start_profile
report = lambda progress: print(progress.phase.value, flush=True)
server = start_profile("cpu-smollm2", root=Path(sys.argv[2]), engine=sys.argv[3], report=report)
time.sleep(600)
"""
LEFT_AFTER_S = 15


def silent(_progress: Progress) -> None:
    pass


def complete(server: RunningServer) -> dict[str, object]:
    """One reply of eight tokens."""
    host, _, port = server.url.removeprefix("http://").partition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=60)
    messages = [{"role": "user", "content": "Name a colour."}]
    body = {"model": server.model, "messages": messages, "max_tokens": 8, "temperature": 0, "ignore_eos": True}
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer: dict[str, object] = json.loads(connection.getresponse().read())
    connection.close()
    return answer


def test_a_server_starts_answers_and_leaves_nothing(engine_version: str, engine_root: Path) -> None:
    with start_profile("cpu-smollm2", root=engine_root, engine=engine_version, report=silent) as server:
        answer = complete(server)
        pids = {entry.pid for entry in process_table().values() if entry.session == server.pid}
    usage = answer["usage"]
    assert isinstance(usage, dict)
    assert usage["completion_tokens"] == 8
    assert len(pids) > 1
    # An entry may stay a moment longer, until whoever inherited the ended process collects it.
    assert not living(pids)
    assert server.exit_reason() is None


@pytest.mark.parametrize(
    "phase", ["loading", *(pytest.param(phase, marks=pytest.mark.long) for phase in ("starting", "ready"))]
)
def test_killing_the_owner_leaves_nothing(newest_first: str, engine_root: Path, phase: str) -> None:
    launcher = str(Path(specchat_launcher.__file__).parents[1])
    argv = [sys.executable, "-c", OWNER, launcher, str(engine_root), newest_first]
    owner = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert owner.stdout is not None
    for line in owner.stdout:
        if line.strip() == phase:
            break
    # In the middle of the phase, not at its first moment.
    time.sleep(1)
    pids = {entry.pid for entry in descendants(owner.pid, process_table())}
    owner.kill()
    owner.communicate()
    assert pids
    deadline = time.monotonic() + LEFT_AFTER_S
    while (left := living(pids)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not left


def test_an_installed_engine_is_listed(engine_version: str, engine_root: Path) -> None:
    status = next(status for status in list_engines(engine_root) if status.version == engine_version)
    assert status.state == "installed"
    assert status.size_bytes is not None
    assert status.size_bytes > 10**9


def living(pids: set[int]) -> set[int]:
    table = process_table()
    return {pid for pid in pids if pid in table and not table[pid].zombie}
