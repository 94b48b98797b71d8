"""Plays Docker's client and its daemon, or Podman: `run`, `stop`, `rm`, `inspect`, with the fake server inside.

Run as a script by a program called `docker` or `podman`. `FAKE_DOCKER` names its folder: every call is a line of
`calls`, a running container has a file `NAME.pid`, and a file `silent` means that the daemon answers nothing any more.
The container is no child of the client: it lives on when the client is killed.
"""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["FAKE_DOCKER"])
SERVER = Path(__file__).with_name("fake_served_engine.py")
BEGIN = """
import os, sys
os.setsid()
if os.fork():
    os._exit(0)
with open(sys.argv[1], "w") as file:
    file.write(str(os.getpid()))
os.execv(sys.executable, [sys.executable, *sys.argv[2:]])
"""


def pid_of(name: str) -> int | None:
    """The first process of a container; None where there is none of that name."""
    try:
        pid = int((FOLDER / f"{name}.pid").read_text())
    except (OSError, ValueError):
        return None
    return pid


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def option(name: str) -> str:
    return sys.argv[sys.argv.index(name) + 1]


def run() -> int:
    name = option("--name")
    port = option("-p").rsplit(":", 1)[1]
    variables = [sys.argv[i + 1] for i, word in enumerate(sys.argv) if word == "-e"]
    inside = dict(pair.split("=", 1) for pair in variables if "=" in pair)
    inside |= {pair: os.environ[pair] for pair in variables if "=" not in pair and pair in os.environ}
    command = [str(SERVER), "--host", "127.0.0.1", "--port", port, "--served-model-name", option("--served-model-name")]
    environ = {"PATH": os.environ["PATH"], "PYTHONUNBUFFERED": "1", **inside}
    if pid_of(name) is not None:
        print(f'docker: Error response from daemon: Conflict. The name "/{name}" is already in use', flush=True)
        return 125
    pid_file = FOLDER / f"{name}.pid"
    subprocess.run([sys.executable, "-c", BEGIN, str(pid_file), *command], env=environ, check=True)
    while (pid := pid_of(name)) is None:
        time.sleep(0.01)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda taken, _: os.kill(pid, taken))
    while runs(pid):
        time.sleep(0.05)
    pid_file.unlink(missing_ok=True)
    return 0


def stop(name: str) -> int:
    if (pid := pid_of(name)) is None:
        return unknown(name)
    if runs(pid):
        os.kill(pid, signal.SIGINT)
    while runs(pid):
        time.sleep(0.05)
    print(name)
    return 0


def remove(name: str) -> int:
    if (pid := pid_of(name)) is None:
        return unknown(name)
    # What a daemon ends is the whole container, and not its first process alone.
    inside = session(pid)
    for folder in Path("/proc").iterdir():
        if inside is not None and folder.name.isdigit() and session(int(folder.name)) == inside:
            os.kill(int(folder.name), signal.SIGKILL)
    (FOLDER / f"{name}.pid").unlink(missing_ok=True)
    print(name)
    return 0


def session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def unknown(name: str) -> int:
    print(f"Error response from daemon: No such container: {name}", file=sys.stderr)
    return 1


def main() -> int:
    with (FOLDER / "calls").open("a") as calls:
        calls.write(json.dumps(sys.argv[1:]) + "\n")
    action, name = sys.argv[1], sys.argv[-1]
    if (FOLDER / "silent").exists():
        time.sleep(600)
    if action == "run":
        return run()
    if action == "stop":
        return stop(name)
    if action == "rm":
        return remove(name)
    if action == "inspect":
        if pid_of(name) is None:
            return unknown(name)
        print("running")
        return 0
    return 2


if __name__ == "__main__":
    sys.exit(main())
