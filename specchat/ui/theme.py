"""A theme file as Textual wants it, and the looks of tokens as Rich styles."""

from rich.style import Style
from textual.color import Color
from textual.theme import Theme as TextualTheme

from specchat.theming import LOOKS, Look, Theme
from specchat.ui.styles import THINKING


def textual_theme(theme: Theme) -> TextualTheme:
    """The screen's colours."""
    colors = theme.colors
    return TextualTheme(
        name=theme.name,
        dark=theme.dark,
        primary=colors["primary"],
        secondary=colors["secondary"],
        accent=colors["accent"],
        foreground=colors["foreground"],
        background=colors["background"],
        surface=colors["surface"],
        panel=colors["panel"],
        success=colors["success"],
        warning=colors["warning"],
        error=colors["error"],
        variables=dict(theme.variables),
    )


def token_styles(theme: Theme) -> dict[str, Style]:
    """Styles of all tokens by the names of `specchat.ui.styles`, those of the thinking included."""
    background = Color.parse(theme.colors["background"])
    styles: dict[str, Style] = {}
    for name in LOOKS:
        look = theme.looks[name]
        faded = Color.parse(look.color).blend(background, theme.thinking_fade)
        styles[name] = Style.parse(look.style)
        styles[THINKING + name] = Style.parse(Look(faded.hex.lower(), look.attributes).style)
    return styles
