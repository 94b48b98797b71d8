"""A race over the chat: one prompt with speculation at the left and without at the right. Routes, and draws nothing."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.screen import Screen

from specchat.core.comparison.racing import parting_of
from specchat.core.comparison.record import Record
from specchat.core.comparison.samples import Side
from specchat.core.conversation import Turn
from specchat.core.errors import SpecchatError
from specchat.core.harmless import one_line
from specchat.core.reply import Reply
from specchat.session.racing import Race
from specchat.theming import Theme
from specchat.ui.app import ChatApp
from specchat.ui.layout.marks import Mark
from specchat.ui.panels import race_lines
from specchat.ui.panels.drawing import EdgeLine, Line
from specchat.ui.styles import MARK
from specchat.ui.theme import token_styles
from specchat.ui.widgets.key_footer import KeyFooter
from specchat.ui.widgets.lines import EdgesWidget, LinesWidget
from specchat.ui.widgets.page import Page
from specchat.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from textual.worker import Worker

LOOK_SECONDS = 1 / 15
"""How often replies that grow are looked at."""
_RELABELLED = 64
"""Tokens before the newest that may still change their look while a reply grows."""
PROMPT = "\N{SINGLE RIGHT-POINTING ANGLE QUOTATION MARK}"


class RaceScreen(Screen[None]):
    """Both replies side by side, a bar for each, and what the runs say."""

    AUTO_FOCUS = ""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "race(1)", "Again", key_display="Enter"),
        Binding("escape", "back", "Stop, back", key_display="Esc"),
        Binding("3", "race(3)", "5 0 runs more", key_display="3"),
        Binding("5", "race(5)", show=False),
        Binding("0", "race(10)", show=False),
        Binding("m", "mode", "At once/in turn"),
        Binding("ctrl+s", "export", "Export", key_display="Ctrl+S"),
        Binding("up", "scroll_both(-1)", show=False),
        Binding("down", "scroll_both(1)", show=False),
        Binding("pageup", "page_both(-1)", show=False),
        Binding("pagedown", "page_both(1)", show=False),
        Binding("home", "home_both", show=False),
        Binding("end", "end_both", show=False),
        Binding("f3", "app.toggle_theme", "Theme", key_display="F3"),
        Binding("ctrl+c", "back", show=False, priority=True),
        Binding("ctrl+q", "app.quit", "Quit", priority=True, key_display="Ctrl+Q"),
    ]
    DEFAULT_CSS = """
    RaceScreen {
        layout: vertical;
        background: $background;
        & #race-head { background: $surface; }
        & #race-columns { height: 1fr; margin-top: 1; }
        & .race-column { height: 1fr; }
        & .race-column.-off { border-left: solid $border-blurred; }
        & Transcript { height: 1fr; }
        & #race-bars { height: 2; margin-top: 1; }
        & #race-verdict { height: auto; max-height: 45%; min-height: 2; border-top: solid $border-blurred; }
        & Footer { background: $background; }
    }
    """
    app = getters.app(ChatApp)
    verdict = getters.query_one("#race-verdict", Page)

    def __init__(
        self, race: Race, *, look: Theme, export: Callable[[], tuple[Path, Path]], record: Callable[[], Record],
        kept: Callable[[], Path | None],
    ) -> None:  # fmt: skip
        """Show a race and start its first run.

        Args:
            race: Not begun.
            look: The theme.
            export: Writes the comparison; returns where.
            record: The comparison as it stands.
            kept: Where the runs are kept; None before there is any.
        """
        super().__init__()
        self.race = race
        self._styles = token_styles(look)
        self._export, self._record, self._kept = export, record, kept
        self._shown: dict[Side, Turn] = {}
        self._rows = dict.fromkeys(Side, 0)
        self._said: tuple[str, str] | None = None
        self._syncs = False

    def compose(self) -> ComposeResult:
        """Head, prompt, two columns, two bars, verdict, keys."""
        yield EdgesWidget(self._styles, id="race-head")
        yield EdgesWidget(self._styles, id="race-prompt")
        with Horizontal(id="race-columns"):
            for side in Side:
                with Vertical(classes=f"race-column -{side}"):
                    yield EdgesWidget(self._styles, id=f"race-head-{side}")
                    yield Transcript(self._styles, id=f"race-{side}")
        yield LinesWidget(self._styles, id="race-bars")
        yield Page(self._styles, id="race-verdict")
        yield KeyFooter(show_command_palette=False, compact=True)

    def on_mount(self) -> None:
        """Keep the columns in step, look at what grows, and start."""
        for side in Side:
            column = self.column(side)
            column.can_focus = False
            self.watch(column, "scroll_y", partial(self._follow_scroll, side), init=False)
        prompt = one_line(self.race.prompt, 400)
        self.query_one("#race-prompt", EdgesWidget).edges = EdgeLine(((f" {PROMPT} ", "strong accent"), (prompt, "")))
        self.set_interval(LOOK_SECONDS, self._look)
        self.call_after_refresh(self.action_race, 1)

    def on_resize(self) -> None:
        """Give both texts the same width: where they are equal, so are their lines."""
        half = (self.size.width - 1) // 2
        for side, width in ((Side.ON, half), (Side.OFF, half + 1)):  # the right one has the line between them
            self.query_one(f".race-column.-{side}").styles.width = width

    def column(self, side: Side) -> Transcript:
        """Where a side's reply is shown."""
        return self.query_one(f"#race-{side}", Transcript)

    def show_theme(self, theme: Theme) -> None:
        """Draw in another theme's looks."""
        self._styles = token_styles(theme)
        for side in Side:
            self.column(side).set_token_styles(self._styles)
        for widget in self.query(LinesWidget):
            widget.set_token_styles(self._styles)

    # -- running ------------------------------------------------------------------------------------------------------

    def action_race(self, count: int) -> None:
        """Race so many times more."""
        if not self.race.runs:
            self._said = None
            _: Worker[None] = self.run_worker(partial(self._run, count), group="racing", exclusive=True)

    async def _run(self, count: int) -> None:
        try:
            await self.race.run(count)
        except SpecchatError as error:
            self._said = str(error), "bad"
        self._look()
        self._show_verdict()
        self.refresh_bindings()
        # The verdict takes room from the columns: what is to be in sight is brought there when that is done.
        self.call_after_refresh(self._mark_parting)

    def action_mode(self) -> None:
        """Ask both sides at once, or one after the other."""
        if self.race.opponents.can_run_together and not self.race.runs:
            self.race.forget()
            self.race.together = not self.race.together
            self.action_race(1)

    def action_back(self) -> None:
        """Stop what runs; else back to the chat."""
        if self.race.runs:
            self.race.stop()
        elif self.is_active:
            self.dismiss()

    def on_unmount(self) -> None:
        """Whatever ends the screen ends the race."""
        self.race.stop()

    def action_export(self) -> None:
        """Write the comparison as JSON and Markdown."""
        if self.race.runs or not self.race.samples:
            return
        try:
            paths = self._export()
        except SpecchatError as error:
            self.notify(str(error), severity="warning", markup=False)
            return
        self.notify(f"Written: {paths[0]} and {paths[1].name}", markup=False, timeout=8)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:  # noqa: ARG002 - Textual's
        """Keys that mean nothing here are not shown."""
        if action == "mode":
            return self.race.opponents.can_run_together
        return True

    # -- scrolling ----------------------------------------------------------------------------------------------------

    def action_scroll_both(self, rows: int) -> None:
        """Both columns by some rows; the other one follows the first."""
        self._longer().action_move(rows)

    def action_page_both(self, pages: int) -> None:
        """Both columns by pages."""
        self._longer().action_page(pages)

    def action_home_both(self) -> None:
        """Both columns to the top."""
        self._longer().action_home()

    def action_end_both(self) -> None:
        """Both columns to the end."""
        self._longer().action_end()

    def _longer(self) -> Transcript:
        return max(map(self.column, Side), key=lambda column: column.document.height)

    def _follow_scroll(self, side: Side, _: float) -> None:
        """The columns are in step, but for replies that grow: each of those follows its own end."""
        if self.race.runs or self._syncs:
            return
        column = self.column(side)
        other = self.column(Side.OFF if side is Side.ON else Side.ON)
        self._syncs = True
        try:
            other.scroll_to(y=column.scroll_offset.y, animate=False, immediate=True)
        finally:
            self._syncs = False

    # -- showing ------------------------------------------------------------------------------------------------------

    def _look(self) -> None:
        if not self.is_mounted:
            return
        for side in Side:
            reply = self.race.replies.get(side)
            if reply is not None:
                self._show_reply(side, reply)
            self.query_one(f"#race-head-{side}", EdgesWidget).edges = race_lines.column_head(self.race, side)
        width = self.size.width
        self.query_one("#race-head", EdgesWidget).edges = race_lines.head(self.race, width)
        found = race_lines.standings(self.race.replies, self.race.clock(), together=self.race.together)
        longest = max((reply.output_tokens or 0 for reply in self.race.replies.values()), default=0)
        ended = [reply.output_tokens or 0 for reply in self.race.replies.values() if not reply.is_running]
        most = max(longest, max(ended, default=self.race.plan.max_tokens))
        self.query_one("#race-bars", LinesWidget).lines = race_lines.bars(found, most, width)
        if self.race.runs:
            self.verdict.show(partial(race_lines.waiting, self.race))

    def _show_reply(self, side: Side, reply: Reply) -> None:
        column, shown = self.column(side), self._shown.get(side)
        if shown is None or shown.reply is not reply:
            shown = self._shown[side] = Turn("", reply, self.race.opponents.servers[side])
            self._rows[side] = 0
            column.clear()
            column.set_marks("find", {})
        rows, ended = len(reply.rows), not reply.is_running
        was_live, column.live = column.live, not ended
        if rows != self._rows[side] or was_live != column.live:
            first = 0 if ended else max(0, self._rows[side] - _RELABELLED)
            self._rows[side] = rows
            column.show_turns([shown], first)

    def _mark_parting(self) -> None:
        """Mark in both texts the first token in which they differ, and bring it into sight."""
        replies = [turn.reply for turn in self._shown.values()]
        where = parting_of(*replies) if len(replies) == len(Side) else None
        if where is None:
            return
        rows = []
        for side, turn in self._shown.items():
            column = self.column(side)
            index = min(turn.reply.index_of(where), len(turn.reply.rows) - 1)
            while index > 0 and not turn.reply.rows[index][1]:
                index -= 1  # where texts of tokens are not known, a chunk has all its text at its first token
            place = column.document.place_of_token(0, index)
            if place is not None and place.end > place.start:
                column.set_marks("find", {place.block: [Mark(place.start, place.end, f"{MARK}find")]})
                rows.append(column.document.row_of(place.block, place.start))
        if rows:
            for column in map(self.column, Side):
                column.set_following(following=False)
            longer = self._longer()
            longer.scroll_to(y=max(0, min(rows) - longer.size.height // 3), animate=False, immediate=True)

    def _show_verdict(self) -> None:
        if not self.race.samples:
            self.verdict.show(self._said_lines)
            return
        record, kept = self._record(), self._kept()
        where = "" if kept is None else str(kept)

        def lines(width: int) -> tuple[Line, ...]:
            return self._said_lines(width) + race_lines.verdict(self.race, record, where, width)

        self.verdict.show(lines, from_top=True)

    def _said_lines(self, width: int) -> tuple[Line, ...]:
        return () if self._said is None else tuple(race_lines.said(*self._said, width))
