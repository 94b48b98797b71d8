"""The forms that each panel has, the one that says most first. Plain functions of the panels' values."""

from collections.abc import Sequence

from specchat.core.switching import Way
from specchat.theming import GRADES
from specchat.ui.panels.drawing import (
    NONE,
    TIMES,
    WIDTH,
    Line,
    Run,
    bar,
    chart,
    condense,
    line,
    number,
    percent,
    sparkline,
    wrap,
)
from specchat.ui.panels.gpu_rows import gpu_rows, gpu_sum
from specchat.ui.panels.model import (
    AcceptanceView,
    ComparisonView,
    PanelsView,
    PositionsView,
    RateView,
    ReplyView,
    ServerView,
    YieldsView,
)

Form = tuple[Line, ...]
"""The lines of a panel; none where it is left out."""

_CHART_ROWS = 3
_VERDICT_ROWS = 2
_SPARK_CELLS = 11
_BAR_CELLS = 19
_SHARE_CELLS = 4
"""Of one draft position, where all are in one line."""
_MOST_COLUMNS = 9
"""Of the tokens of a step side by side; steps that yield more share the last."""


def forms_of(view: PanelsView) -> dict[str, Sequence[Form]]:
    """Every panel's forms by its name, in the order of the column. The last form may be none."""
    forms = {
        "acceptance": acceptance_forms(view.acceptance),
        "rate": rate_forms(view.rate),
        "positions": positions_forms(view.positions),
        "yields": yields_forms(view.yields),
        "comparison": comparison_forms(view.comparison),
        "server": server_forms(view.server),
        "reply": reply_forms(view.reply),
    }
    return forms | {"gpus": (gpu_rows(view.gpus), (gpu_sum(view.gpus),), ())} if view.gpus else forms


def acceptance_forms(view: AcceptanceView) -> Sequence[Form]:
    """Mean, now and trend, and what they rest on."""
    top = view.highest or max(view.trend, default=2.0)
    most = f"at most {top:.0f}" if view.highest else ""
    evidence = line((view.evidence or f"{NONE} no reply yet", "dim"))
    figures = _mean_and_now(number(view.mean, 2, 6), number(view.now, 1, 4))
    return (
        (line(*figures, (most.rjust(WIDTH - 16), "dim")), *_chart(view.trend, 1.0, top), evidence),
        (line(*figures, _spark(view.trend, 1.0, top)), evidence),
    )


def rate_forms(view: RateView) -> Sequence[Form]:
    """Mean, now and trend."""
    top = max(view.trend, default=1.0)
    peak = f"peak {number(top, 0, 4)}" if view.trend else ""
    figures = _mean_and_now(number(view.mean, 1, 6), number(view.now, 0, 4))
    return (
        (line(*figures, (peak.rjust(WIDTH - 16), "dim")), *_chart(view.trend, 0.0, top)),
        (line(*figures, _spark(view.trend, 0.0, top)),),
        (),
    )


def positions_forms(view: PositionsView) -> Sequence[Form]:
    """One bar for each draft position, or the shares alone."""
    count = len(view.rates) if view.rates is not None else view.positions or 0
    rates = view.rates or (None,) * count
    bars = tuple(_bar(index + 1, rate, _accepted(index + 1)) for index, rate in enumerate(rates))
    cells = _SHARE_CELLS if count <= (WIDTH - 2) // _SHARE_CELLS else _SHARE_CELLS - 1
    shares: list[Run] = [
        (number(rate * 100, 0, 3).ljust(cells), _accepted(index + 1))
        for index, rate in enumerate((view.rates or ())[: (WIDTH - 2) // cells])
    ]
    row = line(*shares, (" %" if cells < _SHARE_CELLS else "%", "dim")) if shares else line((NONE, "dim"))
    return bars or (row,), (row,), ()


def yields_forms(view: YieldsView) -> Sequence[Form]:
    """The share of steps that yielded so many tokens: bars below each other, side by side, or in one line."""
    count = len(view.steps) if view.steps is not None else (view.positions or 0) + 1 if view.positions else 0
    if not count:
        row = (line((NONE, "dim")),)
        return row, row, row, ()
    total = sum(view.steps or ())
    shares = [steps / total for steps in view.steps] if view.steps and total else [None] * count
    bars = tuple(_bar(index + 1, share, _yielded(index + 1)) for index, share in enumerate(shares))
    return bars, _side_by_side(shares), (_in_one_line(shares),), ()


def reply_forms(view: ReplyView) -> Sequence[Form]:
    """Times and counts, with the figures one below the other."""
    rate = view.kept / view.drafted if view.kept is not None and view.drafted else None
    times = (
        _entry("first token", *_duration(view.first_token_ms)),
        _entry("step", *_duration(view.step_ms)),
    )
    counts = (
        _entry("drafted", _count(view.drafted)),
        _entry("kept", _count(view.kept), "" if rate is None else percent(rate).strip()),
    )
    end = _end(view)
    past_the_end = f", {view.cut} accepted past the end" if view.check and view.cut else ""
    steps = _entry("steps", _count(view.steps), view.evidence)
    short = (
        _halves("first", " ".join(_duration(view.first_token_ms)), "step", " ".join(_duration(view.step_ms))),
        _halves("drafted", _count(view.drafted), "kept", _count(view.kept)),
    )
    return (
        (*times, steps, *counts, *end),
        (*times, *counts, *end),
        (*short, *_padded(_verdict(view.check + past_the_end, failed=view.check_failed), _VERDICT_ROWS)),
        short,
        (),
    )


def comparison_forms(view: ComparisonView) -> Sequence[Form]:
    """Both rates, and how many times faster."""
    if not view.possible:
        return (line(("no way to switch it here:", "dim")), line(("/spec off says what helps", "dim"))), ()
    look = "dim" if view.ratio is None else "good" if view.ratio >= 1 else "bad"
    ratio = NONE if view.ratio is None else f"{view.ratio:.2f} {TIMES}"
    about = f" {view.missing or 'needs a reply of each'}" if view.ratio is None else " in tokens per second"
    way = view.off_way if view.ratio is not None else None
    kind = tuple(line((words, "dim")) for words in _KINDS[way])
    on, off = (number(value, 1, 6) for value in (view.on, view.off))
    short_on, short_off = (number(value, 1, 5) for value in (view.on, view.off))
    top = max(view.on or 0.0, view.off or 0.0) or 1.0
    bars = (
        line(("● on  ", "good"), (bar((view.on or 0.0) / top, _BAR_CELLS - 4), "good"), (f" {on}", "")),
        line(("○ off ", "dim"), (bar((view.off or 0.0) / top, _BAR_CELLS - 4), "dim"), (f" {off}", "")),
        line((ratio, f"strong {look}"), (about, "dim")),
        *kind,
    )
    by, briefly = _BY[way]
    rows = (
        line(("● on  ", "dim"), (on, ""), (" t/s", "dim"), (ratio.rjust(WIDTH - 16), f"strong {look}")),
        line(("○ off ", "dim"), (off, ""), (" t/s", "dim"), (by.rjust(WIDTH - 16) if by else "", "dim")),
    )
    one = line(
        ("● ", "dim"), (short_on, ""), ("  ○ ", "dim"), (short_off, ""),
        (f"{ratio}{briefly}".rjust(WIDTH - 16), f"strong {look}"),
    )  # fmt: skip
    return bars, rows, (one,), ()


_KINDS: dict[Way | None, tuple[str, ...]] = {
    None: (),
    Way.HOOK: ("this chat · off by the hook:", "the draft stays loaded"),
    Way.SERVER: ("this chat · off: 2nd server",),
    Way.RELAUNCH: ("this chat · off by relaunch",),
}
"""What the comparison is one of, where there is room to say it."""
_BY: dict[Way | None, tuple[str, str]] = {
    None: ("", ""),
    Way.HOOK: ("same server", " hook"),
    Way.SERVER: ("2nd server", " 2nd"),
    Way.RELAUNCH: ("relaunch", " anew"),
}
"""The same in a word or two, and in one."""


def server_forms(view: ServerView) -> Sequence[Form]:
    """Requests, KV cache and the rate of all clients."""
    if view.tells is False:
        nothing = (line((f"{NONE} its metrics tell no load", "dim")),)
        return nothing, nothing, ()
    load = view.load
    rate, short = (number(load.tokens_per_second, 1, width) for width in (7, 6))
    requests = _halves("running", _count(load.running), "waiting", _count(load.waiting))
    usage = load.kv_cache_usage
    return (
        (
            requests,
            line(("KV cache ", "dim"), (bar(usage or 0.0, _BAR_CELLS - 6), "accent"), (percent(usage).rjust(6), "")),
            line(("all clients", "dim"), (rate.rjust(WIDTH - 15), ""), (" t/s", "dim")),
        ),
        (
            requests,
            line(("KV cache", "dim"), (percent(usage), ""), ("  all", "dim"), (short, ""), (" t/s", "dim")),
        ),
        (),
    )


def _mean_and_now(mean: str, now: str) -> tuple[Run, ...]:
    return (mean, "strong"), ("  now ", "dim"), (now, "")


def _spark(trend: Sequence[float], low: float, high: float) -> Run:
    return " " + sparkline(condense(trend, _SPARK_CELLS), low, high).ljust(_SPARK_CELLS), "accent"


def _chart(trend: Sequence[float], low: float, high: float) -> tuple[Line, ...]:
    *upper, lowest = chart(trend, low, high, _CHART_ROWS)
    base = "▁" * (WIDTH - len(trend))
    return *(line((row, "accent")) for row in upper), line((lowest, "accent"), (base, "rule"))


def _bar(label: int, share: float | None, look: str) -> Line:
    return line((f"{label:>2} ", "dim"), (bar(share or 0.0, _BAR_CELLS), look), (percent(share).rjust(6), ""))


def _side_by_side(shares: Sequence[float | None]) -> Form:
    """Upright bars with the number of tokens below, and the share where there is room for it."""
    columns = _columns(shares)
    cells = WIDTH // len(columns)
    bars: list[Run] = []
    labels: list[Run] = []
    top = max((share or 0.0 for _, share, _ in columns), default=0.0) or 1.0
    for label, share, look in columns:
        block = sparkline((share,), 0.0, top) if share else " "
        bars += [(block * (cells - 1), look), (" ", "")]
        # Six cells hold a token count and its share.
        told = f"{label}{percent(share).replace(' %', '%'):>{cells - 1 - len(label)}}" if cells > 5 else label
        labels.append((told.ljust(cells), "dim"))
    return line(*bars), line(*labels)


def _in_one_line(shares: Sequence[float | None]) -> Line:
    columns = _columns(shares)
    top = max((share or 0.0 for _, share, _ in columns), default=0.0) or 1.0
    runs: list[Run] = []
    for label, share, look in columns:
        block = NONE if share is None else sparkline((share,), 0.0, top) if share else " "
        runs += [(label, "dim"), (block, look), (" ", "")]
    return line(*runs[:-1])


def _columns(shares: Sequence[float | None]) -> list[tuple[str, float | None, str]]:
    """Label, share and look of each number of tokens; those that there is no room for are added up in the last."""
    columns = [(str(index + 1), share, _yielded(index + 1)) for index, share in enumerate(shares)]
    if len(columns) <= _MOST_COLUMNS:
        return columns
    rest = shares[_MOST_COLUMNS - 1 :]
    more = None if shares[0] is None else sum(share or 0.0 for share in rest)
    return [*columns[: _MOST_COLUMNS - 1], (f"{_MOST_COLUMNS}+", more, _yielded(_MOST_COLUMNS))]


def _accepted(position: int) -> str:
    return f"accepted-{min(position, GRADES)}"


def _yielded(tokens: int) -> str:
    """The look of a step's deepest kept proposal; one token is the target's alone."""
    return "target" if tokens == 1 else _accepted(tokens - 1)


def _entry(label: str, value: str, unit: str = "") -> Line:
    return line((label.ljust(12), "dim"), (value.rjust(7), ""), (f" {unit}", "dim"))


def _halves(left: str, left_value: str, right: str, right_value: str) -> Line:
    """Two figures in two columns."""
    half = WIDTH // 2 - 1
    values = left_value.rjust(half - len(left)), right_value.rjust(half - len(right))
    return line((left, "dim"), (values[0], ""), ("  ", ""), (right, "dim"), (values[1], ""))


def _duration(milliseconds: float | None) -> tuple[str, str]:
    """Value and unit."""
    if milliseconds is None:
        return NONE, ""
    return (f"{milliseconds / 1000:.2f}", "s") if milliseconds >= 10_000 else (f"{milliseconds:.0f}", "ms")


def _end(view: ReplyView) -> Form:
    """What the reply's end told; room for it is kept free, so that nothing moves when it comes."""
    said = _verdict(view.check, failed=view.check_failed)
    entries = (
        (view.cut, _entry("past the end", _count(view.cut), "" if view.cut is None else "kept")),
        (view.live_right, _entry("live guesses", *_right(view.live_right))),
    )
    # A long verdict is about what is not known: it takes that room.
    shown = [entry for value, entry in entries if value is not None or len(said) <= _VERDICT_ROWS]
    return _padded((*shown, *said), len(entries) + _VERDICT_ROWS)


def _verdict(sentence: str, *, failed: bool) -> Form:
    return tuple(line((text, "bad" if failed else "dim")) for text in wrap(sentence, WIDTH))


def _padded(lines: Form, rows: int) -> Form:
    return *lines, *[line()] * (rows - len(lines))


def _right(share: float | None) -> tuple[str, str]:
    """Percent as value and unit."""
    return (NONE, "") if share is None else (percent(share).removesuffix(" %").strip(), "% right")


def _count(value: int | None) -> str:
    return NONE if value is None else str(value)
