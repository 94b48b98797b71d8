"""A scripted server with the hook: replies made of steps whose proposals a test writes down."""

from collections.abc import Sequence
from typing import NamedTuple

from fakes import FixedClock, ScriptedBackend, server_info
from specchat.core.conversation import Turn
from specchat.core.events import ChunkArrived, Event, PiecesLearned, StepsTraced, StreamEnded, TraceEnded
from specchat.core.reply import Outcome, Reply
from specchat.core.server import Hook, ServerInfo
from specchat.core.speculation import Channel
from specchat.core.trace import TracedStep

HOOK = Hook(trace=True, switch=True, version="1.0", runner="V1", off_draft_forwards=1, off_why="One forward remains.")
FIRST_WANTED = 90_000
"""Ids from here on are of proposals that were not kept."""


class Drafted(NamedTuple):
    """One step."""

    kept: tuple[str, ...] = ()
    own: str | None = None
    """The target's own word; None where the reply ended before it."""
    rejected: tuple[str, ...] = ()
    channel: Channel = Channel.CONTENT


SHORT = (
    Drafted((), "The"),
    Drafted((" quick", " brown"), " fox", (" dog",)),
    Drafted((" jumps", " over", " the"), " lazy"),
    Drafted((), " cat", (" dog", ".", "\n")),
    Drafted((), " and"),
    Drafted((" 42",), " times", (" miles", " away")),
    Drafted((), ".", (" in", " London", "\n")),
)
"""A prefill, a rejection at position 3, a step that held, one at position 1, a plain one, and two more rejections."""


class Proposed:
    """The stream and the trace of one reply."""

    def __init__(self, *steps: Drafted, first_id: int = 100) -> None:
        self.pieces: dict[int, str] = {}
        self.chunks: list[ChunkArrived] = []
        self.rows: list[TracedStep] = []
        self.texts: dict[int, str] = {}
        for number, step in enumerate(steps):
            words = (*step.kept, *(() if step.own is None else (step.own,)))
            ids = tuple(first_id + len(self.pieces) + index for index in range(len(words)))
            self.pieces |= dict(zip(ids, words, strict=True))
            self.chunks.append(ChunkArrived(1 + 0.02 * number, ((step.channel, "".join(words)),), token_ids=ids))
            wanted = tuple(FIRST_WANTED + len(self.texts) + index for index in range(len(step.rejected)))
            self.texts |= dict(zip(wanted, step.rejected, strict=True))
            proposed = (*ids[: len(step.kept)], *wanted)
            self.rows.append(TracedStep(number, 0.02 * number, len(proposed), proposed, len(step.kept), ids, 3, "NONE"))

    @property
    def stream(self) -> list[Event]:
        """The chunks, and the end."""
        at = 1 + 0.02 * len(self.chunks)
        return [*self.chunks, ChunkArrived(at, finish_reason="stop"), StreamEnded(at, done=True)]

    @property
    def traced(self) -> StepsTraced:
        """All rows at once."""
        return StepsTraced(tuple(self.rows), self.texts)

    def reply(self, *, ended: bool = True, traced: bool = True) -> Reply:
        """The reply, folded without a session."""
        reply = Reply(0.0, draft_length=3, pieces_expected=True)
        reply.add(PiecesLearned(self.pieces))
        for event in self.chunks:
            reply.add(event)
        if traced:
            reply.add(self.traced)
        if ended:
            reply.end(Outcome.FINISHED)
        return reply


def proposing(
    *replies: Sequence[Drafted],
    server: ServerInfo | None = None,
    clock: FixedClock | None = None,
) -> ScriptedBackend:
    """A server that answers with these replies, and traces them."""
    made = [Proposed(*steps, first_id=100 + 1000 * number) for number, steps in enumerate(replies or (SHORT,))]
    return ScriptedBackend(
        *(one.stream for one in made),
        pieces={token: text for one in made for token, text in one.pieces.items()},
        clock=clock,
        server=server or server_info(hook=HOOK),
        traces=[[one.traced, TraceEnded("stop")] for one in made],
    )


def turn_of(reply: Reply) -> Turn:
    return Turn("What?", reply, server_info(hook=HOOK))
