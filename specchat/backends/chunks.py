"""One decoded JSON chunk of a chat stream to core events. Knows no HTTP, no clock, and trusts no type."""

from specchat.backends.deltas import DeltaReader
from specchat.backends.error_body import ErrorBody, message_in, read_error_value
from specchat.backends.json_reading import a_dict, a_float, a_list, a_text, an_int, first_text, ints
from specchat.core.events import (
    ChunkArrived,
    Event,
    NoteAdded,
    ReplyIdentified,
    ServerTimingReported,
    SpeculationReported,
    UsageReported,
)
from specchat.core.harmless import one_line

_FAILED_FINISHES = {"error", "abort", "aborted", "failed", "cancelled", "canceled"}
_FAILED_FINISHES |= {"network_error", "insufficient_system_resource"}


class ChunkReader:
    """Reads the chunks of one reply in order.

    Attributes:
        finish_reason: The first one that came.
        failure: An error that the stream itself reported, once one came.
        seen: Has anything come that a chat stream consists of?
    """

    def __init__(self) -> None:
        self._deltas = DeltaReader()
        self._identified = ReplyIdentified()
        self._others_noted = False
        self._failed_finish: ErrorBody | None = None
        self.finish_reason: str | None = None
        self.stop_reason: str | int | None = None
        self.failure: ErrorBody | None = None
        self.seen = False
        self.spoke = False
        """Has text, a token id or a tool call come?"""
        self.has_text = False
        """Has text or a tool call come?"""
        self.tokens = 0
        """Ids that came."""
        self.has_ids = False
        self.reported = False
        """Did the server send its own account of the speculation?"""
        self.usage: UsageReported | None = None
        self.first_prompt_id: int | None = None
        """The prompt's first token, which is mostly a special one."""

    def read(self, chunk: object, at: float, *, marked_as_error: bool = False) -> list[Event]:
        """Read a chunk.

        Args:
            chunk: What the JSON held; an array is read as several chunks.
            at: When its bytes were received.
            marked_as_error: Did the event's type say that this is an error?
        """
        if isinstance(chunk, list):
            return [event for item in chunk for event in self.read(item, at, marked_as_error=marked_as_error)]
        events: list[Event] = []
        if isinstance(chunk, dict):
            self._identify(chunk, events)
            self._read_choices(chunk, at, events)
            self._read_reports(chunk, events)
        elif not marked_as_error:
            return []
        if self.failure is None:
            # What an error object says tells more than a finish reason does.
            self.failure = _failure_in(chunk, marked_as_error=marked_as_error) or self._failed_finish
        return events

    def flush(self, at: float) -> list[Event]:
        """What had to wait for a next chunk, once there is none."""
        spans = self._deltas.flush()
        return [ChunkArrived(at, spans)] if spans else []

    def _identify(self, chunk: dict[str, object], events: list[Event]) -> None:
        known = self._identified
        named = ReplyIdentified(known.request_id or a_text(chunk.get("id")), known.model or a_text(chunk.get("model")))
        if named != known:
            self._identified = named
            events.append(named)

    def _read_choices(self, chunk: dict[str, object], at: float, events: list[Event]) -> None:
        for item in a_list(chunk.get("choices")):
            choice = a_dict(item)
            if an_int(choice.get("index")) not in {None, 0}:
                if not self._others_noted:
                    self._others_noted = True
                    events.append(NoteAdded("the server sent more than one reply; only the first is shown"))
                continue
            self.seen = self.seen or bool(choice)
            event = self._read_choice(choice, at)
            if event is not None:
                events.append(event)

    def _read_choice(self, choice: dict[str, object], at: float) -> ChunkArrived | None:
        ids = ints(choice.get("token_ids"))
        spans, tool_calls = self._deltas.spans(choice), self._deltas.tool_calls(choice)
        finish = self._finish(choice)
        stop = choice.get("stop_reason")
        stop_reason = stop if isinstance(stop, str | int) and not isinstance(stop, bool) and stop != "" else None
        self.stop_reason = stop_reason if self.stop_reason is None else self.stop_reason
        self.tokens += len(ids or ())
        self.has_ids = self.has_ids or bool(ids)
        self.has_text = self.has_text or self._deltas.spoke or bool(tool_calls)
        self.spoke = self.spoke or self.has_text or bool(ids)
        if not (spans or tool_calls or ids or finish or stop_reason is not None):
            return None
        return ChunkArrived(at, spans, tool_calls, ids, finish, stop_reason)

    def _finish(self, choice: dict[str, object]) -> str | None:
        value = choice.get("finish_reason")
        # SGLang's own form is an object with the type and a message.
        reason = first_text(value, ("type", "reason")) if isinstance(value, dict) else a_text(value)
        if reason is None or reason.lower() in {"null", "none"}:
            return None
        if reason.lower() in _FAILED_FINISHES:
            said = message_in(choice.get("error")) or message_in(value if isinstance(value, dict) else None)
            said = said or f"it ended the reply with the finish reason “{one_line(reason, 40)}”"
            self._failed_finish = self._failed_finish or ErrorBody(said)
        self.finish_reason = self.finish_reason or reason
        return reason

    def _read_reports(self, chunk: dict[str, object], events: list[Event]) -> None:
        prompt_ids = ints(chunk.get("prompt_token_ids"))
        if prompt_ids and self.first_prompt_id is None:
            self.first_prompt_id = prompt_ids[0]
        usage = _usage(a_dict(chunk.get("usage")))
        metrics = a_dict(chunk.get("metrics"))
        speculation = _speculation(a_dict(metrics.get("speculative_decoding")))
        timing = _timing(metrics) or _llamacpp_timing(a_dict(chunk.get("timings")))
        self.usage = usage or self.usage
        self.reported = self.reported or speculation is not None
        found = [report for report in (usage, speculation, timing) if report is not None]
        self.seen = self.seen or bool(found)
        events += found


def _failure_in(chunk: object, *, marked_as_error: bool) -> ErrorBody | None:
    """The error that a chunk is or holds; None for an ordinary one."""
    if marked_as_error:
        return read_error_value(chunk)
    holder = a_dict(chunk)
    if holder.get("error") or holder.get("errors"):
        return read_error_value(chunk)
    if "choices" in holder or "usage" in holder:
        return None
    bare = holder.get("object") == "error" or holder.get("type") == "error" or "detail" in holder
    bare = bare or holder.get("success") is False
    said = first_text(holder, ("message", "msg"))
    blamed = said is not None and any(name in holder for name in ("code", "status", "type"))
    return read_error_value(chunk) if bare or blamed else None


def _usage(usage: dict[str, object]) -> UsageReported | None:
    prompt, completion = an_int(usage.get("prompt_tokens")), an_int(usage.get("completion_tokens"))
    # No prompt has 0 tokens: a usage of zeros is a form that nobody filled in.
    return UsageReported(prompt, completion) if prompt or completion else None


def _speculation(report: dict[str, object]) -> SpeculationReported | None:
    steps, accepted = an_int(report.get("num_spec_steps")), an_int(report.get("num_accepted_draft_tokens"))
    drafted = an_int(report.get("num_draft_tokens"))
    if steps is None or accepted is None or drafted is None:
        return None
    per_accepted, per_drafted = ints(report.get("per_step_accepted")), ints(report.get("per_step_drafted"))
    return SpeculationReported(
        steps=steps,
        accepted=accepted,
        drafted=drafted,
        draft_length=an_int(report.get("num_spec_tokens")),
        per_step_accepted=per_accepted,
        per_step_drafted=per_drafted,
        acceptance_histogram=ints(report.get("acceptance_histogram")),
        mean_acceptance_length=a_float(report.get("mean_acceptance_length")),
    )


def _timing(metrics: dict[str, object]) -> ServerTimingReported | None:
    timing = ServerTimingReported(
        time_to_first_token_ms=a_float(metrics.get("time_to_first_token_ms")),
        generation_time_ms=a_float(metrics.get("generation_time_ms")),
        queue_time_ms=a_float(metrics.get("queue_time_ms")),
        mean_itl_ms=a_float(metrics.get("mean_itl_ms")),
        tokens_per_second=a_float(metrics.get("tokens_per_second")),
    )
    return None if timing == ServerTimingReported() else timing


def _llamacpp_timing(timings: dict[str, object]) -> ServerTimingReported | None:
    spent, rate = a_float(timings.get("predicted_ms")), a_float(timings.get("predicted_per_second"))
    itl = a_float(timings.get("predicted_per_token_ms"))
    if spent is None and rate is None:
        return None
    return ServerTimingReported(generation_time_ms=spent, mean_itl_ms=itl, tokens_per_second=rate)
