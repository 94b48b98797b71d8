"""A server record and states of a start, for tests of what is shown of them."""

from pathlib import Path

from specchat_launcher.registry import Owner, ProcessId, ServerRecord
from specchat_launcher.running import RunningServer
from specchat_launcher.startup import Diagnosis, StartPhase, StartState

WARNING = Diagnosis("slow-backend", "warning", "The draft runs on [another] backend.", "Name it.", ("Using X",))


def record(owner: Owner = Owner.ITSELF, profile: str = "cpu-smollm2") -> ServerRecord:
    """A server that is ready."""
    return ServerRecord(
        f"{profile}-8032", profile, "http://127.0.0.1:8032", "127.0.0.1", 8032, "m", "0.32.0", "vllm", owner,
        ProcessId(1, 1), ProcessId(2, 1), Path("/logs/server.log"), 0.0, None, None, "ready", key_needed=False,
    )  # fmt: skip


class NoProcess:
    """A server without processes, which has ended or not."""

    def __init__(self, code: int | None = None) -> None:
        self.pid = 2
        self.code = code
        self.stops = 0

    def poll(self) -> int | None:
        return self.code

    def stop(self, timeout_s: float = 15.0) -> None:
        del timeout_s
        self.stops += 1
        self.code = -2

    def session_pids(self) -> set[int]:
        return set()


def running(owner: Owner = Owner.ITSELF, code: int | None = None) -> RunningServer:
    """A server that answered, with a notice and a warning."""
    notices = ("The server runs without the hook [for a reason].",)
    return RunningServer(record(owner), NoProcess(code), notices=notices, warnings=(WARNING,))


def state(phase: StartPhase, detail: str = "detail", *, warnings: tuple[Diagnosis, ...] = ()) -> StartState:
    """One moment of a start."""
    return StartState(phase, detail, 0.5, 1.0, 2.0, ("a line",), warnings)
