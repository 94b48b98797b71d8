"""Replies and aligned texts made in one line, for tests."""

from specchat.core.events import ChunkArrived, Event, SpeculationReported
from specchat.core.pieces import TextAligner
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel


def chunk(at: float, text: str, *ids: int, **more: object) -> ChunkArrived:
    spans = ((Channel.CONTENT, text),) if text else ()
    return ChunkArrived(at, spans, token_ids=ids, **more)  # type: ignore[arg-type]


def report(accepted: list[int], drafted: list[int], *, k: int = 3) -> SpeculationReported:
    return SpeculationReported(
        len(accepted), sum(accepted), sum(drafted), k, tuple(accepted), tuple(drafted),
        tuple(accepted.count(j) for j in range(k + 1)), 1 + sum(accepted) / len(accepted) if accepted else None,
    )  # fmt: skip


def replied(*events: Event, k: int | None = 3, outcome: Outcome = Outcome.FINISHED) -> Reply:
    reply = Reply(0.0, draft_length=k)
    for event in events:
        reply.add(event)
    reply.end(outcome)
    return reply


def aligned(pieces: list[str], text: str, *, cut_off: bool = False) -> TextAligner:
    aligner = TextAligner(by_token=True)
    aligner.add_chunk([(Channel.CONTENT, text)], range(len(pieces)))
    aligner.learn(dict(enumerate(pieces)), {})
    aligner.finish(cut_off=cut_off)
    return aligner
