"""What a generation can report, in the order in which it happens. Times are seconds on the session's clock."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from specchat.core.speculation import Channel
from specchat.core.trace import TracedStep


@dataclass(frozen=True, slots=True)
class ToolCallPart:
    """A piece of a tool call, to be joined with the others of the same index."""

    index: int
    name: str = ""
    arguments: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class ChunkArrived:
    """One event of the stream that carries text, ids or an end."""

    at: float
    """When its bytes were received."""
    spans: tuple[tuple[Channel, str], ...] = ()
    """Texts by channel, in order; tool calls come in `tool_calls`."""
    tool_calls: tuple[ToolCallPart, ...] = ()
    token_ids: tuple[int, ...] | None = None
    """The ids of this chunk; None where the chunk has no such field."""
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    """vLLM's: the stop string or stop token id that ended the reply."""


@dataclass(frozen=True, slots=True)
class UsageReported:
    """The server's token counts so far; a later one replaces an earlier one."""

    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class SpeculationReported:
    """vLLM's per-request report (`metrics.speculative_decoding`, from 0.29)."""

    steps: int
    accepted: int
    drafted: int
    draft_length: int | None
    per_step_accepted: tuple[int, ...] | None
    """None at the level `summary`."""
    per_step_drafted: tuple[int, ...] | None
    acceptance_histogram: tuple[int, ...] | None
    """Index j: steps that accepted exactly j."""
    mean_acceptance_length: float | None

    @property
    def contradiction(self) -> str:
        """How the report's own numbers contradict each other; "" if they don't."""
        histogram, steps, drafted = self.acceptance_histogram, self.per_step_accepted, self.per_step_drafted
        if self.accepted > self.drafted:
            return f"{self.accepted} accepted of {self.drafted} drafted"
        if histogram is not None and (sum(histogram), _weighed(histogram)) != (self.steps, self.accepted):
            return "its histogram does not add up to its totals"
        if steps is not None and drafted is not None and (sum(steps), sum(drafted)) != (self.accepted, self.drafted):
            return "its steps do not add up to its totals"
        return ""


def _weighed(histogram: tuple[int, ...]) -> int:
    return sum(j * n for j, n in enumerate(histogram))


@dataclass(frozen=True, slots=True)
class ServerTimingReported:
    """The server's own clock for this request, in milliseconds; None where it says nothing."""

    time_to_first_token_ms: float | None = None
    generation_time_ms: float | None = None
    queue_time_ms: float | None = None
    mean_itl_ms: float | None = None
    tokens_per_second: float | None = None


@dataclass(frozen=True, slots=True)
class ReplyIdentified:
    """Who answers: the request's id and the model's name as the server gives them, each None where it doesn't."""

    request_id: str | None = None
    model: str | None = None


@dataclass(frozen=True, slots=True)
class NoteAdded:
    """Something that the reader should know: a field the server refused, a line that could not be read."""

    text: str


@dataclass(frozen=True, slots=True)
class PiecesLearned:
    """Texts of token ids, from the server's own tokenizer."""

    pieces: Mapping[int, str]
    """Text of each id decoded alone; U+FFFD stands for bytes that are no whole character."""
    runs: Mapping[tuple[int, ...], str] = field(default_factory=dict)
    """Text of ids decoded together, for characters that span several tokens."""


@dataclass(frozen=True, slots=True)
class PiecesUnavailable:
    """The server's tokenizer cannot be asked: texts stay whole chunks."""


@dataclass(frozen=True, slots=True)
class StepsTraced:
    """Steps that the server hook saw, in order."""

    steps: tuple[TracedStep, ...]
    texts: Mapping[int, str] = field(default_factory=dict)
    """Texts of ids that were proposed and not kept."""


@dataclass(frozen=True, slots=True)
class TraceEnded:
    """No more steps come from the server hook."""

    reason: str | None
    """How the request ended, in the hook's words (protocol); None where the trace broke off or never came."""
    why: str = ""
    """A sentence for the reader where it broke off."""


@dataclass(frozen=True, slots=True)
class SwitchRefused:
    """The server took no limit of proposals: it speculates as it does by itself."""

    why: str
    """A sentence for the reader."""


@dataclass(frozen=True, slots=True)
class StreamEnded:
    """The stream came to its end without an error; `done` says whether `[DONE]` was seen."""

    at: float
    done: bool


Event = (
    ChunkArrived
    | UsageReported
    | SpeculationReported
    | ServerTimingReported
    | ReplyIdentified
    | NoteAdded
    | PiecesLearned
    | PiecesUnavailable
    | StepsTraced
    | TraceEnded
    | SwitchRefused
    | StreamEnded
)
