"""One row of the screen, made to be cheap where it is drawn often: a reply that streams draws every row at each frame.

Owns how a row becomes bytes, and how it tells which character a cell shows; knows no colours.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from rich.color import ColorSystem
from rich.console import COLOR_SYSTEMS, Console
from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

_RESET = "\x1b[0m"


class RowStrip(Strip):
    """A strip that writes only what changes from one look to the next.

    Segments of one look share one style. Which character a segment begins with is added to the style only for who
    goes through the segments, as Textual's selection does: a style of its own for each segment would defeat every
    cache of Rich's.
    """

    __slots__ = ("_block", "_drawn", "_offsets")

    def __init__(self, segments: Sequence[Segment], cells: int, block: int, offsets: Sequence[int]) -> None:
        """Make a row.

        Args:
            segments: What it shows.
            cells: Their width.
            block: Number of the block of text that they show.
            offsets: For each segment, the index of its first character in the block's text.
        """
        super().__init__(segments, cells)
        self._block = block
        self._offsets = offsets
        self._drawn: str | None = None

    def __iter__(self) -> Iterator[Segment]:
        for (text, style, control), offset in zip(super().__iter__(), self._offsets, strict=True):
            place = Style.from_meta({"offset": (offset, self._block)})
            yield Segment(text, place if style is None else style + place, control)

    def render(self, console: Console) -> str:
        """What the terminal gets."""
        if self._drawn is None:
            system = COLOR_SYSTEMS[console.color_system] if console.color_system else ColorSystem.TRUECOLOR
            written: list[str] = []
            before: Style | None = None
            for text, style, _ in super().__iter__():
                if style is not None and style.link:
                    return super().render(console)
                if text:
                    if style is not before:
                        written.append(_change(before, style, system))
                        before = style
                    written.append(text)
            written.append(_RESET)
            self._drawn = "".join(written)
        return self._drawn


@lru_cache(maxsize=4096)
def _change(before: Style | None, after: Style | None, system: ColorSystem) -> str:
    """The control sequence that leads from one look to another; `before` is None at the beginning of a row."""
    before, after = before or Style.null(), after or Style.null()
    codes: list[str] = []
    if before.without_color != after.without_color:
        # Attributes are taken back one by one in ways that terminals disagree on.
        codes.append("0")
        before = Style.null()
        if attributes := Strip.render_ansi(after.without_color, system):
            codes.append(attributes)
    for ours, theirs, foreground in ((after.color, before.color, True), (after.bgcolor, before.bgcolor, False)):
        if ours != theirs:
            codes += (
                ("39" if foreground else "49",) if ours is None else ours.downgrade(system).get_ansi_codes(foreground)
            )
    return f"\x1b[{';'.join(codes)}m" if codes else ""
