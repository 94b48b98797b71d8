"""Common to both model runners: which ids the draft proposed for a step, copied off the device without a wait."""

from typing import Any

from specchat_vllm.scheduler import SEEN, WANTED

_NOTE = "specchat_step"
"""On a model runner: the Step that it works on, or None."""


class Step:
    """What a worker sees of one step."""

    __slots__ = ("counts", "graph", "ids", "requests", "skip_first")

    def __init__(self) -> None:
        self.ids: Any = None
        """Device tensor, 1-D; None where nothing was proposed."""
        self.counts: list[int] = []
        """How many of the ids belong to each request."""
        self.requests: list[str] = []
        self.skip_first = False
        """Does each request's run begin with the token that was sampled before?"""
        self.graph: str | None = None

    def copied(self) -> "Step":
        """Start to copy the ids to the host, on the current stream."""
        if self.ids is not None:
            self.ids = self.ids.to("cpu", non_blocking=True)
        return self

    def as_dict(self, width: int | None) -> dict[str, Any]:
        """Plain data for the engine; the copy must have ended."""
        drafts: dict[str, list[int]] = {}
        if self.ids is not None:
            ids, at = self.ids.tolist(), 0
            for request_id, count in zip(self.requests, self.counts, strict=True):
                run = ids[at : at + count]
                drafts[request_id] = run[1:] if self.skip_first else run
                at += count
        return {"drafts": drafts, "width": width, "graph": self.graph}


def begin(runner: Any, scheduler_output: Any) -> None:
    """A runner takes up a step."""
    wanted = getattr(scheduler_output, WANTED, False) and is_output_rank()
    setattr(runner, _NOTE, Step() if wanted else None)


def step_of(runner: Any) -> Step | None:
    """The step that a runner works on, if anybody wants to know of it."""
    found: Step | None = runner.__dict__.get(_NOTE)
    return found


def attach(output: Any, step: Step, width: int | None) -> None:
    """Put what was seen on a ModelRunnerOutput, which is pickled to the engine with all its attributes."""
    setattr(output, SEEN, step.as_dict(width))


def is_output_rank() -> bool:
    """Does this worker's output reach the engine? vLLM takes that of tensor-parallel rank 0 alone."""
    from vllm.distributed.parallel_state import get_tp_group

    return bool(get_tp_group().rank_in_group == 0)
