"""`specchat doctor PROFILE`: whether a profile can be launched on this machine. Owns the output and the exit code."""

import json
from collections.abc import Sequence
from typing import TextIO

from specchat.cli import doctor_report as report
from specchat.cli.doctor import report_lines
from specchat.config.paths import config_file
from specchat.core.errors import ConfigurationError
from specchat.core.harmless import one_line
from specchat.wiring import data_directory
from specchat_launcher.checks import Check, CheckState, can_launch
from specchat_launcher.errors import LauncherError
from specchat_launcher.preflight import examine
from specchat_launcher.preflight_machine import Machine, this_machine
from specchat_launcher.profiles import load_profile

SCHEMA = "specchat.preflight/1"


def run_launch_doctor(
    profile: str,
    *,
    changes: Sequence[str] = (),
    as_json: bool = False,
    out: TextIO,
    machine: Machine | None = None,
    ask_engine: bool = False,
) -> int:
    """Look whether a profile can be launched, and print what was found.

    Args:
        profile: Its name.
        changes: What --set gives, "key=value" each.
        as_json: Print one JSON object.
        out: Receives the output.
        machine: The machine to look at; None for this one.
        ask_engine: Have the engine's own parser judge the arguments, which takes some seconds.

    Returns:
        0 if nothing that was found keeps a launch from working; 1 otherwise.

    Raises:
        ConfigurationError: There is no such profile, or something in it is wrong.
    """
    folder = config_file().parent / "profiles"
    try:
        loaded = load_profile(profile, user_folder=folder, changes=changes)
    except LauncherError as error:
        raise ConfigurationError(error.message, error.hint) from error
    checks = examine(
        loaded,
        machine if machine is not None else this_machine(),
        root=data_directory(),
        user_folder=folder,
        ask_engine=ask_engine,
    )
    good = can_launch(checks)
    if as_json:
        out.write(json.dumps(preflight_object(loaded.name, checks), indent=1) + "\n")
    else:
        out.writelines(line + "\n" for check in checks for line in report_lines(shown(check)))
        out.write(f"\n{_verdict(loaded.name, checks)}\n")
    return 0 if good else 1


def shown(check: Check) -> report.Check:
    """A check of the launcher as the doctor's report has them."""
    advice = [report.Advice(one_line(check.advice, 900), (one_line(check.command, 900),) if check.command else ())]
    return report.Check(
        one_line(check.name, 40),
        report.State(check.state),
        one_line(check.evidence, 2_000),
        tuple(advice) if check.advice or check.command else (),
    )


def preflight_object(profile: str, checks: Sequence[Check]) -> dict[str, object]:
    """The report for programs."""
    return {
        "schema": SCHEMA,
        "profile": profile,
        "can_launch": can_launch(checks),
        "checks": [
            {
                "name": check.name,
                "state": str(check.state),
                "evidence": check.evidence,
                "advice": check.advice,
                "command": check.command,
            }
            for check in checks
        ],
    }


def _verdict(profile: str, checks: Sequence[Check]) -> str:
    problems = [check.name for check in checks if check.state is CheckState.PROBLEM]
    if not problems:
        return f"{profile} can be launched: specchat serve {profile}"
    return f"{profile} cannot be launched like this: {', '.join(dict.fromkeys(problems))}."
