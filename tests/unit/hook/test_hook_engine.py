# ruff: noqa: ANN401 - stand-ins for objects of vLLM, which is not here
"""What the engine's processes say of themselves, over vLLM's own calls."""

import json
from types import SimpleNamespace
from typing import Any

import pytest

import fake_vllm
from specchat_vllm import engine
from specchat_vllm.fuse import Fuse, Unsupported


class EngineCore:
    """Asks its workers as vLLM does: by the name of a method."""

    def __init__(self, vllm_config: Any, workers: list[Any]) -> None:
        self.vllm_config = vllm_config
        self.model_executor = SimpleNamespace(
            collective_rpc=lambda name: [getattr(worker, name)() for worker in workers]
        )

    def step(self) -> None:
        """A step."""


class WorkerBase:
    def __init__(self, model_runner: Any) -> None:
        self.model_runner = model_runner


class RunnerV1:
    def propose_draft_token_ids(self) -> None:
        """V1's draft."""


class RunnerV2:
    """Its module decides that it is V2."""

    def __init__(self, speculator: Any) -> None:
        self.speculator = speculator


RunnerV2.__module__ = "vllm.v1.worker.gpu.model_runner"


@pytest.fixture(autouse=True)
def _scheduler_output() -> None:
    class SchedulerOutput:
        num_spec_tokens_to_schedule = 0

        @classmethod
        def make_empty(cls) -> Any:
            return cls()

    fake_vllm.install("vllm.v1.core.sched.output", SchedulerOutput=SchedulerOutput)


def status(config: Any, *runners: Any) -> dict[str, Any]:
    core, worker = type("EngineCore", (EngineCore,), {}), type("WorkerBase", (WorkerBase,), {})
    engine.patch_core(SimpleNamespace(EngineCore=core))
    engine.patch_worker(SimpleNamespace(WorkerBase=worker))
    made = core(config, [worker(runner) for runner in runners])
    found: dict[str, Any] = json.loads(getattr(made, engine.METHOD)())
    return found


def test_the_engine_tells_what_it_is(fresh_fuse: Fuse) -> None:
    fresh_fuse.patched = {"the scheduler", "model runner V1"}
    found = status(fake_vllm.config(asynchronous=True), RunnerV1())
    assert found == {
        "patched": ["model runner V1", "the scheduler"], "problems": [], "k": 3, "method": "eagle3",
        "async_scheduling": True, "tensor_parallel": 1, "step_k": True,
        "workers": [
            {"runner": "V1", "patched": ["model runner V1", "the scheduler"], "problems": [], "honours_step_k": True}
        ],
    }  # fmt: skip


def test_a_server_that_does_not_speculate_has_no_k() -> None:
    found = status(fake_vllm.config(k=0), RunnerV1())
    assert (found["k"], found["method"], found["step_k"]) == (0, None, False)


def test_data_parallel_engines_do_not_vary_the_width_of_a_step() -> None:
    assert not status(fake_vllm.config(data_parallel=2), RunnerV1())["step_k"]


def propose(draft: Any, *, num_speculative_tokens: int | None = None) -> None:
    """A newer V2's draft."""


@pytest.mark.parametrize(
    ("speculator", "honours"),
    [(SimpleNamespace(propose=propose), True), (SimpleNamespace(propose=lambda draft: draft), False), (None, False)],
)
def test_model_runner_v2_tells_whether_its_draft_takes_a_width(speculator: Any, honours: bool) -> None:
    (worker,) = status(fake_vllm.config(), RunnerV2(speculator))["workers"]
    assert (worker["runner"], worker["honours_step_k"]) == ("V2", honours)


def test_workers_that_cannot_be_asked_are_a_problem_and_no_failure() -> None:
    found = status(fake_vllm.config(), None)
    assert found["workers"] == []
    assert found["problems"] == ["the workers cannot be asked: Unsupported: this worker has no model runner"]


def test_an_unknown_engine_is_left_as_it_is() -> None:
    with pytest.raises(Unsupported, match=r"EngineCore\.step"):
        engine.patch_core(SimpleNamespace(EngineCore=SimpleNamespace(__name__="EngineCore", __init__=None)))
