"""Arithmetic of colours: contrast, blending, and the nearest of 256. Colours are six hexadecimal digits after #."""

from collections.abc import Collection, Sequence
from functools import lru_cache

READABLE = 4.5
"""The contrast that text needs, by WCAG 2."""
_LEVELS = (0, 95, 135, 175, 215, 255)
_FADE_STEPS = 20


def contrast(first: str, second: str) -> float:
    """The ratio of WCAG 2, from 1 to 21."""
    low, high = sorted((_luminance(first), _luminance(second)))
    return (high + 0.05) / (low + 0.05)


def readable_on(color: str, grounds: Sequence[str]) -> bool:
    """Whether text of a colour can be read on every one of these backgrounds."""
    return all(contrast(color, ground) >= READABLE for ground in grounds)


def faded(color: str, background: str, share: float, grounds: Sequence[str]) -> str:
    """A colour moved towards the background, as far as it can still be read.

    Args:
        color: The colour.
        background: What it is moved to.
        share: How far at most, from 0 to 1.
        grounds: All backgrounds on which it must be readable.
    """
    for step in range(_FADE_STEPS, 0, -1):
        blended = _blend(color, background, share * step / _FADE_STEPS)
        if readable_on(blended, grounds):
            return blended
    return color


def nearest_of_256(color: str, grounds: Sequence[str] = (), taken: Collection[str] = ()) -> str:
    """The colour of the 256 that looks most like another.

    Args:
        color: What it stands for.
        grounds: Backgrounds on which it must be readable, if any of the 256 is.
        taken: Colours that stand for something else already.
    """
    free = [shade for shade in _palette() if shade not in taken]
    choice = [shade for shade in free if readable_on(shade, grounds)] or free
    return min(choice, key=lambda shade: _distance(shade, color))


def _distance(first: str, second: str) -> float:
    """How unlike two colours are; hue, which tells origins apart, counts more than lightness."""
    lightness, *hue = ((a - b) ** 2 for a, b in zip(_oklab(first), _oklab(second), strict=True))
    return lightness / 4 + sum(hue)


@lru_cache(1)
def _palette() -> tuple[str, ...]:
    """The cube and the greys, without the cube's own greys, which libraries take for the other ones."""
    cube = [(r, g, b) for r in _LEVELS for g in _LEVELS for b in _LEVELS if not (r == g == b) or r in {0, 255}]
    greys = [(level, level, level) for level in range(8, 239, 10)]
    return tuple(f"#{r:02x}{g:02x}{b:02x}" for r, g, b in (*cube, *greys))


def _channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _blend(color: str, other: str, share: float) -> str:
    mixed = (round(one + (two - one) * share) for one, two in zip(_channels(color), _channels(other), strict=True))
    return "#" + "".join(f"{channel:02x}" for channel in mixed)


@lru_cache(1024)
def _linear(color: str) -> tuple[float, float, float]:
    r, g, b = (
        share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4
        for share in (channel / 255 for channel in _channels(color))
    )
    return r, g, b


@lru_cache(1024)
def _luminance(color: str) -> float:
    r, g, b = _linear(color)
    return 0.2126 * r + 0.7152 * g + 0.0722 * b


@lru_cache(1024)
def _oklab(color: str) -> tuple[float, float, float]:
    """Coordinates in which distances are those that people see (Ottosson 2020)."""
    r, g, b = _linear(color)
    long = (0.4122214708 * r + 0.5363325363 * g + 0.0514459929 * b) ** (1 / 3)
    medium = (0.2119034982 * r + 0.6806995451 * g + 0.1073969566 * b) ** (1 / 3)
    short = (0.0883024619 * r + 0.2817188376 * g + 0.6299787005 * b) ** (1 / 3)
    return (
        0.2104542553 * long + 0.7936177850 * medium - 0.0040720468 * short,
        1.9779984951 * long - 2.4285922050 * medium + 0.4505937099 * short,
        0.0259040371 * long + 0.7827717662 * medium - 0.8086757660 * short,
    )
