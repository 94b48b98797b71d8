"""One reply as it grows: folds events into text, tokens, steps and figures. Asks no one and waits for nothing."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import compress

from specchat.core.counters import CounterCheck
from specchat.core.errors import SpecchatError
from specchat.core.events import (
    ChunkArrived,
    Event,
    NoteAdded,
    PiecesLearned,
    PiecesUnavailable,
    ReplyIdentified,
    ServerTimingReported,
    SpeculationReported,
    StepsTraced,
    StreamEnded,
    SwitchRefused,
    ToolCallPart,
    TraceEnded,
    UsageReported,
)
from specchat.core.leaked_thinking import LeakedThinking
from specchat.core.live_steps import LiveSteps
from specchat.core.pieces import TextAligner
from specchat.core.speculation import Channel, Evidence, Label, Step, Token
from specchat.core.step_labels import Kind, kinds_of
from specchat.core.step_sources import StepSources
from specchat.core.step_tally import StepTally
from specchat.core.switching import Speculation
from specchat.core.timing import ReplyClock
from specchat.core.token_view import TokenView
from specchat.core.trace import Trace


class Outcome(StrEnum):
    """How a reply stands."""

    RUNNING = "running"
    FINISHED = "finished"
    STOPPED = "stopped"
    """The user stopped it; what came is kept."""
    FAILED = "failed"
    """It broke off; what came is kept."""


@dataclass(slots=True)
class ToolCall:
    """One tool call, joined from its parts."""

    id: str = ""
    name: str = ""
    arguments: str = ""

    def add(self, part: ToolCallPart) -> None:
        """Join another part."""
        self.id, self.name = self.id or part.id, self.name + part.name
        self.arguments += part.arguments


@dataclass(slots=True)
class Reply:
    """A reply, growing by `add` and closed by `end`."""

    sent_at: float
    draft_length: int | None = None
    """k as known before the reply; see LiveSteps."""
    pieces_expected: bool = False
    """Will somebody send PiecesLearned?"""
    speculating: bool | None = None
    """True for a reply with all the speculation that the server has, False for one with none, None for what lies
    between and where speculation cannot be switched: nothing is compared there."""
    speculation: Speculation = field(default_factory=Speculation)
    """How much of it was asked for, and how; what the server does by itself where it refused to be switched."""
    model: str | None = None
    request_id: str | None = None
    outcome: Outcome = Outcome.RUNNING
    error: SpecchatError | None = None
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    usage: UsageReported | None = None
    reported: SpeculationReported | None = None
    server_timing: ServerTimingReported | None = None
    check: CounterCheck | None = None
    notes: list[str] = field(default_factory=list)
    tool_calls: dict[int, ToolCall] = field(default_factory=dict)
    done_seen: bool = False
    has_ids: bool = False
    trace_ended: TraceEnded | None = None
    """How the trace ended; None before, and where none was asked for."""
    clock: ReplyClock = field(init=False)
    sources: StepSources = field(init=False)
    """Where steps and origins come from."""
    aligner: TextAligner = field(init=False)
    _ordinals: "array[int]" = field(default_factory=lambda: array("q"))
    """For each token, how many ids there are up to and with it."""
    _tally: StepTally = field(init=False)
    _thinking: LeakedThinking = field(default_factory=LeakedThinking)

    def __post_init__(self) -> None:
        self.clock = ReplyClock(self.sent_at)
        self.sources = StepSources(self.draft_length)
        self.aligner = TextAligner(by_token=self.pieces_expected)
        self._tally = StepTally(self.steps)

    # -- reading --------------------------------------------------------------------------------------------------

    @property
    def tokens(self) -> Sequence[Token]:
        """The tokens so far. Those below the index that the last `add` returned are as they were."""
        return self._view()

    def _view(self) -> TokenView:
        self._count_ids()
        return TokenView(self.aligner, self._ordinals, self.labels)

    def label_of(self, index: int) -> Label:
        """What is known of the origin of the token at `index`; UNKNOWN where there is none."""
        return self._view().label(index)

    @property
    def ids(self) -> Sequence[int | None]:
        """The id of each of the tokens, without those of text that belongs to none yet."""
        return self.aligner.ids

    @property
    def rows(self) -> Sequence[tuple[Channel, str]]:
        """Channel and text of each of the tokens, which costs less than the tokens do."""
        return self.aligner.rows + self.aligner.overflow if self.aligner.overflow else self.aligner.rows

    def ordinal_of(self, index: int) -> int | None:
        """Which of the reply's ids the token at `index` has, counted from 0; None for a token without an id."""
        self._count_ids()
        ids = self.aligner.ids
        return self._ordinals[index] - 1 if index < len(ids) and ids[index] is not None else None

    def index_of(self, ordinal: int) -> int:
        """Index of the token that has the reply's id number `ordinal`, counted from 0."""
        self._count_ids()
        return bisect_left(self._ordinals, ordinal + 1)

    def kinds(self, first: int = 0) -> set[Kind]:
        """Origin and draft position of all tokens from index `first` on that have a text."""
        tokens, ids = self.tokens, self.aligner.ids
        if self._ordinals and self._ordinals[-1] == len(ids) == len(tokens) == len(self.labels):
            return set(compress(kinds_of(self.labels, first), (text for _, text in self.rows[first:])))
        found = (token for token in tokens[first:] if token.text)
        return {(token.label.origin, token.label.position) for token in found}

    def _count_ids(self) -> None:
        counted = len(self._ordinals)
        if counted == len(self.aligner.ids):
            return
        ordinal = self._ordinals[-1] if counted else 0
        for token_id in self.aligner.ids[counted:]:
            ordinal += token_id is not None
            self._ordinals.append(ordinal)

    @property
    def live(self) -> LiveSteps:
        """What the chunks show."""
        return self.sources.live

    @property
    def trace(self) -> Trace | None:
        """What the server hook saw; None where it sent nothing."""
        return self.sources.trace

    @property
    def steps(self) -> list[Step]:
        """The steps so far, from the best source there is."""
        return self.sources.steps

    @property
    def labels(self) -> Sequence[Label]:
        """What is known of each id's origin, from the best source there is."""
        return self.sources.labels

    @property
    def is_traced(self) -> bool:
        """Do the steps come from the server hook, and fit?"""
        return self.sources.evidence is Evidence.TRACED

    @property
    def steps_are_reported(self) -> bool:
        """Were the server's arrays laid over the ids?"""
        return self.sources.evidence is Evidence.REPORTED

    @property
    def steps_are_exact(self) -> bool:
        """Do the steps come from the server itself, traced or reported, and not from chunks?"""
        return self.sources.evidence is not Evidence.INFERRED

    @property
    def live_guess_accuracy(self) -> float | None:
        """Share of the decided tokens whose live origin was right; None before something better had the last word."""
        return self.sources.live_guess_accuracy

    def text_of_proposal(self, token_id: int) -> str | None:
        """The text of an id that the draft proposed; None where nobody told it."""
        told = None if self.trace is None else self.trace.texts.get(token_id)
        return self.aligner.piece_of(token_id) if told is None else told

    @property
    def tally(self) -> StepTally:
        """Sums over `steps`."""
        if not self._tally.is_of(self.steps):
            self._tally = StepTally(self.steps)
        self._tally.catch_up()
        return self._tally

    @property
    def text(self) -> str:
        """The answer: the content channel only."""
        return self._channel_text(Channel.CONTENT)

    @property
    def reasoning(self) -> str:
        """The thinking."""
        return self._channel_text(Channel.REASONING)

    def _channel_text(self, channel: Channel) -> str:
        return "".join(text for of, text in self.rows if of is channel)

    @property
    def output_tokens(self) -> int | None:
        """Ids that arrived, else the server's usage; None if neither is known. Chunks are never counted as tokens."""
        if self.has_ids:
            return self.live.chunk_ends[-1]
        return None if self.usage is None else self.usage.completion_tokens

    @property
    def is_running(self) -> bool:
        """Is more to come?"""
        return self.outcome is Outcome.RUNNING

    @property
    def ended_by_engine(self) -> bool:
        """Did the engine itself end it, by EOS or length, and not a stop string, the client or a fault?"""
        return self.outcome is Outcome.FINISHED and not isinstance(self.stop_reason, str)

    # -- growing --------------------------------------------------------------------------------------------------

    def add(self, event: Event) -> int | None:
        """Fold one event; returns the index of the first token that changed, or None if none did."""
        changed: int | None = None
        match event:
            case ChunkArrived():
                changed = self._add_chunk(event)
            case PiecesLearned():
                changed = self.aligner.learn(event.pieces, event.runs)
            case PiecesUnavailable():
                changed = self.aligner.give_up_pieces()
            case StepsTraced():
                changed = self._add_traced(event)
            case TraceEnded():
                changed = self._end_of_trace(event)
            case _:
                self._add_fact(event)
        return changed

    def _add_fact(self, event: Event) -> None:
        """What changes no token."""
        match event:
            case UsageReported():
                self._add_usage(event)
            case SpeculationReported():
                self.reported = event
            case ServerTimingReported():
                self.server_timing = event
            case ReplyIdentified():
                self.request_id = self.request_id or event.request_id
                self.model = event.model or self.model
            case NoteAdded():
                self.note(event.text)
            case SwitchRefused():
                self.speculation, self.speculating = Speculation(), None
                self.note(event.why)
            case StreamEnded():
                self.done_seen = self.done_seen or event.done

    def note(self, text: str) -> None:
        """Remember a sentence for the reader, once."""
        if text not in self.notes:
            self.notes.append(text)

    def end(self, outcome: Outcome, error: SpecchatError | None = None) -> int:
        """Close the reply; returns the index of the first token that changed."""
        changed = self.aligner.settled
        for span in self._thinking.flush():
            self.aligner.add_chunk([span], ())
        self.outcome, self.error = outcome, error
        cut_off = outcome is not Outcome.FINISHED or isinstance(self.stop_reason, str)
        self.aligner.finish(cut_off=cut_off)
        if not self.aligner.matches:
            self.note("the tokens' own texts do not add up to the streamed text, so pieces may sit beside their token")
        laid, notes = self.sources.end(self.reported, ended_by_engine=self.ended_by_engine)
        for note in notes:
            self.note(note)
        changed = 0 if laid else changed
        if self.live.merges_proven and not self.steps_are_exact:
            self.note(f"{_chunks(self.live.merges_proven)} held more than one step: the server merged them")
        self._compare_usage()
        return changed

    def apply_check(self, check: CounterCheck) -> int | None:
        """Take the counters' verdict; it tells whether the last token was the draft's. Returns the first change."""
        self.check = check
        return max(0, len(self.aligner.rows) - 2) if self.sources.settle_last(check) else None

    def _add_chunk(self, event: ChunkArrived) -> int | None:
        self.finish_reason = self.finish_reason or event.finish_reason
        self.stop_reason = event.stop_reason if self.stop_reason is None else self.stop_reason
        ids = event.token_ids or ()
        spans = [part for channel, text in event.spans for part in self._route(channel, text)]
        self.clock.add(event.at, len(ids), spoke=bool(ids or event.spans or event.tool_calls))
        relabelled = None
        if ids:
            self.has_ids = True
            before = len(self.live.labels)
            first = self.sources.add_ids(ids)
            relabelled = self.index_of(first) if first < before else None
        if event.tool_calls:
            changed: int | None = self._add_tool_calls(event, spans, ids)
        else:
            changed = self.aligner.add_chunk(spans, ids) if ids or spans else None
        return changed if relabelled is None or changed is None else min(changed, relabelled)

    def _route(self, channel: Channel, text: str) -> list[tuple[Channel, str]]:
        return self._thinking.route(text) if channel is Channel.CONTENT else [(channel, text)]

    def _add_tool_calls(self, event: ChunkArrived, spans: list[tuple[Channel, str]], ids: tuple[int, ...]) -> int:
        for part in event.tool_calls:
            self.tool_calls.setdefault(part.index, ToolCall()).add(part)
        text = "".join(part.name + part.arguments for part in event.tool_calls)
        return self.aligner.add_tool_chunk(text, ids, spans)

    def _add_usage(self, event: UsageReported) -> None:
        before = None if self.usage is None else self.usage.completion_tokens
        grown = 0 if event.completion_tokens is None else event.completion_tokens - (before or 0)
        if not self.has_ids and self.is_running:
            self.clock.count(grown)
        self.usage = event

    def _add_traced(self, event: StepsTraced) -> int | None:
        ids = [] if self.trace is not None else [token_id for token_id in self.aligner.ids if token_id is not None]
        first = self.sources.add_traced(event, ids)
        return None if first is None else self.index_of(first)

    def _end_of_trace(self, event: TraceEnded) -> int | None:
        self.trace_ended = event
        if event.why:
            self.note(event.why)
        return 0 if event.reason is None and self.sources.break_trace() else None

    def _compare_usage(self) -> None:
        said = None if self.usage is None else self.usage.completion_tokens
        if self.has_ids and said is not None and said != self.output_tokens and self.outcome is Outcome.FINISHED:
            self.note(f"the server's usage says {said} tokens, {self.output_tokens} arrived and are counted")


def _chunks(count: int) -> str:
    return "one chunk" if count == 1 else f"{count} chunks"
