"""An independent check of `specchat compare`: the same question, asked over plain HTTP without any code of the project.

Two servers, one with and one without speculation, are asked for the same prompts in turn; printed is the median of the
pairs' ratios of decode rates, (n - 1) tokens over the seconds from the first token to the last, and where the ids of
each pair first differ. Standard library only. Run by hand, on a machine that does nothing else:

    python tests/benchmarks/compare_check.py ON_URL OFF_URL PROMPTS.txt [REPEATS] [MAX_TOKENS] [RESULT.json]

With RESULT.json, what `specchat compare --json` printed for the same servers, prompts and settings, it also says
whether that result's interval holds the ratio found here, and compares the divergences that it states with its ids.
"""

import http.client
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

REST_SECONDS = 1.25
"""Before each reply: a vLLM server's processes look for work without a pause for a second after their last one."""


def asked(url: str, model: str, prompt: str, max_tokens: int) -> tuple[float, list[int]]:
    """Decode rate and ids of one greedy reply."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=300)
    body = {
        "model": model,
        "messages": [{"role": "user", "content": prompt}],
        "stream": True,
        "return_token_ids": True,
        "temperature": 0,
        "max_tokens": max_tokens,
    }
    connection.request("POST", "/v1/chat/completions", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    if answer.status != http.client.OK:
        raise SystemExit(f"{url} answers {answer.status}: {answer.read(500)!r}")
    ids: list[int] = []
    first = last = 0.0
    while line := answer.readline():
        now = time.perf_counter()
        if not line.startswith(b"data: {"):
            continue
        for choice in json.loads(line[6:]).get("choices", ()):
            new = choice.get("token_ids") or []
            if new:
                first = first or now
                last = now
                ids += new
    connection.close()
    return (len(ids) - 1) / (last - first), ids


def model_of(url: str) -> str:
    """The first model that a server lists."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.hostname or "", parts.port or 80, timeout=30)
    connection.request("GET", "/v1/models")
    name: str = json.loads(connection.getresponse().read())["data"][0]["id"]
    connection.close()
    return name


def parts_at(one: list[int], other: list[int]) -> int | None:
    """Index of the first id that differs; None where all are equal."""
    for index in range(max(len(one), len(other))):
        if one[index : index + 1] != other[index : index + 1]:
            return index
    return None


def measured(
    on: str, off: str, prompts: list[str], repeats: int, max_tokens: int
) -> dict[tuple[int, int], dict[str, Any]]:
    """Ratio and ids of each pair, by prompt and repeat. The side that goes first alternates."""
    sides = {"on": (on, model_of(on)), "off": (off, model_of(off))}
    for url, model in sides.values():
        asked(url, model, prompts[0], max_tokens)
    found = {}
    turn = 0
    for repeat in range(repeats):
        for number, prompt in enumerate(prompts):
            order = ("on", "off") if turn % 2 else ("off", "on")
            turn += 1
            got = {}
            for side in order:
                time.sleep(REST_SECONDS)
                got[side] = asked(*sides[side], prompt, max_tokens)
            ratio = got["on"][0] / got["off"][0]
            found[number, repeat] = {"ratio": ratio, "parts_at": parts_at(got["on"][1], got["off"][1])}
            print(
                f"prompt {number + 1:2} repeat {repeat + 1}  {ratio:5.2f}  part at {found[number, repeat]['parts_at']}"
            )
    return found


def compare_with(result: dict[str, Any], ratio: float) -> None:
    """What a result of `specchat compare` says, beside this ratio and beside its own ids."""
    total = result["total"]
    low, high = total["interval"]["low"], total["interval"]["high"]
    holds = "holds" if low <= ratio <= high else "DOES NOT HOLD"
    print(f"specchat compare: {total['speed_ratio']:.3f}, interval {low:.3f} to {high:.3f}, which {holds} {ratio:.3f}")
    ids = {}
    for sample in result["samples"]:
        if sample["replies"] and not any(reply["failure"] for reply in sample["replies"]):
            ids[sample["prompt"], sample["repeat"], sample["side"]] = sample["replies"][0]["ids"]
    wrong = checked = 0
    for pair in result["pairs"]:
        key = pair["prompt"], pair["repeat"]
        if (*key, "on") in ids and (*key, "off") in ids:
            checked += 1
            said = None if pair["divergence"] is None else pair["divergence"]["token"]
            wrong += said != parts_at(ids[*key, "on"], ids[*key, "off"])
    print(f"its divergences against its ids, one by one: {checked - wrong} of {checked} equal")


def main(arguments: list[str]) -> None:
    """Measure and print."""
    on, off, file, *rest = arguments
    repeats = int(rest[0]) if rest else 3
    max_tokens = int(rest[1]) if len(rest) > 1 else 256
    prompts = [line.strip() for line in Path(file).read_text(encoding="utf-8").splitlines() if line.strip()]
    found = measured(on, off, prompts, repeats, max_tokens)
    ratio = statistics.median(pair["ratio"] for pair in found.values())
    print(f"median of {len(found)} pairs: {ratio:.3f}")
    if len(rest) > 2:
        compare_with(json.loads(Path(rest[2]).read_text(encoding="utf-8")), ratio)


if __name__ == "__main__":
    if len(sys.argv) < 4:
        raise SystemExit(__doc__)
    main(sys.argv[1:])
