"""The launcher's own commands: `serve`, `servers`, `stop`, `doctor` and `engine`.

Owns their options, output and exit codes, for `python -m specchat_launcher` on a machine that has nothing but Python.
The app has commands of the same names, which call the same functions.
"""

import argparse
import contextlib
import json
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import TextIO

from specchat_launcher.checks import can_launch
from specchat_launcher.engine_specs import DEFAULT_ENGINE, ENGINE_VERSIONS
from specchat_launcher.errors import LauncherError, UnknownNameError
from specchat_launcher.install import install_engine, list_engines, remove_engine
from specchat_launcher.listing import listed, table
from specchat_launcher.paths import data_directory
from specchat_launcher.preflight import examine, this_machine
from specchat_launcher.printing import JsonView, LineView, ProgressPrinter
from specchat_launcher.profiles import load_profile, profile_names
from specchat_launcher.registry import ServerRecord, servers
from specchat_launcher.serving import Wish, dry_run, serve, stop_records

EXIT_FAILURE = 1
EXIT_INTERRUPTED = 130
COMMANDS = ("serve", "servers", "stop", "doctor", "engine")


def serve_command(
    wish: Wish, root: Path, *, only_show: bool = False, as_json: bool = False,
    out: TextIO | None = None, err: TextIO | None = None,
) -> int:  # fmt: skip
    """Serve a profile, or show the command that would.

    Args:
        wish: What is asked for.
        root: The data directory.
        only_show: Write the command and run nothing.
        as_json: Write events, one JSON object a line, to `out`.
        out: Receives the command or the events; None for stdout.
        err: Receives progress and the address; None for stderr.

    Returns:
        The exit code.

    Raises:
        LauncherError: It could not be started.
    """
    out = sys.stdout if out is None else out
    if only_show:
        out.write(f"{dry_run(wish, root).rstrip()}\n")
        return 0
    view = JsonView(out) if as_json else LineView(sys.stderr if err is None else err)
    return serve(wish, root, view)


def print_servers(root: Path, *, as_json: bool = False, out: TextIO | None = None) -> int:
    """Write the servers that specchat started and those that answer. Returns the exit code."""
    out = sys.stdout if out is None else out
    lines = listed(root)
    if as_json:
        out.write(json.dumps([line.as_json() for line in lines], indent=1) + "\n")
    elif lines:
        out.writelines(f"{line}\n" for line in table(lines))
    else:
        out.write("No local server runs. Start one: specchat serve cpu-smollm2\n")
    return 0


def stop_command(identifier: str | None, root: Path, *, every: bool = False, err: TextIO | None = None) -> int:
    """Stop one server, the only one, or every one that specchat started.

    Args:
        identifier: What `servers` calls it, its profile, or its port; None for the only one.
        root: The data directory.
        every: Stop all of them.
        err: Receives a line for each; None for stderr.

    Returns:
        The exit code.

    Raises:
        LauncherError: There is none, several may be meant, or one could not be stopped.
    """
    err = sys.stderr if err is None else err
    chosen = servers_to_stop(identifier, servers(root, ask=False), every=every)
    for record in chosen:
        err.write(f"Stopping {record.id} …\n")
    err.flush()
    failures = stop_records(chosen, root)
    if failures:
        raise failures[0]
    err.writelines(f"{record.id} is stopped.\n" for record in chosen)
    if not chosen:
        err.write("No server of specchat runs.\n")
    return 0


def servers_to_stop(identifier: str | None, running: Sequence[ServerRecord], *, every: bool) -> Sequence[ServerRecord]:
    """The servers that are meant.

    Raises:
        UnknownNameError: There is none, or several may be meant.
    """
    if every:
        return running
    names = ", ".join(record.id for record in running) or "none"
    if identifier is None:
        if len(running) == 1:
            return running
        if not running:
            raise UnknownNameError("No server of specchat runs.", "What else answers here is in `specchat servers`.")
        raise UnknownNameError(f"Several servers run: {names}.", "Name one, or stop them with --all.")
    exact = [record for record in running if record.id == identifier]
    matching = exact or [record for record in running if identifier in {record.profile, str(record.port)}]
    if not matching:
        raise UnknownNameError(
            f"specchat started no server {identifier!r} that runs.",
            f"Running: {names}. A server that something else started is stopped there.",
        )
    if len(matching) > 1:
        ids = ", ".join(record.id for record in matching)
        raise UnknownNameError(f"Several servers of {identifier} run.", f"Name one: {ids}.")
    return matching


def print_engines(root: Path, out: TextIO | None = None) -> int:
    """Write one line for each engine version. Returns the exit code."""
    out = sys.stdout if out is None else out
    for engine in list_engines(root):
        size = "" if engine.size_bytes is None else f"{engine.size_bytes / 1e9:.1f} GB"
        python = "" if engine.python is None else f"Python {engine.python}"
        note = engine.note or (str(engine.path) if engine.state == "installed" else "")
        out.write(f"{engine.version:<9} {engine.state:<10} {size:>7}  {python:<14} {note}".rstrip() + "\n")
    return 0


def install_command(version: str, root: Path, out: TextIO | None = None) -> int:
    """Install an engine with printed progress. Returns the exit code.

    Raises:
        LauncherError: With what to do next.
    """
    out = sys.stderr if out is None else out
    printer = ProgressPrinter(out)
    with signals_as_interrupt():
        try:
            engine = install_engine(version, root, printer)
        except KeyboardInterrupt:
            printer.end()
            out.write("Stopped; the next start begins this installation anew.\n")
            return EXIT_INTERRUPTED
        finally:
            printer.end()
    out.write(f"Engine {engine.version} is installed in {engine.directory}.\n")
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command of `python -m specchat_launcher`. Returns the exit code."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    options = _parser().parse_args(with_command(given))
    root = Path(options.data_dir) if options.data_dir else data_directory()
    try:
        return _run(options, root)
    except LauncherError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILURE
    except BrokenPipeError:
        # The reader of our output has gone: nobody is left to be told.
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def with_command(arguments: Sequence[str]) -> list[str]:
    """Command-line arguments with `serve` put in front of a profile that stands alone."""
    given = list(arguments)
    place = 0
    while place < len(given) and given[place].startswith("--data-dir"):
        place += 1 if "=" in given[place] else 2
    if place < len(given) and not given[place].startswith("-") and given[place] not in COMMANDS:
        given.insert(place, "serve")
    return given


@contextlib.contextmanager
def signals_as_interrupt() -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the command as tidily as Ctrl+C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    earlier = {number: signal.signal(number, interrupt) for number in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


def _run(options: argparse.Namespace, root: Path) -> int:
    if options.command == "serve":
        wish = Wish(
            options.profile, port=options.port, host=options.host, engine=options.engine, hook=not options.no_hook,
            changes=tuple(options.changes), detach=options.detach, owned=options.owned, attach=options.attach,
        )  # fmt: skip
        return serve_command(wish, root, only_show=options.dry_run, as_json=options.json)
    if options.command == "servers":
        return print_servers(root, as_json=options.json)
    if options.command == "stop":
        return stop_command(options.server, root, every=options.all)
    if options.command == "doctor":
        return doctor_command(options.profile, root, options.changes, as_json=options.json)
    return _run_engine(options, root)


def _run_engine(options: argparse.Namespace, root: Path) -> int:
    if options.action == "list":
        return print_engines(root)
    if options.action == "install":
        return install_command(options.version, root)
    remove_engine(options.version, root)
    return 0


def doctor_command(
    profile: str, root: Path, changes: Sequence[str] = (), *, as_json: bool = False, out: TextIO | None = None
) -> int:
    """Write what this machine has and lacks for a profile. Returns the exit code: 1 where a launch cannot work.

    Raises:
        LauncherError: There is no such profile.
    """
    out = sys.stdout if out is None else out
    checks = examine(load_profile(profile, changes=changes), this_machine(), root=root)
    works = can_launch(checks)
    if as_json:
        lines = [{**asdict(check), "state": check.state.value} for check in checks]
        out.write(json.dumps({"profile": profile, "can_launch": works, "checks": lines}, indent=1) + "\n")
        return 0 if works else EXIT_FAILURE
    width = max((len(check.name) for check in checks), default=0)
    for check in checks:
        out.write(f"{check.state.value:<8} {check.name:<{width}}  {check.evidence}\n")
        for more in filter(None, (check.advice, check.command)):
            out.write(f"{'':<8} {'':<{width}}  → {more}\n")
    out.write("A launch can work.\n" if works else "A launch cannot work like this.\n")
    return 0 if works else EXIT_FAILURE


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m specchat_launcher", description="Starts local model servers.")
    parser.add_argument("--data-dir", help="folder for engines, models, logs and what is known of running servers")
    commands = parser.add_subparsers(dest="command", required=True)
    served = commands.add_parser("serve", help="run the server of a profile; `serve` may be left away")
    served.add_argument("profile", help=", ".join(profile_names()))
    served.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE",
                        help="change the profile, e.g. arguments.max-model-len=12288")  # fmt: skip
    served.add_argument("--engine", help=f"vLLM version of the CPU engine: {', '.join(ENGINE_VERSIONS)}")
    served.add_argument("--host", help="address to listen on; other than 127.0.0.1 it needs an API key")
    served.add_argument("--port", type=int, help="the profile's own, or a free one, otherwise")
    served.add_argument("--no-hook", action="store_true", help="leave specchat's hook out of the server")
    served.add_argument("--dry-run", action="store_true", help="print the command and run nothing")
    served.add_argument("--detach", action="store_true", help="return when the server is ready, and leave it running")
    served.add_argument("--attach", action="store_true", help="follow the one that runs instead of starting one")
    served.add_argument("--owned", action="store_true", help="end the server with this command, however it ends")
    served.add_argument("--json", action="store_true", help="print events, one JSON object a line")
    shown = commands.add_parser("servers", help="what specchat started, and what answers on the usual ports")
    shown.add_argument("--json", action="store_true", help="print a JSON array")
    stopped = commands.add_parser("stop", help="stop a server that specchat started")
    stopped.add_argument("server", nargs="?", help="its name in `servers`, its profile or its port")
    stopped.add_argument("--all", action="store_true", help="stop all of them")
    examined = commands.add_parser("doctor", help="say whether a profile can be launched on this machine")
    examined.add_argument("profile", help=", ".join(profile_names()))
    examined.add_argument("--set", dest="changes", action="append", default=[], metavar="KEY=VALUE")
    examined.add_argument("--json", action="store_true", help="print one JSON object")
    actions = commands.add_parser("engine", help="the installed engines").add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="what is installed")
    actions.add_parser("install", help="install one").add_argument("version", nargs="?", default=DEFAULT_ENGINE)
    actions.add_parser("remove", help="remove one").add_argument("version")
    return parser
