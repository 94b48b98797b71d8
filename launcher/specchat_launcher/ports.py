"""Loopback ports: finding a free one, and telling whose a taken one is.

Owns the choice of port. Connects to nothing.
"""

import contextlib
import random
import socket
from collections.abc import Iterable
from pathlib import Path

from specchat_launcher.errors import PortError

LOOPBACK = "127.0.0.1"
# Below the range from which Linux takes the ports of outgoing connections: a server needs ten seconds to bind, and
# in that time a port from that range may be lent to any connection.
FREE_RANGE = range(20_000, 32_000)
ATTEMPTS = 100
LISTENING = "0A"


def free_port(chooser: random.Random) -> int:
    """A port on the loopback address that nothing is bound to now.

    Raises:
        PortError: None was found.
    """
    for _ in range(ATTEMPTS):
        port = chooser.choice(FREE_RANGE)
        if is_free(port):
            return port
    raise PortError("No free port was found on 127.0.0.1.", "Name one yourself with --port.")


def require_free(port: int) -> None:
    """Refuse a port that something is bound to, or that cannot be used.

    Raises:
        PortError: With the reason.
    """
    if not 1 <= port <= 65_535:
        raise PortError(f"{port} is no port number.", "Choose one from 1024 to 65535.")
    if not is_free(port):
        raise PortError(
            f"Port {port} on {LOOPBACK} is taken, or this user may not use it.",
            "Choose another one, or leave --port away to get a free one.",
        )


def is_free(port: int) -> bool:
    """Whether a server could bind this port on the loopback address."""
    if listener_inodes(port):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        # As the server does: connections of an earlier server that linger must not make its port look taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def listener_inodes(port: int, proc: Path = Path("/proc")) -> set[int]:
    """The inodes of the sockets that listen on a port, at any local address."""
    found = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in (proc / "net" / table).read_text(encoding="ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == LISTENING and int(fields[1].rsplit(":", 1)[1], 16) == port:
                    found.add(int(fields[9]))
    return found


def socket_inodes(pids: Iterable[int], proc: Path = Path("/proc")) -> set[int]:
    """The inodes of every socket that these processes hold."""
    found = set()
    for pid in pids:
        with contextlib.suppress(OSError):
            for descriptor in (proc / str(pid) / "fd").iterdir():
                with contextlib.suppress(OSError):
                    target = str(descriptor.readlink())
                    if target.startswith("socket:["):
                        found.add(int(target[8:-1]))
    return found
