"""Whether the server's port is free, and who has it if not.

Owns this judgement. Connects to nothing.
"""

from specchat_launcher.checks import Check, ok, problem
from specchat_launcher.ports import listener_inodes, socket_inodes
from specchat_launcher.preflight_wanted import Wanted
from specchat_launcher.sysfs import folders, read_text

NAME = "port"


def check_of_port(wanted: Wanted) -> Check:
    """What is to be said about the port."""
    port, host = wanted.profile.port, wanted.profile.host
    if port is None:
        return ok(NAME, "a free one is taken at the start")
    if not 1 <= port <= 65_535:
        return problem(NAME, f"{port} is no port number", "Choose one from 1024 to 65535 with --port.")
    inodes = _listeners(wanted, port)
    if not inodes and wanted.machine.can_bind(host, port):
        return ok(NAME, f"{port} on {host} is free")
    if not inodes:
        return problem(
            NAME,
            f"{port} on {host} cannot be listened on by this user",
            "Choose another one with --port, 1024 or above.",
        )
    pids = _owners(wanted, inodes)
    if not pids:
        return problem(
            NAME, f"{port} on {host} is taken by a process of another user", "Choose another one with --port."
        )
    who = read_text(wanted.machine.proc / str(pids[0]) / "comm") or "a program"
    shown = "".join(letter for letter in who[:40] if letter.isprintable())
    return problem(
        NAME,
        f"{port} on {host} is taken by {shown} (process {pids[0]})",
        "If it is this profile's server, connect to it: specchat servers shows it. Else choose another port with "
        "--port.",
    )


def _listeners(wanted: Wanted, port: int) -> set[int]:
    try:
        return listener_inodes(port, wanted.machine.proc)
    except (ValueError, IndexError):
        # Whether it can be bound says enough.
        return set()


def _owners(wanted: Wanted, inodes: set[int]) -> list[int]:
    proc = wanted.machine.proc
    pids = (int(folder.name) for folder in folders(proc) if folder.name.isascii() and folder.name.isdecimal())
    return [pid for pid in pids if inodes & socket_inodes([pid], proc)]
