"""The colours that a written page takes from a theme. Knows nothing of what the page shows."""

from specchat.theming.looks import GRADES
from specchat.theming.model import Theme


def page_colors(theme: Theme) -> dict[str, str]:
    """Colours by the names that a page's style sheet uses.

    `on` is the colour of the second draft position and `off` that of the target, as in the chat; `grade-1` and so on
    are those of the draft positions.
    """
    colors, variables = theme.full_colors, theme.full_variables
    looks = {name: look.full.color or colors["foreground"] for name, look in theme.origins.items()}
    grades = {f"grade-{position}": looks[f"accepted-{position}"] for position in range(1, GRADES + 1)}
    return {
        "background": colors["background"],
        "surface": colors["surface"],
        "foreground": colors["foreground"],
        "muted": variables.get("text-muted", colors["foreground"]),
        "border": colors["panel"],
        "primary": colors["primary"],
        "warning": colors["warning"],
        "on": looks["accepted-2"],
        "off": looks["target"],
        **grades,
    }
