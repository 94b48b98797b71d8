"""Asks a real server with the hook, reads each request's trace beside its stream, and compares all there is to compare.

It reads the wire itself, without the app: what it finds does not depend on specchat's own reading.
"""

import asyncio
import contextlib
import json
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx2

from specchat.backends.metrics import parse_counters
from specchat.core.counters import CounterReading


@dataclass(frozen=True)
class Wish:
    """One request."""

    prompt: str
    max_tokens: int = 60
    limit: int | None = None
    """`specchat_k`."""
    traced: bool = True
    cancel_after: int | None = None
    """Hang up after so many ids."""
    body: dict[str, Any] = field(default_factory=dict)


@dataclass
class Answer:
    """What came of it."""

    wish: Wish
    ids: list[int] = field(default_factory=list)
    chunks: list[int] = field(default_factory=list)
    text: str = ""
    request_id: str = ""
    finish_reason: str | None = None
    stop_reason: Any = None
    report: dict[str, Any] | None = None
    rows: list[dict[str, Any]] = field(default_factory=list)
    texts: dict[int, str] = field(default_factory=dict)
    end: dict[str, Any] | None = None
    trace_status: int | None = None

    @property
    def steps(self) -> list[dict[str, Any]]:
        """The rows in which something was drafted."""
        return [row for row in self.rows if row["drafted"]]

    @property
    def cut(self) -> bool:
        """Did something other than the engine end it?"""
        return self.wish.cancel_after is not None or isinstance(self.stop_reason, str)


class Server:
    """A server with the hook, and a client for it."""

    def __init__(self, url: str, model: str, key: str | None = None) -> None:
        self.url = url
        self.model = model
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        limits = httpx2.Limits(max_connections=400)
        self.client = httpx2.AsyncClient(timeout=120, limits=limits, headers=headers)

    async def close(self) -> None:
        """Give back its connections."""
        await self.client.aclose()

    async def status(self) -> dict[str, Any]:
        """What the hook says of itself."""
        answer = await self.client.get(f"{self.url}/v1/specchat")
        found: dict[str, Any] = answer.raise_for_status().json()
        return found

    async def counters(self) -> CounterReading:
        """The server's counters, once nothing runs and they stand still."""
        before = None
        for _ in range(100):
            text = (await self.client.get(f"{self.url}/metrics")).text
            now = parse_counters(text, self.model)
            assert now is not None
            if now == before and not now.running and not now.waiting:
                return now
            before = now
            await asyncio.sleep(0.1)
        raise AssertionError("the counters do not come to rest")

    async def ask(self, wish: Wish) -> Answer:
        """Ask, and read the trace to its end."""
        answer, trace_key = Answer(wish), uuid.uuid4().hex
        xargs: dict[str, Any] = {"specchat_trace": trace_key} if wish.traced else {}
        if wish.limit is not None:
            xargs["specchat_k"] = wish.limit
        body = {
            "model": self.model,
            "messages": [{"role": "user", "content": wish.prompt}],
            "stream": True,
            "stream_options": {"include_usage": True},
            "return_token_ids": True,
            "temperature": 0,
            "max_tokens": wish.max_tokens,
            "vllm_xargs": xargs,
            **wish.body,
        }
        reader = asyncio.create_task(self._read_trace(trace_key, answer)) if wish.traced else None
        await self._read_stream(body, answer)
        if reader is not None:
            async with asyncio.timeout(30):
                await reader
        return answer

    async def _read_stream(self, body: dict[str, Any], answer: Answer) -> None:
        async with self.client.stream("POST", f"{self.url}/v1/chat/completions", json=body) as stream:
            assert stream.status_code == 200, (await stream.aread()).decode()
            async for event in _events(stream):
                answer.request_id = event.get("id") or answer.request_id
                answer.report = (event.get("metrics") or {}).get("speculative_decoding") or answer.report
                for choice in event.get("choices", ()):
                    ids = choice.get("token_ids") or []
                    answer.ids += ids
                    answer.chunks += [len(ids)] if ids else []
                    answer.text += (choice.get("delta") or {}).get("content") or ""
                    answer.finish_reason = choice.get("finish_reason") or answer.finish_reason
                    answer.stop_reason = choice.get("stop_reason") or answer.stop_reason
                if answer.wish.cancel_after is not None and len(answer.ids) >= answer.wish.cancel_after:
                    return

    async def _read_trace(self, key: str, answer: Answer) -> None:
        async with self.client.stream("GET", f"{self.url}/v1/specchat/trace/{key}") as stream:
            answer.trace_status = stream.status_code
            async for event in _events(stream):
                if "end" in event:
                    answer.end = event
                else:
                    answer.rows += event["steps"]
                    answer.texts.update({int(token): text for token, text in event["texts"].items()})


async def _events(stream: httpx2.Response) -> AsyncIterator[dict[str, Any]]:
    async for line in stream.aiter_lines():
        if line.startswith("data: ") and line != "data: [DONE]":
            yield json.loads(line[6:])


async def ask_all(server: Server, wishes: list[Wish], at_once: int) -> list[Answer]:
    """Ask for all, so many at once."""
    gate = asyncio.Semaphore(at_once)

    async def one(wish: Wish) -> Answer:
        async with gate:
            return await server.ask(wish)

    return await asyncio.gather(*(one(wish) for wish in wishes))


class Witness:
    """The record that the engine kept without the hook."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def drafts(self) -> dict[str, list[list[int]]]:
        """For each of the engine's requests, what the draft proposed at the end of each of its steps."""
        found: dict[str, list[list[int]]] = defaultdict(list)
        for line in self._lines():
            for request, drafts in zip(line["requests"], line["drafts"], strict=False):
                found[request].append(drafts)
        return found

    def forwards(self) -> tuple[int, int]:
        """Forwards of the target and of the draft so far."""
        last = self._lines()[-1]
        return last["target"], last["draft"]

    def _lines(self) -> list[dict[str, Any]]:
        lines = []
        for line in self._path.read_text().splitlines():
            with contextlib.suppress(json.JSONDecodeError):  # the one that is being written
                lines.append(json.loads(line))
        return lines


def mismatches(answer: Answer, drafts: dict[str, list[list[int]]] | None) -> list[str]:
    """Everything in which a trace, its reply, the server's report and the witness differ; [] if nothing does.

    Args:
        answer: Traced.
        drafts: The witness's record; None to leave it out.
    """
    rows, found = answer.rows, []
    if answer.end is None or answer.end["dropped"]:
        found.append(f"ends with {answer.end}")
    if [row["n"] for row in rows] != list(range(len(rows))):
        found.append(f"rows are numbered {[row['n'] for row in rows]}")
    emitted = [token for row in rows for token in row["emitted"]]
    if answer.cut:
        shorter = min(len(emitted), len(answer.ids))
        if emitted[:shorter] != answer.ids[:shorter] or len(emitted) < len(answer.ids) - 1:
            found.append(f"{len(emitted)} traced ids are not the beginning of the {len(answer.ids)} that came")
    elif emitted != answer.ids:
        found.append(f"traced {emitted}, streamed {answer.ids}")
    for row in rows:
        if row["n"] and len(row["emitted"]) > row["accepted"] + 1:
            found.append(f"more is emitted than accepted: {row}")
        if row["proposed"] is None or len(row["proposed"]) != row["drafted"]:
            found.append(f"the proposals are not known: {row}")
        elif row["emitted"][: row["accepted"]] != row["proposed"][: min(row["accepted"], len(row["emitted"]))]:
            found.append(f"what was accepted is not what came: {row}")
        elif (
            row["n"]
            and row["accepted"] < min(len(row["emitted"]), row["drafted"])
            and row["emitted"][row["accepted"]] == row["proposed"][row["accepted"]]
        ):
            found.append(f"a proposal that held counts as rejected: {row}")
    found += _against_report(answer)
    if drafts is not None:
        found += _against_witness(answer, drafts)
    return [f"{answer.request_id}: {text}" for text in found]


def _against_report(answer: Answer) -> list[str]:
    report = answer.report
    if report is None or answer.wish.limit == 0:
        return []
    padded = [row for row in answer.rows if row.get("padded")]
    said = list(zip(report.get("per_step_accepted") or (), report.get("per_step_drafted") or (), strict=True))
    ours = [(0, row["padded"]) for row in padded] + [(row["accepted"], row["drafted"]) for row in answer.steps]
    return [] if said == ours else [f"the server reports {said}, traced is {ours}"]


def _against_witness(answer: Answer, drafts: dict[str, list[list[int]]]) -> list[str]:
    """The proposals that a step verifies are those that the draft returned at the end of the step before."""
    names = [name for name in drafts if name.startswith(answer.request_id + "-")]
    if len(names) != 1:
        return [f"the witness knows it as {names}"]
    seen, rows = drafts[names[0]], answer.rows
    furthest = 0
    for offset in range(len(seen) - len(rows) + 2):  # a long prompt is read in parts, each of them a step of the draft
        expected = seen[offset : offset + len(rows) - 1]
        pairs = list(zip(rows[1:], expected, strict=False))
        same = [row["proposed"] == proposed[: row["drafted"]] for row, proposed in pairs]
        if len(pairs) == len(rows) - 1 and all(same):
            return []
        furthest = max(furthest, same.index(False) if False in same else len(same))
    around = slice(max(0, furthest - 1), furthest + 3)
    traced = [row["proposed"] for row in rows[1:]]
    return [f"of {len(rows)} rows {furthest} fit; then the witness saw {seen[around]}, traced is {traced[around]}"]


def totals(answers: list[Answer]) -> tuple[int, int, int]:
    """Drafts, drafted and accepted tokens of all traces, as vLLM's counters count them."""
    rows = [row for answer in answers for row in answer.rows]
    padded = [row["padded"] for row in rows if row.get("padded")]
    drafted = [row for row in rows if row["drafted"]]
    return (
        len(drafted) + len(padded),
        sum(row["drafted"] for row in drafted) + sum(padded),
        sum(row["accepted"] for row in drafted),
    )
