"""What people see of a comparison on a terminal: a bar while it runs, then a table and what it says."""

from typing import TextIO

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from specchat.core.comparison.record import Record
from specchat.core.comparison.result import Comparison
from specchat.core.comparison.samples import AL_POOLED, Side
from specchat.core.comparison.verdict import divergence_text
from specchat.exports.compare_json import prompt_label
from specchat.exports.compare_markdown import interval_text, number
from specchat.session.comparing import Progress as Event
from specchat.session.comparing import SampleTaken, WarmingUp

_MOST_ROWS = 60
_LABEL = 28
_NARROW = 100
"""Columns below which first tokens and divergences are left to --json and --markdown."""
_PIPE_WIDTH = 120


class RunDisplay:
    """A bar with the time that is left, on a terminal; nothing elsewhere."""

    def __init__(self, err: TextIO, names: dict[Side, str]) -> None:
        """Show nothing yet.

        Args:
            err: Where to.
            names: What to call the sides.
        """
        console = Console(file=err)
        self._names = names
        self._rates: dict[Side, float] = {}
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}", markup=False),
            BarColumn(bar_width=None),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            # Replies take seconds each, so that the usual half minute would hold too few.
            speed_estimate_period=600,
        )
        self._task = self._progress.add_task("warming up", total=None)

    def __enter__(self) -> "RunDisplay":
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, event: Event) -> None:
        """Show where the run is."""
        match event:
            case WarmingUp(done, of):
                self._progress.update(self._task, completed=done, total=of)
            case SampleTaken(sample, done, of):
                if sample.decode_rate is not None:
                    self._rates[sample.side] = sample.decode_rate
                last = ", ".join(f"{self._names[side]} {rate:.1f}" for side, rate in sorted(self._rates.items()))
                text = f"measuring · {last} tokens/s" if last else "measuring"
                self._progress.update(self._task, description=text, completed=done, total=of)


def print_result(record: Record, out: TextIO) -> None:
    """The table and the sentences."""
    console = Console(file=out, highlight=False, width=None if out.isatty() else _PIPE_WIDTH)
    console.print(_table(record, wide=console.width >= _NARROW))
    hidden = len(record.result.prompts) - _MOST_ROWS
    if hidden > 0:
        _say(console, f"({hidden} more prompts are in --json and --markdown)")
    for sentence in record.verdict:
        _say(console, sentence)
    for note in record.notes:
        _say(console, f"note: {note}")


def _table(record: Record, *, wide: bool) -> Table:
    on, off = record.names[Side.ON], record.names[Side.OFF]
    caption = f"Decode rates in tokens/s, medians. AL: acceptance length, 1 + accepted/steps, {AL_POOLED}."
    table = Table(caption=caption, caption_justify="left", show_footer=True)
    total = record.result.total
    feet = ["all", *_cells(total, wide=wide), *([f"{total.differing} of {total.pairs}"] if wide else [])]
    heads = ["prompt", on, off, "ratio", "95 % interval", "AL pooled", *(["first token ms", "part at"] if wide else [])]
    for index, (head, foot) in enumerate(zip(heads, feet, strict=True)):
        table.add_column(head, foot, justify="right" if index else "left", overflow="fold")
    for one in record.result.prompts[:_MOST_ROWS]:
        label = prompt_label(one.number, record.plan.prompts[one.number], _LABEL)
        table.add_row(_plain(label), *_cells(one.figures, wide=wide), *([_plain(divergence_text(one))] if wide else []))
    return table


def _cells(one: Comparison, *, wide: bool) -> list[str]:
    cells = [number(one.on.decode_rate, 1), number(one.off.decode_rate, 1), number(one.speed.value, 2)]
    cells += [interval_text(one.speed), number(one.on.acceptance.length, 2)]
    first = [None if side.first_token_s is None else side.first_token_s * 1000 for side in (one.on, one.off)]
    return [*cells, *([f"{number(first[0], 0)} / {number(first[1], 0)}"] if wide else [])]


def _plain(text: str) -> str:
    """Text that Rich does not read as markup."""
    return text.replace("[", "\\[")


def _say(console: Console, text: str) -> None:
    """A sentence: wrapped on a terminal, a line elsewhere."""
    console.print(text, markup=False, emoji=False, soft_wrap=not console.is_terminal)
