# ruff: noqa: ANN401 - stand-ins for objects of vLLM, which is not here
"""What the hook touches of vLLM, without vLLM: a scheduler, a front end, tensors and streams.

They do what vLLM does where the hook depends on it: the scheduler cuts sampled ids in place and forgets what has
ended, asynchronous requests share one list of placeholders, outputs are copied on a stream of their own.
"""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

KEY = "k" * 32
OTHER_KEY = "o" * 32


def install(name: str, **names: object) -> ModuleType:
    """Put a module among the imported ones, with its parents; the caller takes it out again."""
    parent, _, last = name.rpartition(".")
    module = sys.modules.get(name) or ModuleType(name)
    module.__path__ = []
    module.__dict__.update(names)
    sys.modules[name] = module
    if parent:
        setattr(sys.modules.get(parent) or install(parent), last, module)
    return module


@dataclass
class Params:
    """SamplingParams."""

    extra_args: Any = None


@dataclass
class Request:
    """A request, as the scheduler has it."""

    request_id: str
    sampling_params: Params | None = None
    max_tokens: int = 100
    client_index: int = 0
    spec_token_ids: list[int] = field(default_factory=list)
    trace_headers: dict[str, str] | None = None
    emitted: int = 0


def asking(name: str, *, key: str | None = KEY, k: object = None, **fields: Any) -> Request:
    """A request that asks something of the hook."""
    asked: dict[str, object] = {} if key is None else {"specchat_trace": key}
    return Request(name, Params(asked if k is None else asked | {"specchat_k": k}), **fields)


@dataclass
class SchedulerOutput:
    """What a step is to do."""

    num_scheduled_tokens: dict[str, int]
    scheduled_spec_decode_tokens: dict[str, list[int]] = field(default_factory=dict)
    scheduled_new_reqs: list[Any] = field(default_factory=list)
    scheduled_cached_reqs: Any = field(default_factory=lambda: SimpleNamespace(resumed_req_ids=set()))
    num_invalid_spec_tokens: dict[str, int] | None = None
    num_spec_tokens_to_schedule: int = 3


@dataclass
class ModelRunnerOutput:
    """What a step has sampled."""

    req_id_to_index: dict[str, int]
    sampled_token_ids: list[list[int]]


@dataclass
class Output:
    """EngineCoreOutput."""

    request_id: str
    new_token_ids: list[int]
    finish_reason: Any = None
    trace_headers: dict[str, str] | None = None


def sampled(**ids: list[int]) -> ModelRunnerOutput:
    """What a step has sampled for each request."""
    return ModelRunnerOutput({name: index for index, name in enumerate(ids)}, [list(one) for one in ids.values()])


def config(*, k: int = 3, method: str = "eagle3", data_parallel: int = 1, asynchronous: bool = False) -> Any:
    """VllmConfig; no speculation if k is 0."""
    return SimpleNamespace(
        speculative_config=SimpleNamespace(num_speculative_tokens=k, method=method) if k else None,
        scheduler_config=SimpleNamespace(async_scheduling=asynchronous),
        parallel_config=SimpleNamespace(data_parallel_size=data_parallel, tensor_parallel_size=1),
    )


class Scheduler:
    """Runs all its requests in every step."""

    def __init__(self, vllm_config: Any = None) -> None:
        self.vllm_config = vllm_config or config()
        self.requests: dict[str, Request] = {}
        speculative = self.vllm_config.speculative_config
        self._k = 0 if speculative is None else speculative.num_speculative_tokens
        self._asynchronous = self.vllm_config.scheduler_config.async_scheduling
        self.calls: list[str] = []

    def add_request(self, request: Request) -> str:
        self.requests[request.request_id] = request
        return "added"

    def schedule(self) -> SchedulerOutput:
        drafts = {name: list(one.spec_token_ids) for name, one in self.requests.items() if one.spec_token_ids}
        output = SchedulerOutput(
            {name: 1 + len(drafts.get(name, ())) for name in self.requests},
            drafts,
            scheduled_new_reqs=[SimpleNamespace(req_id=name) for name, one in self.requests.items() if not one.emitted],
            num_spec_tokens_to_schedule=self._k,
        )
        placeholders = [-1] * self._k
        for request in self.requests.values():
            request.spec_token_ids = placeholders if self._asynchronous else []
        return output

    def update_draft_token_ids(self, draft_token_ids: dict[str, list[int]]) -> None:
        for name, ids in draft_token_ids.items():
            self.requests[name].spec_token_ids = ids

    def update_from_output(
        self, scheduler_output: SchedulerOutput, model_runner_output: ModelRunnerOutput
    ) -> dict[int, Any]:
        result: dict[int, Any] = {}
        for name in scheduler_output.num_scheduled_tokens:
            request = self.requests.get(name)
            ids = model_runner_output.sampled_token_ids
            new = ids[model_runner_output.req_id_to_index[name]] if ids else []
            if request is None or not new:
                continue
            del new[request.max_tokens - request.emitted :]
            request.emitted += len(new)
            ended = request.emitted >= request.max_tokens
            if ended:
                del self.requests[name]
            outputs = result.setdefault(request.client_index, SimpleNamespace(outputs=[]))
            outputs.outputs.append(Output(name, new, "length" if ended else None, request.trace_headers))
        return result


@dataclass
class Processed:
    """OutputProcessorOutput."""

    reqs_to_abort: list[str]


class OutputProcessor:
    """The front end: ends a request at a stop string, here an id that the test names."""

    def __init__(self, *request_ids: str) -> None:
        self.request_states: dict[str, object] = dict.fromkeys(request_ids)
        self.stop_string_ids: set[int] = set()
        self.seen: list[dict[str, str] | None] = []

    def process_outputs(self, engine_core_outputs: list[Output]) -> Processed:
        stopped = []
        for output in engine_core_outputs:
            self.seen.append(output.trace_headers)
            if output.request_id in self.request_states:
                if output.finish_reason is None and self.stop_string_ids & set(output.new_token_ids):
                    stopped.append(output.request_id)
                if output.finish_reason is not None or output.request_id in stopped:
                    del self.request_states[output.request_id]
        return Processed(stopped)

    def abort_requests(self, request_ids: Iterable[str]) -> list[str]:
        return [name for name in request_ids if self.request_states.pop(name, self) is not self]


class Tensor:
    """A tensor of one or two dimensions; to read one on a device would make the program wait, so it fails."""

    def __init__(self, values: list[Any], device: str = "cuda") -> None:
        self._values = values
        self.device = SimpleNamespace(type=device)
        self.recorded: list[object] = []

    @property
    def shape(self) -> tuple[int, ...]:
        return (len(self._values), len(self._values[0]) if self._values else 0)

    def to(self, device: str, *, non_blocking: bool) -> "Tensor":
        assert non_blocking
        return Tensor(self._values, device)

    def tolist(self) -> list[Any]:
        assert self.device.type == "cpu", "the program waits for the device"
        return list(self._values)

    def record_stream(self, stream: object) -> None:
        self.recorded.append(stream)

    def __getitem__(self, indices: "Tensor") -> "Tensor":
        return Tensor([self._values[i] for i in indices._values], self.device.type)


class Event:
    """Remembers what it stands behind."""

    def __init__(self) -> None:
        self.records: list[object] = []

    def record(self, stream: object = None) -> None:
        self.records.append(stream or _current[-1])


_current: list[object] = ["main"]


@contextmanager
def stream(used: object) -> Iterator[None]:
    """torch.cuda.stream."""
    _current.append(used)
    try:
        yield
    finally:
        _current.pop()
