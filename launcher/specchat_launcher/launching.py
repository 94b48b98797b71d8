"""Puts a server into the world and waits until it answers; finds one that was put there before.

Owns the way from a plan to a server that is ready, for servers of the app and for launched ones alike. What the start
of a server looks like in its log is `startup`'s, how it ends is the supervisor's.
"""

import json
import os
import random
import secrets
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path
from typing import Any

from specchat_launcher import container_end, readiness
from specchat_launcher.commands import server_command
from specchat_launcher.disk import disk_errors_explained
from specchat_launcher.errors import LauncherError, PortError
from specchat_launcher.lock import locked
from specchat_launcher.logs import new_log
from specchat_launcher.paths import DataLayout, ensure
from specchat_launcher.planning import plan
from specchat_launcher.ports import free_port, require_free
from specchat_launcher.process import Command, Life, SupervisedProcess, start_detached
from specchat_launcher.profiles import Profile
from specchat_launcher.progress import Report
from specchat_launcher.registry import (
    SCRATCH_PREFIX,
    STARTING,
    Owner,
    ServerRecord,
    find,
    origin_content,
    record_from,
    recorded,
    server_id,
    servers,
    servers_folder,
    state_file,
)
from specchat_launcher.running import RunningServer, ServerProcess
from specchat_launcher.shared_memory import sweep_openmp
from specchat_launcher.spec import KEY_VARIABLE, ServerSpec
from specchat_launcher.start_times import remember_start
from specchat_launcher.startup import StartPhase, StartState
from specchat_launcher.stopping import RecordedProcess
from specchat_launcher.supervisor import MARK_VARIABLE
from specchat_launcher.waiting import StartReport, never, until_ready

LOG_BYTES = 50_000_000
PORT_ATTEMPTS = 3
# A container's tool needs part of the fifteen seconds that a stop may take.
CONTAINER_INTERRUPT_S, CONTAINER_TERMINATE_S = 4.0, 1.0


class AlreadyRunning(LauncherError):
    """A server of that profile runs already.

    Attributes:
        record: That server.
    """

    def __init__(self, record: ServerRecord) -> None:
        super().__init__(
            f"{record.profile} runs already: {record.id} at {record.url} is {record.state}.",
            f"Attach to it (specchat serve {record.profile} --attach), stop it (specchat stop {record.id}), or start a "
            "second one with --port.",
        )
        self.record = record


class LeftRunning(BaseException):
    """Raised into a launch, by a signal, to let go of a launched server without stopping it."""


def launch_profile(
    profile: Profile,
    root: Path,
    *,
    owner: Owner,
    report: StartReport,
    preparing: Report,
    port: int | None = None,
    host: str | None = None,
    hook: bool = True,
    environ: Mapping[str, str] = os.environ,
    stop_asked: Callable[[], bool] = never,
) -> RunningServer:
    """Prepare what a profile needs, start its server, and wait until it answers.

    Args:
        profile: The profile, of one server.
        root: The data directory.
        owner: Who the server belongs to.
        report: Receives the state of the start.
        preparing: Receives the progress of what comes before, such as an installation.
        port: Port to listen on; None for the profile's own, or a free one.
        host: Address to listen on; None for the profile's own.
        hook: Load specchat's hook, where the profile has it.
        environ: The user's environment.
        stop_asked: Asked several times a second whether to give up.

    Raises:
        AlreadyRunning: The profile's server runs.
        LauncherError: It could not be started, with what to do next.
    """
    wanted = port if port is not None else profile.port
    require_not_running(profile.name, wanted, root)
    if wanted is not None:
        require_free(wanted)
    chooser = random.Random()  # noqa: S311 - any free port will do
    for attempt in range(1, PORT_ATTEMPTS + 1):
        chosen = wanted if wanted is not None else free_port(chooser)
        spec = plan(profile, root, report=preparing, port=chosen, host=host, hook=hook, environ=environ)
        try:
            return launch(
                spec,
                root,
                owner=owner,
                report=report,
                stop_asked=stop_asked,
                port_named=wanted is not None,
                environ=environ,
            )
        except PortError:
            # Something took the port while the server was loading.
            if wanted is not None or attempt == PORT_ATTEMPTS:
                raise
    raise AssertionError("unreachable: the loop returns or raises")


def require_not_running(profile: str, port: int | None, root: Path) -> None:
    """Refuse a launch where a launched server of the profile runs.

    Args:
        profile: The profile's name.
        port: The port that was asked for; None for any, and then every launched server of the profile counts.
        root: The data directory.

    Raises:
        AlreadyRunning: With that server.
        PortError: Another server of specchat has the port.
    """
    for record in servers(root, ask=False):
        same = record.profile == profile
        if same and (record.port == port or (port is None and record.owner is Owner.ITSELF)):
            raise AlreadyRunning(record)
        if record.port == port:
            raise PortError(f"Port {port} belongs to {record.id}, which specchat started.", "Choose another one.")


def launch(
    spec: ServerSpec,
    root: Path,
    *,
    owner: Owner,
    report: StartReport,
    stop_asked: Callable[[], bool] = never,
    port_named: bool = False,
    environ: Mapping[str, str] = os.environ,
    timeout_s: float | None = None,
) -> RunningServer:
    """Start a server and wait until it answers.

    A launched one goes on when this process ends, also while it is being waited for. An exception from `report`, and a
    wish to stop, end it; `LeftRunning` lets it go on.

    Args:
        spec: The server.
        root: The data directory.
        owner: Who it belongs to.
        report: Receives the state of the start.
        stop_asked: Asked several times a second whether to give up.
        port_named: The user wants this very port, so that the same profile may run on another one.
        environ: The user's environment, for what the server takes over from it, and for its API's key.
        timeout_s: Seconds that the whole start may take; None for the limits of its phases alone.

    Raises:
        AlreadyRunning: A server of that profile runs; launched ones only.
        PortError: Another program has its port.
        StartFailed: It ended, or did not answer in time.
        StartStopped: It was given up.
    """
    if spec.container is not None:
        # Whoever has the port could pass for the server in the container.
        require_free(spec.port)
    process, record = _spawn(spec, root, owner, report, port_named=port_named, environ=environ)
    began = time.monotonic()
    try:
        warnings = until_ready(
            record,
            process,
            report,
            stop_asked=stop_asked,
            expected=spec.expected,
            timeouts=dict(spec.timeouts),
            key=environ.get(KEY_VARIABLE),
            timeout_s=timeout_s,
        )
    except LeftRunning:
        if owner is Owner.APP:
            process.stop()
        raise
    except BaseException:
        process.stop()
        raise
    remember_start(root, record.profile, time.monotonic() - began)
    return RunningServer(record, process, notices=spec.notices, warnings=warnings)


def attach(
    record: ServerRecord,
    root: Path,
    report: StartReport,
    *,
    stop_asked: Callable[[], bool] = never,
    environ: Mapping[str, str] = os.environ,
) -> RunningServer:
    """Follow a server that is starting, or ready, until it answers. Giving up leaves it as it is.

    Args:
        record: The server.
        root: The data directory.
        report: Receives the state of the start, from its beginning.
        stop_asked: Asked several times a second whether to give up.
        environ: The user's environment, for the key of its API.

    Raises:
        StartFailed: It ended before it was ready.
        StartStopped: It was given up.
    """
    process = RecordedProcess(record, root)
    age = max(0.0, time.time() - record.started_at)
    warnings = until_ready(record, process, report, stop_asked=stop_asked, key=environ.get(KEY_VARIABLE), age=age)
    return RunningServer(record, process, warnings=warnings)


def _spawn(
    spec: ServerSpec,
    root: Path,
    owner: Owner,
    report: StartReport,
    *,
    port_named: bool,
    environ: Mapping[str, str],
) -> tuple[ServerProcess, ServerRecord]:
    """Put the server into the world: its supervisor runs and has written its state file."""
    layout = DataLayout(root)
    argv, env = server_command(spec, environ)
    name = spec.profile or "server"
    mark = secrets.token_hex(8)
    with ExitStack() as stack:
        stack.enter_context(disk_errors_explained("the server's log", root, LOG_BYTES))
        # The supervisor keeps the shared lock, so the engine cannot be removed while the server runs.
        engine = _engine_lock(spec.engine_version, layout, report) if spec.cache is not None else None
        kept = [stack.enter_context(engine)] if engine is not None else []
        if owner is Owner.ITSELF:
            stack.enter_context(locked(layout.launch_lock(name), shared=False, on_wait=lambda _pid: None))
            require_not_running(name, spec.port if port_named else None, root)
        else:
            # What an earlier one left is cleared before its state file is written anew.
            servers(root, ask=False)
        sweep_openmp(Path("/dev/shm"), os.getuid())  # noqa: S108 - the system's shared memory, not a temporary file
        servers_folder(root)
        in_use = {record.log for record in recorded(root)}
        log = new_log(layout.logs, f"server-{spec.engine_version or name}", time.time(), in_use)
        cwd = ensure(spec.cache) if spec.cache is not None else root
        state = _state(spec, name, owner, log, mark)
        if spec.container is None:
            # vLLM leaves the sockets between its processes behind where it is ended in the middle of something.
            state["scratch"] = env["TMPDIR"] = tempfile.mkdtemp(prefix=SCRATCH_PREFIX)
        command = Command(argv, {**env, MARK_VARIABLE: mark}, cwd, log)
        state["key_needed"] = spec.needs_key or KEY_VARIABLE in env
        life = _life(spec, state_file(root, str(state["id"])), state)
        if owner is Owner.ITSELF:
            start_detached(command, life, keep_open=kept)
            record = _written(root, state)
            return RecordedProcess(record, root), record
        process = SupervisedProcess(command, keep_open=kept, life=life)
    return process, _written(root, state)


def _engine_lock(version: str, layout: DataLayout, report: StartReport) -> AbstractContextManager[int]:
    waiting = StartState(
        StartPhase.STARTING, f"waiting for another specchat that is working on engine {version}", None, 0, 0, (), ()
    )
    return locked(layout.engine_lock(version), shared=True, on_wait=lambda _pid: report(waiting))


def _state(spec: ServerSpec, name: str, owner: Owner, log: Path, mark: str) -> dict[str, Any]:
    """What a server's state file says, apart from its processes. No secrets: a key is not part of it."""
    container = spec.container
    speculation = spec.speculation
    reached = readiness.ANY_ADDRESS.get(spec.host, spec.host)
    state = {
        "id": server_id(name, spec.port),
        "profile": name,
        "url": f"http://[{reached}]:{spec.port}" if ":" in reached else f"http://{reached}:{spec.port}",
        "host": spec.host,
        "port": spec.port,
        "model": spec.served_name,
        "version": spec.engine_version,
        "server": spec.server.value,
        "owner": owner.value,
        "log": str(log),
        "started_at": time.time(),
        "mark": mark,
        "machine": socket.gethostname(),
        "speculation": "" if speculation is None else f"{speculation.method} k={speculation.tokens}",
        "origin": origin_content(spec.origin),
        "container": None,
        "container_tool": None,
    }
    if container is not None:
        state |= {
            "container": container.name,
            "container_tool": str(container.tool),
            "container_stop": list(container.stop_argv),
            "container_remove": list(container.remove_argv),
            "container_inspect": list(container.inspect_argv),
        }
    return state


def _life(spec: ServerSpec, path: Path, state: dict[str, Any]) -> Life:
    if spec.container is None:
        return Life(path, state)
    commands = {kind: state[f"container_{kind}"] for kind in ("stop", "remove", "inspect")}
    return Life(
        path,
        state,
        after=(sys.executable, "-I", "-S", container_end.__file__, json.dumps(commands)),
        after_s=container_end.PATIENCE_S,
        interrupt_s=CONTAINER_INTERRUPT_S,
        terminate_s=CONTAINER_TERMINATE_S,
    )


def _written(root: Path, state: dict[str, Any]) -> ServerRecord:
    """The record that the supervisor wrote; one without processes where the server has ended already."""
    found = find(root, state["id"])
    if found is not None and found.mark == state["mark"]:
        return found
    gone = record_from({**state, "state": STARTING, "supervisor": [0, 0], "leader": None})
    assert gone is not None  # noqa: S101 - it was made here
    return gone
