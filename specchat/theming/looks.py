"""Names of everything that has a look of its own: origins, marks over the text, proposals, and the parts of code."""

from specchat.core.speculation import Label, Origin

GRADES = 8
"""Draft positions that have a look of their own; deeper ones share the last."""
LOOKS = (*(f"accepted-{position}" for position in range(1, GRADES + 1)), "target", "plain", "unknown")
"""Every look of an origin."""
MARKS = ("find", "found", "cursor", "step")
"""What is drawn over tokens: a match, the current match, the token under the cursor, other tokens of its step."""
PROPOSALS = ("rejected", "abandoned", "count")
"""Proposals that were not kept: the one that the target refused, those behind it, and how many there were."""
CODE = ("text", "keyword", "string", "comment", "number", "name", "operator")
"""The parts of code; `text` is what is none of the others, and the ground of all."""

_OF_ORIGIN = {Origin.PLAIN: "plain", Origin.UNKNOWN: "unknown"}


def look_of(label: Label) -> str:
    """The name of the look of an origin: what prefill, a correction and a bonus share is that the target wrote it."""
    if label.origin is Origin.ACCEPTED:
        return LOOKS[max(1, min(GRADES, label.position or 1)) - 1]
    return _OF_ORIGIN.get(label.origin, "target")
