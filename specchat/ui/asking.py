"""Asks, one reply at a time, and keeps the prompts that wait. Tells the screen by messages; draws nothing."""

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from functools import partial

from textual.widget import Widget

from specchat.core.errors import SpecchatError
from specchat.session.chat import ChatSession
from specchat.ui.frames import in_frames
from specchat.ui.messages import AskingBegan, AskingEnded, ReplyGrew
from specchat.ui.textual_patches import terminal_is_behind


class Asker:
    """Runs what the user asks for, one thing after the other.

    Attributes:
        running: Does a reply grow? It does until the screen has shown its end and calls `go_on_asking`.
        queue: Prompts that wait for it, the next one first.
        turns_before: How many turns there were when it was asked for.
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
        self.turns_before = 0

    def ask(self, prompt: str) -> None:
        """Ask, or queue the prompt while a reply runs."""
        if self.running:
            self.queue.append(prompt)
        else:
            self._start(self._session.ask(prompt))

    def regenerate(self) -> None:
        """Ask the last prompt again.

        Raises:
            SpecchatError: If there is none, or a reply runs.
        """
        self._start_now(self._session.regenerate)

    def resend(self, index: int, prompt: str) -> None:
        """Ask something else in the place of an earlier prompt.

        Raises:
            SpecchatError: If there is no such prompt, or a reply runs.
        """
        self._start_now(self._session.resend, index, prompt)

    def go_on(self) -> None:
        """Let the last reply go on where it ended.

        Raises:
            SpecchatError: If there is nothing to continue, or a reply runs.
        """
        self._start_now(self._session.go_on)

    def stop(self) -> None:
        """Stop the reply that runs; what came stays."""
        if self.running:
            self._session.stop()

    def go_on_asking(self) -> None:
        """The end of the last reply is shown: ask what waits."""
        self.running = False
        if self.queue:
            self.ask(self.queue.pop(0))

    def refuse_while_running(self) -> None:
        """Let nothing happen now that a running reply cannot bear.

        Raises:
            SpecchatError: If a reply runs.
        """
        if self.running:
            raise SpecchatError("A reply is running.", "Stop it with Esc first; what came stays.")

    def take_queue(self) -> list[str]:
        """The prompts that wait, which nobody asks now."""
        waiting, self.queue = self.queue, []
        return waiting

    def _start_now(self, verb: Callable[..., AsyncGenerator[int, None]], *arguments: object) -> None:
        self.refuse_while_running()
        self._start(verb(*arguments))

    def _start(self, changes: AsyncGenerator[int, None]) -> None:
        self.running = True
        self.turns_before = len(self._session.conversation.turns)
        self._host.post_message(AskingBegan())
        self._host.run_worker(self._generate(changes), exclusive=True, group="generation")

    async def _generate(self, changes: AsyncGenerator[int, None]) -> None:
        behind = partial(terminal_is_behind, self._host.app)
        async with aclosing(in_frames(changes, is_behind=behind)) as frames:
            async for first in frames:
                self._host.post_message(ReplyGrew(first))
        self._host.post_message(AskingEnded())
