"""Everything the launcher raises on purpose: what is wrong, and what to do next.

Owns the wording of failures. A bug is not a `LauncherError` and is left to surface as itself.
"""


class LauncherError(Exception):
    """Something the user can act on.

    Attributes:
        message: What is wrong, as one sentence.
        hint: What to do next, as one sentence.
    """

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message} {self.hint}"


class UnsupportedPlatformError(LauncherError):
    """This machine or this Python cannot run the CPU engine."""


class UnknownNameError(LauncherError):
    """No engine, model or profile has that name."""


class ProfileError(LauncherError):
    """A profile, or a change to it, cannot be understood or cannot work."""


class DiskSpaceError(LauncherError):
    """The data directory's disk is too full."""


class NetworkError(LauncherError):
    """The package index could not be reached."""


class InstallError(LauncherError):
    """The engine could not be installed, for a reason other than disk or network."""


class ModelError(LauncherError):
    """A model's files are missing, damaged or could not be converted."""


class HookError(LauncherError):
    """The hook cannot be delivered; a server starts without it."""


class EngineBusyError(LauncherError):
    """The engine is being used, so it cannot be removed."""


class PortError(LauncherError):
    """The port is taken."""


class ServerStartError(LauncherError):
    """The server ended, or did not answer in time, before it was ready."""
