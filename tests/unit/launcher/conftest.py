"""Stand-ins for what the launcher starts: scripts, tiny wheels and a server that answers like vLLM."""

import hashlib
import os
import stat
import subprocess
import sys
import tempfile
import time
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from specchat_launcher import install
from specchat_launcher.engine_specs import EngineSpec
from specchat_launcher.install import environment_argv
from specchat_launcher.process import Command
from specchat_launcher.supervisor import process_table


@pytest.fixture(autouse=True)
def temporary_folder(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server whose supervisor is killed by force leaves its folder to the next look, which here never comes."""
    monkeypatch.setenv("TMPDIR", str(tmp_path_factory.mktemp("temporary")))
    monkeypatch.setattr(tempfile, "tempdir", None)  # where it keeps what it found before


FAKE_SERVER = """
import http.server, json, os, subprocess, sys, time
arguments = sys.argv[1:]
option = lambda name: arguments[arguments.index(name) + 1]
port, model = int(option("--port")), option("--served-model-name")
mode = os.environ.get("FAKE_MODE", "")
print("(APIServer pid=1) INFO 11-30 11:18:48 [api_utils.py:286] non-default args: {}", flush=True)
print("Found ulimit of 20000 and failed to automatically increase with error current limit exceeds", flush=True)
if mode == "dies":
    print("(EngineCore pid=2) ERROR 11-30 11:18:48 [core.py:1] ValueError: No memory for the KV cache.", flush=True)
    print("RuntimeError: Engine core initialization failed. See root cause above.", flush=True)
    sys.exit(1)
if mode == "port":
    print("OSError: [Errno 98] Address already in use", flush=True)
    sys.exit(1)
if mode == "hangs":
    time.sleep(600)
engine = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = json.dumps({"data": [{"id": model}]}).encode()
        self.send_response(200); self.end_headers(); self.wfile.write(body)
    def log_message(self, *args): pass
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
print("INFO:     Application startup complete.", flush=True)
try:
    server.serve_forever()
except KeyboardInterrupt:
    engine.terminate()
"""


def gone_within(pids: set[int], seconds: float) -> bool:
    """Whether none of the processes is alive after at most this long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        table = process_table()
        if all(pid not in table or table[pid].zombie for pid in pids):
            return True
        time.sleep(0.05)
    return False


def wait_for(path: Path, seconds: float = 10) -> str:
    """The content of a file as soon as it has some."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if path.exists() and (text := path.read_text(encoding="utf-8")).endswith("\n"):
            return text
        time.sleep(0.02)
    raise AssertionError(f"{path.name} never came")


@pytest.fixture
def script(tmp_path: Path) -> Callable[..., Command]:
    """Builds a command that runs Python source."""

    def build(source: str, *arguments: str, name: str = "child", env: dict[str, str] | None = None) -> Command:
        argv = (sys.executable, "-I", "-c", source, *arguments)
        return Command(
            argv, env if env is not None else {"PATH": os.environ["PATH"]}, tmp_path, tmp_path / f"{name}.log"
        )

    return build


@pytest.fixture
def fake_server_python(tmp_path: Path) -> Path:
    """An interpreter that, asked to run vLLM, runs the fake server."""
    source = tmp_path / "fake_server.py"
    source.write_text(FAKE_SERVER, encoding="utf-8")
    python = tmp_path / "fake-python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{source}" "$@"\n', encoding="utf-8")
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    return python


def make_wheel(folder: Path, name: str, version: str = "1.0", content: bytes = b"VALUE = 1\n") -> Path:
    """A wheel with one module, installable without network."""
    info = f"{name}-{version}.dist-info"
    members = {
        f"{name}/__init__.py": content,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n".encode(),
        f"{info}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = ""
    for member, data in members.items():
        digest = urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
        record += f"{member},sha256={digest},{len(data)}\n"
    members[f"{info}/RECORD"] = f"{record}{info}/RECORD,,\n".encode()
    wheel = folder / f"{name}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for member, data in members.items():
            archive.writestr(member, data)
    return wheel


TINY = EngineSpec(
    version="0.32.0",
    packages=("tiny-server==1.0",),
    torch_packages=("tiny_torch==1.0",),
    torch_index=None,
    disk_bytes=1000,
    download_bytes=1000,
)


def find_on_this_disk(wheels: Path, patch: pytest.MonkeyPatch) -> None:
    """Keep pip off the network and away from the user's settings."""
    patch.setenv("PIP_NO_INDEX", "1")
    patch.setenv("PIP_FIND_LINKS", str(wheels))
    patch.setenv("PIP_CONFIG_FILE", os.devnull)


def copy_environments(source: Path, patch: pytest.MonkeyPatch) -> None:
    """Let any machine and the tests' own Python do, and make an environment by copying one."""
    patch.setattr(install, "engine_python", lambda: Path(sys.executable))
    patch.setattr(install, "require_supported", lambda _machine: None)
    patch.setattr(install, "environment_argv", lambda _python, target: ("cp", "-a", str(source), str(target)))


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that pip can install from."""
    folder = tmp_path_factory.mktemp("wheels")
    make_wheel(folder, "tiny_server")
    # A newer one, which the pins do not ask for.
    make_wheel(folder, "tiny_server", version="9.0")
    make_wheel(folder, "tiny_torch")
    return folder


@pytest.fixture
def tiny_engine(wheels: Path, monkeypatch: pytest.MonkeyPatch) -> EngineSpec:
    """An engine of two small packages, one of them in the place of torch, that pip finds on this disk."""
    find_on_this_disk(wheels, monkeypatch)
    return TINY


@pytest.fixture(scope="session")
def empty_environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A real environment with pip, made once: making one takes seconds."""
    target = tmp_path_factory.mktemp("environment") / "env"
    subprocess.run(environment_argv(Path(sys.executable), target), check=True)
    return target


@pytest.fixture
def supported(monkeypatch: pytest.MonkeyPatch, empty_environment: Path) -> None:
    """Any machine and the tests' own Python will do, and an environment is a copy of one made before."""
    copy_environments(empty_environment, monkeypatch)


@pytest.fixture(scope="session")
def installed_template(wheels: Path, empty_environment: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data directory with the tiny engine installed."""
    root = tmp_path_factory.mktemp("installed") / "data"
    with pytest.MonkeyPatch.context() as patch:
        find_on_this_disk(wheels, patch)
        copy_environments(empty_environment, patch)
        install.install(TINY, root, lambda _progress: None)
    return root
