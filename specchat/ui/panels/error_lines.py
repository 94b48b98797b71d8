"""The page "What the draft gets wrong" as lines. A function of counts; draws no widget."""

from collections.abc import Iterator, Sequence

from rich.cells import cell_len, set_cell_size

from specchat.core.draft_errors import PARTS, DraftErrors, Miss, Score
from specchat.ui.panels.characters import spelled
from specchat.ui.panels.drawing import NONE, Line, Run, bar, line, number, percent, sparkline
from specchat.ui.proposals import COUNT, LEFT, REJECTED, RIGHT

_NAME_CELLS = 14
_BAR_CELLS = 16
_WORD_CELLS = 20


def error_lines(errors: DraftErrors, k: int | None) -> tuple[Line, ...]:
    """The page.

    Args:
        errors: What was counted.
        k: Proposals a step, for the height of the bars; None where it is not known.
    """
    share = errors.missed / errors.judged if errors.judged else None
    return (
        line(
            (str(errors.missed), "strong"),
            (f" of {errors.judged} judged proposals rejected", ""),
            (f" · {percent(share).strip()}", "dim"),
        ),
        line(("behind a rejected proposal nothing was judged · traced in the server", "dim")),
        line(),
        *_section("By kind of the target's word", "rejected of judged", map(_kind, errors.kinds)),
        *_along(errors.along, k),
        *_section("Wanted → got", "times", map(_miss, errors.misses)),
        *_section("Words missed most", "rejected of judged", map(_word, errors.words)),
    )


def _section(title: str, unit: str, lines: Iterator[Line]) -> Iterator[Line]:
    yield line((title, "title"), (f"  {unit}", "dim"))
    rows = list(lines)
    yield from rows or [line((f"  {NONE} nothing was rejected", "dim"))]
    yield line()


def _kind(score: Score) -> Line:
    return line(
        (f"  {score.name.ljust(_NAME_CELLS)}", ""),
        (bar(score.rate, _BAR_CELLS), "bad"),
        (f" {percent(score.rate)}", ""),
        (f"  {score.missed} of {score.judged}", "dim"),
    )


def _word(score: Score) -> Line:
    return line((f"  {score.missed:>4}", "strong"), (f" of {score.judged:<5}", "dim"), (_short(score.name), "target"))


def _miss(miss: Miss) -> Line:
    wanted = "?" if miss.wanted is None else _short(miss.wanted)
    mark: tuple[Run, ...] = ((LEFT, COUNT), (wanted, REJECTED), (RIGHT, COUNT))
    room = max(0, _WORD_CELLS - cell_len(wanted))
    return line(
        (f"  {miss.count:>4}  ", "strong"), *mark, (" " * room, ""), (" → ", "dim"), (_short(miss.got), "target")
    )


def _along(means: Sequence[float | None], k: int | None) -> Iterator[Line]:
    yield line(("Kept in a step, along the reply", "title"), (f"  mean of each of {PARTS} parts", "dim"))
    known = [mean for mean in means if mean is not None]
    if not known:
        yield line((f"  {NONE} no step with a draft", "dim"))
        return
    top = float(k) if k else max(*known, 1.0)
    yield line(("  ", ""), *((f"{_spark(mean, top) * 4} ", "accent") for mean in means))
    yield line(("  ", ""), *((f"{number(mean, 2, 4)} ", "") for mean in means))
    yield line(("  beginning".ljust(5 * PARTS - 2), "dim"), ("end", "dim"))
    yield line()


def _spark(mean: float | None, top: float) -> str:
    return " " if mean is None else sparkline((mean,), 0.0, top)


def _short(text: str, cells: int = _WORD_CELLS) -> str:
    shown = spelled(text)
    return shown if cell_len(shown) <= cells else set_cell_size(shown, cells - 1).rstrip() + "…"
