"""In the API server: takes the rows off the outputs that carry them, and notes how each request ended."""

import time
from typing import Any

from specchat_vllm.fuse import guarded, need, need_parameters
from specchat_vllm.hub import Hub
from specchat_vllm.rows import rows_of
from specchat_vllm.scheduler import HEADER

PART = "the front end"
HUB = Hub(time.monotonic)
"""The traces of this process."""


def patch(module: Any) -> None:
    """Wrap two methods of `OutputProcessor`."""
    cls = module.OutputProcessor
    need(cls, "process_outputs", "abort_requests")
    need_parameters(cls.process_outputs, "engine_core_outputs")
    process, abort = cls.process_outputs, cls.abort_requests

    def process_outputs(self: Any, engine_core_outputs: Any, *args: Any, **kwargs: Any) -> Any:
        traced = guarded(PART, _take, self, engine_core_outputs) if HUB.open else None
        result = process(self, engine_core_outputs, *args, **kwargs)
        if traced:
            guarded(PART, _end, traced, result)
        return result

    def abort_requests(self: Any, *args: Any, **kwargs: Any) -> Any:
        aborted = abort(self, *args, **kwargs)
        if HUB.open:
            guarded(PART, _abort, aborted)
        return aborted

    cls.process_outputs, cls.abort_requests = process_outputs, abort_requests


def _take(processor: Any, outputs: Any) -> list[Any]:
    """Keep the rows; returns the outputs of traced requests."""
    running = processor.request_states
    for output in outputs:
        headers = output.trace_headers
        if headers and HEADER in headers:
            output.trace_headers = {name: value for name, value in headers.items() if name != HEADER} or None
            for row in rows_of(headers[HEADER]):
                if row.request_id in running:
                    HUB.add(row)
                else:  # aborted before its first row came: a trace that began now would have no end
                    HUB.late += 1
    return [output for output in outputs if HUB.has_request(output.request_id)] if HUB.is_tracing else []


def _end(traced: list[Any], result: Any) -> None:
    """The engine ends a request by itself; at a stop string it is this process that does, and tells the engine."""
    stopped = set(result.reqs_to_abort)
    for output in traced:
        if output.request_id in stopped:
            HUB.end(output.request_id, "stop_string")
        elif output.finish_reason is not None:
            HUB.end(output.request_id, getattr(output.finish_reason, "name", str(output.finish_reason)).lower())


def _abort(request_ids: Any) -> None:
    for request_id in request_ids:
        HUB.end(request_id, "abort")
