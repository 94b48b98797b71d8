"""Themes: readable, apart for every kind of colour vision, apart without colour, and refused where they are wrong."""

import math
import tomllib
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from rich.style import Style

from specchat.core.errors import ConfigurationError
from specchat.core.speculation import Label, Origin
from specchat.theming import GRADES, LOOKS, Theme, load_theme, theme_directory, theme_names
from specchat.theming.model import parse_theme
from specchat.ui.styles import THINKING
from specchat.ui.theme import textual_theme, token_styles

_VISION = {
    "usual": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152, 1.053, -0.205), (0.115, 0.786, 0.099), (-0.004, -0.048, 1.052)),
    "deuteranopia": ((0.367, 0.861, -0.228), (0.280, 0.673, 0.047), (-0.012, 0.043, 0.969)),
    "tritanopia": ((1.256, -0.077, -0.179), (-0.078, 0.931, 0.148), (0.005, 0.691, 0.304)),
}
"""Machado, Oliveira and Fernandes 2009, at full severity, on linear RGB."""

Colour = tuple[float, float, float]


def linear(color: str) -> Colour:
    channels = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
    return r, g, b


def contrast(first: str, second: str) -> float:
    light = sorted(0.2126 * r + 0.7152 * g + 0.0722 * b for r, g, b in (linear(first), linear(second)))
    return (light[1] + 0.05) / (light[0] + 0.05)


def seen(color: str, vision: str) -> Colour:
    """CIELAB of a colour as someone sees it."""
    r, g, b = linear(color)
    r, g, b = (min(1.0, max(0.0, x * r + y * g + z * b)) for x, y, z in _VISION[vision])
    xyz = (
        (0.4124 * r + 0.3576 * g + 0.1805 * b) / 0.9505,
        0.2126 * r + 0.7152 * g + 0.0722 * b,
        (0.0193 * r + 0.1192 * g + 0.9505 * b) / 1.089,
    )
    x, y, z = (c ** (1 / 3) if c > 0.008856 else 7.787 * c + 16 / 116 for c in xyz)
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


@pytest.fixture(params=["dark", "light"])
def theme(request: pytest.FixtureRequest) -> Theme:
    return load_theme(request.param)


def test_every_look_is_readable(theme: Theme) -> None:
    background = theme.colors["background"]
    weak = {name: contrast(theme.looks[name].color, background) for name in LOOKS}
    weak |= {
        name: contrast(theme.colors[name], background) for name in ("primary", "accent", "error", "success", "warning")
    }
    weak["text-muted"] = contrast(theme.variables["text-muted"], background)

    assert {name: ratio for name, ratio in weak.items() if ratio < 4.5} == {}


def test_thinking_is_dimmer_and_still_readable(theme: Theme) -> None:
    styles = token_styles(theme)
    for name in LOOKS:
        faded = styles[THINKING + name].color
        assert faded is not None
        ratio = contrast(faded.name, theme.colors["background"])
        assert 3 <= ratio < contrast(theme.looks[name].color, theme.colors["background"])


@pytest.mark.parametrize("vision", list(_VISION))
def test_draft_and_target_are_apart_for_every_kind_of_colour_vision(theme: Theme, vision: str) -> None:
    target = seen(theme.looks["target"].color, vision)
    for grade in range(1, GRADES + 1):
        draft = seen(theme.looks[f"accepted-{grade}"].color, vision)

        assert math.dist(draft, target) > 25, grade


def test_neighbouring_draft_positions_are_apart(theme: Theme) -> None:
    drafts = [seen(theme.looks[f"accepted-{grade}"].color, "usual") for grade in range(1, GRADES + 1)]

    assert min(math.dist(a, b) for a, b in pairwise(drafts)) > 8


def test_origins_are_apart_without_colour(theme: Theme) -> None:
    kinds = [theme.looks[name].attributes for name in ("accepted-1", "target", "plain", "unknown")]

    assert all(first != second for first, second in combinations(kinds, 2))


def test_an_origin_has_a_rich_style(theme: Theme) -> None:
    assert Style.parse(theme.origin_style(Label(Origin.CORRECTION))).bold
    deep = theme.origin_style(Label(Origin.ACCEPTED, 30))
    assert deep == theme.origin_style(Label(Origin.ACCEPTED, GRADES))


def test_every_theme_becomes_a_screen(theme: Theme) -> None:
    assert textual_theme(theme).to_color_system().generate()["primary"].lower() == theme.colors["primary"]


def test_the_themes_that_come_along_are_found() -> None:
    assert {"dark", "light"} <= set(theme_names())


def test_a_users_own_theme_comes_first(tmp_path: Path) -> None:
    text = (theme_directory() / "light.toml").read_text(encoding="utf-8")
    (tmp_path / "dark.toml").write_text(text, encoding="utf-8")

    assert not load_theme("dark", [tmp_path]).dark


def test_a_missing_theme_names_those_there_are() -> None:
    with pytest.raises(ConfigurationError, match="Choose one of: dark, light"):
        load_theme("solarized")


@pytest.mark.parametrize("text", ["not = = toml", "\xff\xfe"])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "mine.toml").write_bytes(text.encode("latin-1"))

    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_theme("mine", [tmp_path])


@pytest.mark.parametrize(
    ("find", "put", "words"),
    [
        ('primary = "#6cb6ff"', 'primary = "blue"', "colors.primary"),
        ('border = "#6cb6ff"', 'border = "#6cb"', "variables.border"),
        ('    { color = "#ddbfff" },\n', "", "8 entries"),
        ('style = "bold"', 'style = "loud"', "'loud'"),
        ("fade = 0.3", "fade = 3", "from 0 to 1"),
        ("dark = true", 'dark = "yes"', "dark = true or dark = false"),
        ("[thinking]", "[thoughts]", "'thoughts'"),
        ("plain = ", "plane = ", "origins.plain"),
    ],
)
def test_a_theme_that_makes_no_sense_is_refused(find: str, put: str, words: str) -> None:
    text = (theme_directory() / "dark.toml").read_text(encoding="utf-8")
    assert find in text

    with pytest.raises(ConfigurationError, match=words):
        parse_theme("mine", tomllib.loads(text.replace(find, put, 1)))
