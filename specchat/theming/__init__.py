"""Theme files: the only home of colours. Reads them; draws nothing and knows no toolkit."""

from specchat.theming.depth import Depth, depth_of
from specchat.theming.files import load_theme, opposite_theme, theme_directory, theme_names
from specchat.theming.looks import CODE, GRADES, LOOKS, MARKS, PROPOSALS, look_of
from specchat.theming.model import Look, Theme

__all__ = [
    "CODE", "GRADES", "LOOKS", "MARKS", "PROPOSALS", "Depth", "Look", "Theme", "depth_of", "load_theme", "look_of",
    "opposite_theme", "theme_directory", "theme_names",
]  # fmt: skip
