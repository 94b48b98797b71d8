"""Markup that is safe by its type: what is not `Html` is escaped. Also reads values of JSON whose shape is not certain.

Knows nothing of comparisons, and holds no colour.
"""

import math
from collections.abc import Iterable, Mapping
from html import escape

from specchat.core.harmless import harmless

_VOID = {"meta", "br", "line", "circle", "rect"}


class Html(str):
    """Markup. Only functions of this module make it, so that text from elsewhere is never taken for it."""

    __slots__ = ()


def escaped(text: str) -> Html:
    """Text as markup that shows it, with a visible stand-in for every control and direction character."""
    return text if isinstance(text, Html) else Html(escape(harmless(text), quote=True))


def joined(parts: Iterable[str], between: str = "") -> Html:
    """Parts one after the other; those that are no markup are escaped."""
    return Html(escaped(between).join(map(escaped, parts)))


def element(tag: str, *children: str, **attributes: str | float | None) -> Html:
    """An element.

    Args:
        tag: Its name.
        children: Markup, or text, which is escaped.
        attributes: By name, with `_` for `-`; a last `_` is dropped. One that is None is left out.
    """
    given = joined(
        Html(f' {name.rstrip("_").replace("_", "-")}="{escaped(_plain(value))}"')
        for name, value in attributes.items()
        if value is not None
    )
    if tag in _VOID and not children:
        return Html(f"<{tag}{given}>" if tag in {"meta", "br"} else f"<{tag}{given}/>")
    return Html(f"<{tag}{given}>{joined(children)}</{tag}>")


def foreign(text: str, **attributes: str | None) -> Html:
    """Text of a server or a user, which no direction of its script lets reorder what stands beside it."""
    return element("bdi", text, **attributes)


def percent(share: float) -> str:
    """A share as a coordinate that grows with the picture's width."""
    return f"{share * 100:.3f}%"


def table(value: object) -> Mapping[str, object]:
    """The value if it is an object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def entries(value: object) -> list[object]:
    """The entries of a list; none if it is no list."""
    return list(value) if isinstance(value, list | tuple) else []


def tables(value: object) -> list[Mapping[str, object]]:
    """The objects in a list; none if it is no list."""
    return [one for one in entries(value) if isinstance(one, Mapping)]


def figure(value: object) -> float | None:
    """The value if it is a finite number, else None, which is unknown."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if math.isfinite(value) else None


def texts(value: object) -> list[str]:
    """The texts in a list; none if it is no list."""
    return [one for one in entries(value) if isinstance(one, str)]


def _plain(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:g}"
