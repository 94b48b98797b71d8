"""What the hook costs a real engine: decode speed without it, with it loaded, and tracing; memory over many replies.

Run by hand on a quiet machine, with the CPU engines installed: `python tests/benchmarks/hook_cost.py [speed|memory]`.
Prints tables and asserts nothing.
"""

import asyncio
import random
import statistics
import sys
import tempfile
import time
import uuid
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from real_prompts import CASES
from specchat_launcher import data_directory
from traced_asking import Server, Wish
from watched_engine import Watched, watched

ROUNDS = 16
KINDS = ("plain", "loaded", "unread", "traced")
"""Without the hook; with it, and nobody traced; traced, and nobody reads; traced and read.

The reader is this program: what it takes of a machine with two cores is no cost of the server's.
"""
TOKENS = 60
REPLIES = 2000
VERSIONS = ("0.32.0", "0.27.1")


async def rate(server: Server, at_once: int, *, kind: str, turn: int) -> float:
    """Tokens per second of some requests together."""
    body: dict[str, object] = {"ignore_eos": True}
    if kind == "unread":
        body["vllm_xargs"] = {"specchat_trace": uuid.uuid4().hex}
    prompts = [CASES[(turn + index) % 8].prompt for index in range(at_once)]
    wishes = [Wish(prompt, TOKENS, traced=kind == "traced", body=body) for prompt in prompts]
    began = time.perf_counter()
    answers = await asyncio.gather(*(server.ask(wish) for wish in wishes))
    return sum(len(answer.ids) for answer in answers) / (time.perf_counter() - began)


async def compare_speed(version: str, plain: Watched, hooked: Watched) -> None:
    servers = {kind: (plain if kind == "plain" else hooked).server() for kind in KINDS}
    for at_once in (1, 4):
        rates: dict[str, list[float]] = {kind: [] for kind in KINDS}
        for turn in range(ROUNDS + 1):
            order = random.Random(turn).sample(KINDS, len(KINDS))
            for kind in order:
                measured = await rate(servers[kind], at_once, kind=kind, turn=turn)
                if turn:  # the first round warms up
                    rates[kind].append(measured)
        medians = ", ".join(f"{kind} {statistics.median(rates[kind]):.1f}" for kind in KINDS)
        print(f"{version}, {at_once} at once, {ROUNDS} rounds: tokens/s {medians}", flush=True)
        for over, under in (("loaded", "plain"), ("unread", "loaded"), ("traced", "loaded"), ("traced", "plain")):
            pairs = sorted(a / b for a, b in zip(rates[over], rates[under], strict=True))
            quarter = len(pairs) // 4
            print(
                f"  {over}/{under}: median of pairs {statistics.median(pairs):.3f},"
                f" middle half {pairs[quarter]:.3f} to {pairs[-1 - quarter]:.3f}",
                flush=True,
            )
    for server in servers.values():
        await server.close()


def resident(engine: Watched) -> dict[str, float]:
    """MB of the API server and of its children together."""
    sizes = {}
    front = engine.running.pid
    children = [int(one) for one in Path(f"/proc/{front}/task/{front}/children").read_text().split()]
    for name, pids in (("API server", [front]), ("engine", children)):
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in pids]
        sizes[name] = sum(pages) * 4096 / 1e6
    return sizes


async def watch_memory(version: str, hooked: Watched) -> None:
    server = hooked.server()
    done = 0
    while done < REPLIES:
        wishes = [
            Wish(f"{CASES[(done + index) % len(CASES)].prompt} ({done + index})", 6, body={"ignore_eos": True})
            for index in range(8)
        ]
        await asyncio.gather(*(server.ask(wish) for wish in wishes))
        done += len(wishes)
        if done in {8, 200, 600, 1000, 1400} or done >= REPLIES:
            sizes = ", ".join(f"{name} {size:.0f} MB" for name, size in resident(hooked).items())
            print(f"{version}, after {done} traced replies: {sizes}", flush=True)
    await server.close()


def main() -> None:
    what = sys.argv[1:] or ["speed", "memory"]
    for version in VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder)
            hooked = watched(version, data_directory(), path, witness=False)
            if "speed" in what:
                with watched(version, data_directory(), path, witness=False, hook=False) as plain, hooked as other:
                    asyncio.run(compare_speed(version, plain, other))
                hooked = watched(version, data_directory(), path, witness=False)
            if "memory" in what:
                with hooked as running:
                    asyncio.run(watch_memory(version, running))


if __name__ == "__main__":
    main()
