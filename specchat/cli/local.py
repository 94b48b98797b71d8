"""Commands around local servers: the demo, serve, and the engines. What they do is the launcher's."""

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.console import Console

from specchat.cli.serve_display import PhaseDisplay, ServeDisplay
from specchat.core.errors import ConfigurationError, SpecchatError
from specchat.wiring import connection_from, data_directory, profile_directory, run_app
from specchat_launcher import (
    LauncherError,
    RunningServer,
    install_engine,
    list_engines,
    load_profile,
    profile_names,
    remove_engine,
    serving,
    start_profile,
)
from specchat_launcher.cli import print_servers, signals_as_interrupt, stop_command
from specchat_launcher.printing import JsonView
from specchat_launcher.serving import Wish, serve

DEMO_PROFILE = "cpu-smollm2"
OPENING_PROMPT = "Explain step by step what a compiler does, then write a Python function that checks for primes."
_DEMO_MAX_TOKENS = 400


def run_demo(
    typed: dict[str, Any], *, engine: str | None, baseline: bool, hook: bool, opening_prompt: str | None
) -> int:
    """Start the CPU server, chat, and stop the server however the chat ends; returns the exit code.

    Raises:
        SpecchatError: If the server cannot be set up, with what to do.
    """
    typed.setdefault("temperature", 0.0)
    typed.setdefault("max_tokens", _DEMO_MAX_TOKENS)
    with (
        local_server(DEMO_PROFILE, engine, hook=hook) as url,
        local_server(_baseline(baseline), engine) as baseline_url,
    ):
        typed["url"], typed["model"] = url, None
        if baseline_url is not None:
            typed["baseline_url"] = baseline_url
        prompt = OPENING_PROMPT if opening_prompt is None else opening_prompt or None
        return asyncio.run(run_app(connection_from(typed), opening_prompt=prompt, remember_server=False))


def run_serve(
    profile: str,
    *,
    port: int | None = None,
    host: str | None = None,
    engine: str | None = None,
    hook: bool = True,
    changes: Sequence[str] = (),
    dry_run: bool = False,
    detach: bool = False,
    owned: bool = False,
    as_json: bool = False,
    attach: bool = False,
) -> None:
    """Run the servers of a profile until Ctrl-C or until they end; or show their commands.

    Args:
        profile: The profile.
        port: Port to listen on; None for the profile's own, or a free one.
        host: Address to listen on; None for the profile's own.
        engine: Version of the CPU engine; None for the profile's own.
        hook: Load specchat's hook, where the profile has it.
        changes: What --set gives, "key=value" each.
        dry_run: Print the commands and run nothing.
        detach: Return when it is ready, and leave it running.
        owned: End it with this command, however this command ends.
        as_json: Print events, one JSON object a line.
        attach: Follow the one that runs instead of starting one.

    Raises:
        SpecchatError: If it cannot start, or ends by itself.
    """
    wish = Wish(
        profile, port=port, host=host, engine=engine, hook=hook, changes=tuple(changes), detach=detach, owned=owned,
        attach=attach, user_folder=profile_directory(),
    )  # fmt: skip
    with _translated():
        if dry_run:
            print(serving.dry_run(wish, data_directory()).rstrip())
            return
        if as_json:
            ended = serve(wish, data_directory(), JsonView(sys.stdout))
        else:
            with ServeDisplay(Console(stderr=True)) as display:
                ended = serve(wish, data_directory(), display)
    if ended:
        raise SpecchatError("The server ended by itself.", "What it says about that is above, and in its log.")


def run_servers(*, as_json: bool) -> None:
    """Print the servers that specchat started, and what answers on the usual local ports."""
    with _translated():
        print_servers(data_directory(), as_json=as_json, out=sys.stdout)


def run_stop(server: str | None, *, every: bool = False) -> None:
    """Stop a server that specchat started, by its name, profile or port; the only one, or all.

    Raises:
        SpecchatError: If there is none, or it could not be stopped.
    """
    with _translated():
        stop_command(server, data_directory(), every=every, err=sys.stderr)


def show_profiles(*, as_json: bool) -> None:
    """Print the profiles: name, what it is, and why it cannot be launched where it cannot."""
    folder = profile_directory()
    with _translated():
        found = [load_profile(name, user_folder=folder) for name in profile_names(folder)]
    if as_json:
        rows = [
            {
                "name": profile.name,
                "title": profile.title,
                "summary": profile.summary,
                "model": profile.model,
                "server": str(profile.server),
                "runs_in": str(profile.runs_in),
                "file": None if profile.file is None else str(profile.file),
            }
            for profile in found
        ]
        print(json.dumps(rows, indent=1))
        return
    width = max(len(profile.name) for profile in found)
    for profile in found:
        mine = "" if profile.file is None else f"  ({profile.file})"
        print(f"{profile.name:<{width}}  {profile.title}{mine}")


@contextmanager
def local_server(profile: str | None, engine: str | None, *, hook: bool = True) -> Iterator[str | None]:
    """The URL of a local server that runs while this is open; None without a profile."""
    if profile is None:
        yield None
        return
    with _started(profile, engine, None, hook=hook) as server:
        yield server.url


@contextmanager
def _started(profile: str, engine: str | None, port: int | None, *, hook: bool) -> Iterator[RunningServer]:
    console = Console(stderr=True)
    with _translated():
        with signals_as_interrupt(), PhaseDisplay(console) as display:
            server = start_profile(
                profile,
                root=data_directory(),
                engine=engine,
                port=port,
                hook=hook,
                user_folder=profile_directory(),
                report=display.report,
            )
            display.finish()
        with server:
            for notice in server.notices:
                console.print(f"note: {notice}", highlight=False, markup=False, soft_wrap=True)
            yield server


def show_engines(*, as_json: bool) -> None:
    """Print the engines: version, state, size and where."""
    with _translated():
        engines = list_engines(data_directory())
    if as_json:
        rows = [
            {
                "version": e.version,
                "state": str(e.state),
                "size_bytes": e.size_bytes,
                "path": str(e.path),
                "note": e.note,
            }
            for e in engines
        ]
        print(json.dumps(rows, indent=1))
        return
    for e in engines:
        size = "" if e.size_bytes is None else f"{e.size_bytes / 1e9:.1f} GB"
        print(f"{e.version:8} {e.state:10} {size:>7}  {e.path}  {e.note or ''}".rstrip())


def install(version: str | None) -> None:
    """Install an engine with a moving bar."""
    with _translated():
        wanted = version or list_engines(data_directory())[0].version
        with signals_as_interrupt(), PhaseDisplay(Console(stderr=True)) as display:
            engine = install_engine(wanted, data_directory(), display.report)
            display.finish()
        print(f"vLLM {engine.version} is installed in {engine.directory}.")


def remove(version: str) -> None:
    """Remove an engine."""
    with _translated():
        remove_engine(version, data_directory())
    print(f"vLLM {version} is removed.")


@contextmanager
def _translated() -> Iterator[None]:
    """The launcher's errors as specchat's."""
    try:
        yield
    except LauncherError as error:
        raise ConfigurationError(error.message, error.hint) from error


def _baseline(wanted: bool) -> str | None:
    return f"{DEMO_PROFILE}-baseline" if wanted else None
