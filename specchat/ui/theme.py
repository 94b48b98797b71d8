"""A theme file as Textual wants it, and its looks as Rich styles. A theme comes at the depth that it is drawn with."""

from dataclasses import replace

from rich.style import Style
from textual.theme import Theme as TextualTheme

from specchat.theming import LOOKS, Depth, Theme
from specchat.ui.styles import CODE, MARK, PROPOSAL, THINKING


def textual_theme(theme: Theme) -> TextualTheme:
    """The screen's colours."""
    own = theme.depth in {Depth.STANDARD, Depth.MONO}
    colors = {name: _css(color) for name, color in theme.colors.items()}
    variables = {name: _css(color) for name, color in theme.variables.items()}
    made = TextualTheme(
        name=theme.name,
        dark=theme.dark,
        ansi=own,
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
        variables=variables,
    )
    return replace(made, variables=_of_the_terminal(made, mono=theme.depth is Depth.MONO) | variables) if own else made


def _of_the_terminal(theme: TextualTheme, *, mono: bool) -> dict[str, str]:
    """What Textual would leave to the terminal, whose own background may be light where the theme's is dark."""
    foreground, background = str(theme.foreground), str(theme.background)
    generated = theme.to_color_system().generate()
    left = {
        name: background if "background" in name or "corner" in name else foreground
        for name, value in generated.items()
        if "ansi_default" in value
    }
    return left | {
        "surface": str(theme.surface),
        "panel": str(theme.panel),
        "screen-selection-foreground": foreground,
        "block-cursor-foreground": background,
        "block-cursor-background": foreground,
        # Its style sheets use these two, which only its own themes of this kind have.
        "ansi-background": background,
        "ansi-foreground": foreground,
        **({"block-cursor-text-style": "reverse"} if mono else {}),
    }


def token_styles(theme: Theme) -> dict[str, Style]:
    """Styles of tokens and marks by the names of `specchat.ui.styles`, those of the thinking included."""
    styles: dict[str, Style] = {}
    looks, thinking = theme.looks, theme.thinking_looks
    for name in LOOKS:
        styles[name] = Style.parse(looks[name].style)
        styles[THINKING + name] = Style.parse(thinking[name].style)
    return styles | mark_styles(theme)


def mark_styles(theme: Theme) -> dict[str, Style]:
    """Styles of what is drawn over tokens, of proposals that were not kept, and of code.

    They are named "mark-find" and so on, "proposal-rejected" and so on, "code", "code-keyword" and so on.
    """
    marks = {MARK + name: Style.parse(look.style) for name, look in theme.marks.items()}
    marks |= {PROPOSAL + name: Style.parse(look.style) for name, look in theme.proposals.items()}
    ground = Style.parse(theme.code["text"].style)
    code = {f"{CODE}-{name}": ground + Style.parse(look.style) for name, look in theme.code.items()}
    return {**marks, **code, CODE: ground}


def _css(color: str) -> str:
    return color if color.startswith("#") else f"ansi_{color}"
