"""What `serve` does: start the servers of a profile, or attach to them, and stay until they end or the user leaves.

Owns the meaning of signals while a server is served. Draws nothing: what happens is told to a `ServeView`.
"""

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Protocol, cast

from specchat_launcher.commands import shell_text
from specchat_launcher.errors import LauncherError, UnknownNameError
from specchat_launcher.launching import LeftRunning, attach, launch_profile
from specchat_launcher.planning import plan
from specchat_launcher.profiles import Profile, load_profiles
from specchat_launcher.progress import Progress
from specchat_launcher.registry import Owner, ServerRecord, servers
from specchat_launcher.running import RunningServer
from specchat_launcher.startup import Diagnosis, StartState
from specchat_launcher.stopping import stop
from specchat_launcher.waiting import StartStopped

POLL_S = 0.3


@dataclass(frozen=True, slots=True)
class Wish:
    """What the user asked `serve` for.

    Attributes:
        profile: The profile.
        port: Port to listen on; None for the profile's own, or a free one.
        host: Address to listen on; None for the profile's own.
        engine: Version of the CPU engine; None for the profile's own.
        hook: Load specchat's hook, where the profile has it.
        changes: Lines such as "arguments.max-model-len=12288".
        detach: Return when it is ready.
        owned: End it with this command, however this command ends.
        attach: Follow the one that runs instead of starting one.
        user_folder: The folder of the user's own profiles; None for the usual one.
    """

    profile: str
    port: int | None = None
    host: str | None = None
    engine: str | None = None
    hook: bool = True
    changes: tuple[str, ...] = ()
    detach: bool = False
    owned: bool = False
    attach: bool = False
    user_folder: Path | None = None


class ServeView(Protocol):
    """What is told while a server is served. Called from several threads where a profile has several servers."""

    def preparing(self, progress: Progress) -> None:
        """Something has to be done before the server can be started."""

    def starting(self, profile: str, state: StartState) -> None:
        """Where a start is, several times a second."""

    def ready(self, server: RunningServer, wish: Wish) -> None:
        """A server answers."""

    def failed(self, error: LauncherError) -> None:
        """It did not come to that. The error is raised as well."""

    def ended(self, server: RunningServer, ending: Diagnosis | None) -> None:
        """A server that was ready ended by itself; without an ending it was stopped from elsewhere."""

    def left(self, record: ServerRecord) -> None:
        """This command ends and the server goes on."""

    def stopping(self) -> None:
        """The servers are being stopped, which takes seconds."""

    def stopped(self) -> None:
        """Nothing of them is left."""


def serve(wish: Wish, root: Path, view: ServeView, environ: Mapping[str, str] = os.environ) -> int:
    """Serve a profile in the foreground, or until it is ready with `detach`.

    An interrupt stops what was started. SIGTERM and SIGHUP end this command alone, unless the server is owned by it.
    A server that was attached to goes on in any case.

    Args:
        wish: What is asked for.
        root: The data directory.
        view: Is told what happens. A terminal that is gone does not matter to the server.
        environ: The user's environment.

    Returns:
        The exit code: 0, or 1 when a server ended by itself.

    Raises:
        LauncherError: It could not be started.
    """
    told = cast("ServeView", _Unharmed(view))
    profiles = _profiles(wish)
    names = [profile.name for profile in profiles]
    keep = wish.attach
    try:
        with _signals(owned=wish.owned):
            try:
                running = _attached(wish, names, root, told) if keep else _launched(wish, profiles, root, told, environ)
                return _stay(running, told, wish)
            except LauncherError as error:
                told.failed(error)
                raise
    except LeftRunning:
        _tell_left(names, root, told)
    except KeyboardInterrupt:
        if keep:
            _tell_left(names, root, told)
        else:
            told.stopped()
    return 0


def dry_run(wish: Wish, root: Path, environ: Mapping[str, str] = os.environ) -> str:
    """The commands that `serve` would run, ready to be copied, with secrets masked. Starts and downloads nothing.

    Raises:
        LauncherError: The profile cannot be served.
    """
    texts = []
    for profile in _profiles(wish):
        spec = plan(
            profile,
            root,
            report=lambda _progress: None,
            port=wish.port,
            host=wish.host,
            hook=wish.hook,
            environ=environ,
            prepare=False,
        )
        texts.append(shell_text(spec, environ))
    return "\n".join(texts)


def _profiles(wish: Wish) -> list[Profile]:
    if wish.detach and wish.owned:
        raise LauncherError("--detach leaves a server running, and --owned ends it with this command.", "Choose one.")
    engine = () if wish.engine is None else (f"engine={wish.engine}",)
    profiles = load_profiles(wish.profile, user_folder=wish.user_folder, changes=(*wish.changes, *engine))
    if len(profiles) > 1 and wish.port is not None:
        raise LauncherError(
            f"{wish.profile} starts several servers, which cannot share port {wish.port}.",
            f"Start them one by one: {', '.join(profile.name for profile in profiles)}.",
        )
    return list(profiles)


def _launched(
    wish: Wish, profiles: Sequence[Profile], root: Path, view: ServeView, environ: Mapping[str, str]
) -> list[RunningServer]:
    """The servers of these profiles, started side by side. Where one fails, none stays."""
    give_up, leave = threading.Event(), threading.Event()

    def launched(profile: Profile) -> RunningServer:
        def preparing(progress: Progress) -> None:
            if give_up.is_set() or leave.is_set():
                raise StartStopped
            view.preparing(progress)

        def starting(state: StartState) -> None:
            if leave.is_set():
                raise LeftRunning
            view.starting(profile.name, state)

        owner = Owner.APP if wish.owned else Owner.ITSELF
        return launch_profile(
            profile, root, owner=owner, report=starting, preparing=preparing, port=wish.port, host=wish.host,
            hook=wish.hook, environ=environ, stop_asked=give_up.is_set,
        )  # fmt: skip

    started: list[Future[RunningServer]] = []
    try:
        # In threads, so that a signal never strikes in the middle of a launch.
        with ThreadPoolExecutor(max_workers=len(profiles), thread_name_prefix="launch") as pool:
            try:
                started = [pool.submit(launched, profile) for profile in profiles]
                while not _settled(started):
                    pass
                give_up.set()
            except LeftRunning:
                leave.set()
                raise
            except BaseException:
                view.stopping()
                give_up.set()
                raise
        return _results(started)
    except LeftRunning:
        raise
    except BaseException:
        for future in started:
            if future.done() and future.exception() is None:
                future.result().stop()
        raise


def _settled(started: Sequence["Future[RunningServer]"]) -> bool:
    """Wait a moment. Returns whether all are ready, or one has failed."""
    done, left = wait(started, timeout=POLL_S, return_when=FIRST_EXCEPTION)
    return not left or any(future.exception() is not None for future in done)


def _results(started: Sequence["Future[RunningServer]"]) -> list[RunningServer]:
    failures = [failure for future in started if (failure := future.exception()) is not None]
    if failures:
        # Those that were given up because another failed have nothing to tell.
        raise min(failures, key=lambda failure: isinstance(failure, StartStopped))
    return [future.result() for future in started]


def _attached(wish: Wish, names: Sequence[str], root: Path, view: ServeView) -> list[RunningServer]:
    attached = []
    for name in names:
        candidates = [record for record in servers(root) if record.profile == name and wish.port in {None, record.port}]
        if not candidates:
            where = "" if wish.port is None else f" on port {wish.port}"
            raise UnknownNameError(
                f"No server of {name} runs{where}.", "See `specchat servers`, or start one by leaving --attach away."
            )
        # A launched one rather than one that dies with somebody's app.
        record = min(candidates, key=lambda record: (record.owner is Owner.APP, record.started_at))
        attached.append(attach(record, root, _starting(view, name)))
    return attached


def _starting(view: ServeView, name: str) -> Callable[[StartState], None]:
    return lambda state: view.starting(name, state)


def _stay(running: Sequence[RunningServer], view: ServeView, wish: Wish) -> int:
    """Say that they are ready, and stay while any of them runs; stop at an interrupt what was started here."""
    alive = list(running)
    stop_them = not wish.attach
    code = 0
    try:
        for server in running:
            view.ready(server, wish)
        while alive and not wish.detach:
            time.sleep(POLL_S)
            for server in list(alive):
                if not server.is_running():
                    alive.remove(server)
                    ending = server.ending()
                    code = code if ending is None else 1
                    view.ended(server, ending)
    except KeyboardInterrupt:
        if stop_them:
            view.stopping()
            _stop_all(alive)
        raise
    finally:
        for server in running:
            if server.record.owner is Owner.APP and stop_them:
                server.stop()
    return code


def _stop_all(running: Sequence[RunningServer]) -> None:
    if not running:
        return
    with ThreadPoolExecutor(max_workers=len(running), thread_name_prefix="stop") as pool:
        for done in [pool.submit(server.stop) for server in running]:
            done.result()


def stop_records(records: Sequence[ServerRecord], root: Path) -> list[LauncherError]:
    """Stop several servers side by side. Returns what went wrong."""
    if not records:
        return []
    with ThreadPoolExecutor(max_workers=len(records), thread_name_prefix="stop") as pool:
        futures = [pool.submit(stop, record, root) for record in records]
    failures = [future.exception() for future in futures]
    for failure in failures:
        if failure is not None and not isinstance(failure, LauncherError):
            raise failure
    return [failure for failure in failures if isinstance(failure, LauncherError)]


def _tell_left(names: Sequence[str], root: Path, view: ServeView) -> None:
    going_on = [record for record in servers(root, ask=False) if record.profile in names]
    for record in going_on:
        view.left(record)
    if not going_on:
        # It had not come to a server yet.
        view.stopped()


@contextlib.contextmanager
def _signals(*, owned: bool) -> Iterator[None]:
    """Let SIGTERM and SIGHUP end an owned server with its command, and a launched one's command alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def strike(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt if owned else LeftRunning

    earlier = {}
    for number in (signal.SIGTERM, signal.SIGHUP):
        # A command that was started with `nohup` stays deaf to the terminal's end.
        if signal.getsignal(number) is not signal.SIG_IGN:
            earlier[number] = signal.signal(number, strike)
    try:
        yield
    finally:
        for number, handler in earlier.items():
            signal.signal(number, handler)


class _Unharmed:
    """Tells a view, and goes on where its terminal or pipe is gone."""

    def __init__(self, view: ServeView) -> None:
        self._view = view

    def __getattr__(self, name: str) -> Callable[..., None]:
        told = getattr(self._view, name)

        def tell(*arguments: object) -> None:
            with contextlib.suppress(OSError):
                told(*arguments)

        return tell
