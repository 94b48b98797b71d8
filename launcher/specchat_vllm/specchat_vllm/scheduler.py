"""In the scheduler: cuts proposals down to what a request asks for, and writes a row of its trace for each step.

The rows leave on the request's own output, in `EngineCoreOutput.trace_headers`, which vLLM reads only where requests
are traced with OpenTelemetry: so they need no channel, no thread and no memory here, and cannot overtake a token.
"""

import json
import time
from typing import Any, NamedTuple

from specchat_vllm.asked import asked_of
from specchat_vllm.fuse import guarded, need, need_parameters

PART = "the scheduler"
HEADER = "specchat"
"""Name of the header that carries rows, on the first traced output of a step: a JSON list of the step's time in
seconds, its draft width and graph mode, and a list of rows; see `rows.Row`."""
WANTED = "specchat_wanted"
"""On a SchedulerOutput: is anybody in this step traced?"""
SEEN = "specchat_seen"
"""On a ModelRunnerOutput: what the worker saw, a dict of `drafts`, `width` and `graph`."""
_STATES = "specchat_requests"
_TAKE_A_WIDTH = {"eagle", "eagle3", "mtp", "draft_model", "ngram"}
"""Methods whose proposers compute as many tokens as a step asks for, in every version that has such steps."""

KEY, NUMBER, EMITTED = 1, 2, 7
"""Where a row has what is known only when it is written."""


class _Step(NamedTuple):
    """One step, as far as it is known before vLLM takes it in."""

    rows: dict[str, list[Any]]
    width: int | None
    graph: str | None


class _Request:
    """One request that asks for something."""

    __slots__ = ("key", "limit", "rows")

    def __init__(self, key: str | None, limit: int | None) -> None:
        self.key = key
        self.limit = limit
        self.rows = 0


def patch(module: Any) -> None:
    """Wrap four methods of `Scheduler`."""
    cls = module.Scheduler
    need(cls, "schedule", "update_from_output", "update_draft_token_ids", "add_request")
    need_parameters(cls.update_from_output, "scheduler_output", "model_runner_output")
    _check_output()
    schedule, update = cls.schedule, cls.update_from_output
    take_drafts, add_request = cls.update_draft_token_ids, cls.add_request

    def wrapped_add(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        result = add_request(self, request, *args, **kwargs)
        guarded(PART, _note_request, self, request)
        return result

    def wrapped_schedule(self: Any, *args: Any, **kwargs: Any) -> Any:
        output = schedule(self, *args, **kwargs)
        if self.__dict__.get(_STATES):
            guarded(PART, _limit, self, output)
        return output

    def wrapped_drafts(self: Any, draft_token_ids: Any, *args: Any, **kwargs: Any) -> Any:
        result = take_drafts(self, draft_token_ids, *args, **kwargs)
        if states := self.__dict__.get(_STATES):
            guarded(PART, _cut, self, states, states)
        return result

    def wrapped_update(self: Any, scheduler_output: Any, model_runner_output: Any, *args: Any, **kwargs: Any) -> Any:
        if not self.__dict__.get(_STATES):
            return update(self, scheduler_output, model_runner_output, *args, **kwargs)
        # Before the call: it cuts the sampled ids in place where a request ends, and forgets finished requests.
        step = guarded(PART, _read_step, self, scheduler_output, model_runner_output)
        result = update(self, scheduler_output, model_runner_output, *args, **kwargs)
        guarded(PART, _write_rows, self, step, result)
        return result

    cls.add_request, cls.schedule = wrapped_add, wrapped_schedule
    cls.update_draft_token_ids, cls.update_from_output = wrapped_drafts, wrapped_update


def _check_output() -> None:
    from vllm.v1.engine import EngineCoreOutput

    need(EngineCoreOutput, "trace_headers", "new_token_ids", "finish_reason", "request_id")


def _note_request(scheduler: Any, request: Any) -> None:
    asked = asked_of(getattr(getattr(request, "sampling_params", None), "extra_args", None))
    if asked is not None:
        scheduler.__dict__.setdefault(_STATES, {})[request.request_id] = _Request(asked.key, asked.limit)


def _limit(scheduler: Any, output: Any) -> None:
    """Cut what is proposed for the next step, and tell the worker whether anybody wants to know."""
    states: dict[str, _Request] = scheduler.__dict__[_STATES]
    for request_id in [one for one in states if one not in scheduler.requests]:
        del states[request_id]
    here = [one for one in output.num_scheduled_tokens if one in states]
    if any(states[one].key is not None for one in here):
        setattr(output, WANTED, True)
    if not any(states[one].limit is not None for one in here):
        return
    _cut(scheduler, states, here)
    k = getattr(output, "num_spec_tokens_to_schedule", None)
    if k and len(here) == len(output.num_scheduled_tokens) and takes_a_width(scheduler.vllm_config):
        # All that run want less: the draft needs to compute no more than the most that one of them wants. With 0 it
        # still runs once, which fills its KV cache; without that, later proposals would be worse.
        most = max(k if (limit := states[one].limit) is None else limit for one in here)
        output.num_spec_tokens_to_schedule = min(k, most)


def takes_a_width(config: Any) -> bool:
    """May a step's draft compute fewer proposals than the server's k? The conditions of vLLM's own dynamic k.

    Args:
        config: vLLM's configuration.
    """
    # Data-parallel ranks that run different numbers of draft forwards would wait for each other for ever.
    return config.parallel_config.data_parallel_size == 1 and config.speculative_config.method in _TAKE_A_WIDTH


def _cut(scheduler: Any, states: dict[str, _Request], here: Any) -> None:
    for request_id in here:
        limit, request = states[request_id].limit, scheduler.requests.get(request_id)
        if limit is not None and request is not None and len(request.spec_token_ids) > limit:
            # A new list: with async scheduling all requests share one of placeholders.
            request.spec_token_ids = request.spec_token_ids[:limit]


def _read_step(scheduler: Any, scheduler_output: Any, model_runner_output: Any) -> _Step | None:
    """What is known of this step before vLLM takes it in; None if nobody in it is traced."""
    states: dict[str, _Request] = scheduler.__dict__[_STATES]
    sampled, index = model_runner_output.sampled_token_ids, model_runner_output.req_id_to_index
    if not sampled:
        return None
    seen = getattr(model_runner_output, SEEN, None) or {}
    drafts = seen.get("drafts") or {}
    invalid = getattr(scheduler_output, "num_invalid_spec_tokens", None) or {}
    scheduled_tokens = scheduler_output.num_scheduled_tokens
    scheduled_drafts = scheduler_output.scheduled_spec_decode_tokens
    joined: set[str] | None = None
    rows: dict[str, list[Any]] = {}
    for request_id, state in states.items():
        if state.key is None or request_id not in scheduled_tokens:
            continue
        got = len(sampled[index[request_id]])
        if not got:
            continue  # a part of the prompt
        scheduled = scheduled_drafts.get(request_id) or ()
        drafted, padded = len(scheduled) - invalid.get(request_id, 0), 0
        if drafted:
            joined = _from_the_queue(scheduler_output) if joined is None else joined
            if request_id in joined:
                # vLLM fills up one that joins with one token to the shape of the others: nobody proposed that.
                padded, drafted = drafted, max(0, got - 1)
        proposed = _proposed(drafts.get(request_id), scheduled, drafted)
        rows[request_id] = [request_id, "", 0, drafted, min(got - 1, drafted), proposed, padded, ()]
    return _Step(rows, seen.get("width"), seen.get("graph")) if rows else None


def _from_the_queue(scheduler_output: Any) -> set[str]:
    """Requests that joined in this step: new, or resumed after they were preempted."""
    cached = scheduler_output.scheduled_cached_reqs
    return {new.req_id for new in scheduler_output.scheduled_new_reqs} | set(getattr(cached, "resumed_req_ids", ()))


def _proposed(worker: Any, scheduled: Any, drafted: int) -> list[int] | None:
    """The worker's record, else the scheduler's, which holds placeholders with async scheduling; None if neither."""
    if not drafted:
        return []
    for ids in (worker, scheduled):
        if ids is not None and len(ids) >= drafted and all(one >= 0 for one in ids[:drafted]):
            return [int(one) for one in ids[:drafted]]
    return None


def _write_rows(scheduler: Any, step: _Step | None, result: Any) -> None:
    """Put the rows on their outputs; a step without an output gave the reply nothing and has no row."""
    if step is None:
        return
    states: dict[str, _Request] = scheduler.__dict__[_STATES]
    now = round(time.monotonic(), 6)
    for outputs in result.values():  # one for each front end
        first, rows = None, []
        for output in outputs.outputs:
            row = step.rows.get(output.request_id)
            if row is None or not output.new_token_ids:
                continue
            state = states[output.request_id]
            row[KEY], row[NUMBER] = "" if state.rows else state.key, state.rows
            row[EMITTED] = output.new_token_ids
            state.rows += 1
            rows.append(row)
            first = output if first is None else first
        if first is not None:
            text = json.dumps([now, step.width, step.graph, rows], separators=(",", ":"))
            first.trace_headers = {**(first.trace_headers or {}), HEADER: text}
