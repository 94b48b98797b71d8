"""Asks the engine's processes, over vLLM's own calls, which parts of the hook work in them."""

import json
from typing import Any

from specchat_vllm.fuse import FUSE, Unsupported, need
from specchat_vllm.scheduler import takes_a_width

METHOD = "specchat_status"


def patch_core(module: Any) -> None:
    """Give `EngineCore` a method that a front end can call."""
    cls = module.EngineCore
    need(cls, "__init__", "step")
    setattr(cls, METHOD, _core_status)


def patch_worker(module: Any) -> None:
    """Give every worker a method that the engine can call."""
    setattr(module.WorkerBase, METHOD, _worker_status)


def _core_status(self: Any) -> str:
    """What this engine is, as JSON: text, since calls between vLLM's processes carry few types."""
    config = self.vllm_config
    speculative = config.speculative_config
    status: dict[str, Any] = {
        "patched": sorted(FUSE.patched),
        "problems": list(FUSE.problems),
        "k": 0 if speculative is None else speculative.num_speculative_tokens,
        "method": None if speculative is None else speculative.method,
        "async_scheduling": bool(config.scheduler_config.async_scheduling),
        "tensor_parallel": config.parallel_config.tensor_parallel_size,
        "step_k": speculative is not None
        and takes_a_width(config)
        and hasattr(_scheduler_output(), "num_spec_tokens_to_schedule"),
    }
    try:
        workers = self.model_executor.collective_rpc(METHOD)
        status["workers"] = [json.loads(one) for one in workers]
    except Exception as error:  # an executor without such calls must not take the engine down
        status["problems"].append(f"the workers cannot be asked: {type(error).__name__}: {error}")
        status["workers"] = []
    return json.dumps(status)


def _scheduler_output() -> Any:
    from vllm.v1.core.sched.output import SchedulerOutput

    return SchedulerOutput.make_empty()


def _worker_status(self: Any) -> str:
    runner = getattr(self, "model_runner", None)
    if runner is None:
        raise Unsupported("this worker has no model runner")
    in_v2 = ".worker.gpu." in type(runner).__module__
    return json.dumps(
        {
            "runner": "V2" if in_v2 else "V1",
            "patched": sorted(FUSE.patched),
            "problems": list(FUSE.problems),
            "honours_step_k": hasattr(runner, "propose_draft_token_ids") or _v2_takes_k(runner),
        }
    )


def _v2_takes_k(runner: Any) -> bool:
    """Does this V2 runner let the draft compute fewer tokens for a whole step?"""
    from inspect import signature

    propose = getattr(getattr(runner, "speculator", None), "propose", None)
    return propose is not None and "num_speculative_tokens" in signature(propose).parameters
