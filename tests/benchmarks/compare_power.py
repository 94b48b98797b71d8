"""How often `specchat compare` finds what is there, and how often it finds what is not: the same comparison many times.

Every run is a `specchat compare --json` of its own, with another seed, so another order. Printed for each is the ratio
with its interval, and at the end how many intervals hold 1 and how wide they are. Run by hand, on a machine that does
nothing else, with the servers running:

    python tests/benchmarks/compare_power.py ON_URL OFF_URL PROMPTS.txt RUNS [MAX_TOKENS] [FOLDER]

The same address twice compares a server with itself: the right answer is then 1. With FOLDER, the JSON of every run is
kept there, and a run that is there already is not made again.
"""

import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def compared(on: str, off: str, prompts: str, seed: int, max_tokens: int, samples: Path) -> dict[str, Any]:
    """The JSON of one comparison of three repeats."""
    command = [
        sys.executable, "-m", "specchat", "compare", "--json", "--fresh",
        "--url", on, "--baseline-url", off, "--allow-speculating-baseline",
        "--prompts", prompts, "--repeats", "3", "--max-tokens", str(max_tokens), "--seed", str(seed),
        "--samples", str(samples),
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"Run {seed} ended with {done.returncode}: {done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main() -> None:
    """Run and print the table."""
    if len(sys.argv) < 5:
        raise SystemExit(__doc__)
    on, off, prompts, runs = *sys.argv[1:4], int(sys.argv[4])
    max_tokens = int(sys.argv[5]) if len(sys.argv) > 5 else 96
    folder = Path(sys.argv[6]) if len(sys.argv) > 6 else None
    held, half_widths, ratios = 0, [], []
    for seed in range(1, runs + 1):
        kept = None if folder is None else folder / f"{seed}.json"
        began = time.monotonic()
        if kept is not None and kept.exists():
            found = json.loads(kept.read_text(encoding="utf-8"))
        else:
            samples = Path(f"compare-power-{seed}.jsonl") if folder is None else folder / f"{seed}.samples.jsonl"
            found = compared(on, off, prompts, seed, max_tokens, samples)
            if kept is None:
                samples.unlink()
            else:
                kept.write_text(json.dumps(found), encoding="utf-8")
        ratio, interval = found["total"]["speed_ratio"], found["total"]["interval"]
        half = (interval["high"] - interval["low"]) / 2 / ratio
        holds = interval["low"] <= 1 <= interval["high"]
        held += holds
        half_widths.append(half)
        ratios.append(ratio)
        word = "holds 1" if holds else "a difference"
        limits = f"{interval['low']:.3f} to {interval['high']:.3f}"
        took = f"{time.monotonic() - began:.0f} s"
        print(f"{seed:3d}  {ratio:.3f}  {limits}  half-width {half:.1%}  {word}  {took}", flush=True)
    print(
        f"{held} of {runs} intervals hold 1; ratio {min(ratios):.3f} to {max(ratios):.3f}, median"
        f" {statistics.median(ratios):.3f}; half-width median {statistics.median(half_widths):.1%}, widest"
        f" {max(half_widths):.1%}"
    )


if __name__ == "__main__":
    main()
