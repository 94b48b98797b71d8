"""Tables of a theme file to a theme: checks everything and says where something is wrong."""

import re
from collections.abc import Mapping

from specchat.core.errors import ConfigurationError
from specchat.theming.looks import CODE, GRADES, LOOKS, MARKS, PROPOSALS
from specchat.theming.model import ATTRIBUTES, SIXTEEN, Look, Looks, Theme

_COLOR = re.compile(r"#[0-9a-fA-F]{6}")
_UI_COLORS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "success", "warning", "error",
)  # fmt: skip
_TABLES = ("colors", "origins", "thinking", "marks", "proposals", "code", "sixteen")
_ENTRY = {"color", "background", "style", "background_256", "sixteen", "mono"}


def parse_theme(name: str, data: Mapping[str, object]) -> Theme:
    """Read the tables of a theme file.

    Raises:
        ConfigurationError: If something is missing, unknown or no colour.
    """
    unknown = sorted(set(data) - {"dark", "variables", *_TABLES})
    if unknown:
        raise _wrong(name, f"it has {unknown[0]!r}, which no theme has")
    colors, origins, thinking, marks, proposals, code, sixteen = (_table(name, data, key) for key in _TABLES)
    variables = _table(name, data, "variables") if "variables" in data else {}
    fade, dark = thinking.get("fade"), data.get("dark")
    if not isinstance(fade, int | float) or not 0 <= fade <= 1:
        raise _wrong(name, "[thinking] needs a fade from 0 to 1")
    if not isinstance(dark, bool):
        raise _wrong(name, "it needs dark = true or dark = false")
    return Theme(
        name=name,
        dark=dark,
        full_colors={key: _color(name, f"colors.{key}", colors.get(key)) for key in _UI_COLORS},
        full_variables={key: _color(name, f"variables.{key}", value) for key, value in variables.items()},
        sixteen={key: _one_of_sixteen(name, f"sixteen.{key}", sixteen.get(key)) for key in (*_UI_COLORS, *variables)},
        origins=_origins(name, origins),
        all_marks={key: _looks(name, f"marks.{key}", marks.get(key)) for key in MARKS},
        all_proposals={key: _looks(name, f"proposals.{key}", proposals.get(key)) for key in PROPOSALS},
        all_code={key: _looks(name, f"code.{key}", code.get(key)) for key in CODE},
        thinking_fade=float(fade),
    )


def _origins(name: str, origins: Mapping[str, object]) -> dict[str, Looks]:
    accepted = origins.get("accepted")
    if not isinstance(accepted, list) or len(accepted) != GRADES:
        raise _wrong(name, f"origins.accepted needs {GRADES} entries, one for each draft position")
    entries = [*accepted, *(origins.get(key) for key in LOOKS[GRADES:])]
    return {
        look: _looks(name, f"origins.{look}", entry, needs_color=True)
        for look, entry in zip(LOOKS, entries, strict=True)
    }


def _looks(name: str, where: str, entry: object, *, needs_color: bool = False) -> Looks:
    """An entry for every number of colours: `style` holds for all of them, the others add to it."""
    if not isinstance(entry, dict):
        raise _wrong(name, f"{where} needs a table with a color and a style")
    unknown = sorted(set(entry) - _ENTRY)
    if unknown:
        raise _wrong(name, f"{where} has {unknown[0]!r}; there are {', '.join(sorted(_ENTRY))}")
    color, background, of_256 = (
        _color(name, where, entry.get(key)) if key in entry or (needs_color and key == "color") else None
        for key in ("color", "background", "background_256")
    )
    attributes = _attributes(name, where, str(entry.get("style", "")).split())
    mono = _attributes(name, where, str(entry.get("mono", "")).split())
    return Looks(
        Look(color, attributes, background),
        Look(color, attributes, of_256 or background),
        _sixteen(name, where, entry, attributes, needs_color=needs_color),
        Look(None, _joined(attributes, mono)),
    )


def _sixteen(
    name: str, where: str, entry: Mapping[str, object], attributes: tuple[str, ...], *, needs_color: bool
) -> Look:
    """The look that words such as "bold black on yellow" describe, added to the entry's attributes."""
    front, _, back = str(entry.get("sixteen", "")).partition("on ")
    words = front.split()
    colors = [word for word in words if word not in ATTRIBUTES]
    if len(colors) > 1 or (needs_color and not colors):
        raise _wrong(name, f"{where} needs sixteen = one of {', '.join(SIXTEEN)}")
    color = _one_of_sixteen(name, where, colors[0]) if colors else None
    background = _one_of_sixteen(name, where, back.strip()) if back else None
    return Look(color, _joined(attributes, tuple(word for word in words if word in ATTRIBUTES)), background)


def _joined(first: tuple[str, ...], second: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *second)))


def _attributes(name: str, where: str, words: list[str]) -> tuple[str, ...]:
    odd = next((word for word in words if word not in ATTRIBUTES), None)
    if odd is not None:
        raise _wrong(name, f"{where} has the style {odd!r}; there are {', '.join(sorted(ATTRIBUTES))}")
    return tuple(words)


def _color(name: str, where: str, value: object) -> str:
    if not isinstance(value, str) or not _COLOR.fullmatch(value):
        raise _wrong(name, f"{where} is {value!r} where six hexadecimal digits after # are needed")
    return value.lower()


def _one_of_sixteen(name: str, where: str, value: object) -> str:
    if not isinstance(value, str) or value not in SIXTEEN:
        raise _wrong(name, f"{where} is {value!r} where one of these is needed: {', '.join(SIXTEEN)}")
    return value


def _table(name: str, data: Mapping[str, object], key: str) -> Mapping[str, object]:
    table = data.get(key)
    if not isinstance(table, dict):
        raise _wrong(name, f"it needs a table [{key}]")
    return table


def _wrong(name: str, what: str) -> ConfigurationError:
    return ConfigurationError(f"The theme {name!r} cannot be used: {what}.", "Compare it with a theme that came along.")
