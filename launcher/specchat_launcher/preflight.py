"""Looks before a launch whether it can work: everything that can be known without starting anything.

Owns which looks a profile gets, and their order. Starts, ends and changes nothing.
"""

from collections.abc import Mapping
from pathlib import Path

from specchat_launcher.checks import Check, problem
from specchat_launcher.commands import server_command
from specchat_launcher.engine_questions import arguments_of, why_refused
from specchat_launcher.errors import LauncherError, PortError
from specchat_launcher.paths import data_directory
from specchat_launcher.planning import plan
from specchat_launcher.preflight_access import checks_of_access
from specchat_launcher.preflight_container import checks_of_container
from specchat_launcher.preflight_cpu import checks_of_cpu
from specchat_launcher.preflight_engine import Refusal, check_of_arguments, checks_of_engine
from specchat_launcher.preflight_gpus import checks_of_gpus
from specchat_launcher.preflight_machine import Machine, this_machine
from specchat_launcher.preflight_memory import checks_of_memory
from specchat_launcher.preflight_model import checks_of_model
from specchat_launcher.preflight_port import check_of_port
from specchat_launcher.preflight_wanted import Wanted, view_of, without_doubles
from specchat_launcher.profiles import Profile, load_profile
from specchat_launcher.progress import Progress
from specchat_launcher.spec import RunsIn, ServerKind, ServerSpec

__all__ = ["Machine", "examine", "preflight", "this_machine"]


def preflight(
    profile: Profile,
    machine: Machine,
    *,
    spec: ServerSpec | None = None,
    root: Path | None = None,
    refusal: Refusal | None = None,
) -> tuple[Check, ...]:
    """Everything that can be said about launching a profile on a machine.

    Args:
        profile: What is to be launched; one server, not several.
        machine: Where.
        spec: The server that the profile comes to there; None where that is not known, so that nothing is said of its
            engine and its arguments.
        root: The data directory; None for the usual one.
        refusal: Asks the engine's own parser for its opinion of the arguments; None to believe what is known of them.
    """
    if profile.cannot:
        return (
            problem(
                "launch", profile.cannot, f"It answers at {profile.url} where it runs: specchat --url {profile.url}"
            ),
        )
    wanted = Wanted(profile, machine, spec, root if root is not None else data_directory(machine.environ, machine.home))
    checks: list[Check] = []
    if profile.runs_in is RunsIn.CPU_ENGINE:
        checks += checks_of_cpu(wanted)
        if spec is not None and refusal is not None:
            checks.append(check_of_arguments(spec, refusal))
    if profile.gpus is not None:
        view = view_of(wanted)
        checks += checks_of_gpus(wanted, profile.gpus, view)
        if view.chosen:
            checks += checks_of_memory(wanted, profile.gpus, view)
        checks += checks_of_access(wanted, view)
    if profile.runs_in is RunsIn.CONTAINER:
        checks += checks_of_container(wanted)
    if profile.runs_in is not RunsIn.CPU_ENGINE:
        checks += checks_of_engine(wanted, refusal)
        checks += checks_of_model(wanted)
    checks.append(check_of_port(wanted))
    return without_doubles(checks)


def examine(
    profile: Profile,
    machine: Machine,
    *,
    root: Path | None = None,
    user_folder: Path | None = None,
    ask_engine: bool = False,
) -> tuple[Check, ...]:
    """The same, with the server that the profile comes to on this machine; of several servers, all that is said of any.

    Args:
        profile: What is to be launched.
        machine: Where.
        root: The data directory; None for the usual one.
        user_folder: The folder of the user's own profiles; None for the usual one.
        ask_engine: Have the engine's own parser judge the arguments, which takes some seconds.
    """
    where = root if root is not None else data_directory(machine.environ, machine.home)
    checks: list[Check] = []
    for name in profile.members:
        checks += examine(load_profile(name, user_folder=user_folder), machine, root=where, ask_engine=ask_engine)
    if profile.members:
        return without_doubles(checks)
    try:
        spec = plan(
            profile,
            where,
            report=_unheard,
            environ=machine.environ,
            prepare=False,
            home=machine.home,
            group=machine.group_number,
        )
    except PortError:
        # The look at the port says more.
        return preflight(profile, machine, root=where)
    except LauncherError as error:
        found = preflight(profile, machine, root=where)
        return found if profile.cannot else (problem("profile", error.message, error.hint), *found)
    return preflight(profile, machine, spec=spec, root=where, refusal=_asking(machine.environ) if ask_engine else None)


def _unheard(_: Progress) -> None:
    """Nothing is prepared, so there is no progress."""


def _asking(environ: Mapping[str, str]) -> Refusal:
    def refusal(spec: ServerSpec) -> str | None:
        if spec.python is None or spec.server is not ServerKind.VLLM:
            return None
        argv, environment = server_command(spec, environ)
        return why_refused(spec.python, arguments_of(argv), environment)

    return refusal
