"""How fast the replies of one conversation came with speculation and without: from those that can be compared.

Two replies can be where the same model was asked with the same parameters, each answered a prompt, and each decoded
long enough. It is no measurement of pairs, as `comparison` makes them: the prompts were different ones.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from specchat.core.conversation import Turn
from specchat.core.reply import Outcome, Reply
from specchat.core.switching import Way

COMPARABLE_DECODE_TOKENS = 32
"""Tokens after the first one that a reply needs. A rate over n tokens carries the jitter of its two ends, about one
step of a few tokens each; over fewer than this that alone moves it by more than a tenth."""


@dataclass(frozen=True, slots=True)
class OnOff:
    """Both speeds, or what is missing for them."""

    on: float | None = None
    """Decoded tokens per second with all the speculation that the server has, pooled over the replies."""
    off: float | None = None
    """The same with none."""
    on_replies: int = 0
    off_replies: int = 0
    way: Way | None = None
    """By which way it was off; None where no reply was."""
    missing: str = ""
    """What is missing for the ratio, in a few words; "" where there is one."""

    @property
    def ratio(self) -> float | None:
        """How many times faster with speculation."""
        return self.on / self.off if self.on and self.off else None


def on_off(turns: Sequence[Turn]) -> OnOff:
    """The speeds with and without speculation, over replies like the latest one that says something about either.

    A reply with a limit that is not off is on neither side, nor is one that was to be off and was not. Where replies
    were off by several ways, those count that were off by the way that was used last: a server without a draft and a
    draft that is told to rest are no like.

    Args:
        turns: The conversation, in order.
    """
    sided = [turn for turn in turns if _side(turn) is not None]
    usable = [turn for turn in sided if decode_span(turn.reply) is not None]
    if not usable:
        return OnOff(missing=_nothing_yet(sided))
    alike = [turn for turn in usable if _asked(turn) == _asked(usable[-1])]
    offs = [turn.reply for turn in alike if _side(turn) is False]
    way = offs[-1].speculation.way if offs else None
    on, on_replies = _pooled([turn.reply for turn in alike if _side(turn) is True])
    off, off_replies = _pooled([reply for reply in offs if reply.speculation.way is way])
    missing = ""
    if not on_replies or not off_replies:
        missing = _missing_side(sided, usable, side=not on_replies)
    return OnOff(on, off, on_replies, off_replies, way, missing)


def decode_span(reply: Reply, least: int = COMPARABLE_DECODE_TOKENS) -> tuple[int, float] | None:
    """(tokens after the first, seconds that they took) of a reply that came well; None for any other.

    Args:
        reply: It may be running still.
        least: The fewest tokens after the first.
    """
    tokens, clock = reply.output_tokens, reply.clock
    if tokens is None or tokens - 1 < least or reply.outcome is Outcome.FAILED:
        return None
    if clock.first_at is None or clock.last_at is None or clock.last_at <= clock.first_at:
        return None
    return tokens - 1, clock.last_at - clock.first_at


def _side(turn: Turn) -> bool | None:
    """On, off, or neither: a continuation answers no prompt, and a draft that worked all the same is no off."""
    reply = turn.reply
    if turn.continues or (reply.speculating is False and reply.is_traced and reply.tally.steps > 0):
        return None
    return reply.speculating


def _asked(turn: Turn) -> tuple[object, ...]:
    """What must be the same of two replies: the model that was asked, and the parameters."""
    return turn.server.model, sorted((name, repr(value)) for name, value in turn.request.items())


def _pooled(replies: Sequence[Reply]) -> tuple[float | None, int]:
    """(tokens per second, replies)."""
    spans = [span for reply in replies if (span := decode_span(reply)) is not None]
    seconds = sum(span[1] for span in spans)
    return (sum(span[0] for span in spans) / seconds if seconds > 0 else None), len(spans)


def _nothing_yet(sided: Sequence[Turn]) -> str:
    if not sided:
        return "needs a reply of each"
    return f"needs {COMPARABLE_DECODE_TOKENS + 1} tokens a reply"


def _missing_side(sided: Sequence[Turn], usable: Sequence[Turn], *, side: bool) -> str:
    """Why one side has nothing, though the other one has."""
    name = "on" if side else "off"
    here = [turn for turn in usable if _side(turn) is side]
    if here:
        same = any(turn.server.model == usable[-1].server.model for turn in here)
        return f"needs {name}, sampled alike" if same else "the models differ"
    if any(_side(turn) is side for turn in sided):
        return f"needs a longer reply {name}"
    return f"needs a reply {name}"
