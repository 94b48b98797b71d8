"""Where the launcher keeps things, and the only names of files below the data directory.

Owns the layout. Creates nothing except through `ensure`.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from specchat_launcher.errors import LauncherError


def data_directory(environ: Mapping[str, str] = os.environ, home: Path | None = None) -> Path:
    """The directory that engines, models and server logs live in.

    `SPECCHAT_DATA_DIR` wins, then `XDG_DATA_HOME/specchat`, then `~/.local/share/specchat`.

    Args:
        environ: The user's environment.
        home: The user's home directory; None asks the system.
    """
    if chosen := environ.get("SPECCHAT_DATA_DIR"):
        return Path(chosen).expanduser().absolute()
    # The XDG specification tells programs to ignore a relative path here.
    if (xdg := environ.get("XDG_DATA_HOME")) and Path(xdg).is_absolute():
        return Path(xdg) / "specchat"
    return (home if home is not None else Path.home()) / ".local" / "share" / "specchat"


def ensure(directory: Path) -> Path:
    """Create a directory with its parents and return it.

    Raises:
        LauncherError: It cannot be created.
    """
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise LauncherError(
            f"The folder {directory} cannot be created: {error.strerror}.",
            "Set SPECCHAT_DATA_DIR to a folder that you may write to.",
        ) from error
    return directory


@dataclass(frozen=True, slots=True)
class DataLayout:
    """The paths below one data directory.

    Attributes:
        root: The data directory.
    """

    root: Path

    @property
    def engines(self) -> Path:
        """One folder for each engine version."""
        return self.root / "engines"

    @property
    def models(self) -> Path:
        """Converted models, one folder each, and the files they were made from."""
        return self.root / "models"

    @property
    def logs(self) -> Path:
        """Logs of servers and installs."""
        return self.root / "logs"

    @property
    def servers(self) -> Path:
        """One state file for each server that runs."""
        return self.root / "servers"

    @property
    def starts(self) -> Path:
        """How long the last start of each profile took, one file each."""
        return self.root / "starts"

    @property
    def locks(self) -> Path:
        """Lock files. They stay when unlocked: deleting one would let two holders in."""
        return self.root / "locks"

    def engine(self, version: str) -> Path:
        """The folder of one engine version."""
        return self.engines / version

    def engine_lock(self, version: str) -> Path:
        """Held exclusively to install or remove an engine, shared by every server that runs from it."""
        return self.locks / f"engine-{version}.lock"

    def launch_lock(self, profile: str) -> Path:
        """Held while a server of this profile is put into the world, so that two launches see each other."""
        return self.locks / f"launch-{profile}.lock"

    def models_lock(self) -> Path:
        """Held while models are fetched or converted."""
        return self.locks / "models.lock"
