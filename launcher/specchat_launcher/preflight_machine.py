"""Everything that a look before a launch depends on, as one value, so that any machine can be played.

Owns what is asked of the system. Judges nothing.
"""

import contextlib
import getpass
import grp
import os
import shutil
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from specchat_launcher import platform_check
from specchat_launcher.tool_runs import Ran, Run, run_tool

INSIDE_CONTAINER = ("/.dockerenv", "/run/.containerenv")


@dataclass(frozen=True, slots=True)
class Group:
    """A group of the system.

    Attributes:
        number: Its id.
        members: Names of the users that the system lists in it.
    """

    number: int
    members: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Machine:
    """A machine and the user on it.

    Attributes:
        platform: System, processor and C library.
        sys: Where /sys is.
        dev: Where /dev is.
        proc: Where /proc is.
        opt: Where /opt is.
        home: The user's home directory.
        environ: The user's environment.
        user: The user's name.
        uid: The user's id.
        groups: Ids of the groups of this process; a user who was added to a group has to log in again to be in it.
        system_groups: The system's groups by name.
        inside_container: Whether this runs in a container.
        run: Runs a tool.
        may_use: Whether this user may read and write a file.
        group_of: Id of the group that a file belongs to; None where it cannot be told.
        free_bytes: Bytes free for this user on the disk of a folder; None where it cannot be told.
        can_bind: Whether a server could listen on an address and a port.
        engine_python: The interpreter the CPU engine would be built with; raises `LauncherError` where there is none.
    """

    platform: platform_check.Machine
    sys: Path
    dev: Path
    proc: Path
    opt: Path
    home: Path
    environ: Mapping[str, str]
    user: str
    uid: int
    groups: frozenset[int]
    system_groups: Mapping[str, Group]
    inside_container: bool
    run: Run
    may_use: Callable[[Path], bool]
    group_of: Callable[[Path], int | None]
    free_bytes: Callable[[Path], int | None]
    can_bind: Callable[[str, int], bool]
    engine_python: Callable[[], Path]

    def program(self, name: str) -> Path | None:
        """Where a program is on the user's PATH; None where it is not."""
        found = shutil.which(name, path=self.environ.get("PATH", os.defpath))
        return None if found is None else Path(found)

    def ask(self, *argv: str, timeout_s: float) -> Ran | None:
        """Run a tool."""
        return self.run(argv, timeout_s)

    def group_number(self, name: str) -> int | None:
        """The id of a group; None where the system has none of that name."""
        group = self.system_groups.get(name)
        return None if group is None else group.number

    def group_name(self, number: int | None) -> str:
        """The name of a group, or its number where it has no name here."""
        names = (name for name, group in self.system_groups.items() if group.number == number)
        return next(names, "" if number is None else str(number))


def this_machine() -> Machine:
    """The machine and the user that this process has."""
    return Machine(
        platform=platform_check.this_machine(),
        sys=Path("/sys"),
        dev=Path("/dev"),
        proc=Path("/proc"),
        opt=Path("/opt"),
        home=_home(),
        environ=dict(os.environ),
        user=_user(),
        uid=os.getuid(),
        groups=frozenset({*os.getgroups(), os.getegid()}),
        system_groups={entry.gr_name: Group(entry.gr_gid, frozenset(entry.gr_mem)) for entry in _groups()},
        inside_container=any(Path(name).exists() for name in INSIDE_CONTAINER),
        run=run_tool,
        may_use=lambda path: os.access(path, os.R_OK | os.W_OK),
        group_of=_group_of,
        free_bytes=free_bytes,
        can_bind=can_bind,
        engine_python=platform_check.engine_python,
    )


def free_bytes(folder: Path) -> int | None:
    """Bytes free for this user where a folder is, or where it would be made; None where it cannot be told."""
    for place in (folder, *folder.parents):
        try:
            return shutil.disk_usage(place).free
        except FileNotFoundError:
            continue
        except (OSError, ValueError):
            return None
    return None


def can_bind(host: str, port: int) -> bool:
    """Whether a server could listen there. An address that cannot be looked up does not speak against it."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return True
    family, kind, protocol, _, address = addresses[0]
    with contextlib.suppress(OSError), socket.socket(family, kind, protocol) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(address)
        return True
    return False


def _group_of(path: Path) -> int | None:
    try:
        return path.stat().st_gid
    except OSError:
        return None


def _groups() -> list[grp.struct_group]:
    try:
        return grp.getgrall()
    except OSError:
        return []


def _home() -> Path:
    try:
        return Path.home()
    except RuntimeError:
        return Path("/")


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return str(os.getuid())
