"""What the hook says of itself to a client, put together from what its parts say. Pure."""

from typing import Any

from specchat_vllm import PROTOCOL, VERSION

_V1_PARTS = ("model runner V1",)
_V2_PARTS = ("model runner V2", "model runner V2's output")


def describe(
    *, vllm: str | None, core: dict[str, Any] | None, front: list[str], problems: list[str], servers: int, late: int
) -> dict[str, Any]:
    """The answer of `GET /v1/specchat`.

    Args:
        vllm: vLLM's version.
        core: What the engine said; None if it could not be asked.
        front: The parts that work in this process.
        problems: What does not work in this process.
        servers: API server processes behind this address.
        late: Rows that were thrown away since their request had ended.
    """
    problems = list(problems)
    workers = [] if core is None else core["workers"]
    problems += [] if core is None else core["problems"]
    problems += [problem for worker in workers for problem in worker["problems"]]
    problems = list(dict.fromkeys(problems))  # what one worker lacks all of them lack
    runner = workers[0]["runner"] if workers else None
    scheduler = core is not None and "the scheduler" in core["patched"]
    parts = _V2_PARTS if runner == "V2" else _V1_PARTS
    workers_see = bool(workers) and all(part in worker["patched"] for worker in workers for part in parts)
    trace = scheduler and workers_see and "the front end" in front
    if servers > 1 and trace:
        trace = False
        problems.append(
            f"{servers} API server processes share this address, and a trace can be read only from the one that serves"
            " its request: start the server with --api-server-count 1"
        )
    k = None if core is None else core["k"]
    switch = scheduler and bool(k)
    off = _off(k, bool(workers) and core is not None and core["step_k"] and workers[0]["honours_step_k"])
    return {
        "protocol": PROTOCOL,
        "hook": VERSION,
        "vllm": vllm,
        "trace": trace and bool(k),
        "switch": switch,
        "k": k,
        "method": None if core is None else core["method"],
        "runner": runner,
        "async_scheduling": None if core is None else core["async_scheduling"],
        "tensor_parallel": None if core is None else core["tensor_parallel"],
        "off": off if switch else {"draft_forwards": None, "why": ""},
        "late_steps": late,
        "problems": problems,
    }


def _off(k: int | None, step_k: bool) -> dict[str, Any]:
    if step_k:
        return {
            "draft_forwards": 1,
            "why": "the draft still runs once in each step, which fills its KV cache; without that, what it proposes"
            " after speculation is switched on again would be worse",
        }
    return {
        "draft_forwards": k,
        "why": "in this server the draft computes all its proposals, and they are thrown away",
    }
