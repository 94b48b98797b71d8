"""The launcher's own commands: `serve`, `engine list`, `engine install`, `engine remove`.

Owns their output and exit codes, for `python -m specchat_launcher` and for the app, which calls the same functions.
"""

import argparse
import contextlib
import signal
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import TextIO

from specchat_launcher.engine_specs import DEFAULT_ENGINE, ENGINE_VERSIONS
from specchat_launcher.errors import LauncherError
from specchat_launcher.install import install_engine, list_engines, remove_engine
from specchat_launcher.paths import data_directory
from specchat_launcher.profiles import profile_names
from specchat_launcher.progress import Progress
from specchat_launcher.server import start_profile

LINE_EVERY_S = 2.0
POLL_S = 0.3
EXIT_FAILURE = 1
EXIT_INTERRUPTED = 130


class ProgressPrinter:
    """Writes progress as lines, one at most every two seconds, and one for each new phase.

    On a terminal the line is redrawn in place.
    """

    def __init__(self, out: TextIO) -> None:
        self._out = out
        self._redraw = out.isatty()
        self._shown: Progress | None = None
        self._at = 0.0

    def __call__(self, progress: Progress) -> None:
        """Show a moment of progress, or leave it out because another was shown just now."""
        now = time.monotonic()
        new_phase = self._shown is None or progress.phase != self._shown.phase
        pause = POLL_S if self._redraw else LINE_EVERY_S
        if progress == self._shown or (not new_phase and now - self._at < pause):
            return
        share = "" if progress.fraction is None else f" {progress.fraction:4.0%}"
        line = f"{progress.phase.value}{share}  {progress.detail}"
        self._out.write(f"\r\x1b[2K{line}" if self._redraw else f"{line}\n")
        self._out.flush()
        self._shown, self._at = progress, now

    def end(self) -> None:
        """Leave the redrawn line, so that what follows starts on a line of its own."""
        if self._redraw and self._shown is not None:
            self._out.write("\n")
            self._out.flush()
        self._shown = None


def serve(
    name: str,
    root: Path,
    *,
    engine: str | None = None,
    port: int | None = None,
    hook: bool = True,
    out: TextIO = sys.stderr,
) -> int:
    """Run the server of a profile in the foreground until it ends or this process is asked to end.

    Args:
        name: The profile.
        root: The data directory.
        engine: vLLM's version; None for the profile's own.
        port: Port on the loopback address; None for a free one.
        hook: Load specchat's hook, where the profile has it.
        out: Receives progress and the address.

    Returns:
        0 after an interrupt, 1 when the server ended by itself.

    Raises:
        LauncherError: It could not be started.
    """
    printer = ProgressPrinter(out)
    with signals_as_interrupt():
        try:
            with start_profile(name, root=root, engine=engine, port=port, hook=hook, report=printer) as server:
                printer.end()
                out.writelines(f"Note: {notice}\n" for notice in server.notices)
                out.write(
                    f"{server.model} is served on {server.url} by vLLM {server.engine_version}; Ctrl+C stops it.\n"
                    f"Chat with it: specchat --url {server.url}\nLog: {server.log_path}\n"
                )
                out.flush()
                while server.is_running():
                    time.sleep(POLL_S)
                out.write(f"The server ended. {server.exit_reason()}\n")
                return EXIT_FAILURE
        except KeyboardInterrupt:
            printer.end()
            out.write("Stopped.\n")
            return 0
        finally:
            printer.end()


def print_engines(root: Path, out: TextIO = sys.stdout) -> int:
    """Write one line for each engine version. Returns the exit code."""
    for engine in list_engines(root):
        size = "" if engine.size_bytes is None else f"{engine.size_bytes / 1e9:.1f} GB"
        python = "" if engine.python is None else f"Python {engine.python}"
        note = engine.note or (str(engine.path) if engine.state == "installed" else "")
        out.write(f"{engine.version:<9} {engine.state:<10} {size:>7}  {python:<14} {note}".rstrip() + "\n")
    return 0


def install_command(version: str, root: Path, out: TextIO = sys.stderr) -> int:
    """Install an engine with printed progress. Returns the exit code.

    Raises:
        LauncherError: With what to do next.
    """
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
    options = _parser().parse_args(arguments)
    root = Path(options.data_dir) if options.data_dir else data_directory()
    try:
        if options.command == "serve":
            return serve(options.profile, root, engine=options.engine, port=options.port, hook=not options.no_hook)
        if options.action == "list":
            return print_engines(root)
        if options.action == "install":
            return install_command(options.version, root)
        remove_engine(options.version, root)
    except LauncherError as error:
        sys.stderr.write(f"{error}\n")
        return EXIT_FAILURE
    return 0


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


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m specchat_launcher", description="Starts local vLLM servers.")
    parser.add_argument("--data-dir", help="folder for engines, models and logs")
    commands = parser.add_subparsers(dest="command", required=True)
    served = commands.add_parser("serve", help="run the server of a profile in the foreground")
    served.add_argument("profile", help=", ".join(profile_names()))
    served.add_argument("--engine", help=f"vLLM version: {', '.join(ENGINE_VERSIONS)}")
    served.add_argument("--port", type=int, help="port on 127.0.0.1; a free one is chosen otherwise")
    served.add_argument("--no-hook", action="store_true", help="leave specchat's hook out of the server")
    actions = commands.add_parser("engine", help="the installed engines").add_subparsers(dest="action", required=True)
    actions.add_parser("list", help="what is installed")
    actions.add_parser("install", help="install one").add_argument("version", nargs="?", default=DEFAULT_ENGINE)
    actions.add_parser("remove", help="remove one").add_argument("version")
    return parser
