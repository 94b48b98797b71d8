"""How the page writes figures and names. An unknown figure is `?`, and never 0."""

from collections.abc import Mapping

from specchat.core.harmless import one_line
from specchat.exports.compare_html_parts import figure, table

UNKNOWN = "?"
_EQUALS = "\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}"
_LABEL = 160
"""Characters of a prompt's name at most: a picture shows fewer, and the table all of these."""


def number_words(value: object, digits: int, *, times: float = 1) -> str:
    """A figure in decimals.

    Args:
        value: The figure.
        digits: After the point.
        times: What it is multiplied by: 1000 writes seconds as milliseconds.
    """
    known = figure(value)
    return UNKNOWN if known is None else f"{known * times:.{digits}f}"


def count_words(value: object, one: str, many: str) -> str:
    """A count with its noun."""
    known = figure(value)
    return f"{UNKNOWN} {many}" if known is None else f"{known:.0f} {one if known == 1 else many}"


def ratio_words(value: object) -> str:
    """A ratio."""
    return number_words(value, 2)


def times_words(value: object) -> str:
    """A ratio with its sign."""
    return f"{ratio_words(value)} \N{MULTIPLICATION SIGN}"


def interval_of(comparison: Mapping[str, object], name: str = "interval") -> tuple[float, float] | None:
    """The ends of an interval of a prompt or of all; None where there is none."""
    given = table(comparison.get(name))
    low, high = figure(given.get("low")), figure(given.get("high"))
    return None if low is None or high is None else (low, high)


def level_words(comparison: Mapping[str, object]) -> str:
    """What an interval of a prompt or of all is called, with its level."""
    level = figure(table(comparison.get("interval")).get("level"))
    return "interval" if level is None else f"{level * 100:g} % interval"


def interval_words(interval: tuple[float, float] | None) -> str:
    """An interval."""
    return UNKNOWN if interval is None else f"{interval[0]:.2f} to {interval[1]:.2f}"


def prompt_words(prompt: Mapping[str, object]) -> str:
    """How a prompt is called, in one line: its number and its name, or else its beginning."""
    number = prompt.get("number")
    counted = f"{number + 1} " if isinstance(number, int) else ""
    return one_line(counted + str(prompt.get("name") or prompt.get("begins") or ""), _LABEL)


def side_names(comparison: Mapping[str, object]) -> dict[str, str]:
    """What the two sides are called: on and off, unless both speculate. No line ends within `k = 3`."""
    names = table(comparison.get("names"))
    return {side: str(names.get(side) or side).replace(" = ", _EQUALS) for side in ("on", "off")}


def versus(comparison: Mapping[str, object]) -> str:
    """Both names, as a title."""
    on, off = side_names(comparison).values()
    return f"Speculation {on} against {off}" if (on, off) == ("on", "off") else f"{on} against {off}"


def parted_words(prompt: Mapping[str, object]) -> str:
    """Where the texts of a prompt first part."""
    if "divergence" not in prompt or prompt["divergence"] is None:
        answered = all(figure(table(prompt.get(side)).get("samples")) for side in ("on", "off"))
        return "equal" if answered else UNKNOWN
    where = table(prompt["divergence"])
    turn = figure(where.get("turn")) or 0
    before = f"turn {turn + 1:.0f}, " if turn else ""
    unit = "character" if where.get("token") is None else "token"
    return f"{before}{unit} {number_words(where.get(unit), 0)}"
