"""How many colours a terminal shows. Reads no environment: whoever draws knows."""

from enum import StrEnum


class Depth(StrEnum):
    """What a theme can count on."""

    TRUECOLOR = "truecolor"
    EIGHT_BIT = "256"
    STANDARD = "standard"
    """The terminal's own sixteen colours."""
    MONO = "mono"
    """None: attributes alone tell things apart."""


def depth_of(color_system: str | None, *, no_color: bool) -> Depth:
    """The depth of a console.

    Args:
        color_system: Rich's name of it; None where the console shows no colours.
        no_color: Whether the user asked for none.
    """
    if no_color or color_system is None:
        return Depth.MONO
    return Depth(color_system) if color_system in {"truecolor", "256"} else Depth.STANDARD
