"""Themes: readable, apart for every kind of colour vision, apart without colour, and refused where they are wrong."""

import math
import tomllib
from itertools import combinations, pairwise
from pathlib import Path

import pytest
from rich.color import Color, ColorSystem
from rich.style import Style

from specchat.core.errors import ConfigurationError
from specchat.core.speculation import Label, Origin
from specchat.theming import (
    CODE,
    GRADES,
    LOOKS,
    MARKS,
    PROPOSALS,
    Depth,
    Theme,
    depth_of,
    load_theme,
    look_of,
    theme_directory,
    theme_names,
)
from specchat.theming.reading import parse_theme
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


_XTERM = [
    "#000000", "#cd0000", "#00cd00", "#cdcd00", "#0000ee", "#cd00cd", "#00cdcd", "#e5e5e5",
    "#7f7f7f", "#ff0000", "#00ff00", "#ffff00", "#5c5cff", "#ff00ff", "#00ffff", "#ffffff",
]  # fmt: skip
_VGA = [
    "#000000", "#aa0000", "#00aa00", "#aa5500", "#0000aa", "#aa00aa", "#00aaaa", "#aaaaaa",
    "#555555", "#ff5555", "#55ff55", "#ffff55", "#5555ff", "#ff55ff", "#55ffff", "#ffffff",
]  # fmt: skip
_COLOURED = [Depth.TRUECOLOR, Depth.EIGHT_BIT, Depth.STANDARD]


@pytest.fixture(params=["dark", "light"])
def theme(request: pytest.FixtureRequest) -> Theme:
    return load_theme(request.param)


def shown(color: Color, depth: Depth, palette: list[str]) -> str:
    """The colour that a terminal of this depth shows for what Rich sends it."""
    if depth is Depth.STANDARD:
        number = color.downgrade(ColorSystem.STANDARD).number
        assert number is not None
        return palette[number]
    system = ColorSystem.EIGHT_BIT if depth is Depth.EIGHT_BIT else ColorSystem.TRUECOLOR
    return color.downgrade(system).get_truecolor().hex


def drawn(style: Style, ground: Style, depth: Depth, palette: list[str]) -> tuple[str, str]:
    """Text colour and background of a style over a ground, as the terminal shows them."""
    both = ground + style
    assert both.color is not None
    assert both.bgcolor is not None
    pair = shown(both.color, depth, palette), shown(both.bgcolor, depth, palette)
    return (pair[1], pair[0]) if both.reverse else pair


def ground_of(theme: Theme) -> Style:
    return Style(color=theme.colors["foreground"], bgcolor=theme.colors["background"])


@pytest.mark.parametrize("palette", [_XTERM, _VGA], ids=["xterm", "vga"])
@pytest.mark.parametrize("depth", _COLOURED)
def test_every_token_is_readable_bare_and_under_every_mark(theme: Theme, depth: Depth, palette: list[str]) -> None:
    theme = theme.at(depth)
    styles, ground = token_styles(theme), ground_of(theme)
    weak = {}
    for name in [*LOOKS, *(THINKING + name for name in LOOKS)]:
        for mark in (None, *MARKS):
            style = styles[name] + (styles[f"mark-{mark}"] if mark else Style.null())
            ratio = contrast(*drawn(style, ground, depth, palette))
            if ratio < 4.5:
                weak[name, mark] = ratio

    assert weak == {}


@pytest.mark.parametrize("palette", [_XTERM, _VGA], ids=["xterm", "vga"])
@pytest.mark.parametrize("depth", _COLOURED)
def test_all_other_text_is_readable(theme: Theme, depth: Depth, palette: list[str]) -> None:
    theme = theme.at(depth)
    names = ["foreground", "primary", "accent", "error", "success", "warning"]
    colors = {name: theme.colors[name] for name in names} | {"text-muted": theme.variables["text-muted"]}
    ground = ground_of(theme)
    weak = {
        name: ratio
        for name, color in colors.items()
        if (ratio := contrast(*drawn(Style(color=color), ground, depth, palette))) < 4.5
    }
    code = ground + token_styles(theme)["code"]
    weak |= {
        name: ratio
        for name in CODE
        if (ratio := contrast(*drawn(Style.parse(theme.code[name].style), code, depth, palette))) < 4.5
    }

    assert weak == {}


@pytest.mark.parametrize("palette", [_XTERM, _VGA], ids=["xterm", "vga"])
@pytest.mark.parametrize("depth", _COLOURED)
def test_proposals_are_readable_bare_and_under_the_bar_of_the_steps_view(
    theme: Theme, depth: Depth, palette: list[str]
) -> None:
    styles, ground = token_styles(theme.at(depth)), ground_of(theme.at(depth))
    weak = {}
    for name in PROPOSALS:
        for bar in (Style.null(), styles["mark-step"]):
            ratio = contrast(*drawn(bar + styles[f"proposal-{name}"], ground, depth, palette))
            if ratio < 4.5:
                weak[name, bar] = ratio

    assert weak == {}


@pytest.mark.parametrize("depth", list(Depth))
def test_proposals_are_apart_from_every_token_and_from_each_other(theme: Theme, depth: Depth) -> None:
    styles, ground = token_styles(theme.at(depth)), ground_of(theme.at(depth))
    rejected, abandoned = (sent(ground + styles[f"proposal-{name}"], depth) for name in ("rejected", "abandoned"))
    tokens = {sent(ground + styles[name], depth) for name in LOOKS}

    assert styles["proposal-rejected"].strike
    assert styles["proposal-abandoned"].strike
    assert rejected != abandoned
    assert not {rejected, abandoned} & tokens


@pytest.mark.parametrize("depth", list(Depth))
def test_origins_are_apart_at_every_depth(theme: Theme, depth: Depth) -> None:
    theme = theme.at(depth)
    styles, ground = token_styles(theme), ground_of(theme)
    for before in ("", THINKING):
        kinds = {
            "draft": [styles[before + name] for name in LOOKS[:GRADES]],
            **{name: [styles[before + name]] for name in LOOKS[GRADES:]},
        }
        for (one, first), (other, second) in combinations(kinds.items(), 2):
            for a in first:
                for b in second:
                    assert sent(ground + a, depth) != sent(ground + b, depth), (one, other)


def sent(style: Style, depth: Depth) -> str:
    """What Rich writes to the terminal."""
    system = {
        Depth.TRUECOLOR: ColorSystem.TRUECOLOR,
        Depth.EIGHT_BIT: ColorSystem.EIGHT_BIT,
        Depth.STANDARD: ColorSystem.STANDARD,
    }.get(depth, ColorSystem.STANDARD)
    return style.render("x", color_system=system)


def test_draft_positions_are_apart_with_256_colours(theme: Theme) -> None:
    styles = token_styles(theme.at(Depth.EIGHT_BIT))

    assert len({sent(styles[name], Depth.EIGHT_BIT) for name in LOOKS[:GRADES]}) == GRADES


def test_three_draft_positions_are_apart_with_16_colours(theme: Theme) -> None:
    styles = token_styles(theme.at(Depth.STANDARD))

    assert len({sent(styles[name], Depth.STANDARD) for name in LOOKS[:3]}) == 3


@pytest.mark.parametrize("depth", list(Depth))
def test_marks_are_apart_at_every_depth(theme: Theme, depth: Depth) -> None:
    theme = theme.at(depth)
    styles, ground = token_styles(theme), ground_of(theme)
    for origin in ("accepted-1", "target", "plain"):
        marked = {sent(ground + styles[origin], depth)}
        marked |= {sent(ground + styles[origin] + styles[f"mark-{mark}"], depth) for mark in MARKS}

        assert len(marked) == 1 + len(MARKS), origin


def test_no_colour_is_left_where_there_is_none(theme: Theme) -> None:
    theme = theme.at(Depth.MONO)

    assert set(theme.colors.values()) | set(theme.variables.values()) == {"default"}
    for style in token_styles(theme).values():
        assert style.color is None or style.color.is_default
        assert style.bgcolor is None


@pytest.mark.parametrize(
    ("system", "no_color", "depth"),
    [
        ("truecolor", False, Depth.TRUECOLOR),
        ("256", False, Depth.EIGHT_BIT),
        ("standard", False, Depth.STANDARD),
        ("windows", False, Depth.STANDARD),
        ("truecolor", True, Depth.MONO),
        (None, False, Depth.MONO),
    ],
)
def test_the_depth_is_what_the_console_shows(system: str | None, no_color: bool, depth: Depth) -> None:
    assert depth_of(system, no_color=no_color) is depth


@pytest.mark.parametrize("depth", [Depth.STANDARD, Depth.MONO])
def test_with_few_colours_no_part_of_the_screen_is_left_to_the_terminal(theme: Theme, depth: Depth) -> None:
    theme = theme.at(depth)
    generated = textual_theme(theme).to_color_system().generate()

    assert generated["footer-item-background"] == f"ansi_{theme.colors['background']}"
    assert generated["ansi-background"] == f"ansi_{theme.colors['background']}"
    assert generated["text"] == f"ansi_{theme.colors['foreground']}"


@pytest.mark.parametrize("depth", list(Depth))
def test_every_part_of_code_stands_on_the_ground_of_code(theme: Theme, depth: Depth) -> None:
    styles = token_styles(theme.at(depth))

    assert {styles[f"code-{name}"].bgcolor for name in CODE} == {styles["code"].bgcolor}
    assert styles["code-keyword"] != styles["code-comment"] != styles["code"]


def test_thinking_is_dimmer(theme: Theme) -> None:
    background = theme.colors["background"]
    for name in LOOKS:
        usual, faded = theme.looks[name].color, theme.thinking_looks[name].color
        assert usual is not None
        assert faded is not None
        assert contrast(faded, background) < contrast(usual, background)


@pytest.mark.parametrize("vision", list(_VISION))
def test_draft_and_target_are_apart_for_every_kind_of_colour_vision(theme: Theme, vision: str) -> None:
    target = seen(str(theme.looks["target"].color), vision)
    for grade in range(1, GRADES + 1):
        draft = seen(str(theme.looks[f"accepted-{grade}"].color), vision)

        assert math.dist(draft, target) > 25, grade


def test_neighbouring_draft_positions_are_apart(theme: Theme) -> None:
    drafts = [seen(str(theme.looks[f"accepted-{grade}"].color), "usual") for grade in range(1, GRADES + 1)]

    assert min(math.dist(a, b) for a, b in pairwise(drafts)) > 8


def test_origins_are_apart_without_colour(theme: Theme) -> None:
    kinds = [theme.looks[name].attributes for name in ("accepted-1", "target", "plain", "unknown")]

    assert all(first != second for first, second in combinations(kinds, 2))


def test_an_origin_has_a_rich_style(theme: Theme) -> None:
    assert Style.parse(theme.looks[look_of(Label(Origin.CORRECTION))].style).bold
    assert look_of(Label(Origin.ACCEPTED, 30)) == look_of(Label(Origin.ACCEPTED, GRADES))


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
        ('    { color = "#ddbfff", sixteen = "bright_green" },\n', "", "8 entries"),
        ('style = "bold"', 'style = "loud"', "'loud'"),
        ('mono = "reverse"', 'mono = "blink"', "'blink'"),
        ('sixteen = "bright_cyan"', 'sixteen = "teal"', "'teal'"),
        ('sixteen = "bright_white on red"', 'sixteen = "white red"', "marks.found"),
        ('sixteen = "black on bright_white"', 'sixteen = "black on cream"', "'cream'"),
        ('sixteen = "bright_cyan"', 'sixteem = "bright_cyan"', "'sixteem'"),
        ('background = "#1a2a48"', 'background = "navy"', "marks.step"),
        ('panel = "black"', 'panel = "#000000"', "sixteen.panel"),
        ("cursor = {", "curser = {", "marks.cursor"),
        ("keyword = {", "keywords = {", "code.keyword"),
        ("fade = 0.3", "fade = 3", "from 0 to 1"),
        ("dark = true", 'dark = "yes"', "dark = true or dark = false"),
        ("[thinking]", "[thoughts]", "'thoughts'"),
        ("plain = ", "plane = ", "origins.plain"),
        ("abandoned = ", "dropped = ", "proposals.abandoned"),
    ],
)
def test_a_theme_that_makes_no_sense_is_refused(find: str, put: str, words: str) -> None:
    text = (theme_directory() / "dark.toml").read_text(encoding="utf-8")
    assert find in text

    with pytest.raises(ConfigurationError, match=words):
        parse_theme("mine", tomllib.loads(text.replace(find, put, 1)))
