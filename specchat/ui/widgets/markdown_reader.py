"""Has the Markdown that views need laid out in a thread, for it takes longer than a frame."""

import asyncio
import gc
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from specchat.ui.layout.markdown import MarkdownLayout

if TYPE_CHECKING:
    from specchat.ui.widgets.transcript import Transcript


class MarkdownReader:
    """Serves one transcript, one thread at a time."""

    def __init__(self, transcript: "Transcript") -> None:
        """Serve a transcript.

        Args:
            transcript: Says what it needs, and takes it.
        """
        self._transcript = transcript
        self._is_at_work = False

    def want(self) -> None:
        """See whether a view needs a layout that is not there."""
        if not self._is_at_work and self._transcript.document.wanted_markdown():
            self._is_at_work = True
            self._transcript.run_worker(self._work(), group="markdown")

    async def _work(self) -> None:
        try:
            # Once more after each: meanwhile the width may have changed, or a reply ended.
            while wanted := self._transcript.document.wanted_markdown():
                await asyncio.to_thread(_lay_out, wanted)
                self._transcript.change_layout(partial(self._take, wanted))
        finally:
            self._is_at_work = False

    def _take(self, done: Sequence[MarkdownLayout]) -> None:
        for markdown in done:
            self._transcript.document.take_markdown(markdown)


def _lay_out(wanted: Sequence[MarkdownLayout]) -> None:
    # A long text makes so many objects that the collector would stop the screen for 0.1 s; nearly all of them end here.
    collects = gc.isenabled()
    gc.disable()
    try:
        for markdown in wanted:
            markdown.lay_out()
    finally:
        if collects:
            gc.enable()
