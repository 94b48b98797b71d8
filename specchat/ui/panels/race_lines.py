"""What a race shows besides the two texts: heads, bars, and the verdict. Draws no widget and measures nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from specchat.core.comparison.pairs import Pair, latest
from specchat.core.comparison.racing import Spread, rate_of, seconds_of, speed_spread, spread_of, tokens_after
from specchat.core.comparison.record import Record
from specchat.core.comparison.samples import AL_POOLED, Side
from specchat.core.harmless import harmless, one_line
from specchat.core.reply import Reply
from specchat.core.reply_figures import speculation_of
from specchat.core.server import ServerInfo
from specchat.core.switching import Way
from specchat.session.power import WHAT_ENERGY_IS
from specchat.session.racing import Race
from specchat.ui.panels.drawing import NONE, TIMES, EdgeLine, Line, Run, bar, line, number, wrap
from specchat.ui.panels.server_rows import host_of

ON, OFF = "●", "○"
_SIGNS = {Side.ON: ON, Side.OFF: OFF}
_NAMES = {Side.ON: "on", Side.OFF: "off"}
_PARTED = "mark-find"
"""The look of the place where the texts part."""
_BAR_FROM_CELLS = 8
_TRIAL = "This first run warmed both sides up: it does not count once there are more (3, 5 or 0)."
_LOST = "What was measured is kept: Enter goes on once both servers answer."
_EXCERPT = 14


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a side is at a moment."""

    tokens: int
    rate: float | None
    """Decode tokens per second until then."""
    is_ghost: bool = False
    """Is it a run that is over, seen at the other side's moment?"""
    is_over: bool = False


def standings(replies: Mapping[Side, Reply], now: float, *, together: bool) -> dict[Side, Standing]:
    """How far both sides are.

    One after the other, the side that ran first is shown where it was when it had run for as long as the second has:
    two bars that start together, whenever they really started.

    Args:
        replies: Of each side, as far as it has come.
        now: On the clock of the replies.
        together: Do both run at once?
    """
    running = [side for side, reply in replies.items() if reply.is_running]
    found = {}
    for side, reply in replies.items():
        other = next((one for one in running if one is not side), None)
        if not together and other is not None and not reply.is_running:
            elapsed = seconds_of(replies[other], now)
            is_over = elapsed >= seconds_of(reply, now)
            found[side] = Standing(tokens_after(reply, elapsed), rate_of(reply), not is_over, is_over)
        else:
            tokens = reply.output_tokens or 0
            found[side] = Standing(tokens, rate_of(reply), is_over=not reply.is_running)
    return found


def head(race: Race, width: int) -> EdgeLine:
    """What is compared, and how far it is."""
    on = race.opponents.servers[Side.ON]
    plan = race.plan
    how = "at once" if race.together else "in turn"
    left: list[Run] = [
        (" specchat ", "strong accent"),
        (" compare", "strong"),
        (f" · {one_line(on.model or '', 40)}", ""),
        (f" · temperature {plan.temperature:g}", "dim"),
        (f" · at most {plan.max_tokens} tokens", "dim"),
        (f" · {how}", "dim"),
    ]
    if race.warming is not None:
        state = (f"warming up {race.warming.done}/{race.warming.of}", "accent")
    elif race.runs:
        left_over = race.seconds_left
        soon = "" if left_over is None or race.wanted - race.done < 2 else f" · about {left_over:.0f} s left"
        state = (f"run {min(race.done + 1, race.wanted)} of {race.wanted}{soon}", "accent")
    else:
        state = (f"{race.done} run{'s' if race.done != 1 else ''}", "strong") if race.wanted else ("", "")
    return EdgeLine(tuple(left), (state, (" ", ""))) if width else EdgeLine(())


def column_head(race: Race, side: Side) -> EdgeLine:
    """Over a column: which side it is, and what its last reply came to."""
    server, reply = race.opponents.servers[side], race.replies.get(side)
    left: list[Run] = [(f" {_SIGNS[side]} ", "good" if side is Side.ON else "dim"), (_NAMES[side], "strong")]
    left.append((f" · {_by(race.opponents.way, server, side)}", "dim"))
    right: list[Run] = []
    if reply is not None and reply.output_tokens:
        counts, _ = speculation_of(reply)
        length = None if counts is None or side is Side.OFF else counts.acceptance_length
        right.append((f"{reply.output_tokens} tokens", ""))
        if length is not None:
            right.append((f" · AL {length:.2f}", ""))
        right.append((" ", ""))
    return EdgeLine(tuple(left), tuple(right))


def _by(way: Way, server: ServerInfo, side: Side) -> str:
    if side is Side.ON:
        return f"k={server.draft_length} · {host_of(server.url)}" if server.draft_length else host_of(server.url)
    return f"by the hook · {host_of(server.url)}" if way is Way.HOOK else f"no draft · {host_of(server.url)}"


def bars(found: Mapping[Side, Standing], most: int, width: int) -> tuple[Line, Line]:
    """The race: a bar for each side, as long as its tokens are many.

    Args:
        found: How far both are; a side that has not begun is missing.
        most: Tokens at the right end.
        width: Cells.
    """
    drawn = []
    room = width - 33
    for side in Side:
        standing = found.get(side)
        runs: list[Run] = [(f" {_SIGNS[side]} {_NAMES[side]:<4}", "good" if side is Side.ON else "dim")]
        tokens = 0 if standing is None else standing.tokens
        if room >= _BAR_FROM_CELLS:
            look = "accent" if side is Side.ON else ""
            runs.append((bar(tokens / max(1, most), room), f"{look} dim" if standing and standing.is_ghost else look))
        runs += [(f"{tokens:6}", "strong"), (" tokens", "dim")]
        rate = None if standing is None else standing.rate
        runs += [(number(rate, 1, 8), "strong"), (" t/s", "dim")]
        drawn.append(Line(tuple(runs)))
    return drawn[0], drawn[1]


def waiting(race: Race, width: int) -> tuple[Line, ...]:
    """Before the first verdict."""
    if race.warming is not None:
        text = "Both sides make a reply that does not count, so that caches and kernels are loaded."
    elif race.runs and not race.together:
        text = "One side after the other; the bar of the first runs along with the second."
    elif race.runs:
        text = "Both sides at once."
        if race.opponents.share_a_machine:
            text += " They are on one machine and slow each other: m asks them in turn."
    else:
        text = "Enter starts the race."
    return tuple(line((f" {part}", "dim")) for part in wrap(text, max(10, width - 2)))


def verdict(race: Race, record: Record, kept: str, width: int) -> tuple[Line, ...]:
    """What the runs say: figures first, then sentences, then where it is kept."""
    pairs = race.pairs
    lines: list[Line] = []
    if race.lost is not None:
        lines += said(f"{race.lost.message} {_LOST}", "bad", width)
    for sample in latest(race.samples)[-2:]:
        if sample.failure is not None and race.lost is None:
            lines += said(f"{_NAMES[sample.side]}: {sample.failure.message} {sample.failure.hint}", "bad", width)
    lines += said(record.verdict[0], "strong", width)
    if pairs:
        lines += _figures(record, pairs, width)
        lines += _parting(pairs[-1], width)
    shown = [_TRIAL] if race.is_trial and pairs else []
    shown += record.remarks
    if any(sample.energy_j is not None for sample in race.samples):
        shown.append(WHAT_ENERGY_IS)
    for text in (*shown, *record.notes):
        lines += said(text, "dim", width)
    if kept:
        lines += said(f"Every run is kept in {kept}", "dim", width)
    return tuple(lines)


def _figures(record: Record, pairs: Sequence[Pair], width: int) -> list[Line]:
    total = record.result.total
    speed, whole = speed_spread(pairs), spread_of([pair.end_to_end_ratio for pair in pairs])
    first = spread_of([_milliseconds(pair.first_token_difference_s) for pair in pairs])
    on = total.on.acceptance
    cells: list[tuple[str, str]] = [
        ("decode speed", _times(speed)),
        ("end to end", _times(whole)),
        ("first token", _signed(first)),
    ]
    if on.length is not None:
        mean = "" if on.length_mean_of_requests is None else f", mean of requests {on.length_mean_of_requests:.2f}"
        cells.append(("acceptance length", f"{on.length:.2f} {AL_POOLED}{mean} · {on.evidence}"))
    tokens = spread_of([pair.on.tokens for pair in pairs]), spread_of([pair.off.tokens for pair in pairs])
    cells.append(("tokens", " / ".join(NONE if one is None else f"{one.median:g}" for one in tokens) + " on / off"))
    energy = spread_of([pair.on.energy_j for pair in pairs]), spread_of([pair.off.energy_j for pair in pairs])
    if None not in energy:
        cells.append(("energy", " / ".join(f"{one.median:.0f}" for one in energy if one) + " J on / off, all GPUs"))
    return [line((f" {name:<18}", "dim"), (one_line(value, max(8, width - 20)), "strong")) for name, value in cells]


def _times(spread: Spread | None) -> str:
    if spread is None:
        return NONE
    text = f"{spread.median:.2f} {TIMES}"
    return text if spread.count < 2 else f"{text}   {spread.low:.2f} to {spread.high:.2f} in {spread.count} runs"


def _signed(spread: Spread | None) -> str:
    if spread is None:
        return NONE
    text = f"{spread.median:+.0f} ms"
    return text if spread.count < 2 else f"{text}   {spread.low:+.0f} to {spread.high:+.0f} in {spread.count} runs"


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000


def _parting(pair: Pair, width: int) -> list[Line]:
    """Where the two texts of the last run part."""
    where = pair.divergence
    if where is None:
        return [line((f" {'texts':<18}", "dim"), ("equal to the last token", "strong"))]
    place = f"token {where.token}" if where.token is not None else f"character {where.character}"
    on, off = (_excerpt(text[:_EXCERPT]) or "(end)" for text in (where.on, where.off))
    texts: list[Run] = [(f" {'texts part at':<18}", "dim"), (f"{place} ", "strong")]
    if width >= 80:
        texts += [("…" + _excerpt(where.before[-_EXCERPT:]), "dim"), (on, _PARTED), (" / ", "dim"), (off, _PARTED)]
    return [Line(tuple(texts))]


def _excerpt(text: str) -> str:
    """A piece of a text as it is, spaces included, in one row."""
    return harmless(text).replace("\n", "\N{DOWNWARDS ARROW WITH CORNER LEFTWARDS}").replace("\t", " ")


def said(text: str, look: str, width: int) -> list[Line]:
    """A sentence, wrapped."""
    return [line((f" {part}", look)) for part in wrap(text, max(10, width - 2))]
