"""Keeps a record of its own of what the draft proposed, and counts forwards, in each process of an engine under test.

Python runs it at their start. It shares no code with the hook and looks at another place: what the proposer returns at
the end of a step, where the hook looks at what the next step verifies. Settings come from the environment:

- WITNESS_FILE: lines of JSON are appended here, one a step: `requests`, `drafts` (rows of ids), `target` and `draft`
  (forwards so far).
- WITNESS_ASYNC: asynchronous scheduling is forced, which vLLM switches off on a CPU.
- WITNESS_COST: a folder; each process writes there how often the hook's functions ran and for how many seconds of
  processor time.
- WITNESS_DOCTOR: makes this vLLM an unknown version: `module:class:method` loses the names of its parameters before
  the hook looks.
"""

import contextlib
import importlib.util
import json
import os
import sys
import time
from importlib.abc import MetaPathFinder

_RUNNER = "vllm.v1.worker.gpu_model_runner"
_RUNNER_V2 = "vllm.v1.worker.gpu.model_runner"
_PLATFORM = "vllm.platforms.cpu"


class _After(MetaPathFinder):
    def __init__(self, actions):
        self.actions = actions
        self.asking = False

    def find_spec(self, fullname, path=None, target=None):
        if fullname not in self.actions or self.asking:
            return None
        self.asking = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self.asking = False
        run, act = spec.loader.exec_module, self.actions.pop(fullname)

        def exec_module(module):
            run(module)
            act(module)

        spec.loader.exec_module = exec_module
        return spec


def _doctor(cls, method):
    original = getattr(cls, method)

    def other(self, *args, **kwargs):
        return original(self, *args, **kwargs)

    setattr(cls, method, other)


def _watch(module):
    runner = module.GPUModelRunner
    propose, forward = runner.propose_draft_token_ids, runner._model_forward
    counts = {"target": 0, "draft": 0}
    counted = []
    path = os.environ["WITNESS_FILE"]

    def model_forward(self, *args, **kwargs):
        counts["target"] += 1
        return forward(self, *args, **kwargs)

    def propose_draft_token_ids(self, *args, **kwargs):
        if not counted:
            counted.append(True)
            self.drafter.model.register_forward_pre_hook(lambda *_: counts.update(draft=counts["draft"] + 1))
        drafts = propose(self, *args, **kwargs)
        rows = drafts.tolist() if hasattr(drafts, "tolist") else drafts
        line = {"requests": list(self.input_batch.req_ids), "drafts": rows, **counts}
        with open(path, "a", encoding="ascii") as file:
            file.write(json.dumps(line) + "\n")
        return drafts

    runner._model_forward = model_forward
    runner.propose_draft_token_ids = propose_draft_token_ids


def _watch_v2(module):
    runner = module.GPUModelRunner
    sample_tokens = runner.sample_tokens
    path = os.environ["WITNESS_FILE"]

    def wrapped(self, *args, **kwargs):
        batch = None if self.execute_model_state is None else self.execute_model_state.input_batch
        result = sample_tokens(self, *args, **kwargs)
        if batch is not None and self.speculator is not None:
            drafts = self.req_states.draft_tokens[batch.idx_mapping].tolist()
            with open(path, "a", encoding="ascii") as file:
                file.write(
                    json.dumps({"requests": list(batch.req_ids), "drafts": drafts, "target": 0, "draft": 0}) + "\n"
                )
        return result

    runner.sample_tokens = wrapped


_COSTS: dict[str, list[float]] = {}


def _clocked(work, name):
    costs = _COSTS.setdefault(name, [0, 0.0])

    def clocked(*args, **kwargs):
        began = time.thread_time()
        try:
            return work(*args, **kwargs)
        finally:
            costs[0] += 1
            costs[1] += time.thread_time() - began
            if costs[0] % 20 == 0:
                with open(f"{os.environ['WITNESS_COST']}/{os.getpid()}.json", "w") as file:
                    json.dump(_COSTS, file)

    return clocked


def _clock_guarded(module):
    guarded = module.guarded
    known = {}

    def clocked(part, work, *args):
        name = f"{part}: {work.__name__}"
        if name not in known:
            known[name] = _clocked(guarded, name)
        return known[name](part, work, *args)

    module.guarded = clocked


def _clock_lines(module):
    module._line = _clocked(module._line, "the routes: _line")


def _force_async(module):
    import torch

    cls = module.CpuPlatform
    check = cls.check_and_update_config.__func__

    def check_and_update_config(klass, vllm_config):
        check(klass, vllm_config)
        vllm_config.scheduler_config.async_scheduling = True

    cls.check_and_update_config = classmethod(check_and_update_config)

    class Event:
        def __init__(self, *args, **kwargs):
            pass

        def record(self, *args):
            pass

        def synchronize(self):
            pass

        def query(self):
            return True

    class Stream:
        def __init__(self, *args, **kwargs):
            self.device = torch.device("cpu")

        def wait_stream(self, other):
            pass

        def wait_event(self, event):
            pass

        def synchronize(self):
            pass

    torch.cuda.Event = torch.Event = Event
    torch.cuda.Stream = Stream
    torch.cuda.current_stream = lambda *_: Stream()
    torch.cuda.stream = lambda *_: contextlib.nullcontext()


def _start():
    actions = {}
    if "WITNESS_FILE" in os.environ:
        actions[_RUNNER] = _watch
        actions[_RUNNER_V2] = _watch_v2
    if "WITNESS_ASYNC" in os.environ:
        actions[_PLATFORM] = _force_async
    if "WITNESS_COST" in os.environ:
        actions["specchat_vllm.fuse"] = _clock_guarded
        actions["specchat_vllm.reading"] = _clock_lines
    if doctored := os.environ.get("WITNESS_DOCTOR"):
        name, cls, method = doctored.split(":")
        actions[name] = lambda module: _doctor(getattr(module, cls), method)
    if actions:
        sys.meta_path.insert(0, _After(actions))


_start()
