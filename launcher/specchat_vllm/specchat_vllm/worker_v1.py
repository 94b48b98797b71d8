"""Model runner V1 (`GPUModelRunner`, and `CPUModelRunner` below it): notes the proposals that a step verifies."""

from typing import Any

from specchat_vllm.drafts import Step, attach, begin, step_of
from specchat_vllm.fuse import guarded, need, need_parameters

PART = "model runner V1"
_COPIED = "specchat_copied"
_WIDTH = "specchat_width"


def patch(module: Any) -> None:
    """Wrap four methods of the runner, and the output that async scheduling copies to the host."""
    runner, output = module.GPUModelRunner, module.AsyncGPUModelRunnerOutput
    need(runner, "execute_model", "sample_tokens", "_sample", "_determine_batch_execution_and_padding")
    need(output, "get_output")
    need_parameters(runner._sample, "spec_decode_metadata")
    need_parameters(output.__init__, "model_runner_output", "async_output_copy_stream")
    _patch_runner(runner, output)
    _patch_output(output)


def _patch_runner(runner: Any, output: Any) -> None:
    execute, sample, sample_tokens = runner.execute_model, runner._sample, runner.sample_tokens
    choose_graph = runner._determine_batch_execution_and_padding

    def execute_model(self: Any, scheduler_output: Any, *args: Any, **kwargs: Any) -> Any:
        guarded(PART, begin, self, scheduler_output)
        return execute(self, scheduler_output, *args, **kwargs)

    def determine(self: Any, *args: Any, **kwargs: Any) -> Any:
        chosen = choose_graph(self, *args, **kwargs)
        if (step := step_of(self)) is not None:
            step.graph = getattr(chosen[0], "name", None)
        return chosen

    def wrapped_sample(self: Any, logits: Any, spec_decode_metadata: Any, *args: Any, **kwargs: Any) -> Any:
        if (step := step_of(self)) is not None and spec_decode_metadata is not None:
            guarded(PART, _note, self, step, spec_decode_metadata)
        return sample(self, logits, spec_decode_metadata, *args, **kwargs)

    def wrapped_sample_tokens(self: Any, *args: Any, **kwargs: Any) -> Any:
        step = step_of(self)
        if step is None:
            return sample_tokens(self, *args, **kwargs)
        global _current
        _current = step  # for the output that is made inside
        try:
            result = sample_tokens(self, *args, **kwargs)
        finally:
            _current = None
        width = guarded(PART, _width, self)
        if isinstance(result, output):
            setattr(result, _WIDTH, width)
        elif hasattr(result, "sampled_token_ids"):
            guarded(PART, attach, result, step, width)
        return result

    runner.execute_model, runner._sample, runner.sample_tokens = execute_model, wrapped_sample, wrapped_sample_tokens
    runner._determine_batch_execution_and_padding = determine


_current: Step | None = None
"""The step whose tokens are being sampled; a worker does one at a time."""


def _patch_output(output: Any) -> None:
    init, get_output = output.__init__, output.get_output

    def wrapped_init(self: Any, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        if _current is not None:
            stream = kwargs.get("async_output_copy_stream")
            guarded(PART, _copy, self, _current, stream)

    def wrapped_get(self: Any) -> Any:
        result = get_output(self)
        step = self.__dict__.pop(_COPIED, None)
        if step is not None:
            guarded(PART, attach, result, step, self.__dict__.get(_WIDTH))
        return result

    output.__init__, output.get_output = wrapped_init, wrapped_get


def _copy(output: Any, step: Step, stream: Any) -> None:
    """Copy on vLLM's own copy stream, and let its event, which `get_output` waits for, stand behind it."""
    if step.ids is not None and step.ids.device.type != "cpu":
        import torch

        with torch.cuda.stream(stream):
            device_ids = step.ids
            step.copied()
            device_ids.record_stream(stream)
            output.async_copy_ready_event.record()
    setattr(output, _COPIED, step)


def _note(runner: Any, step: Step, metadata: Any) -> None:
    step.ids = metadata.draft_token_ids
    step.counts = list(metadata.num_draft_tokens)
    step.requests = list(runner.input_batch.req_ids[: len(step.counts)])


def _width(runner: Any) -> int | None:
    """How many proposals the draft computed for the next step."""
    drafts = runner._draft_token_ids
    if drafts is None:
        return None
    if hasattr(drafts, "shape"):
        return int(drafts.shape[1])
    return max(map(len, drafts), default=0)
