"""Names of the looks that an origin can have, and which origin has which."""

from specchat.core.speculation import Label, Origin

GRADES = 8
"""Draft positions that have a look of their own; deeper ones share the last."""
LOOKS = (*(f"accepted-{position}" for position in range(1, GRADES + 1)), "target", "plain", "unknown")
"""Every look."""

_OF_ORIGIN = {Origin.PLAIN: "plain", Origin.UNKNOWN: "unknown"}


def look_of(label: Label) -> str:
    """The name of the look of an origin: what prefill, a correction and a bonus share is that the target wrote it."""
    if label.origin is Origin.ACCEPTED:
        return f"accepted-{max(1, min(GRADES, label.position or 1))}"
    return _OF_ORIGIN.get(label.origin, "target")
