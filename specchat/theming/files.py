"""Finds theme files. The user's own come before those that came along."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

from specchat.core.errors import ConfigurationError
from specchat.theming.model import Theme
from specchat.theming.reading import parse_theme

_PACKAGE = Path(__file__).resolve().parent.parent


def theme_directory() -> Path:
    """Where the themes are that came along: in the package, or beside it in a checkout."""
    bundled = _PACKAGE / "_bundled_themes"
    return bundled if bundled.is_dir() else _PACKAGE.parent / "themes"


def theme_names(directories: Sequence[Path] = ()) -> list[str]:
    """Names of all themes there are, sorted.

    Args:
        directories: Further folders, which need not exist.
    """
    places = (*directories, theme_directory())
    return sorted({path.stem for place in places if place.is_dir() for path in place.glob("*.toml")})


def load_theme(name: str, directories: Sequence[Path] = ()) -> Theme:
    """Read a theme.

    Args:
        name: Its name, which is the file's without `.toml`.
        directories: Folders to look in first.

    Raises:
        ConfigurationError: If there is no such theme, or its file makes no sense.
    """
    names = theme_names(directories)
    if name not in names:
        raise ConfigurationError(f"There is no theme {name!r}.", f"Choose one of: {', '.join(names)}.")
    paths = [place / f"{name}.toml" for place in (*directories, theme_directory())]
    path = next(path for path in paths if path.is_file())
    try:
        return parse_theme(name, tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigurationError(
            f"The theme file {path} cannot be read: {error}.", "Mend it or choose another."
        ) from error


def opposite_theme(theme: Theme, directories: Sequence[Path] = ()) -> Theme | None:
    """The theme called light or dark, else the first that is light where this one is dark, or the other way round.

    Args:
        theme: The one that is used now.
        directories: Folders to look in first. A file in them that makes no sense is passed over.
    """
    usual = "light" if theme.dark else "dark"
    for name in sorted(theme_names(directories), key=lambda name: name != usual):
        try:
            other = load_theme(name, directories)
        except ConfigurationError:
            continue
        if other.dark is not theme.dark:
            return other
    return None
