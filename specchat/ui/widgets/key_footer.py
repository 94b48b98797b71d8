"""The keys at the foot of the screen. Those that come last give way where there is too little room: none is cut."""

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.widgets import Footer

from specchat.ui.textual_patches import FooterKey

_MARGIN = 1
"""Cells left free at the left, as in the other lines of the screen."""
_GAPS = 2
"""One cell between a key and its word, and one behind the word."""


class KeyFooter(Footer):
    """Textual's footer without keys that would be cut at the edge."""

    DEFAULT_CSS = f"KeyFooter {{ padding-left: {_MARGIN}; }}"

    def compose(self) -> ComposeResult:
        """As many keys as fit."""
        room = self.app.size.width - _MARGIN
        for child in super().compose():
            if isinstance(child, FooterKey):
                room -= cell_len(child.key_display) + cell_len(child.description) + _GAPS
                # The last one's gap behind the word may lie beyond the edge.
                if room < -1:
                    return
            yield child

    async def on_resize(self) -> None:
        """Choose again."""
        await self.recompose()
