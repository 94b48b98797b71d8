"""What a theme says, for any number of colours. Colours are kept as the file writes them."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from specchat.theming.depth import Depth
from specchat.theming.shades import faded, nearest_of_256

ATTRIBUTES = frozenset({"bold", "italic", "underline", "underline2", "overline", "reverse", "strike"})
"""What a look can have besides colours."""
SIXTEEN = tuple(
    bright + name
    for bright in ("", "bright_")
    for name in ("black", "red", "green", "yellow", "blue", "magenta", "cyan", "white")
)
"""Names of the colours that every terminal has, in the order of their numbers."""


@dataclass(frozen=True, slots=True)
class Look:
    """How something is drawn."""

    color: str | None = None
    """Six hexadecimal digits after a number sign or a name in `SIXTEEN`; None leaves the colour that is there."""
    attributes: tuple[str, ...] = ()
    """What tells it apart where there is no colour; names in `ATTRIBUTES`."""
    background: str | None = None
    """As `color`."""

    @property
    def style(self) -> str:
        """As a Rich style."""
        words = [*self.attributes]
        if self.color is not None:
            words.append(self.color)
        if self.background is not None:
            words += ["on", self.background]
        return " ".join(words) or "default"


@dataclass(frozen=True, slots=True)
class Looks:
    """How something is drawn with as many colours as there are."""

    full: Look
    """With any colour."""
    eight_bit: Look
    """With 256 colours, of which the nearest are taken."""
    sixteen: Look
    """With the terminal's own sixteen."""
    mono: Look
    """With none."""

    def at(self, depth: Depth) -> Look:
        """The look for a number of colours."""
        return {
            Depth.TRUECOLOR: self.full,
            Depth.EIGHT_BIT: self.eight_bit,
            Depth.STANDARD: self.sixteen,
            Depth.MONO: self.mono,
        }[depth]


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of the screen, and a look for all that has one of its own, with as many colours as there are."""

    name: str
    dark: bool
    full_colors: Mapping[str, str]
    """The screen's colours by name: primary, background and so on; all of them are there."""
    full_variables: Mapping[str, str]
    """Further colours, by the name of a variable of the style sheets."""
    sixteen: Mapping[str, str]
    """What stands for each of both where there are sixteen colours; names in `SIXTEEN`."""
    origins: Mapping[str, Looks]
    """By the names in `specchat.theming.looks.LOOKS`; all of them are there."""
    all_marks: Mapping[str, Looks]
    """By the names in `specchat.theming.looks.MARKS`; all of them are there."""
    all_proposals: Mapping[str, Looks]
    """By the names in `specchat.theming.looks.PROPOSALS`; all of them are there."""
    all_code: Mapping[str, Looks]
    """By the names in `specchat.theming.looks.CODE`; all of them are there."""
    thinking_fade: float
    """How far the thinking's colours are moved towards the background at most, from 0 to 1."""
    depth: Depth = Depth.TRUECOLOR
    """How many colours are counted on."""

    def at(self, depth: Depth) -> "Theme":
        """The same theme for another number of colours."""
        return replace(self, depth=depth)

    @property
    def colors(self) -> Mapping[str, str]:
        """The screen's colours at this depth; "default" is the terminal's own."""
        return self._at_depth(self.full_colors)

    @property
    def variables(self) -> Mapping[str, str]:
        """Further colours at this depth."""
        return self._at_depth(self.full_variables)

    @property
    def looks(self) -> Mapping[str, Look]:
        """Looks of origins at this depth."""
        return self._told_apart({name: looks.at(self.depth) for name, looks in self.origins.items()})

    @property
    def thinking_looks(self) -> Mapping[str, Look]:
        """Looks of origins in the thinking: nearer to the background, and readable still."""
        if self.depth in {Depth.STANDARD, Depth.MONO}:
            return self.looks
        background, grounds = self.colors["background"], self._grounds()
        return self._told_apart(
            {
                name: replace(look, color=faded(look.color, background, self.thinking_fade, grounds))
                for name, look in ((name, looks.at(self.depth)) for name, looks in self.origins.items())
                if look.color is not None
            }
        )

    @property
    def marks(self) -> Mapping[str, Look]:
        """Looks of marks at this depth."""
        return {name: self._nearest(looks.at(self.depth)) for name, looks in self.all_marks.items()}

    @property
    def proposals(self) -> Mapping[str, Look]:
        """Looks of proposals that were not kept, at this depth."""
        grounds = self._grounds() if self.depth is Depth.EIGHT_BIT else ()
        return {name: self._nearest(looks.at(self.depth), grounds) for name, looks in self.all_proposals.items()}

    @property
    def code(self) -> Mapping[str, Look]:
        """Looks of the parts of code at this depth."""
        ground = self.all_code["text"].full.background
        grounds = () if ground is None else (self._shade(ground),)
        return {name: self._nearest(looks.at(self.depth), grounds) for name, looks in self.all_code.items()}

    def _at_depth(self, colors: Mapping[str, str]) -> Mapping[str, str]:
        if self.depth is Depth.MONO:
            return dict.fromkeys(colors, "default")
        if self.depth is Depth.STANDARD:
            return {name: self.sixteen[name] for name in colors}
        return {name: self._shade(color) for name, color in colors.items()}

    def _grounds(self) -> tuple[str, ...]:
        """All backgrounds that tokens are drawn on, the marks' included."""
        marks = [looks.at(self.depth) for looks in self.all_marks.values()]
        grounds = (mark.background for mark in marks if mark.background is not None and mark.color is None)
        return tuple(self._shade(ground) for ground in (self.full_colors["background"], *grounds))

    def _told_apart(self, looks: Mapping[str, Look]) -> dict[str, Look]:
        """Where there are 256 colours, the nearest of them, and no two looks with the same."""
        if self.depth is not Depth.EIGHT_BIT:
            return dict(looks)
        grounds, taken = self._grounds(), set[str]()
        apart: dict[str, Look] = {}
        for name, look in looks.items():
            color = None if look.color is None else nearest_of_256(look.color, grounds, taken)
            apart[name] = replace(look, color=color)
            taken |= {color} if color is not None else set()
        return apart

    def _nearest(self, look: Look, grounds: tuple[str, ...] = ()) -> Look:
        if self.depth is not Depth.EIGHT_BIT:
            return look
        background = None if look.background is None else self._shade(look.background)
        color = None if look.color is None else nearest_of_256(look.color, grounds or tuple(filter(None, [background])))
        return replace(look, color=color, background=background)

    def _shade(self, color: str) -> str:
        return nearest_of_256(color) if self.depth is Depth.EIGHT_BIT else color
