# ruff: noqa: ANN401, ARG002 - stand-ins for objects of vLLM, which is not here
"""In the worker: which ids a step verifies, for either model runner, with and without a copy in the background."""

import pickle
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from fake_vllm import Event, ModelRunnerOutput, Tensor
from specchat_vllm import drafts, worker_v1, worker_v2
from specchat_vllm.fuse import Fuse, Unsupported
from specchat_vllm.scheduler import SEEN, WANTED

FULL = SimpleNamespace(name="FULL")


def wanted_step(*, wanted: bool = True) -> Any:
    output = SimpleNamespace()
    if wanted:
        setattr(output, WANTED, True)
    return output


def seen(output: object) -> Any:
    return getattr(output, SEEN, None)


# Model runner V1


class AsyncOutputV1:
    """AsyncGPUModelRunnerOutput: copies on a stream of its own; `get_output` waits for its event."""

    def __init__(self, model_runner_output: Any, async_output_copy_stream: Any) -> None:
        self.result = model_runner_output
        self.async_copy_ready_event = Event()
        self.async_copy_ready_event.record(async_output_copy_stream)

    def get_output(self) -> Any:
        return self.result


class RunnerV1:
    """GPUModelRunner: verifies `ids`, split by `counts`, for the first requests of its batch, and proposes `drafts`."""

    def __init__(self, *, ids: Tensor | None, counts: list[int], proposals: Any, asynchronous: type | None) -> None:
        self.metadata = None if ids is None else SimpleNamespace(draft_token_ids=ids, num_draft_tokens=counts)
        self.input_batch = SimpleNamespace(req_ids=["a", "b", "c"])
        self._draft_token_ids: Any = "stale"
        self.proposals = proposals
        self.asynchronous = asynchronous
        self.fails = False

    def execute_model(self, scheduler_output: Any, intermediate: Any = None) -> str:
        assert scheduler_output is not None
        self._determine_batch_execution_and_padding(4)
        return "executed"

    def _determine_batch_execution_and_padding(self, tokens: int) -> tuple[Any, ...]:
        return FULL, tokens

    def _sample(self, logits: Any, spec_decode_metadata: Any) -> list[list[int]]:
        if self.fails:
            raise MemoryError("out of memory")
        return [[1], [2]]

    def sample_tokens(self, grammar_output: Any = None) -> Any:
        result = ModelRunnerOutput({"a": 0, "b": 1}, self._sample("logits", self.metadata))
        if self.asynchronous is None:
            self._draft_token_ids = self.proposals
            return result
        made = self.asynchronous(model_runner_output=result, async_output_copy_stream="copies")
        self._draft_token_ids = self.proposals
        return made


def runner_v1(
    *,
    ids: Tensor | None = None,
    counts: list[int] | None = None,
    proposals: Any = None,
    asynchronous: bool = False,
) -> Any:
    runner, output = type("GPUModelRunner", (RunnerV1,), {}), type("AsyncGPUModelRunnerOutput", (AsyncOutputV1,), {})
    worker_v1.patch(SimpleNamespace(GPUModelRunner=runner, AsyncGPUModelRunnerOutput=output))
    return runner(ids=ids, counts=counts or [], proposals=proposals, asynchronous=output if asynchronous else None)


def test_v1_notes_what_each_request_verifies_and_how_much_is_drafted_next() -> None:
    runner = runner_v1(ids=Tensor([5, 6, 7, 8], "cpu"), counts=[3, 0, 1], proposals=Tensor([[1, 2]] * 3))
    assert runner.execute_model(wanted_step()) == "executed"
    result = runner.sample_tokens()
    assert seen(result) == {"drafts": {"a": [5, 6, 7], "b": [], "c": [8]}, "width": 2, "graph": "FULL"}


def test_what_was_seen_survives_the_way_to_the_engine() -> None:
    runner = runner_v1(ids=Tensor([5], "cpu"), counts=[1])
    runner.execute_model(wanted_step())
    assert seen(pickle.loads(pickle.dumps(runner.sample_tokens())))["drafts"] == {"a": [5]}  # noqa: S301 - its own


@pytest.mark.parametrize(("proposals", "width"), [(None, None), (Tensor([[], []]), 0), ([[1, 2], [], [3]], 2), ([], 0)])
def test_v1_tells_how_much_the_draft_computed(proposals: Any, width: int | None) -> None:
    runner = runner_v1(proposals=proposals)
    runner.execute_model(wanted_step())
    assert seen(runner.sample_tokens()) == {"drafts": {}, "width": width, "graph": "FULL"}


def test_v1_copies_on_vllms_stream_and_its_event_stands_behind_the_copy() -> None:
    ids = Tensor([5, 6])
    runner = runner_v1(ids=ids, counts=[1, 1], proposals=Tensor([[1]] * 2), asynchronous=True)
    runner.execute_model(wanted_step())
    made = runner.sample_tokens()
    assert ids.recorded == ["copies"]
    assert made.async_copy_ready_event.records == ["copies", "copies"]
    runner.execute_model(wanted_step())  # the next step begins before this one's output is fetched
    assert seen(made.get_output()) == {"drafts": {"a": [5], "b": [6]}, "width": 1, "graph": "FULL"}


def test_v1_needs_no_copy_where_the_ids_are_on_the_host() -> None:
    runner = runner_v1(ids=Tensor([5], "cpu"), counts=[1], asynchronous=True)
    runner.execute_model(wanted_step())
    made = runner.sample_tokens()
    assert made.async_copy_ready_event.records == ["copies"]
    assert seen(made.get_output())["drafts"] == {"a": [5]}


@pytest.mark.parametrize("asynchronous", [False, True])
def test_v1_does_nothing_in_a_step_that_nobody_traces(asynchronous: bool) -> None:
    ids = Tensor([5])
    runner = runner_v1(ids=ids, counts=[1], asynchronous=asynchronous)
    runner.execute_model(wanted_step())
    runner.sample_tokens()
    ids.recorded.clear()
    runner.execute_model(wanted_step(wanted=False))
    made = runner.sample_tokens()
    assert seen(made.get_output() if asynchronous else made) is None
    assert not ids.recorded


def test_v1_passes_on_what_vllm_raises_and_forgets_the_step() -> None:
    runner = runner_v1(ids=Tensor([5], "cpu"), counts=[1])
    runner.execute_model(wanted_step())
    runner.fails = True
    with pytest.raises(MemoryError):
        runner.sample_tokens()
    assert worker_v1._current is None


def test_v1_leaves_results_of_another_kind_alone() -> None:
    class Relay(RunnerV1):
        def sample_tokens(self, grammar_output: Any = None) -> Any:
            return None

    output = type("AsyncGPUModelRunnerOutput", (AsyncOutputV1,), {})
    worker_v1.patch(SimpleNamespace(GPUModelRunner=Relay, AsyncGPUModelRunnerOutput=output))
    runner: Any = Relay(ids=None, counts=[], proposals=None, asynchronous=None)
    runner.execute_model(wanted_step())
    assert runner.sample_tokens() is None


def test_only_the_first_tensor_parallel_rank_looks() -> None:
    sys.modules["vllm.distributed.parallel_state"].group.rank_in_group = 1
    runner = runner_v1(ids=Tensor([5], "cpu"), counts=[1])
    runner.execute_model(wanted_step())
    assert seen(runner.sample_tokens()) is None


@pytest.mark.parametrize("asynchronous", [False, True])
def test_v1_failures_of_the_hook_never_reach_vllm(asynchronous: bool, fresh_fuse: Fuse) -> None:
    runner = runner_v1(ids=Tensor([5, 6], "cpu"), counts=[1], asynchronous=asynchronous)
    runner.input_batch = None
    for _ in range(2):
        runner.execute_model(wanted_step())
        made = runner.sample_tokens()
        result = made.get_output() if asynchronous else made
        assert result.sampled_token_ids == [[1], [2]]
        assert seen(result) is None
    assert len(fresh_fuse.problems) == 1
    assert fresh_fuse.problems[0].startswith("model runner V1: AttributeError")


def test_ids_that_do_not_fit_the_requests_are_not_split_by_guess() -> None:
    step = drafts.Step()
    step.ids, step.requests, step.counts = Tensor([5, 6], "cpu"), ["a", "b"], [1]
    with pytest.raises(ValueError, match="zip"):
        step.as_dict(None)


def test_an_unknown_v1_runner_is_left_as_it_is() -> None:
    class Other(RunnerV1):
        def _sample(self, *args: Any) -> Any:
            return super()._sample(*args)

    before = dict(vars(Other))
    with pytest.raises(Unsupported, match="spec_decode_metadata"):
        worker_v1.patch(SimpleNamespace(GPUModelRunner=Other, AsyncGPUModelRunnerOutput=AsyncOutputV1))
    assert dict(vars(Other)) == before


# Model runner V2


class AsyncOutputV2:
    """AsyncOutput: made before the draft runs, with and without asynchronous scheduling."""

    def __init__(self, model_runner_output: Any, main_stream: Any, copy_stream: Any) -> None:
        self.result = model_runner_output
        self.copy_event = Event()
        self.copy_event.record(copy_stream)

    def get_output(self) -> Any:
        return self.result


class Batch:
    """InputBatch: the first logit of each request is that of the token sampled before."""

    def __init__(self) -> None:
        self.req_ids = ["a", "b"]
        self.num_draft_tokens = 3
        self.input_ids = Tensor([90, 5, 6, 91, 7, 99, 99])
        self.logits_indices = Tensor([0, 1, 2, 3, 4])
        self.cu_num_logits_np = Tensor([0, 3, 5], "cpu")


class RunnerV2:
    """GPUModelRunner of `vllm.v1.worker.gpu`."""

    num_speculative_steps = 3

    def __init__(self, module: Any, output: type, batch: Batch, width: int | None = None) -> None:
        self._module, self._output, self._batch = module, output, batch
        self._width = width
        self.execute_model_state: Any = None
        self.adaptive_verification: Any = None

    def execute_model(self, scheduler_output: Any, intermediate: Any = None) -> None:
        assert scheduler_output is not None
        self._module.dispatch_cg_and_sync_dp("tokens")
        width = {} if self._width is None else {"num_spec_tokens_to_schedule": self._width}
        self.execute_model_state = SimpleNamespace(input_batch=self._batch, **width)

    def sample(self, hidden_states: Any, input_batch: Batch, grammar_output: Any) -> list[list[int]]:
        return [[1], [2]]

    def sample_tokens(self, grammar_output: Any) -> Any:
        state, self.execute_model_state = self.execute_model_state, None
        if state is None:
            return None
        result = ModelRunnerOutput({"a": 0, "b": 1}, self.sample("hidden", state.input_batch, grammar_output))
        return self._output(model_runner_output=result, main_stream="main", copy_stream="copies")


def choose_graph(what: str) -> tuple[Any, None]:
    assert what == "tokens"
    return SimpleNamespace(cg_mode=FULL), None


def runner_v2(batch: Batch | None = None, *, width: int | None = None, graphs: bool = True) -> Any:
    cls, output = type("GPUModelRunner", (RunnerV2,), {}), type("AsyncOutput", (AsyncOutputV2,), {})
    module = SimpleNamespace(GPUModelRunner=cls)
    if graphs:
        module.dispatch_cg_and_sync_dp = choose_graph
    worker_v2.patch_runner(module)
    worker_v2.patch_output(SimpleNamespace(AsyncOutput=output))
    if not graphs:
        module.dispatch_cg_and_sync_dp = lambda _: None
    return cls(module, output, batch or Batch(), width)


def test_v2_notes_what_each_request_verifies_behind_the_token_sampled_before() -> None:
    runner = runner_v2(width=2)
    runner.execute_model(wanted_step())
    made = runner.sample_tokens(None)
    assert seen(made.get_output()) == {"drafts": {"a": [5, 6], "b": [7]}, "width": 2, "graph": "FULL"}


def test_v2_copies_on_vllms_stream_and_its_event_stands_behind_the_copy() -> None:
    runner = runner_v2()
    runner.execute_model(wanted_step())
    made = runner.sample_tokens(None)
    assert made.copy_event.records == ["copies", "copies"]
    runner.execute_model(wanted_step(wanted=False))
    assert seen(made.get_output())["drafts"]["a"] == [5, 6]
    assert seen(runner.sample_tokens(None).get_output()) is None


@pytest.mark.parametrize(("width", "told"), [(None, 3), (0, 0), (1, 1)])
def test_v2_tells_how_much_the_draft_computes(width: int | None, told: int) -> None:
    runner = runner_v2(width=width)
    runner.execute_model(wanted_step())
    assert seen(runner.sample_tokens(None).get_output())["width"] == told


def test_v2_in_a_step_without_proposals_copies_nothing() -> None:
    batch = Batch()
    batch.num_draft_tokens = 0
    runner = runner_v2(batch)
    runner.execute_model(wanted_step())
    made = runner.sample_tokens(None)
    assert made.copy_event.records == ["copies"]
    assert seen(made.get_output()) == {"drafts": {}, "width": 3, "graph": "FULL"}


def test_v2_does_not_split_ids_where_only_the_device_knows_whose_they_are() -> None:
    runner = runner_v2()
    runner.adaptive_verification = object()
    runner.execute_model(wanted_step())
    assert seen(runner.sample_tokens(None).get_output())["drafts"] == {}


def test_v2_without_a_function_that_chooses_graphs_does_not_know_the_mode() -> None:
    runner = runner_v2(graphs=False)
    runner.execute_model(wanted_step())
    assert seen(runner.sample_tokens(None).get_output())["graph"] is None


def test_v2_leaves_a_step_without_a_result_alone() -> None:
    runner = runner_v2()
    runner.execute_model(wanted_step())
    runner.execute_model_state = None
    assert runner.sample_tokens(None) is None


def test_v2_failures_of_the_hook_never_reach_vllm(fresh_fuse: Fuse) -> None:
    batch = Batch()
    batch.cu_num_logits_np = None  # type: ignore[assignment]
    runner = runner_v2(batch)
    for _ in range(2):
        runner.execute_model(wanted_step())
        assert runner.sample_tokens(None).get_output().sampled_token_ids == [[1], [2]]
    assert len(fresh_fuse.problems) == 1
    assert fresh_fuse.problems[0].startswith("model runner V2: AttributeError")


def test_an_unknown_v2_is_left_as_it_is() -> None:
    class Other(RunnerV2):
        def sample(self, *args: Any) -> Any:
            return super().sample(*args)

    before = dict(vars(Other))
    with pytest.raises(Unsupported, match="hidden_states"):
        worker_v2.patch_runner(SimpleNamespace(GPUModelRunner=Other))
    assert dict(vars(Other)) == before
    with pytest.raises(Unsupported, match="get_output"):
        worker_v2.patch_output(SimpleNamespace(AsyncOutput=SimpleNamespace(__name__="AsyncOutput")))
