# ruff: noqa: ANN401 - stand-ins for objects of vLLM, which is not here
"""The front end takes the rows off the outputs, and notes how each request ended."""

import json
from enum import IntEnum
from types import SimpleNamespace
from typing import Any

import pytest

import fake_vllm
from fake_vllm import KEY, Output
from specchat_vllm import front
from specchat_vllm.fuse import Fuse, Unsupported
from specchat_vllm.hub import Hub, Trace
from specchat_vllm.scheduler import HEADER


class FinishReason(IntEnum):
    STOP = 0
    LENGTH = 1


def patched(*request_ids: str) -> Any:
    """A front end with the hook, and requests that run."""
    cls = type("OutputProcessor", (fake_vllm.OutputProcessor,), {})
    front.patch(SimpleNamespace(OutputProcessor=cls))
    return cls(*request_ids)


def header(*rows: tuple[str, int]) -> dict[str, str]:
    told = [[name, KEY if not number else "", number, 0, 0, [], 0, [7]] for name, number in rows]
    return {HEADER: json.dumps([1.5, 3, "FULL", told])}


def output(name: str, *numbers: int, **fields: Any) -> Output:
    fields.setdefault("trace_headers", header(*((name, number) for number in numbers)) if numbers else None)
    return Output(name, [7], **fields)


def trace_of(hub: Hub) -> Trace:
    trace = hub.reader_of(KEY)
    assert trace is not None
    return trace


def test_rows_are_kept_and_taken_off_the_output(hub: Hub) -> None:
    processor = patched("a", "b")
    mixed = output("b", trace_headers={"traceparent": "kept", **header(("a", 0), ("a", 1))})
    processor.process_outputs([output("a"), mixed])
    assert trace_of(hub).next == 2
    assert processor.seen == [None, {"traceparent": "kept"}]


def test_without_a_route_nothing_is_kept(hub: Hub) -> None:
    hub.open = False
    processor = patched("a")
    processor.process_outputs([output("a", 0)])
    processor.abort_requests(["a"])
    assert len(hub) == 0
    assert HEADER in processor.seen[0]


@pytest.mark.parametrize(
    ("reason", "end"), [(FinishReason.STOP, "stop"), (FinishReason.LENGTH, "length"), ("Length", "length")]
)
def test_the_engine_says_how_a_request_ended(hub: Hub, reason: object, end: str) -> None:
    patched("a").process_outputs([output("a", 0, finish_reason=reason)])
    assert trace_of(hub).end == end


def test_a_stop_string_ends_a_request_here_and_what_the_engine_still_does_for_it_is_late(hub: Hub) -> None:
    processor = patched("a")
    processor.stop_string_ids = {7}
    processor.process_outputs([output("a", 0)])
    processor.process_outputs([output("a", 1)])
    processor.process_outputs([output("a", 2, finish_reason=FinishReason.STOP)])
    trace = trace_of(hub)
    assert (trace.end, trace.next, hub.late) == ("stop_string", 1, 2)


def test_an_abort_ends_a_trace(hub: Hub) -> None:
    processor = patched("a", "b")
    processor.process_outputs([output("a", 0)])
    assert processor.abort_requests(["a", "unknown"]) == ["a"]
    assert trace_of(hub).end == "abort"


def test_a_request_that_is_aborted_before_its_first_row_comes_leaves_no_trace_that_never_ends(hub: Hub) -> None:
    processor = patched("a")
    processor.abort_requests(["a"])
    processor.process_outputs([output("a", 0)])
    assert not hub.is_tracing
    assert len(hub) == 0
    assert hub.late == 1


def test_a_failure_of_the_hook_never_reaches_vllm(hub: Hub, fresh_fuse: Fuse) -> None:
    processor = patched("a")
    broken = output("a", trace_headers={HEADER: "not JSON"})
    assert processor.process_outputs([broken]).reqs_to_abort == []
    assert processor.process_outputs([output("a", 0)]).reqs_to_abort == []
    assert processor.abort_requests(["a"]) == ["a"]
    assert len(hub) == 0
    assert fresh_fuse.problems[0].startswith("the front end: JSONDecodeError")


def test_an_unknown_front_end_is_left_as_it_is() -> None:
    with pytest.raises(Unsupported, match="abort_requests"):
        front.patch(SimpleNamespace(OutputProcessor=SimpleNamespace(process_outputs=None)))
