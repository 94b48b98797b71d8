"""Starts the server of a profile, waits until it answers, and holds it while it is wanted.

Owns the life of a running server. A server never outlives the process that started it.
"""

import os
import random
import signal
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from specchat_launcher import log_events, readiness
from specchat_launcher.commands.vllm import server_argv, server_environment
from specchat_launcher.disk import disk_errors_explained
from specchat_launcher.engine_specs import engine_spec
from specchat_launcher.errors import HookError, InstallError, PortError, ServerStartError
from specchat_launcher.hook import find_hook
from specchat_launcher.install import Engine, install_engine, why_broken
from specchat_launcher.lock import locked
from specchat_launcher.logs import last_lines, new_log
from specchat_launcher.models import ModelFiles, prepare_models
from specchat_launcher.paths import DataLayout, ensure
from specchat_launcher.ports import LOOPBACK, free_port, listener_inodes, require_free, socket_inodes
from specchat_launcher.process import Command, SupervisedProcess
from specchat_launcher.profiles import Profile, load_profile
from specchat_launcher.progress import Phase, Progress, Report
from specchat_launcher.shared_memory import sweep_openmp
from specchat_launcher.spec import Hook, ServerSpec, Speculation

READY_TIMEOUT_S = 300.0
POLL_S = 0.2
LOG_LINES = 4000
END_LINES = 200
LOG_BYTES = 50_000_000
PORT_ATTEMPTS = 3


class RunningServer:
    """A server that answered. Leaving the context, or the end of this process, stops it."""

    def __init__(self, spec: ServerSpec, process: SupervisedProcess, log_path: Path) -> None:
        self._spec = spec
        self._process = process
        self._stopped = False
        self.log_path = log_path

    @property
    def url(self) -> str:
        """Its address, without a path."""
        return f"http://{self._spec.host}:{self._spec.port}"

    @property
    def port(self) -> int:
        """The port it listens on."""
        return self._spec.port

    @property
    def model(self) -> str:
        """The name of the target model in its API."""
        return self._spec.served_name

    @property
    def engine_version(self) -> str:
        """The version of vLLM."""
        return self._spec.engine_version

    @property
    def pid(self) -> int:
        """Process id of its front end, which leads the session of all its processes."""
        return self._process.pid

    @property
    def notices(self) -> tuple[str, ...]:
        """What was wanted and is not part of it, and why, a line each."""
        return self._spec.notices

    def is_running(self) -> bool:
        """Whether its front end is alive."""
        return self._process.poll() is None

    def exit_reason(self) -> str | None:
        """Why it ended, as a sentence; None while it runs or when `stop` ended it."""
        code = self._process.poll()
        if code is None or self._stopped:
            return None
        return f"{_ending(code, self.log_path, END_LINES)} The log is {self.log_path}."

    def stop(self, timeout_s: float = 15.0) -> None:
        """End the server and return when nothing of it is left. Harmless when it has ended.

        Args:
            timeout_s: Seconds after which what is left is killed at once.
        """
        if self.is_running():
            self._stopped = True
        self._process.stop(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def start_profile(
    name: str,
    *,
    root: Path,
    engine: str | None = None,
    port: int | None = None,
    hook: bool = True,
    report: Report,
) -> RunningServer:
    """Install and prepare what is missing, start the server of a profile, and wait until it answers.

    Args:
        name: The profile.
        root: The data directory.
        engine: vLLM's version; None for the profile's own.
        port: Port on the loopback address; None for a free one.
        hook: Load specchat's hook, where the profile has it.
        report: Receives the progress; an exception from it stops everything that was started.

    Raises:
        LauncherError: With what to do next.
    """
    profile = load_profile(name)
    if port is not None:
        require_free(port)
    installed = install_engine(engine if engine is not None else profile.engine, root, report)
    models = prepare_models(root, installed, report)
    chooser = random.Random()  # noqa: S311 - any free port will do
    for attempt in range(1, PORT_ATTEMPTS + 1):
        chosen = port if port is not None else free_port(chooser)
        try:
            return start_server(server_spec(profile, installed, models, chosen, hook=hook), root, report)
        except PortError:
            # Something took the port while the server was loading.
            if port is not None or attempt == PORT_ATTEMPTS:
                raise
    raise AssertionError("unreachable: the loop returns or raises")


def start_server(spec: ServerSpec, root: Path, report: Report, *, timeout_s: float = READY_TIMEOUT_S) -> RunningServer:
    """Start a server from an engine and models that are in place, and wait until it answers.

    Raises:
        PortError: Another program has its port.
        ServerStartError: It ended, or did not answer in time.
    """
    layout = DataLayout(root)
    version = spec.engine_version
    waiting = Progress(Phase.WAITING, f"waiting for another specchat that is working on engine {version}")
    with (
        disk_errors_explained("the server's log", root, LOG_BYTES),
        locked(layout.engine_lock(version), shared=True, on_wait=lambda _pid: report(waiting)) as lock,
    ):
        ensure(spec.cache)
        sweep_openmp(Path("/dev/shm"), os.getuid())  # noqa: S108 - the system's shared memory, not a temporary file
        log = new_log(layout.logs, f"server-{version}", time.time())
        command = Command(server_argv(spec), server_environment(spec, os.environ), spec.cache, log)
        # The supervisor keeps the shared lock, so the engine cannot be removed while the server runs.
        process = SupervisedProcess(command, keep_open=(lock,))
    try:
        _wait_until_ready(spec, process, log, report, timeout_s)
        report(Progress(Phase.READY, f"{spec.served_name} on http://{spec.host}:{spec.port}", 1.0))
    except BaseException:
        process.stop()
        raise
    return RunningServer(spec, process, log)


def server_spec(profile: Profile, engine: Engine, models: ModelFiles, port: int, *, hook: bool = True) -> ServerSpec:
    """Everything that a profile's server consists of on this machine. Starts nothing.

    Raises:
        InstallError: The engine is not whole any more.
    """
    broken = why_broken(engine_spec(engine.version), DataLayout(engine.directory.parent.parent))
    if broken:
        raise InstallError(f"Engine {engine.version} was changed meanwhile: {broken}.", "Start again.")
    speculation = profile.speculation
    # Measured with speculation: 1.4 times the tokens per second of the OpenMP library that torch brings.
    openmp = engine.directory / "env" / "lib" / "libiomp5.so"
    found, notices = _hook(profile, engine) if hook and profile.hook else (None, ())
    return ServerSpec(
        engine_version=engine.version,
        python=engine.python,
        cache=engine.cache,
        model=models.target,
        served_name=profile.model,
        host=LOOPBACK,
        port=port,
        speculation=Speculation(speculation.method, models.draft, speculation.tokens) if speculation else None,
        flags=profile.flags,
        environment=profile.environment,
        preload=openmp if openmp.is_file() else None,
        hook=found,
        notices=notices,
    )


def _hook(profile: Profile, engine: Engine) -> tuple[Hook | None, tuple[str, ...]]:
    try:
        return find_hook(engine.python, dict(profile.environment)), ()
    except HookError as error:
        return None, (f"The server runs without the hook, so rejected tokens stay unseen. {error}",)


def _wait_until_ready(
    spec: ServerSpec, process: SupervisedProcess, log: Path, report: Report, timeout_s: float
) -> None:
    began = reached = time.monotonic()
    mark = log_events.LAUNCHED
    while True:
        now = time.monotonic()
        elapsed = now - began
        latest = log_events.latest_milestone(last_lines(log, LOG_LINES))
        if latest != mark:
            mark, reached = latest, now
        report(Progress(mark.phase, f"{mark.detail}, {elapsed:.0f} s", log_events.eased(mark, now - reached)))
        code = process.poll()
        if code is not None:
            raise _start_failure(spec, code, log)
        if _answers(spec, process):
            return
        if elapsed > timeout_s:
            raise ServerStartError(
                f"The server did not answer within {timeout_s:.0f} s; it was last {mark.detail}.",
                f"Close other programs and start again; the log is {log}.",
            )
        time.sleep(POLL_S)


def _answers(spec: ServerSpec, process: SupervisedProcess) -> bool:
    listening = listener_inodes(spec.port)
    if not listening:
        return False
    # vLLM binds in a way that lets two servers share a port; an answer counts only from our own.
    if not listening <= socket_inodes(process.session_pids()):
        raise _port_taken(spec.port)
    return readiness.is_healthy(spec.host, spec.port) and spec.served_name in readiness.served_models(
        spec.host, spec.port
    )


def _start_failure(spec: ServerSpec, code: int, log: Path) -> ServerStartError | PortError:
    reason = _ending(code, log, LOG_LINES)
    if "Address already in use" in reason:
        return _port_taken(spec.port)
    hint = f"The log is {log}."
    if "ModuleNotFoundError" in reason or "ImportError" in reason:
        hint = (
            f"The engine looks damaged: `specchat engine remove {spec.engine_version}`, then start again. The log is "
            f"{log}."
        )
    return ServerStartError(f"The server ended before it was ready. {reason}", hint)


def _port_taken(port: int) -> PortError:
    return PortError(
        f"Port {port} on {LOOPBACK} was taken by another program meanwhile.",
        "Choose another one, or leave --port away to get a free one.",
    )


def _ending(code: int, log: Path, lines: int) -> str:
    if code == -signal.SIGKILL:
        return "It was killed (signal 9), most likely because memory ran out: close other programs and try again."
    cause = log_events.root_cause(last_lines(log, lines))
    if cause is not None:
        return f"Reason: {cause.rstrip('.')}."
    if code < 0:
        return f"It was ended by signal {-code}."
    return f"It ended with exit code {code} and gave no reason."
