"""What the hook costs a real engine: decode speed without it, loaded, and tracing; memory over many replies.

Run by hand on a quiet machine, with the CPU engines installed; prints tables and asserts nothing:
`python tests/benchmarks/hook_cost.py [speed|own|memory]`.
"""

import asyncio
import json
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
from watched_engine import WITNESS, Watched, watched

ROUNDS = 8
STARTS = 3
"""Of each kind of server, alternating. One stands at a time: two beside each other on two cores differ by a third."""
STEP = "model runner V1: begin"
"""Runs once in each step."""
UNTRACED, UNREAD, READ = "untraced", "traced, not read", "traced and read"
TOKENS = 80
REPLIES = 2000
VERSIONS = ("0.32.0", "0.27.1")


async def rate(server: Server, at_once: int, *, kind: str, turn: int) -> float:
    """Tokens per second of some requests together, as the server clocked them from their first token to their last.

    The replies are not streamed, so that the client takes nothing of the server's cores, except to read a trace.
    """
    asked = [asyncio.create_task(decoding(server, (turn + index) % 8, kind)) for index in range(at_once)]
    return at_once * (TOKENS - 1) / statistics.fmean(await asyncio.gather(*asked))


async def decoding(server: Server, prompt: int, kind: str) -> float:
    """Seconds from the first token of one reply to its last."""
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": CASES[prompt].prompt}],
        "temperature": 0,
        "max_tokens": TOKENS,
        "ignore_eos": True,
    }
    key = uuid.uuid4().hex
    if kind != UNTRACED:
        body["vllm_xargs"] = {"specchat_trace": key}
    reader = asyncio.create_task(read_whole(server, key)) if kind == READ else None
    answer = (await server.client.post(f"{server.url}/v1/chat/completions", json=body)).raise_for_status().json()
    if reader is not None:
        assert await reader > TOKENS
    assert answer["usage"]["completion_tokens"] == TOKENS
    return float(answer["metrics"]["generation_time_ms"]) / 1000


async def read_whole(server: Server, key: str) -> int:
    """Read a trace without understanding it. Returns its bytes."""
    async with server.client.stream("GET", f"{server.url}/v1/specchat/trace/{key}") as stream:
        return sum([len(part) async for part in stream.aiter_raw()])


async def rates_of(engine: Watched, kinds: tuple[str, ...]) -> dict[tuple[str, int], list[float]]:
    """Rates by kind of request and number at once, alternating in random order."""
    server = engine.server()
    found: dict[tuple[str, int], list[float]] = {(kind, at_once): [] for kind in kinds for at_once in (1, 4)}
    for turn in range(ROUNDS + 2):
        for kind, at_once in random.Random(turn).sample(sorted(found), len(found)):
            measured = await rate(server, at_once, kind=kind, turn=turn)
            if turn > 1:  # the first rounds warm up
                found[kind, at_once].append(measured)
    await server.close()
    return found


def compare_speed(version: str, folder: Path) -> None:
    """Print what a trace costs on one server, by pairs of a round, and what the hook costs from start to start."""
    without: dict[int, list[float]] = {1: [], 4: []}
    loaded: dict[int, list[float]] = {1: [], 4: []}
    pairs: dict[tuple[str, int], list[float]] = {(kind, at_once): [] for kind in (UNREAD, READ) for at_once in (1, 4)}
    for start in range(2 * STARTS):
        hook = start % 4 in {1, 2}
        kinds = (UNTRACED, UNREAD, READ) if hook else (UNTRACED,)
        with watched(version, data_directory(), folder, witness=False, hook=hook) as engine:
            rates = asyncio.run(rates_of(engine, kinds))
        for at_once in (1, 4):
            untraced = rates[UNTRACED, at_once]
            (loaded if hook else without)[at_once].append(statistics.median(untraced))
            for kind in kinds[1:]:
                pairs[kind, at_once] += [a / b for a, b in zip(rates[kind, at_once], untraced, strict=True)]
    for at_once in (1, 4):
        print(f"{version}, {at_once} at once: medians of {STARTS} starts, tokens/s", flush=True)
        print("  without the hook", " ".join(f"{rate:.1f}" for rate in without[at_once]), flush=True)
        print("  loaded, untraced", " ".join(f"{rate:.1f}" for rate in loaded[at_once]), flush=True)
        ratio = statistics.median(loaded[at_once]) / statistics.median(without[at_once])
        print(f"  loaded to without: {ratio:.3f}", flush=True)
        for kind in (UNREAD, READ):
            sample = sorted(pairs[kind, at_once])
            quarter = len(sample) // 4
            print(
                f"  {kind} to untraced, one server, {len(sample)} pairs: median {statistics.median(sample):.3f},"
                f" middle half {sample[quarter]:.3f} to {sample[-1 - quarter]:.3f}",
                flush=True,
            )


async def own_work(version: str, engine: Watched, folder: Path) -> None:
    """Print the processor time of the hook's own functions, clocked inside the server: no neighbour can touch that."""
    server = engine.server()
    for kind in (UNTRACED, UNREAD, READ):
        for at_once in (1, 4):
            await rate(server, at_once, kind=kind, turn=0)
            before, began = clocked(folder), time.perf_counter()
            for turn in range(ROUNDS):
                await rate(server, at_once, kind=kind, turn=turn)
            seconds = time.perf_counter() - began
            after = clocked(folder)
            steps = after[STEP][0] - before.get(STEP, (0, 0.0))[0]
            own = sum(spent - before.get(name, (0, 0.0))[1] for name, (_, spent) in after.items())
            print(
                f"{version}, {kind}, {at_once} at once: {steps} steps of {seconds / steps * 1e3:.1f} ms, the hook's own"
                f" work {own / steps * 1e6:.0f} us a step, {own / seconds:.3%}",
                flush=True,
            )
    await server.close()


def clocked(folder: Path) -> dict[str, tuple[int, float]]:
    """Calls and seconds of each of the hook's functions, over all processes."""
    found: dict[str, tuple[int, float]] = {}
    for file in folder.glob("*.json"):
        for name, (calls, spent) in json.loads(file.read_text()).items():
            earlier = found.get(name, (0, 0.0))
            found[name] = earlier[0] + calls, earlier[1] + spent
    return found


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
    what = sys.argv[1:] or ["speed", "own", "memory"]
    for version in VERSIONS:
        with tempfile.TemporaryDirectory() as folder:
            if "speed" in what:
                compare_speed(version, Path(folder))
            if "own" in what:
                costs = {"PYTHONPATH": str(WITNESS), "WITNESS_COST": folder}
                with watched(version, data_directory(), Path(folder), witness=False, environment=costs) as running:
                    asyncio.run(own_work(version, running, Path(folder)))
            if "memory" in what:
                with watched(version, data_directory(), Path(folder), witness=False) as running:
                    asyncio.run(watch_memory(version, running))


if __name__ == "__main__":
    main()
