"""Conversations that are recorded while they grow, as a chat does it; and what makes two turns equal."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from fakes import server_info
from specchat.core.conversation import Conversation, Turn
from specchat.core.counters import CounterCheck
from specchat.core.errors import SpecchatError
from specchat.core.events import ChunkArrived, Event, PiecesLearned, SpeculationReported, StreamEnded
from specchat.core.recording import (
    EventCame,
    NoteKept,
    NullRecorder,
    Record,
    Recorder,
    SystemSet,
    TurnBegan,
    TurnChecked,
    TurnEnded,
    TurnSent,
)
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel
from specchat.exports.reply_json import reply_object


class Listing(NullRecorder):
    """A recorder that keeps the records in a list."""

    def __init__(self) -> None:
        self.records: list[Record] = []

    def begin(self, conversation: Conversation) -> None:
        self.records += [SystemSet(conversation.system), TurnBegan.of(conversation.turns[-1])]

    def sent(self, at: float) -> None:
        self.records.append(TurnSent(at))

    def event(self, event: Event) -> None:
        self.records.append(EventCame(event))

    def note(self, text: str) -> None:
        self.records.append(NoteKept(text))

    def end(self, outcome: Outcome, error: SpecchatError | None) -> None:
        self.records.append(TurnEnded(outcome, error))

    def check(self, check: CounterCheck) -> None:
        self.records.append(TurnChecked(check))


@dataclass
class Talk:
    """Grows a conversation and tells a recorder, in the order in which a chat does both."""

    recorder: Recorder = field(default_factory=NullRecorder)
    conversation: Conversation = field(default_factory=Conversation)
    server: ServerInfo = field(default_factory=server_info)

    @property
    def turn(self) -> Turn:
        return self.conversation.turns[-1]

    def begin(self, prompt: str, request: dict[str, object] | None = None, **facts: object) -> None:
        given: dict[str, object] = {"draft_length": 3, "pieces_expected": True, "model": "m"} | facts
        reply = Reply(0.5, **given)  # type: ignore[arg-type]
        self.conversation.turns.append(Turn(prompt, reply, self.server, request or {}))
        self.recorder.begin(self.conversation)
        reply.clock.sent_at = 0.75
        self.recorder.sent(0.75)

    def come(self, *events: Event) -> None:
        for event in events:
            self.turn.reply.add(event)
            self.recorder.event(event)

    def end(
        self, outcome: Outcome = Outcome.FINISHED, error: SpecchatError | None = None, check: CounterCheck | None = None
    ) -> None:
        self.turn.reply.end(outcome, error)
        self.recorder.end(outcome, error)
        if check is not None:
            self.turn.reply.apply_check(check)
            self.recorder.check(check)
        self.recorder.settled(self.conversation)

    def note(self, text: str) -> None:
        self.turn.reply.note(text)
        self.recorder.note(text)

    def replace_from(self, first: int) -> None:
        self.conversation.replace_from(first)
        self.recorder.replaced(first)

    def ask(self, prompt: str, *events: Event, outcome: Outcome = Outcome.FINISHED, **facts: object) -> None:
        self.begin(prompt, None, **facts)
        self.come(*events)
        self.end(outcome)


def said(text: str, *, at: float = 1.0, channel: Channel = Channel.CONTENT) -> list[Event]:
    """A reply that says this, word by word in steps of two tokens, with pieces and the server's report."""
    words = re.findall(" *[^ ]+| +$", text)
    ids = range(100, 100 + len(words))
    events: list[Event] = [PiecesLearned(dict(zip(ids, words, strict=True)))]
    sizes: list[int] = []
    place = 0
    while place < len(words):
        size = 2 if place else 1
        part = words[place : place + size]
        sizes.append(len(part))
        spans = ((channel, "".join(part)),)
        events.append(ChunkArrived(at + place / 100, spans, token_ids=tuple(ids[place : place + len(part)])))
        place += size
    accepted = tuple(size - 1 for size in sizes[1:])
    histogram = tuple(accepted.count(j) for j in range(4))
    report = SpeculationReported(
        len(accepted), sum(accepted), 3 * len(accepted), 3, accepted, (3,) * len(accepted), histogram, None
    )
    return [*events, ChunkArrived(at + 9, finish_reason="stop"), report, StreamEnded(at + 9, done=True)]


def shown(turn: Turn) -> str:
    """Everything that the program can show of a turn; NaN equals NaN here."""
    reply = turn.reply
    clock = reply.clock
    error = None if reply.error is None else {name: repr(fact) for name, fact in vars(reply.error).items()}
    trace = None if reply.trace is None else [reply.trace.rows, reply.trace.texts, reply.trace.contradiction]
    times = [clock.sent_at, clock.first_at, clock.last_at, clock.heard_at, clock.tokens, list(clock.chunk_times)]
    return json.dumps(
        [reply_object(turn), error, trace, times, clock.rate_now, turn.request, repr(turn.server), reply.sent_at,
         list(reply.rows), repr(reply.trace_ended), repr(reply.server_timing)]
    )  # fmt: skip


def all_shown(turns: Sequence[Turn]) -> list[str]:
    return [shown(turn) for turn in turns]
