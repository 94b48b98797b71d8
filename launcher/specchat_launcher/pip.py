"""How the launcher calls pip, and what pip's failures mean to the user.

Owns pip's command lines, its environment and the reading of its log. Starts nothing.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from specchat_launcher.disk import disk_full, says_disk_full
from specchat_launcher.errors import InstallError, LauncherError, NetworkError

# Only where and how to reach an index is taken from the user's settings. The rest (a target folder, constraints,
# `--user`, a log level) belongs to their own environments and would bend this one.
KEPT_PIP_SETTINGS = frozenset(
    f"PIP_{name}"
    for name in (
        *("INDEX_URL", "EXTRA_INDEX_URL", "FIND_LINKS", "NO_INDEX", "TRUSTED_HOST", "PROXY"),
        *("CERT", "CLIENT_CERT", "KEYRING_PROVIDER", "USE_FEATURE", "USE_DEPRECATED"),
        *("CONFIG_FILE", "CACHE_DIR", "NO_CACHE_DIR", "DEFAULT_TIMEOUT", "TIMEOUT", "RETRIES"),
    )
)
UNREACHABLE = re.compile(
    r"NewConnectionError|ConnectTimeoutError|ReadTimeoutError|Failed to establish a new connection|"
    r"Temporary failure in name resolution|Name or service not known|Connection refused|Network is unreachable|"
    r"ProxyError|ConnectionResetError|SSLError|Connection broken|IncompleteRead|Max retries exceeded"
)
REASON = re.compile(r"(?:\[Errno -?\d+\] )([^'\")]+)|((?:Connect|Read)TimeoutError|ProxyError|SSLError|IncompleteRead)")


def pip_environment(environ: Mapping[str, str], temporary: Path) -> dict[str, str]:
    """The environment pip runs in.

    Args:
        environ: The user's.
        temporary: Where pip may unpack; on the disk that the engine goes to, so that one check of space covers it.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith(("PIP_", "PYTHON", "VIRTUAL_ENV", "LD_PRELOAD")) or name in KEPT_PIP_SETTINGS
    }
    return {**kept, "TMPDIR": str(temporary), "PIP_NO_INPUT": "1", "LC_ALL": "C.UTF-8"}


def install_argv(python: Path, requirements: Path, extra_index: str | None) -> tuple[str, ...]:
    """Install exactly the listed pins, from wheels, into the environment of `python`."""
    index = ("--extra-index-url", extra_index, "--retries", "2") if extra_index is not None else ()
    # Bytecode is written at the first import instead: the server uses a third of these modules.
    return (*_pip(python, "install"), "--no-compile", *index, "--requirement", str(requirements))


def download_argv(python: Path, requirement: str, destination: Path) -> tuple[str, ...]:
    """Fetch one wheel without installing it."""
    return (*_pip(python, "download"), "--dest", str(destination), requirement)


def _pip(python: Path, verb: str) -> tuple[str, ...]:
    options = "--no-deps --only-binary :all: --progress-bar off --disable-pip-version-check --no-input --no-color"
    return (str(python), "-I", "-m", "pip", verb, *options.split())


@dataclass(frozen=True, slots=True)
class Needed:
    """What an operation of pip is for.

    Attributes:
        what: What is being fetched, as words for the user.
        root: The data directory.
        disk_bytes: Free space it takes.
    """

    what: str
    root: Path
    disk_bytes: int


def explain_failure(log_text: str, log: Path, needed: Needed) -> LauncherError:
    """Say in one sentence why pip failed.

    Args:
        log_text: What pip wrote.
        log: Where that is kept.
        needed: What it was for.
    """
    what = f"{needed.what[:1].upper()}{needed.what[1:]}"
    if says_disk_full(log_text):
        return disk_full(needed.what, needed.root, needed.disk_bytes, None)
    unreached = [line for line in log_text.splitlines() if UNREACHABLE.search(line)]
    # With a mirror that works, the extra index being out of reach is normal and not the reason.
    if unreached and ("from versions: none" in log_text or "due to an OSError" in log_text or "Traceback" in log_text):
        reason = REASON.search(unreached[-1])
        said = next((group for group in reason.groups() if group), "no answer") if reason else "no answer"
        return NetworkError(
            f"{what} could not be downloaded: the package index does not answer ({said.strip()}).",
            "Check the network, the proxy and pip's own settings (pip config list), then start again; what pip has "
            "cached is not fetched twice.",
        )
    errors = [line for line in log_text.splitlines() if line.startswith("ERROR:")]
    said = errors[-1].removeprefix("ERROR:").strip() if errors else "pip gave no reason"
    hint = "Check that pip reaches its package index (pip config list). " if "from versions: none" in log_text else ""
    return InstallError(f"{what} could not be installed: {said}.", f"{hint}The whole log is {log}.")


def packages_seen(log_text: str) -> Sequence[str]:
    """The requirements pip has begun with, in order; those of `Collecting NAME` and `Processing FILE` lines."""
    return re.findall(r"^(?:Collecting|Processing) (\S+)", log_text, flags=re.MULTILINE)
