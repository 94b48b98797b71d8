"""Asks, one reply at a time, and keeps the prompts that wait. Tells the screen by messages; draws nothing."""

from collections.abc import AsyncGenerator
from contextlib import aclosing

from textual.widget import Widget

from specchat.core.errors import SpecchatError
from specchat.session.chat import ChatSession
from specchat.ui.frames import in_frames
from specchat.ui.messages import AskingBegan, AskingEnded, AskingRefused, ReplyGrew


class Asker:
    """Runs what the user asks for, one thing after the other.

    Attributes:
        running: Does a reply grow? It does until the screen has shown its end and calls `go_on_asking`.
        queue: Prompts that wait for it, the next one first.
    """

    def __init__(self, session: ChatSession, host: Widget) -> None:
        """Ask a session.

        Args:
            session: Connected.
            host: Runs the worker and gets the messages.
        """
        self._session = session
        self._host = host
        self.running = False
        self.queue: list[str] = []

    def ask(self, prompt: str) -> None:
        """Ask, or queue the prompt while a reply runs."""
        if self.running:
            self.queue.append(prompt)
        else:
            self._start(self._session.ask(prompt))

    def stop(self) -> None:
        """Stop the reply that runs; what came stays."""
        if self.running:
            self._session.stop()

    def go_on_asking(self) -> None:
        """The end of the last reply is shown: ask what waits."""
        self.running = False
        if self.queue:
            self.ask(self.queue.pop(0))

    def take_queue(self) -> list[str]:
        """The prompts that wait, which nobody asks now."""
        waiting, self.queue = self.queue, []
        return waiting

    def _start(self, changes: AsyncGenerator[int, None]) -> None:
        self.running = True
        self._host.post_message(AskingBegan())
        self._host.run_worker(self._generate(changes), exclusive=True, group="generation")

    async def _generate(self, changes: AsyncGenerator[int, None]) -> None:
        try:
            async with aclosing(in_frames(changes)) as frames:
                async for first in frames:
                    self._host.post_message(ReplyGrew(first))
        except SpecchatError as error:
            self._host.post_message(AskingRefused(error))
        self._host.post_message(AskingEnded())
