"""Every use of what Textual keeps to itself. Written for 8.2; its tests say when another version breaks it."""

import sys
from codecs import getincrementaldecoder
from functools import partial, wraps
from typing import TYPE_CHECKING, cast

from textual import _ansi_sequences
from textual._compositor import Compositor, ReflowResult
from textual.app import App
from textual.geometry import Region
from textual.keys import Keys
from textual.widgets._footer import FooterKey
from textual.worker import WorkerFailed

if TYPE_CHECKING:
    from codecs import IncrementalDecoder
    from collections.abc import Callable, Iterator, MutableMapping

    from rich.console import RenderableType
    from textual.geometry import Size
    from textual.strip import Strip
    from textual.widget import Widget

__all__ = [
    "NEWLINE_KEYS",
    "CrashKeepingApp",
    "FooterKey",
    "draw_only_what_changed",
    "patch_textual",
    "survive_bytes_that_are_no_text",
    "tell_alt_enter_apart",
    "tell_of_every_size",
    "terminal_is_behind",
    "write_to_terminal",
]

NEWLINE_KEYS = frozenset({"ctrl+j", "shift+enter", "alt+enter", "shift+\r", "alt+shift+enter"})
"""Names under which terminals report keys that insert a newline; `shift+\\r` is xterm's way with modifyOtherKeys."""


def tell_alt_enter_apart() -> None:
    """Read ESC CR, which Alt+Enter sends, as Ctrl+J: Textual would read it as Enter, which sends the prompt."""
    table = cast("MutableMapping[str, object]", _ansi_sequences.ANSI_SEQUENCES_KEYS)
    table["\x1b\r"] = (Keys.ControlJ,)


def survive_bytes_that_are_no_text() -> None:
    """Read bytes that are no UTF-8 as replacement characters: Textual's reader would end the app at the first.

    Terminals of another encoding send them, pastes hold them, and old mouse reports have them right of column 95.
    """
    if sys.platform == "win32":
        return
    from textual.drivers import linux_driver

    def lenient(encoding: str) -> "Callable[[], IncrementalDecoder]":
        return partial(getincrementaldecoder(encoding), "replace")

    vars(linux_driver)["getincrementaldecoder"] = lenient


def draw_only_what_changed() -> None:
    """Ask only those widgets for rows that can be seen where something changed, and only for these rows.

    Textual asks all that lie anywhere on the screen, in front of each other or behind, which costs as much at each
    frame of a stream as the text does.
    """

    def renders(compositor: Compositor, crop: Region | None = None) -> "Iterator[tuple[Region, Region, list[Strip]]]":
        crop = crop or compositor.size.region
        for widget, (region, clip) in compositor.visible_widgets.items():  # the front comes first
            rows_of_crop = clip.intersection(Region(clip.x, crop.y, clip.width, crop.height))
            seen = region.intersection(rows_of_crop)
            if not (seen and seen.overlaps(crop)):
                continue
            yield region, rows_of_crop, widget.render_lines(seen.translate(-region.offset))
            if seen.contains_region(crop):
                return

    Compositor._get_renders = renders  # type: ignore[method-assign, assignment]  # noqa: SLF001


def tell_of_every_size() -> None:
    """Send a Resize to each widget that has another size than it was told of.

    Textual compares two layouts of its own. Where it made one in between to find a widget, as it does after a scroll,
    it finds them equal, and widgets that had to give way to another one never hear of it.
    """
    if hasattr(Compositor.reflow, "__wrapped__"):
        return
    theirs = Compositor.reflow

    @wraps(theirs)
    def reflow(compositor: Compositor, parent: "Widget", size: "Size") -> ReflowResult:
        hidden, shown, resized = theirs(compositor, parent, size)
        places = compositor._full_map.items()  # noqa: SLF001 - the public one may lay out once more
        untold = {widget for widget, place in places if widget.outer_size != place.region.size}
        return ReflowResult(hidden, shown, resized | (untold - shown))

    Compositor.reflow = reflow  # type: ignore[method-assign, assignment]


def patch_textual() -> None:
    """Do all of the above; once more does no harm."""
    tell_alt_enter_apart()
    survive_bytes_that_are_no_text()
    draw_only_what_changed()
    tell_of_every_size()


class CrashKeepingApp(App[None]):
    """Keeps the error that ends it for whoever runs it, where Textual would print it with the values of variables."""

    crash: Exception | None = None
    """The first error that nothing handled."""

    def panic(self, *renderables: "RenderableType") -> None:
        """End because of what a thread of Textual's could not handle."""
        error = sys.exc_info()[1]
        traces = [trace for trace in (getattr(each, "trace", None) for each in renderables) if trace is not None]
        frames = [frame for trace in traces for stack in trace.stacks for frame in stack.frames]
        what = "".join(f"\n  {frame.filename}:{frame.lineno} in {frame.name}" for frame in frames)
        self._handle_exception(error if isinstance(error, Exception) else RuntimeError(f"Textual gave up:{what}"))

    def _handle_exception(self, error: Exception) -> None:
        inner = error.error if isinstance(error, WorkerFailed) else error
        self.crash = self.crash or (inner if isinstance(inner, Exception) else error)
        self._return_code = 1
        if self._exception is None:
            # Pilot tests raise it again.
            self._exception = error
            self._exception_event.set()
        self._close_messages_no_wait()


def terminal_is_behind(app: App[object]) -> bool:
    """Does a frame wait that the terminal has not taken? Textual stops everything once 30 of them wait."""
    writer = getattr(app._driver, "_writer_thread", None)  # noqa: SLF001 - the only one who knows
    return writer is not None and writer._queue.qsize() > 0  # noqa: SLF001


def write_to_terminal(app: App[None], text: str) -> None:
    """Write what is no drawing, such as a request to the terminal, where there is a terminal."""
    driver = app._driver  # noqa: SLF001 - the only way to write between two frames
    if driver is not None and not app.is_headless:
        driver.write(text)
