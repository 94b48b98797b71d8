"""What specchat takes from Textual's private parts still works there."""

import os
import threading

from textual import events
from textual._xterm_parser import XTermParser
from textual.app import App, ComposeResult
from textual.drivers.linux_driver import LinuxDriver
from textual.geometry import Region
from textual.message import Message
from textual.strip import Strip
from textual.widgets import Static

from specchat.ui.textual_patches import (
    NEWLINE_KEYS,
    draw_only_what_changed,
    survive_bytes_that_are_no_text,
    tell_alt_enter_apart,
    tell_of_every_size,
)


def keys_of(sequence: str) -> list[str]:
    tell_alt_enter_apart()
    tokens = [token for token in XTermParser().feed(sequence) if isinstance(token, events.Key)]
    return [token.key for token in tokens]


def test_enter_is_enter() -> None:
    assert keys_of("\r") == ["enter"]


def test_alt_enter_makes_a_new_line() -> None:
    assert set(keys_of("\x1b\r")) <= NEWLINE_KEYS
    assert keys_of("\x1b\r")


def test_shift_enter_makes_a_new_line_in_both_ways_that_terminals_send_it() -> None:
    for sequence in ("\x1b[27;2;13~", "\x1b[13;2u"):
        assert keys_of(sequence), sequence
        assert set(keys_of(sequence)) <= NEWLINE_KEYS, sequence


def test_line_feed_makes_a_new_line() -> None:
    assert set(keys_of("\n")) <= NEWLINE_KEYS


class PipeDriver(LinuxDriver):
    """Reads a pipe instead of a terminal, until a key "q" comes."""

    def __init__(self, fileno: int) -> None:
        self.fileno = fileno
        self.exit_event = threading.Event()
        self._debug = False
        self.characters: list[str | None] = []

    def process_message(self, message: Message) -> None:
        if isinstance(message, events.Key):
            self.characters.append(message.character)
            if message.character == "q":
                self.exit_event.set()


def test_bytes_that_are_no_text_do_not_end_the_app() -> None:
    survive_bytes_that_are_no_text()
    read_end, write_end = os.pipe()
    os.write(write_end, b"a\xff\xc3\xa9q")
    os.close(write_end)
    try:
        driver = PipeDriver(read_end)
        driver.run_input_thread()
    finally:
        os.close(read_end)
    assert driver.characters == ["a", "\ufffd", "é", "q"]


class Counted(Static):
    """Counts the rows that it is asked for."""

    asked = 0

    def render_lines(self, crop: Region) -> list[Strip]:
        self.asked += crop.height
        return super().render_lines(crop)


class Stacked(App[None]):
    """Three rows, one below the other."""

    def compose(self) -> ComposeResult:
        yield from (Counted(name, id=name) for name in ("above", "changed", "below"))


async def test_only_what_changed_is_asked_for_its_rows() -> None:
    draw_only_what_changed()
    async with Stacked().run_test(size=(20, 6)) as pilot:
        await pilot.pause()
        widgets = {str(widget.id): widget for widget in pilot.app.query(Counted)}
        before = {name: widget.asked for name, widget in widgets.items()}
        widgets["changed"].update("now", layout=False)
        await pilot.pause()
        asked = {name for name, widget in widgets.items() if widget.asked > before[name]}

        assert asked == {"changed"}
        shown = "\n".join(strip.text for strip in pilot.app.screen._compositor.render_strips())
        assert [line.strip() for line in shown.split("\n")] == ["above", "now", "below", "", "", ""]


class Measured(Static):
    """Keeps the heights that it was told of."""

    DEFAULT_CSS = "Measured { height: 1fr; }"

    def on_mount(self) -> None:
        self.heights: list[int] = []

    def on_resize(self, event: events.Resize) -> None:
        self.heights.append(event.size.height)


async def test_a_widget_that_gives_way_is_told_though_textual_looked_for_a_widget_meanwhile() -> None:
    tell_of_every_size()

    class Shown(App[None]):
        def compose(self) -> ComposeResult:
            yield Measured("gives way")
            yield Static("comes", id="comes")

    app = Shown()
    async with app.run_test(size=(40, 10)) as pilot:
        comes, measured = app.query_one("#comes"), app.query_one(Measured)
        comes.display = False
        await pilot.pause()
        assert measured.heights[-1] == 10
        comes.display = True
        app.screen._compositor._full_map_invalidated = True  # as after a scroll
        app.screen.find_widget(measured)
        await pilot.pause()

        assert measured.outer_size.height == 9
        assert measured.heights[-1] == 9
