"""The steps of a reply, one row each: which of them are listed, and what a row says. Draws no widget.

A row is worked out when it is asked for; which steps are listed is known of all of them.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from rich.cells import cell_len, set_cell_size

from specchat.core.reply import Reply
from specchat.core.speculation import Channel, Origin, Step, Token
from specchat.ui.cursor import first_of_step, tokens_of_step
from specchat.ui.panels.characters import spelled
from specchat.ui.panels.drawing import NONE, Line, Run
from specchat.ui.proposals import ABANDONED, COUNT, LEFT, REJECTED, RIGHT, word_of
from specchat.ui.styles import style_of

_LONGEST = 18
"""Cells of one token."""
_FEWEST_FOR_TIMES = 50
"""Cells below which rows leave out the time."""


class Filter(StrEnum):
    """Which steps are listed; the value is its name for the reader."""

    ALL = "all steps"
    FIRST = "rejected at position 1"
    ANY = "any rejection"
    KEPT = "all kept"
    PLAIN = "nothing drafted"

    def takes(self, step: Step) -> bool:
        """Is a step listed? One of which it is not known how many were drafted is among all alone."""
        drafted, accepted = step.drafted, step.accepted
        match self:
            case Filter.ALL:
                return True
            case Filter.FIRST:
                return bool(drafted) and accepted == 0
            case Filter.ANY:
                return drafted is not None and accepted < drafted
            case Filter.KEPT:
                return bool(drafted) and accepted == drafted
            case Filter.PLAIN:
                return drafted == 0

    def beside(self, direction: int) -> "Filter":
        """The one that a key goes to."""
        ways = list(Filter)
        return ways[(ways.index(self) + direction) % len(ways)]


class StepRows:
    """The steps of a reply that a filter takes; those of a reply that grows are added as they come.

    Attributes:
        reply: Whose steps they are.
        filter: What is listed.
        numbers: The steps that are listed, counted from 0.
    """

    def __init__(self, reply: Reply, wanted: Filter = Filter.ALL) -> None:
        self.reply = reply
        self.filter = wanted
        self.numbers: list[int] = []
        self._steps: Sequence[Step] = ()
        self._last: Step | None = None
        self._seen = 0
        self.grow()

    @property
    def total(self) -> int:
        """Steps, listed or not."""
        return self._seen

    def use(self, wanted: Filter) -> None:
        """List other steps."""
        self.filter = wanted
        self.count_again()

    def grow(self) -> bool:
        """Take in what came; returns whether earlier rows may be others now.

        Another source may have taken over the reply's steps, and the end of a reply may change the last of them.
        """
        steps = self.reply.steps
        same = steps is self._steps and self._seen <= len(steps)
        if not same or (self._seen and steps[self._seen - 1] is not self._last):
            self.count_again()
            return True
        self._take(steps)
        return False

    def count_again(self) -> None:
        """Look at all steps."""
        self.numbers.clear()
        self._steps, self._seen = self.reply.steps, 0
        self._take(self._steps)

    def nearest(self, step: int) -> int:
        """The index among `numbers` of a step, or of the next one that is listed; the last where there is none."""
        return min(
            next((at for at, number in enumerate(self.numbers) if number >= step), len(self.numbers)),
            max(0, len(self.numbers) - 1),
        )

    def _take(self, steps: Sequence[Step]) -> None:
        takes = self.filter.takes
        self.numbers += [number for number in range(self._seen, len(steps)) if takes(steps[number])]
        self._seen = len(steps)
        self._last = steps[-1] if steps else None


def row_of(reply: Reply, number: int, width: int) -> Line:
    """What a row says.

    Args:
        reply: As it stands.
        number: Of the step, counted from 0.
        width: Cells of the row.
    """
    step = reply.steps[number]
    runs: list[Run] = [(f" {number + 1:>{len(str(len(reply.steps)))}}", "strong")]
    if width >= _FEWEST_FOR_TIMES:
        runs.append((f"  {_time(reply, number):>8}", "dim"))
    drafted = NONE if step.drafted is None else str(step.drafted)
    runs.append((f"  {step.accepted}/{drafted}  ", "dim"))
    return _cut([*runs, *_tokens(reply, number, step)], width)


def token_of(reply: Reply, number: int) -> int | None:
    """Index of the token that a step is known by: the target's own word, else its first one; None without any."""
    first = first_of_step(reply.tokens, number)
    if first is None:
        return None
    shown = [at for at in tokens_of_step(reply, first) if reply.tokens[at].text]
    return shown[-1] if shown else first


def _time(reply: Reply, number: int) -> str:
    """Seconds since the first token, by the server's clock where it was traced."""
    if reply.trace is not None and reply.is_traced and number + 1 < len(reply.trace.rows):
        return f"{reply.trace.rows[number + 1].at:.3f} s"
    first = first_of_step(reply.tokens, number)
    ordinal = None if first is None else reply.ordinal_of(first)
    if ordinal is None or reply.clock.first_at is None:
        return NONE
    at = reply.clock.chunk_times[reply.live.chunk_of(ordinal)]
    return f"{at - reply.clock.first_at:.3f} s"


def _tokens(reply: Reply, number: int, step: Step) -> Iterator[Run]:
    """The kept proposals, the refused one beside the word that the target said instead, and what fell with it."""
    first = first_of_step(reply.tokens, number)
    emitted = [] if first is None else [reply.tokens[at] for at in tokens_of_step(reply, first)]
    for token in emitted[: step.accepted]:
        yield from ((_word(reply, token), _look(token)), (" ", ""))
    own = emitted[step.accepted :]
    if not own:
        cut = step.accepted - len(emitted)
        yield f"the reply ends here{f'; {cut} more kept past its end' if cut > 0 else ''}", "dim"
        return
    wanted = list(step.rejected)
    refused = (step.drafted or 0) - step.accepted
    if wanted:
        yield from ((LEFT, COUNT), (_short(word_of(reply, wanted[0])), REJECTED), (RIGHT, COUNT))
        yield " → ", "dim"
    elif refused:
        yield f"✗ {refused} rejected", "bad"
        yield " → ", "dim"
    yield from _own_word(reply, own, step)
    if wanted[1:]:
        yield "  ", ""
        yield LEFT, "dim"
        for index, one in enumerate(wanted[1:]):
            yield " " if index else "", ""
            yield _short(word_of(reply, one)), ABANDONED
        yield RIGHT, "dim"


def _own_word(reply: Reply, own: Sequence[Token], step: Step) -> Iterator[Run]:
    for token in own:
        if token.label.origin is Origin.BONUS:
            yield "+ ", "dim"
        yield _word(reply, token), _look(token)
    if step.drafted == 0:
        yield "  nothing drafted", "dim"


def _word(reply: Reply, token: Token) -> str:
    """What a token says; of one without a text, such as the end of a reply, what the server's tokenizer calls it."""
    if token.text or token.id is None:
        return _short(token.text)
    return _short(reply.text_of_proposal(token.id) or "⟨no text⟩")


def _short(text: str) -> str:
    shown = spelled(text)
    return shown if cell_len(shown) <= _LONGEST else set_cell_size(shown, _LONGEST - 1).rstrip() + "…"


def _look(token: Token) -> str:
    return style_of(token.label, thinking=token.channel is Channel.REASONING)


def _cut(runs: Sequence[Run], width: int) -> Line:
    """The runs as far as there is room; a sign says that there were more."""
    shown: list[Run] = []
    room = width
    for number, (text, look) in enumerate(runs):
        cells = cell_len(text)
        left = 1 if number + 1 < len(runs) else 0
        if cells > room - left and sum(cell_len(rest) for rest, _ in runs[number:]) > room:
            if room:
                shown.append((set_cell_size(text, room - 1) + "…", look))
            return Line(tuple(shown))
        shown.append((text, look))
        room -= cells
    return Line(tuple(shown))
