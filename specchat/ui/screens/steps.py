"""The steps of one reply over the chat: what was proposed in each, what the target kept and what it said instead."""

from collections.abc import Callable, Mapping
from typing import ClassVar

from rich.style import Style
from textual import getters, on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType

from specchat.core.reply import Reply
from specchat.ui.panels.drawing import EdgeLine, Run
from specchat.ui.panels.step_rows import Filter, StepRows
from specchat.ui.screens.over import ScreenOver
from specchat.ui.widgets.lines import EdgesWidget
from specchat.ui.widgets.step_list import StepList

LOOK_SECONDS = 0.1
"""How often a reply that grows is looked at."""
_KEYS = (("Enter", "to the reply"), ("Esc", "closes"), ("f F", "other steps"), ("↑ ↓ PgUp PgDn Home End", "move"))
_EVIDENCE = {"traced": "traced", "reported": "proposals unknown: reported", "inferred": "proposals unknown: inferred"}


class StepsScreen(ScreenOver):
    """One row a step; a reply that runs grows here as well."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape,q,f12", "dismiss", "Close"),
        Binding("f", "filter(1)", "Filter"),
        Binding("F", "filter(-1)", show=False),
        Binding("ctrl+q", "app.quit", "Quit", show=False),
    ]
    DEFAULT_CSS = """
    StepsScreen {
        layout: vertical;
        background: $background;
        & #steps-head { background: $surface; }
        & #steps-keys { height: 1; color: $text-muted; }
    }
    """
    steps = getters.query_one("#steps", StepList)

    def __init__(
        self,
        reply: Reply,
        name: str,
        token_styles: Mapping[str, Style],
        choose: Callable[[int], None],
        *,
        step: int | None = None,
    ) -> None:
        """Show the steps of a reply.

        Args:
            reply: As it stands; it may run.
            name: What it is called here.
            token_styles: Rich styles by the names of `specchat.ui.styles`.
            choose: Called when this is closed, with the step, counted from 0, that the reader wants to see.
            step: Where the bar stands; None for the last, where it stays.
        """
        super().__init__()
        self._rows = StepRows(reply)
        self._name = name
        self._token_styles = token_styles
        self._choose = choose
        self._step = step
        self._was_running = reply.is_running

    def compose(self) -> ComposeResult:
        """A head, the rows, the keys."""
        yield EdgesWidget(self._token_styles, id="steps-head")
        yield StepList(self._rows, self._token_styles, step=self._step)
        yield EdgesWidget(self._token_styles, id="steps-keys")

    def on_mount(self) -> None:
        """Keep up with the reply."""
        self.query_one("#steps-keys", EdgesWidget).edges = EdgeLine(
            tuple(run for key, what in _KEYS for run in ((f" {key} ", "strong"), (f"{what} ", "dim")))
        )
        self._show_head()
        self.steps.focus()
        self.set_interval(LOOK_SECONDS, self._look)

    def action_filter(self, direction: int) -> None:
        """List other steps."""
        self.steps.use(self._rows.filter.beside(direction))

    @on(StepList.Chosen)
    def _go(self, event: StepList.Chosen) -> None:
        if self.is_active:
            self.dismiss()
            self.app.call_later(self._choose, event.step)

    @on(StepList.Moved)
    def _show_head(self) -> None:
        rows = self._rows
        listed, total = len(rows.numbers), rows.total
        count = f"{listed} of {total} steps" if rows.filter is not Filter.ALL else f"{total} steps"
        left: list[Run] = [(f" {self._name} ", "strong accent"), (f" {count}", "strong")]
        if rows.filter is not Filter.ALL:
            left.append((f" · {rows.filter}", "accent"))
        evidence = rows.reply.steps[-1].evidence if total else ""
        right: tuple[Run, ...] = ((_EVIDENCE.get(evidence, "no step yet"), "dim"), (" ", ""))
        self.query_one("#steps-head", EdgesWidget).edges = EdgeLine(tuple(left), right)

    def _look(self) -> None:
        runs = self._rows.reply.is_running
        if runs or self._was_running:
            self._was_running = runs
            self.steps.look()
