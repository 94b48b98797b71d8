"""Stretches of text that are drawn over the looks of their tokens: what was found, the token cursor, its step."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Mark(NamedTuple):
    """A stretch of a block's text."""

    start: int
    end: int
    """Behind its last character."""
    style: str
    """A name from `specchat.ui.styles`."""


class Marks:
    """Marks in layers; a later layer lies over an earlier one."""

    LAYERS = ("find", "step", "cursor")

    def __init__(self) -> None:
        self._layers: dict[str, dict[int, Sequence[Mark]]] = {layer: {} for layer in self.LAYERS}

    def set(self, layer: str, by_block: Mapping[int, Sequence[Mark]]) -> set[int]:
        """Put other marks into a layer; returns the blocks that look different now.

        Args:
            layer: One of LAYERS.
            by_block: Marks by the number of their block; those of a block are sorted and do not overlap.
        """
        before = self._layers[layer]
        after = {block: marks for block, marks in by_block.items() if marks}
        self._layers[layer] = after
        return {block for block in before.keys() | after.keys() if before.get(block) != after.get(block)}

    def within(self, block: int, start: int, end: int) -> list[Mark]:
        """The marks that touch a stretch of a block, layer by layer."""
        found: list[Mark] = []
        for layer in self._layers.values():
            marks = layer.get(block)
            if not marks:
                continue
            for at in range(bisect_left(marks, start + 1, key=lambda mark: mark.end), len(marks)):
                mark = marks[at]
                if mark.start >= end:
                    break
                found.append(mark)
        return found
