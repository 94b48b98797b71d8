"""What a theme file says, checked. Colours are kept as the file writes them."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from specchat.core.errors import ConfigurationError
from specchat.core.speculation import Label
from specchat.theming.looks import GRADES, LOOKS, look_of

_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_ATTRIBUTES = frozenset({"bold", "italic", "underline", "underline2", "overline", "reverse", "strike"})
_UI_COLORS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Look:
    """How something is drawn."""

    color: str
    """Six hexadecimal digits after a number sign."""
    attributes: tuple[str, ...] = ()
    """What tells it apart where there is no colour."""

    @property
    def style(self) -> str:
        """As a Rich style."""
        return " ".join((*self.attributes, self.color))


@dataclass(frozen=True, slots=True)
class Theme:
    """Colours of the screen, and a look for every origin."""

    name: str
    dark: bool
    colors: Mapping[str, str]
    """The screen's colours by name: primary, background and so on; all of them are there."""
    variables: Mapping[str, str]
    """Further colours, by the name of a variable of the style sheets."""
    looks: Mapping[str, Look]
    """By the names in `specchat.theming.looks`; all of them are there."""
    thinking_fade: float
    """How far the thinking's colours are moved towards the background, from 0 to 1."""

    def origin_style(self, label: Label) -> str:
        """A token's look as a Rich style."""
        return self.looks[look_of(label)].style


def parse_theme(name: str, data: Mapping[str, object]) -> Theme:
    """Read the tables of a theme file.

    Raises:
        ConfigurationError: If something is missing, unknown or no colour.
    """
    unknown = sorted(set(data) - {"dark", "colors", "variables", "origins", "thinking"})
    if unknown:
        raise _wrong(name, f"it has {unknown[0]!r}, which no theme has")
    colors, origins, thinking = (_table(name, data, key) for key in ("colors", "origins", "thinking"))
    variables = _table(name, data, "variables") if "variables" in data else {}
    fade, dark = thinking.get("fade"), data.get("dark")
    if not isinstance(fade, int | float) or not 0 <= fade <= 1:
        raise _wrong(name, "[thinking] needs a fade from 0 to 1")
    if not isinstance(dark, bool):
        raise _wrong(name, "it needs dark = true or dark = false")
    return Theme(
        name=name,
        dark=dark,
        colors={key: _color(name, f"colors.{key}", colors.get(key)) for key in _UI_COLORS},
        variables={key: _color(name, f"variables.{key}", value) for key, value in variables.items()},
        looks=_looks(name, origins),
        thinking_fade=float(fade),
    )


def _looks(name: str, origins: Mapping[str, object]) -> dict[str, Look]:
    accepted = origins.get("accepted")
    if not isinstance(accepted, list) or len(accepted) != GRADES:
        raise _wrong(name, f"origins.accepted needs {GRADES} entries, one for each draft position")
    entries = [*accepted, *(origins.get(key) for key in LOOKS[GRADES:])]
    return {look: _look(name, f"origins.{look}", entry) for look, entry in zip(LOOKS, entries, strict=True)}


def _look(name: str, where: str, entry: object) -> Look:
    if not isinstance(entry, dict):
        raise _wrong(name, f"{where} needs a color and a style")
    attributes = tuple(str(entry.get("style", "")).split())
    odd = next((word for word in attributes if word not in _ATTRIBUTES), None)
    if odd is not None:
        raise _wrong(name, f"{where} has the style {odd!r}; there are {', '.join(sorted(_ATTRIBUTES))}")
    return Look(_color(name, where, entry.get("color")), attributes)


def _color(name: str, where: str, value: object) -> str:
    if not isinstance(value, str) or not _COLOR.fullmatch(value):
        raise _wrong(name, f"{where} is {value!r} where six hexadecimal digits after # are needed")
    return value.lower()


def _table(name: str, data: Mapping[str, object], key: str) -> Mapping[str, object]:
    table = data.get(key)
    if not isinstance(table, dict):
        raise _wrong(name, f"it needs a table [{key}]")
    return table


def _wrong(name: str, what: str) -> ConfigurationError:
    return ConfigurationError(f"The theme {name!r} cannot be used: {what}.", "Compare it with a theme that came along.")
