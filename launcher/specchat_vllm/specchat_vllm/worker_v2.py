"""Model runner V2 (`vllm.v1.worker.gpu`): notes the proposals that a step verifies."""

from itertools import pairwise
from typing import Any

from specchat_vllm.drafts import Step, attach, begin, step_of
from specchat_vllm.fuse import guarded, need, need_parameters

PART = "model runner V2"
OUTPUT_PART = "model runner V2's output"
_COPIED = "specchat_copied"

_current: Step | None = None
"""The step whose tokens are being sampled; a worker does one at a time."""


def patch_runner(module: Any) -> None:
    """Wrap three methods of the runner, and the function that chooses its graph."""
    runner = module.GPUModelRunner
    need(runner, "execute_model", "sample", "sample_tokens")
    need_parameters(runner.sample, "hidden_states", "input_batch", "grammar_output")
    execute, sample, sample_tokens = runner.execute_model, runner.sample, runner.sample_tokens
    _watch_graphs(module)

    def execute_model(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        global _current
        guarded(PART, begin, self, scheduler_output)
        _current = step_of(self)  # its graph is chosen inside
        try:
            return execute(self, scheduler_output, *args, **kwargs)
        finally:
            _current = None

    def wrapped_sample(self: Any, hidden_states: Any, input_batch: Any, *args: Any, **kwargs: Any) -> Any:
        # With adaptive verification only the device knows which request has how many of the proposals.
        adaptive = getattr(self, "adaptive_verification", None) is not None
        if (step := step_of(self)) is not None and input_batch.num_draft_tokens and not adaptive:
            guarded(PART, _note, step, input_batch)
        return sample(self, hidden_states, input_batch, *args, **kwargs)

    def wrapped_sample_tokens(self: Any, *args: Any, **kwargs: Any) -> Any:
        global _current
        state, step = getattr(self, "execute_model_state", None), step_of(self)
        k = getattr(state, "num_spec_tokens_to_schedule", getattr(self, "num_speculative_steps", None))
        _current = step
        try:
            result = sample_tokens(self, *args, **kwargs)
        finally:
            _current = None
        if step is not None and (copied := getattr(result, "__dict__", {}).get(_COPIED)) is not None:
            copied[1] = k
        return result

    runner.execute_model, runner.sample, runner.sample_tokens = execute_model, wrapped_sample, wrapped_sample_tokens


def _watch_graphs(module: Any) -> None:
    """Older and newer versions choose the graph in one function of this module; without it the mode is unknown."""
    choose = getattr(module, "dispatch_cg_and_sync_dp", None)
    if choose is None:
        return

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        chosen = choose(*args, **kwargs)
        if _current is not None:
            _current.graph = getattr(getattr(chosen[0], "cg_mode", None), "name", None)
        return chosen

    module.dispatch_cg_and_sync_dp = wrapped


def patch_output(module: Any) -> None:
    """Wrap the output, which this runner makes with and without async scheduling, before the draft runs."""
    output = module.AsyncOutput
    need(output, "get_output")
    need_parameters(output.__init__, "copy_stream", "main_stream")
    init, get_output = output.__init__, output.get_output

    def wrapped_init(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if _current is not None:
            guarded(OUTPUT_PART, _copy, self, _current, kwargs.get("copy_stream"))

    def wrapped_get(self: Any) -> Any:
        result = get_output(self)
        copied = self.__dict__.pop(_COPIED, None)
        if copied is not None:
            guarded(OUTPUT_PART, attach, result, copied[0], copied[1])
        return result

    output.__init__, output.get_output = wrapped_init, wrapped_get


def _copy(output: Any, step: Step, stream: Any) -> None:
    """Copy on vLLM's own copy stream, and let its event, which `get_output` waits for, stand behind it."""
    if step.ids is not None:
        import torch

        with torch.cuda.stream(stream):
            device_ids = step.ids
            step.copied()
            device_ids.record_stream(stream)
            output.copy_event.record(stream)
    setattr(output, _COPIED, [step, None])


def _note(step: Step, input_batch: Any) -> None:
    """Each request's run is the token sampled before, and then its proposals."""
    step.ids = input_batch.input_ids[input_batch.logits_indices]
    ends = input_batch.cu_num_logits_np.tolist()
    step.counts = [end - start for start, end in pairwise(ends)][: len(input_batch.req_ids)]
    step.requests = list(input_batch.req_ids)
    step.skip_first = True
