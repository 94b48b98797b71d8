# ruff: noqa: ANN401 - stand-ins for objects of vLLM, which is not here
"""What the hook says of itself: a part that does not work is named, and nothing is promised that does not hold."""

from typing import Any

import pytest

from specchat_vllm.status import describe

V1 = {"runner": "V1", "patched": ["model runner V1"], "problems": [], "honours_step_k": True}
V2 = {
    "runner": "V2",
    "patched": ["model runner V1", "model runner V2", "model runner V2's output"],
    "problems": [],
    "honours_step_k": False,
}
CORE = {
    "patched": ["the engine's status", "the scheduler"],
    "problems": [],
    "k": 3,
    "method": "eagle3",
    "async_scheduling": True,
    "tensor_parallel": 1,
    "step_k": True,
    "workers": [V1],
}


def described(core: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    options: dict[str, Any] = {
        "vllm": "0.32.0", "core": CORE if core is None else core, "front": ["the front end"], "problems": [],
        "servers": 1, "late": 0,
    }  # fmt: skip
    return describe(**(options | changes))


def test_where_everything_works_nothing_is_said_to_be_wrong() -> None:
    status = described()
    assert (status["trace"], status["switch"], status["problems"]) == (True, True, [])
    assert (status["k"], status["method"], status["runner"]) == (3, "eagle3", "V1")
    assert (status["protocol"], status["hook"], status["vllm"]) == (1, "1.0", "0.32.0")
    assert status["off"]["draft_forwards"] == 1
    assert "once in each step" in status["off"]["why"]


def test_model_runner_v2_needs_both_its_parts() -> None:
    assert described(CORE | {"workers": [V2]})["trace"]
    without = V2 | {"patched": ["model runner V1", "model runner V2"], "problems": ["model runner V2's output: gone"]}
    status = described(CORE | {"workers": [without]})
    assert not status["trace"]
    assert status["problems"] == ["model runner V2's output: gone"]


@pytest.mark.parametrize("core", [CORE | {"workers": [V2]}, CORE | {"step_k": False}])
def test_where_a_step_cannot_be_narrower_all_forwards_remain(core: dict[str, Any]) -> None:
    assert described(core)["off"]["draft_forwards"] == 3


def test_every_worker_has_to_see() -> None:
    blind = V1 | {"patched": [], "problems": ["model runner V1: gone"]}
    status = described(CORE | {"workers": [V1, blind, blind]})
    assert not status["trace"]
    assert status["switch"]
    assert status["problems"] == ["model runner V1: gone"]


def test_several_api_servers_can_switch_but_not_trace() -> None:
    status = described(servers=4)
    assert (status["trace"], status["switch"]) == (False, True)
    assert status["problems"] == [
        (
            "4 API server processes share this address, and a trace can be read only from the one that serves its"
            " request: start the server with --api-server-count 1"
        )
    ]


def test_an_engine_that_cannot_be_asked_is_unknown() -> None:
    status = describe(
        vllm=None, core=None, front=["the front end"], problems=["the engine does not know the hook"], servers=1, late=2
    )
    assert (status["trace"], status["switch"], status["late_steps"]) == (False, False, 2)
    assert all(status[name] is None for name in ("k", "method", "runner", "async_scheduling", "tensor_parallel"))
    assert status["off"] == {"draft_forwards": None, "why": ""}
    assert status["problems"] == ["the engine does not know the hook"]


@pytest.mark.parametrize("k", [0, None])
def test_a_server_that_does_not_speculate_has_nothing_to_trace_or_switch(k: int | None) -> None:
    status = described(CORE | {"k": k, "method": None})
    assert (status["trace"], status["switch"], status["off"]["draft_forwards"]) == (False, False, None)


def test_without_the_scheduler_nothing_works() -> None:
    status = described(CORE | {"patched": [], "problems": ["the scheduler: gone"]})
    assert (status["trace"], status["switch"], status["problems"]) == (False, False, ["the scheduler: gone"])


def test_without_the_front_end_the_switch_works() -> None:
    status = described(front=[], problems=["the front end: gone"])
    assert (status["trace"], status["switch"]) == (False, True)


def test_the_problems_of_a_process_are_not_added_to() -> None:
    problems: list[str] = []
    described(problems=problems, servers=2)
    assert problems == []
