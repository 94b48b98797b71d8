"""Theme files: the only home of colours. Reads them; draws nothing and knows no toolkit."""

from specchat.theming.files import load_theme, theme_directory, theme_names
from specchat.theming.looks import GRADES, LOOKS, look_of
from specchat.theming.model import Look, Theme

__all__ = ["GRADES", "LOOKS", "Look", "Theme", "load_theme", "look_of", "theme_directory", "theme_names"]
