"""Replies whose tokens have texts of their own, made from steps or written down; and transcripts of them."""

from fakes import server_info
from specchat.core.conversation import Turn
from specchat.core.events import ChunkArrived, PiecesLearned
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel, Label, Token

Steps = list[tuple[str, ...]]
STEP_SECONDS = 0.02


def told(steps: Steps, *, k: int | None = 3, thinking: Steps | None = None, ended: bool = True) -> Reply:
    """A reply that came in chunks of these tokens, the first one after a second."""
    reply = Reply(0.0, draft_length=k, pieces_expected=True)
    for step in thinking or []:
        tell(reply, *step, channel=Channel.REASONING)
    for step in steps:
        tell(reply, *step)
    if ended:
        reply.end(Outcome.FINISHED)
    return reply


def tell(reply: Reply, *pieces: str, channel: Channel = Channel.CONTENT) -> int | None:
    """One more chunk, whose tokens' texts are known at once; returns the first token that changed."""
    start = 100 + (reply.output_tokens or 0)
    ids = tuple(range(start, start + len(pieces)))
    at = 1.0 + STEP_SECONDS * len(reply.live.chunk_sizes)
    reply.add(PiecesLearned(dict(zip(ids, pieces, strict=True))))
    return reply.add(ChunkArrived(at, ((channel, "".join(pieces)),), token_ids=ids))


def turns_of(*replies: Reply, prompt: str = "What?") -> list[Turn]:
    return [Turn(prompt, reply, server_info()) for reply in replies]


class Written(Reply):
    """A reply whose tokens a test writes."""

    __slots__ = ("written",)
    written: list[Token]

    @property
    def tokens(self) -> list[Token]:
        return self.written

    @property
    def rows(self) -> list[tuple[Channel, str]]:
        return [(token.channel, token.text) for token in self.written]

    @property
    def ids(self) -> list[int | None]:
        return [token.id for token in self.written]

    def label_of(self, index: int) -> Label:
        return self.written[index].label


def written(tokens: list[Token], *, ended: bool = True) -> Written:
    """A reply of these tokens."""
    reply = Written(0.0)
    reply.written = tokens
    reply.outcome = Outcome.FINISHED if ended else Outcome.RUNNING
    return reply
