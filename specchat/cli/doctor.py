"""`specchat doctor`: what a server can tell, what it lacks, and what to do about it. Owns the output and exit code."""

import asyncio
import json
import textwrap
from pathlib import Path
from typing import Any, TextIO

from specchat.cli.doctor_report import (
    Check,
    check_of_failure,
    check_of_folder,
    checks_of_server,
    report_object,
)
from specchat.config import paths
from specchat.config.settings import load
from specchat.core.errors import SpecchatError
from specchat.core.harmless import one_line
from specchat.wiring import Connection
from specchat_launcher.errors import HookError
from specchat_launcher.hook import hook_folder

_WIDTH = 100
_INDENT = " " * 9
_NAME = 13


def run_doctor(typed: dict[str, Any], *, openai_key_confirmed: bool, as_json: bool, out: TextIO) -> int:
    """Examine the server that the options or the settings name, or without one this installation, and print it.

    The server of last time is not meant: without a server the question is how to load the hook.

    Returns:
        0 if the server answers, or without a server if the hook is in this installation; 1 otherwise.

    Raises:
        ConfigurationError: If a setting is wrong.
    """
    connection = Connection(load(typed, paths.config_file()), openai_key_confirmed=openai_key_confirmed)
    folder, problem = _folder()
    url: str | None = None
    if connection.settings.url is None:
        checks, good = [check_of_folder(folder, problem)], folder is not None
    else:
        checks, good = _examined(connection, folder)
        url = one_line(connection.shown_url)
    if as_json:
        out.write(json.dumps(report_object(url, checks, answers=good), indent=1) + "\n")
    else:
        out.writelines(line + "\n" for check in checks for line in report_lines(check))
    return 0 if good else 1


def report_lines(check: Check) -> list[str]:
    """A check as lines of text; what is to be copied stands on lines of its own, unbroken."""
    head = f"{check.state:<{len(_INDENT)}}{check.name:<{_NAME}}"
    lines = _wrapped(check.evidence, head, " " * len(head))
    for advice in check.advice:
        lines += _wrapped(advice.text, _INDENT, _INDENT)
        if advice.lines:
            lines += ["", *(f"  {line}" for line in advice.lines), ""]
    return lines


def _examined(connection: Connection, folder: Path | None) -> tuple[list[Check], bool]:
    from specchat.cli.doctor_probe import examine

    try:
        return [*checks_of_server(asyncio.run(examine(connection)), folder)], True
    except SpecchatError as error:
        return [check_of_failure(one_line(error.message, 900), one_line(error.hint, 400))], False


def _folder() -> tuple[Path | None, str]:
    try:
        return hook_folder(), ""
    except HookError as error:
        return None, str(error)


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    # Paths and options are copied by hand, so no word is ever broken.
    return textwrap.wrap(
        text,
        _WIDTH,
        initial_indent=first,
        subsequent_indent=rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
