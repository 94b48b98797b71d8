"""A conversation as what happened in it: the records that a store keeps, and the same conversation made of them again.

The records of a turn are what its reply was made of, in order; folding them by the code that showed the reply live
gives an equal reply. Refuses records that belong to no turn. Writes nothing and asks no clock.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Protocol

from specchat.core.conversation import Conversation, Turn
from specchat.core.counters import CounterCheck
from specchat.core.errors import SpecchatError, StreamBroken
from specchat.core.events import Event, PiecesUnavailable
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.core.switching import BY_ITSELF, Speculation

CUT_SHORT = "specchat ended before the reply did"
"""The note of a reply whose recording has no end."""


@dataclass(frozen=True, slots=True)
class SystemSet:
    """The conversation has this system prompt from here on."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnBegan:
    """Something was asked: all that is known of a reply before anything of it comes."""

    prompt: str
    server: ServerInfo
    created_at: float
    """When the reply was made, on the session's clock, as every time below."""
    request: dict[str, object] = field(default_factory=dict)
    continues: bool = False
    draft_length: int | None = None
    pieces_expected: bool = False
    speculating: bool | None = None
    speculation: Speculation = BY_ITSELF
    model: str | None = None

    @classmethod
    def of(cls, turn: Turn) -> "TurnBegan":
        """The beginning of a turn to whose reply nothing was added yet."""
        reply = turn.reply
        return cls(
            turn.prompt,
            turn.server,
            reply.sent_at,
            dict(turn.request),
            turn.continues,
            reply.draft_length,
            reply.pieces_expected,
            reply.speculating,
            reply.speculation,
            reply.model,
        )

    def turn(self) -> Turn:
        """The turn as it was then."""
        reply = Reply(
            self.created_at,
            draft_length=self.draft_length,
            pieces_expected=self.pieces_expected,
            speculating=self.speculating,
            speculation=self.speculation,
            model=self.model,
        )
        return Turn(self.prompt, reply, self.server, dict(self.request), continues=self.continues)


@dataclass(frozen=True, slots=True)
class TurnSent:
    """The request went out, from when on the first token is waited for."""

    at: float


@dataclass(frozen=True, slots=True)
class EventCame:
    """Something of the reply came."""

    event: Event
    at: float | None = None
    """When, for an event that bears no time of the session's clock itself; None where it does or nobody knows."""


@dataclass(frozen=True, slots=True)
class NoteKept:
    """A sentence for the reader that came from elsewhere than the events."""

    text: str


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """The reply was closed."""

    outcome: Outcome
    error: SpecchatError | None = None


@dataclass(frozen=True, slots=True)
class TurnChecked:
    """The server's counters gave their verdict."""

    check: CounterCheck


@dataclass(frozen=True, slots=True)
class TurnReplaced:
    """The turn was asked again, or an earlier one was: no server hears of it any more."""


Record = SystemSet | TurnBegan | TurnSent | EventCame | NoteKept | TurnEnded | TurnChecked | TurnReplaced
"""Each one but the first two is of the turn that began last."""


class Rebuilding:
    """Makes a conversation of its records, one after the other.

    Attributes:
        conversation: As far as the records went.
    """

    def __init__(self) -> None:
        """Start with an empty conversation."""
        self.conversation = Conversation()

    def add(self, record: Record) -> None:
        """Take the next record.

        Raises:
            ValueError: If it is of a turn and none has begun.
        """
        match record:
            case SystemSet(text):
                self.conversation.system = text
            case TurnBegan():
                self.finish()
                self.conversation.turns.append(record.turn())
            case _ if not self.conversation.turns:
                raise ValueError(f"{type(record).__name__} belongs to no turn")
            case _:
                _fold(self.conversation.turns[-1], record)

    def finish(self) -> Conversation:
        """No more records of the last turn come: one without an end is closed, and says so."""
        if self.conversation.turns and self.conversation.turns[-1].reply.is_running:
            for record in closing_of(self.conversation.turns[-1].reply):
                self.add(record)
        return self.conversation


def rebuild(records: Iterable[Record]) -> Conversation:
    """The conversation that these records are of; a reply without an end is closed, and says so.

    Raises:
        ValueError: If a record of a turn comes before any turn.
    """
    rebuilding = Rebuilding()
    for record in records:
        rebuilding.add(record)
    return rebuilding.finish()


def closing_of(reply: Reply) -> tuple[Record, ...]:
    """What closes a reply whose recording stops: it is whole if its stream came to an end, else it broke off."""
    # Texts that nobody will send any more are no contradiction between text and tokens.
    waits = bool(reply.aligner.wanted_ids() or reply.aligner.wanted_runs())
    given_up = (EventCame(PiecesUnavailable()),) if waits else ()
    if reply.finish_reason is not None or reply.done_seen:
        return (*given_up, TurnEnded(Outcome.FINISHED))
    error = StreamBroken("specchat ended before the reply did.", "What came is kept; ask again with /regenerate.")
    return (*given_up, TurnEnded(Outcome.FAILED, error), NoteKept(CUT_SHORT))


def _fold(turn: Turn, record: Record) -> None:
    reply = turn.reply
    match record:
        case TurnSent(at):
            reply.clock.sent_at = at
        case EventCame(event):
            reply.add(event)
        case NoteKept(text):
            reply.note(text)
        case TurnEnded(outcome, error):
            reply.end(outcome, error)
        case TurnChecked(check):
            reply.apply_check(check)
        case TurnReplaced():
            turn.replaced = True


class Recorder(Protocol):
    """Is told what happens in one conversation, as it happens. Every method returns at once, and none ever raises."""

    def begin(self, conversation: Conversation) -> None:
        """The last turn of the conversation began; nothing was added to its reply yet."""
        ...

    def sent(self, at: float) -> None:
        """The request of the last turn goes out now."""
        ...

    def event(self, event: Event) -> None:
        """The event was added to the last turn's reply."""
        ...

    def note(self, text: str) -> None:
        """The last turn's reply was given a note that is in no event."""
        ...

    def end(self, outcome: Outcome, error: SpecchatError | None) -> None:
        """The last turn's reply was closed."""
        ...

    def check(self, check: CounterCheck) -> None:
        """The last turn's reply was given the counters' verdict."""
        ...

    def settled(self, conversation: Conversation) -> None:
        """The last turn is over: nothing more of it is expected, though a note may still come."""
        ...

    def replaced(self, first: int) -> None:
        """The turn at that index and all after it were marked as replaced."""
        ...

    def left(self) -> None:
        """The conversation was left: what begins next belongs to a new one."""
        ...


class NullRecorder:
    """Keeps nothing: the private mode."""

    def begin(self, conversation: Conversation) -> None:
        """Keep nothing."""

    def sent(self, at: float) -> None:
        """Keep nothing."""

    def event(self, event: Event) -> None:
        """Keep nothing."""

    def note(self, text: str) -> None:
        """Keep nothing."""

    def end(self, outcome: Outcome, error: SpecchatError | None) -> None:
        """Keep nothing."""

    def check(self, check: CounterCheck) -> None:
        """Keep nothing."""

    def settled(self, conversation: Conversation) -> None:
        """Keep nothing."""

    def replaced(self, first: int) -> None:
        """Keep nothing."""

    def left(self) -> None:
        """Keep nothing."""
