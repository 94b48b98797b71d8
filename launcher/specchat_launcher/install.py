"""Creates, checks and removes engine environments below the data directory.

Owns the marker that says an environment is complete. It is written last, so whatever broke an installation off,
what is left has no marker and is made anew. Never touches the environment that specchat itself runs in.
"""

import os
import platform
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from specchat_launcher import files, pip
from specchat_launcher.disk import disk_errors_explained, disk_full, says_disk_full
from specchat_launcher.engine_specs import ENGINE_VERSIONS, EngineSpec, engine_spec, normal_name
from specchat_launcher.errors import EngineBusyError, InstallError, UnknownNameError
from specchat_launcher.jobs import read_log, run_together
from specchat_launcher.lock import holder, is_locked, locked
from specchat_launcher.logs import new_log
from specchat_launcher.paths import DataLayout, ensure
from specchat_launcher.platform_check import engine_python, require_supported, this_machine
from specchat_launcher.process import Command
from specchat_launcher.progress import Phase, Progress, Report

MARKER = "installed.json"
MARKER_FORMAT = 1
DOWNLOAD_SHARE = 0.55


@dataclass(frozen=True, slots=True)
class Engine:
    """An installed engine.

    Attributes:
        version: vLLM's version.
        directory: The folder it lives in.
        python: The interpreter of its environment.
    """

    version: str
    directory: Path
    python: Path

    @property
    def cache(self) -> Path:
        """What vLLM may cache. Each version has its own: two versions overwrite each other's entries."""
        return self.directory / "cache"


@dataclass(frozen=True, slots=True)
class EngineStatus:
    """What is known of one engine version on this machine.

    Attributes:
        version: vLLM's version.
        state: Whether it can be used.
        path: Where it is, or would be.
        size_bytes: Its size on disk when it was installed; None unless installed.
        python: Version of its Python; None unless installed.
        note: Why it is broken, as words for the user; empty otherwise.
    """

    version: str
    state: Literal["installed", "broken", "absent"]
    path: Path
    size_bytes: int | None
    python: str | None
    note: str


def install_engine(version: str, root: Path, report: Report) -> Engine:
    """Make sure that an engine is installed, and return it. Does nothing when it is.

    Args:
        version: vLLM's version, one of the known ones.
        root: The data directory.
        report: Receives the progress; an exception from it cancels and cleans up.

    Raises:
        LauncherError: With what to do next.
    """
    return install(engine_spec(version), root, report)


def install(spec: EngineSpec, root: Path, report: Report) -> Engine:
    """As `install_engine`, for given pins."""
    layout = DataLayout(root)
    engine = _engine(spec.version, layout)
    if not why_broken(spec, layout):
        return engine
    require_supported(this_machine())
    base_python = engine_python()
    with (
        disk_errors_explained(f"engine {spec.version}", root, spec.disk_bytes),
        locked(
            layout.engine_lock(spec.version), shared=False, on_wait=lambda pid: report(_waiting(spec.version, pid))
        ) as lock,
    ):
        if why_broken(spec, layout):
            _Installation(spec, layout, base_python, lock, report).run()
    return engine


def list_engines(root: Path) -> list[EngineStatus]:
    """Every known engine version, and every folder that looks like one, installed or not."""
    layout = DataLayout(root)
    present = {path.name for path in layout.engines.glob("*") if path.is_dir() and not path.name.startswith(".")}
    versions = [*ENGINE_VERSIONS, *sorted(present - set(ENGINE_VERSIONS))]
    return [_status(version, layout, version in present) for version in versions]


def remove_engine(version: str, root: Path) -> None:
    """Delete an engine and its caches.

    Raises:
        UnknownNameError: It is not there.
        EngineBusyError: It is being installed, or a server runs from it.
    """
    layout = DataLayout(root)
    if "/" in version or version.startswith(".") or not version or not layout.engine(version).is_dir():
        raise UnknownNameError(
            f"The engine {version!r} is not in {layout.engines}.", "See what is: specchat engine list"
        )

    def busy(pid: int | None) -> None:
        who = f" (process {pid})" if pid is not None and pid != os.getpid() else ""
        raise EngineBusyError(
            f"The engine {version} is in use{who}.", "End the specchat that uses it, then remove the engine."
        )

    with locked(layout.engine_lock(version), shared=False, on_wait=busy):
        files.discard(layout.engine(version))
        files.sweep(layout.engines, f"{files.TRASH_PREFIX}{version}-")


def why_broken(spec: EngineSpec, layout: DataLayout) -> str:
    """What an environment lacks, as words for the user; empty when it is complete."""
    directory = layout.engine(spec.version)
    if not directory.is_dir():
        return "it is not installed"
    marker = files.read_json(directory / MARKER)
    if marker is None or marker.get("format") != MARKER_FORMAT:
        return "its installation was broken off"
    if marker.get("fingerprint") != spec.fingerprint:
        return "it was made from another list of packages"
    if not os.access(_engine(spec.version, layout).python, os.X_OK):
        return "its Python is gone"
    missing = _wanted_names(spec) - installed_names(directory)
    if missing:
        return f"packages are missing: {', '.join(sorted(missing)[:3])}"
    return ""


def installed_names(directory: Path) -> set[str]:
    """Normal names of the distributions in an engine's environment."""
    found = (directory / "env").glob("lib/python3*/site-packages/*.dist-info")
    return {normal_name(path.name.removesuffix(".dist-info").rsplit("-", 1)[0]) for path in found}


def environment_argv(base_python: Path, target: Path) -> tuple[str, ...]:
    """The command that creates an empty environment with pip in it."""
    return (str(base_python), "-I", "-m", "venv", str(target))


def _engine(version: str, layout: DataLayout) -> Engine:
    directory = layout.engine(version)
    return Engine(version, directory, directory / "env" / "bin" / "python")


def _wanted_names(spec: EngineSpec) -> set[str]:
    return {normal_name(pin.partition("==")[0]) for pin in spec.all_packages}


def _waiting(version: str, pid: int | None) -> Progress:
    who = f"another specchat (process {pid})" if pid is not None else "another specchat"
    return Progress(Phase.WAITING, f"waiting for {who} that is working on engine {version}")


def _status(version: str, layout: DataLayout, present: bool) -> EngineStatus:
    path = layout.engine(version)
    if not present:
        return EngineStatus(version, "absent", path, None, None, "")
    if version not in ENGINE_VERSIONS:
        return EngineStatus(version, "broken", path, None, None, "this specchat has no list of packages for it")
    note = why_broken(engine_spec(version), layout)
    if note:
        if is_locked(layout.engine_lock(version)):
            note = f"process {holder(layout.engine_lock(version))} is installing it"
        return EngineStatus(version, "broken", path, None, None, note)
    marker = files.read_json(path / MARKER) or {}
    return EngineStatus(version, "installed", path, marker.get("size_bytes"), marker.get("python"), "")


class _Installation:
    """Makes one engine environment from nothing, under the lock of its version."""

    def __init__(self, spec: EngineSpec, layout: DataLayout, base_python: Path, lock: int, report: Report) -> None:
        self._spec = spec
        self._layout = layout
        self._base_python = base_python
        self._lock = lock
        self._report = report
        self._what = f"engine {spec.version}"
        self._directory = layout.engine(spec.version)

    def run(self) -> None:
        """Wipe what is there, create, install, and write the marker last."""
        spec, layout = self._spec, self._layout
        self._report(Progress(Phase.CHECKING, f"{self._what}: {why_broken(spec, layout)}"))
        ensure(layout.engines)
        files.sweep(layout.engines, f"{files.TRASH_PREFIX}{spec.version}-")
        files.discard(self._directory)
        free = shutil.disk_usage(layout.engines).free
        if free < spec.disk_bytes:
            raise disk_full(self._what, layout.root, spec.disk_bytes, free)
        temporary = ensure(self._directory / "tmp")
        log = new_log(layout.logs, f"install-{spec.version}", time.time())
        env = pip.pip_environment(os.environ, temporary)
        self._create_environment(env, log)
        self._install_packages(env, log)
        shutil.rmtree(temporary, ignore_errors=True)
        self._complete(log)

    def _create_environment(self, env: dict[str, str], log: Path) -> None:
        failed = run_together(
            [Command(environment_argv(self._base_python, self._directory / "env"), env, self._directory, log)],
            keep_open=(self._lock,),
            on_tick=lambda: self._report(Progress(Phase.CREATING, f"an environment for {self._what}")),
        )
        if failed is None:
            return
        text = read_log(log)
        if says_disk_full(text):
            raise disk_full(self._what, self._layout.root, self._spec.disk_bytes, None)
        if "ensurepip" in text:
            raise InstallError(
                f"{self._base_python} cannot create environments, because its ensurepip is missing.",
                "Install it (on Debian and Ubuntu: apt install python3.11-venv), then start again.",
            )
        raise InstallError(f"{self._base_python} could not create an environment.", f"The whole log is {log}.")

    def _install_packages(self, env: dict[str, str], log: Path) -> None:
        spec, directory = self._spec, self._directory
        python = directory / "env" / "bin" / "python"
        commands = []
        # The extra index goes to the one call that needs it: where it is out of reach pip asks it again and again,
        # seconds for each package. Side by side the two calls write different packages.
        for label, pins, index in (("", spec.packages, None), ("-torch", spec.torch_packages, spec.torch_index)):
            if pins:
                requirements = directory / f"requirements{label}.txt"
                requirements.write_text("\n".join(pins) + "\n", encoding="utf-8")
                own_log = log.with_name(f"{log.stem}{label}.log")
                commands.append(Command(pip.install_argv(python, requirements, index), env, directory, own_log))
        meter = install_meter(spec, directory, [command.log for command in commands])
        failed = run_together(commands, keep_open=(self._lock,), on_tick=lambda: self._report(meter()))
        if failed is not None:
            needed = pip.Needed(self._what, self._layout.root, spec.disk_bytes)
            raise pip.explain_failure(read_log(failed.log), failed.log, needed)

    def _complete(self, log: Path) -> None:
        missing = _wanted_names(self._spec) - installed_names(self._directory)
        if missing:
            raise InstallError(
                f"{self._what.capitalize()} was installed without {', '.join(sorted(missing))}.",
                f"The whole log is {log}.",
            )
        files.write_json(
            self._directory / MARKER,
            {
                "format": MARKER_FORMAT,
                "version": self._spec.version,
                "fingerprint": self._spec.fingerprint,
                "python": _python_version(self._directory),
                "size_bytes": files.tree_bytes(self._directory / "env"),
            },
        )


def install_meter(spec: EngineSpec, directory: Path, logs: list[Path]) -> Callable[[], Progress]:
    """A function that measures how far an installation is, never less than the last time."""
    wanted = _wanted_names(spec)
    total = len(wanted)
    most_bytes = most_installed = 0

    def measure() -> Progress:
        nonlocal most_bytes, most_installed
        most_bytes = max(most_bytes, files.tree_bytes(directory / "tmp"))
        most_installed = max(most_installed, len(installed_names(directory) & wanted))
        seen = min(total, sum(len(pip.packages_seen(read_log(log))) for log in logs))
        # A mirror on this disk is read in place, so bytes alone may stand still; names alone do for large files.
        fetched = max(min(1.0, most_bytes / spec.download_bytes), seen / total if seen == total else 0.0)
        # The last package's metadata is there some seconds before its last file.
        fraction = min(0.98, DOWNLOAD_SHARE * fetched + (1 - DOWNLOAD_SHARE) * most_installed / total)
        detail = f"{most_installed} of {total} packages installed, {most_bytes / 1e6:.0f} MB downloaded"
        return Progress(Phase.INSTALLING, detail, fraction)

    return measure


def _python_version(directory: Path) -> str:
    try:
        lines = (directory / "env" / "pyvenv.cfg").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.python_version()
    versions = [line.partition("=")[2].strip() for line in lines if line.partition("=")[0].strip() == "version"]
    return versions[0] if versions else platform.python_version()
