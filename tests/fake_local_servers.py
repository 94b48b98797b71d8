"""Servers of a machine that follow a script, and GPUs that say what they are told to, for tests of the screens."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from chat_pilot import HELLO, backend_for
from fakes import FixedClock, ScriptedBackend, server_info
from specchat.core.errors import SpecchatError
from specchat.core.switching import BY_ITSELF, Speculation
from specchat.session.chat import ChatSession
from specchat.session.local_servers import (
    OK,
    ORPHANED,
    PROBLEM,
    READY,
    STARTING,
    WARNING,
    AlreadyRuns,
    CheckLine,
    Finding,
    GpuLine,
    LaunchedServer,
    LaunchFailed,
    LaunchView,
    LogPart,
    PhaseLine,
    ProfileLine,
    ServerLine,
)
from specchat.ui.choosing import Surroundings
from specchat.ui.panels.server_rows import SavedServer

DEMO = ProfileLine(
    "cpu-smollm2",
    "SmolLM2 135M with an EAGLE-3 draft",
    "A real vLLM server on this machine's processor. The first start fetches about 1.5 GB and takes some minutes; "
    "after that it takes half a minute.",
    needs="any x86-64 CPU",
    is_demo=True,
)
BIG = ProfileLine(
    "mi355x-minimax-m3",
    "MiniMax-M3 in MXFP4 with its EAGLE-3 draft on 8 \N{MULTIPLICATION SIGN} MI355X",
    "The model card's command, with what attribution needs.",
    needs="8 \N{MULTIPLICATION SIGN} gfx950",
)
ELSEWHERE = ProfileLine(
    "docker-model-runner",
    "Docker Model Runner",
    "Models that Docker Desktop serves.",
    can_launch=False,
    why_not="Docker starts it: switch it on in Docker Desktop.",
    url="http://127.0.0.1:12434/engines",
)
PROFILES = (DEMO, BIG, ELSEWHERE)

LAUNCHED = ServerLine(
    "mi355x-minimax-m3-8000",
    "http://127.0.0.1:8000",
    "mi355x-minimax-m3",
    "amd/MiniMax-M3-MXFP4",
    "vLLM 0.27.1",
    "eagle3 k=3",
    4521.0,
    READY,
    started_here=True,
    owner="nothing: it runs until stopped",
    log=Path("/home/me/.local/share/specchat/logs/server-1.log"),
)
LOADING = ServerLine(
    "mi355x-minimax-m3-8000", "http://127.0.0.1:8000", "mi355x-minimax-m3", None, "vLLM 0.27.1", "eagle3 k=3", 61.0,
    STARTING, started_here=True, owner="nothing: it runs until stopped", log=LAUNCHED.log,
)  # fmt: skip
LEFT = ServerLine(
    "cpu-smollm2-8032", "http://127.0.0.1:8032", "cpu-smollm2", "SmolLM2-135M", "vLLM 0.32.0", "eagle3 k=3", 9.0,
    ORPHANED, started_here=True, owner="another specchat", log=LAUNCHED.log,
)  # fmt: skip
FOUND = ServerLine("http://127.0.0.1:11434", "http://127.0.0.1:11434", model="llama3.2:3b, qwen3:8b", version="0.12.3")

CHECKS = (
    CheckLine("GPUs", OK, "8 \N{MULTIPLICATION SIGN} gfx950 (AMD Instinct MI355X)"),
    CheckLine("memory", PROBLEM, "GPU 3 has 41 of 288 GiB free; 33 GiB a GPU are needed with room for the KV cache",
              "VLLM::Worker_TP3 (pid 41872) holds it, left by an earlier server. End it:", "kill -9 41872"),
    CheckLine("NUMA balancing", WARNING, "on", "Switch it off for steadier kernels:",
              "sudo sysctl kernel.numa_balancing=0"),
    CheckLine("port", OK, "8000 is free"),
)  # fmt: skip
GOOD_CHECKS = (
    CheckLine("processor", OK, "x86-64 with AVX-512"),
    CheckLine("memory", OK, "14.2 GB free, 4 GB needed"),
    CheckLine("disk", OK, "212 GB free, 6 GB needed"),
    CheckLine("port", OK, "a free one is taken"),
)
COMMAND = """# mi355x-minimax-m3: vLLM 0.27.1, on 127.0.0.1:8000
export VLLM_ROCM_USE_AITER=1
export HF_TOKEN=***
vllm serve amd/MiniMax-M3-MXFP4 \\
  --tensor-parallel-size 8 \\
  --speculative-config '{"method": "eagle3", "num_speculative_tokens": 3}'
"""


def view(phase: str, *done: tuple[str, float], seconds: float = 0.0, **more: object) -> LaunchView:
    """A moment of a start, after some phases."""
    phases = (*(PhaseLine(name, took, done=True) for name, took in done), PhaseLine(phase, None, done=False))
    return LaunchView(phase, phases=phases, seconds=seconds, **more)  # type: ignore[arg-type]


DONE = (("starting", 21.0), ("compiling kernels", 551.0))
LOADING_VIEW = view(
    "loading weights", *DONE, seconds=703.0, phase_seconds=131.0, fraction=0.42,
    detail="shard 21 of 50, 1.4 GB/s", id=LOADING.id,
    last_lines=(
        "(EngineCore pid=812) INFO 11-30 21:02:11 [gpu_model_runner.py:4210] Starting to load model amd/MiniMax-M3…",
        "Loading safetensors checkpoint shards:  40% Completed | 20/50 [02:04<03:06,  6.2s/it]",
        "Loading safetensors checkpoint shards:  42% Completed | 21/50 [02:11<03:01,  6.3s/it]",
    ),
    warnings=(Finding("warning", "The experts run on TRITON; AITER_MXFP4_MXFP4 was expected and is faster.",
                      "Check --moe-backend, VLLM_ROCM_USE_AITER=1 and the AITER in this environment."),),
)  # fmt: skip
READY_VIEW = LaunchView("ready", fraction=1.0, seconds=712.0, id=LOADING.id, url="http://127.0.0.1:8000")
NO_KV_ROOM = LaunchFailed(
    Finding(
        "fatal",
        "The KV cache has no room for one request of 1,048,576 tokens.",
        "Start it with --set arguments.max-model-len=262144, which is what fits, or free memory on the GPUs.",
        (
            (
                "ValueError: To serve at least one request with the models's max seq len (1048576), 61.4 GiB KV cache "
                "is needed, which is larger than the available KV cache memory (15.4 GiB)."
            ),
        ),
    ),
    (
        "(EngineCore pid=812) ERROR 11-30 21:14:02 [core.py:902] EngineCore failed to start.",
        "(APIServer pid=790) RuntimeError: Engine core initialization failed. See root cause above.",
    ),
    LAUNCHED.log,
)  # fmt: skip
RUNS_ALREADY = AlreadyRuns("mi355x-minimax-m3 runs already at http://127.0.0.1:8000.", "", LAUNCHED)


class Wait:
    """The start stands still until it is let go."""

    def __init__(self) -> None:
        self.released = asyncio.Event()


Moment = LaunchView | SpecchatError | Wait


class FakeLocalServers:
    """Does what its attributes say, and writes down what was asked of it."""

    def __init__(
        self,
        *,
        servers: Sequence[ServerLine] | SpecchatError = (),
        profiles: Sequence[ProfileLine] = PROFILES,
        checks: Sequence[CheckLine] | SpecchatError = GOOD_CHECKS,
        start: Sequence[Moment] = (),
        log: Sequence[str] = (),
        finding: Finding | None = None,
        launched: LaunchedServer | None = None,
    ) -> None:
        self.lines = servers
        self.offered = profiles
        self.found = checks
        self.start = list(start)
        self.log_text = list(log)
        self.finding = finding
        self.known = launched
        self.refused_commands: Mapping[str, SpecchatError] = {}
        self.asked: list[tuple[object, ...]] = []
        self.ended: list[str] = []

    async def profiles(self) -> Sequence[ProfileLine]:
        return self.offered

    async def servers(self) -> Sequence[ServerLine]:
        if isinstance(self.lines, SpecchatError):
            raise self.lines
        return self.lines

    async def check(self, profile: str, changes: Sequence[str]) -> Sequence[CheckLine]:
        self.asked.append(("check", profile, *changes))
        if isinstance(self.found, SpecchatError):
            raise self.found
        return self.found

    async def command(self, profile: str, changes: Sequence[str]) -> str:
        self.asked.append(("command", profile, *changes))
        for change in changes:
            if change in self.refused_commands:
                raise self.refused_commands[change]
        return COMMAND + "".join(f"# {change}\n" for change in changes)

    async def launch(self, profile: str, changes: Sequence[str], *, owned: bool) -> AsyncGenerator[LaunchView, None]:
        self.asked.append(("launch", profile, owned, *changes))
        try:
            for moment in self.start:
                yield await self._moment(moment)
        finally:
            self.ended.append("launch")

    async def follow(self, server: str) -> AsyncGenerator[LaunchView, None]:
        self.asked.append(("follow", server))
        for moment in self.start:
            yield await self._moment(moment)

    async def launched(self, url: str) -> LaunchedServer | None:
        self.asked.append(("launched", url))
        return self.known

    async def relaunch(self, server: str, tokens: int | None) -> AsyncGenerator[LaunchView, None]:
        self.asked.append(("relaunch", server, tokens))
        try:
            for moment in self.start:
                yield await self._moment(moment)
        finally:
            self.ended.append("relaunch")

    async def _moment(self, moment: Moment) -> LaunchView:
        if isinstance(moment, Wait):
            await moment.released.wait()
            return LOADING_VIEW
        if isinstance(moment, SpecchatError):
            raise moment
        await asyncio.sleep(0)
        return moment

    async def stop(self, server: str) -> None:
        self.asked.append(("stop", server))
        if not isinstance(self.lines, SpecchatError):
            self.lines = [line for line in self.lines if line.id != server]

    async def log(self, server: str, since: int) -> LogPart:
        self.asked.append(("log", server))
        return LogPart(tuple(self.log_text[since:]), len(self.log_text))

    async def acceptance_finding(self, url: str, acceptance_length: float, drafts: int) -> Finding | None:
        self.asked.append(("acceptance", url, round(acceptance_length, 2), drafts))
        return self.finding

    async def close(self) -> None:
        self.ended.append("close")

    def count(self, *begin: object) -> int:
        """How often something was asked that begins so."""
        return sum(asked[: len(begin)] == begin for asked in self.asked)


MI355X = tuple(
    GpuLine(index, "AMD Instinct MI355X", use, used * 2**30, 288 * 2**30, power, 1400.0, hot)
    for index, use, used, power, hot in (
        (0, 0.87, 251, 1180.0, 84.0), (1, 0.91, 251, 1211.0, 86.0), (2, 0.86, 251, 1172.0, 83.0),
        (3, 0.88, 251, 1388.0, 101.0), (4, 0.85, 251, 1166.0, 82.0), (5, 0.9, 251, 1203.0, 85.0),
        (6, 0.89, 283, 1190.0, 84.0), (7, None, 251, None, None),
    )
)  # fmt: skip


class FakeGpus:
    """Says the same at every look; None for a machine without GPUs."""

    def __init__(self, gpus: Sequence[GpuLine] | None = None) -> None:
        self.gpus = gpus
        self.reads = 0

    async def read(self) -> Sequence[GpuLine] | None:
        self.reads += 1
        return self.gpus


Connect = Callable[[str, str | None, bool], Awaitable[ChatSession]]


class Doors:
    """Sessions with whatever address is asked for."""

    def __init__(self, *refusals: SpecchatError) -> None:
        self.opened: list[tuple[str, str | None, bool]] = []
        self.kept: list[ChatSession] = []
        self._refusals = list(refusals)
        self.anew: Speculation = BY_ITSELF
        """What a server that was launched anew does by itself."""
        self.answer = HELLO
        """What it says."""
        self.renewed: list[ScriptedBackend] = []

    async def connect(self, url: str, model: str | None, demo: bool) -> ChatSession:
        self.opened.append((url, model, demo))
        if self._refusals:
            raise self._refusals.pop(0)
        backend = backend_for(HELLO, server=server_info(url=url))
        return ChatSession(backend, backend.server, FixedClock())

    async def renew(self, session: ChatSession) -> None:
        if self._refusals:
            raise self._refusals.pop(0)
        k = 3 if self.anew.limit is None else self.anew.limit
        server = server_info(url=session.speculating_server.url, draft_length=k)
        self.renewed.append(backend_for(self.answer, server=server))
        session.take_server(self.renewed[-1], server, self.anew)

    async def keep_only(self, session: ChatSession) -> None:
        self.kept.append(session)


def surroundings(
    local: FakeLocalServers,
    doors: Doors | None = None,
    gpus: FakeGpus | None = None,
    saved: SavedServer | None = None,
) -> Surroundings:
    """What an app finds around it."""
    doors = doors or Doors()
    return Surroundings(
        local, gpus or FakeGpus(), doors.connect, doors.keep_only, doors.renew, saved, "Explain a compiler."
    )
