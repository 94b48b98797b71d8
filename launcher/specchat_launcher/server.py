"""Starts the server of a profile for an app, and holds it while it is wanted.

Owns the servers that die with whoever started them, such as the demo's. What is launched to stay is `launching`'s.
"""

import random
from collections.abc import Callable
from pathlib import Path

from specchat_launcher.errors import PortError
from specchat_launcher.launching import PORT_ATTEMPTS, launch
from specchat_launcher.planning import plan
from specchat_launcher.ports import free_port, require_free
from specchat_launcher.profiles import load_profile
from specchat_launcher.progress import Phase, Progress, Report
from specchat_launcher.registry import Owner
from specchat_launcher.running import RunningServer
from specchat_launcher.spec import RunsIn, ServerSpec
from specchat_launcher.startup import StartPhase, StartState, as_progress

__all__ = ["RunningServer", "plan", "start_profile", "start_server"]

READY_TIMEOUT_S = 300.0


def start_profile(
    name: str,
    *,
    root: Path,
    engine: str | None = None,
    port: int | None = None,
    hook: bool = True,
    user_folder: Path | None = None,
    report: Report,
) -> RunningServer:
    """Install and prepare what is missing, start the server of a profile, and wait until it answers.

    Args:
        name: The profile.
        root: The data directory.
        engine: vLLM's version; None for the profile's own.
        port: Port on the loopback address; None for the profile's own, or a free one.
        hook: Load specchat's hook, where the profile has it.
        user_folder: The folder of the user's own profiles; None for the usual one.
        report: Receives the progress; an exception from it stops everything that was started.

    Raises:
        LauncherError: With what to do next.
    """
    profile = load_profile(name, user_folder=user_folder, changes=() if engine is None else (f"engine={engine}",))
    wanted = port if port is not None else profile.port
    if wanted is not None:
        require_free(wanted)
    chooser = random.Random()  # noqa: S311 - any free port will do
    for attempt in range(1, PORT_ATTEMPTS + 1):
        chosen = wanted if wanted is not None else free_port(chooser)
        try:
            return start_server(plan(profile, root, report=report, port=chosen, hook=hook), root, report)
        except PortError:
            # Something took the port while the server was loading.
            if wanted is not None or attempt == PORT_ATTEMPTS:
                raise
    raise AssertionError("unreachable: the loop returns or raises")


def start_server(
    spec: ServerSpec, root: Path, report: Report, *, timeout_s: float | None = READY_TIMEOUT_S
) -> RunningServer:
    """Start a server from what is in place, and wait until it answers. It dies with this process.

    Args:
        spec: The server.
        root: The data directory.
        report: Receives the progress; an exception from it stops the server.
        timeout_s: Seconds that a start on the CPU may take; a larger server has the limits of its phases.

    Raises:
        PortError: Another program has its port.
        ServerStartError: It ended, or did not answer in time.
    """
    whole = timeout_s if spec.runs_in is RunsIn.CPU_ENGINE else None
    return launch(spec, root, owner=Owner.APP, report=_as_progress(report), port_named=True, timeout_s=whole)


def _as_progress(report: Report) -> Callable[[StartState], None]:
    def told(state: StartState) -> None:
        if state.phase is StartPhase.READY:
            report(Progress(Phase.READY, state.detail, 1.0))
        else:
            report(as_progress(state))

    return told
