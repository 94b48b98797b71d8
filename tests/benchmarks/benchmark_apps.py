"""What is measured: specchat's own screen, and two ways in which Textual itself can show a growing text.

Each offers the same few things: its application, `fill` with text at once, and `grow` by a step.
"""

import asyncio
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from textual.app import App, ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown, Static

from benchmarks.benchmark_text import TOKENS_A_STEP, Vocabulary
from fakes import server_info
from specchat.core.counters import CounterReading
from specchat.core.events import ChunkArrived, Event, SpeculationReported, StepsTraced, StreamEnded, TraceEnded
from specchat.core.server import Hook, ServerInfo
from specchat.core.speculation import Channel
from specchat.core.trace import TracedStep
from specchat.session.chat import ChatSession
from specchat.session.ports import ChatRequest
from specchat.ui.app import ChatApp
from specchat.ui.proposals import Proposals
from specchat.ui.widgets.transcript import Transcript

if TYPE_CHECKING:
    from textual.widgets.markdown import MarkdownStream

_DRAFT_LENGTH = 3
_REFUSED_FROM = 100_000
_STEPS_A_TURN = 40
"""Steps that are sent before the screen gets a turn while it is filled."""


class Shown(Protocol):
    """An application with a text that grows."""

    @property
    def application(self) -> App[None]:
        """What is run."""
        ...

    async def fill(self, tokens: int) -> None:
        """Show so many tokens, as fast as it goes."""
        ...

    async def grow(self) -> None:
        """Show one step more."""
        ...


class Reply:
    """A server without a network, whose stream gives what it is told to, and whose hook traces it if it has one."""

    def __init__(self, vocabulary: Vocabulary, *, traced: bool = False) -> None:
        self.info = server_info(hook=Hook(trace=True, switch=True) if traced else None)
        self._vocabulary = vocabulary
        self._events: asyncio.Queue[Event | None] = asyncio.Queue()
        self._rows: asyncio.Queue[StepsTraced | TraceEnded] = asyncio.Queue()
        self._steps = vocabulary.steps()
        self._refused = vocabulary.steps(1)
        """What the draft proposes in vain."""
        self._sizes: list[int] = []

    def send_step(self) -> None:
        """One step of three tokens; the first of a reply is the prefill token alone."""
        ids = next(self._steps)[: None if self._sizes else 1]
        self._sizes.append(len(ids))
        self._events.put_nowait(
            ChunkArrived(time.monotonic(), ((Channel.CONTENT, self._vocabulary.text(ids)),), token_ids=ids)
        )
        if self.info.hook is not None:
            self._rows.put_nowait(self._traced(ids))

    def _traced(self, ids: tuple[int, ...]) -> StepsTraced:
        """The hook's row of a step, with the text of what was refused in it."""
        number, at = len(self._sizes) - 1, time.monotonic()
        if number == 0:
            return StepsTraced((TracedStep(0, at, 0, (), 0, ids, _DRAFT_LENGTH, "FULL"),))
        kept = ids[:-1]
        words = [next(self._refused)[0] for _ in range(_DRAFT_LENGTH - len(kept))]
        # Ids of their own: the draft never wants in vain what the target says there.
        refused = tuple(_REFUSED_FROM + word for word in words)
        texts = {_REFUSED_FROM + word: self._vocabulary.texts[word] for word in words}
        row = TracedStep(number, at, _DRAFT_LENGTH, kept + refused, len(kept), ids, _DRAFT_LENGTH, "FULL")
        return StepsTraced((row,), texts)

    def end(self) -> None:
        """The server's report of every step, and the end."""
        accepted = tuple(size - 1 for size in self._sizes[1:])
        drafted = (_DRAFT_LENGTH,) * len(accepted)
        total = sum(accepted)
        report = SpeculationReported(
            len(accepted), total, sum(drafted), _DRAFT_LENGTH, accepted, drafted, None, 1 + total / len(accepted)
        )
        self._rows.put_nowait(TraceEnded("stop"))
        ending = ChunkArrived(time.monotonic(), finish_reason="stop")
        for event in (ending, report, StreamEnded(time.monotonic(), done=True), None):
            self._events.put_nowait(event)

    async def connect(self) -> ServerInfo:
        return self.info

    async def stream(self, request: ChatRequest) -> AsyncGenerator[Event, None]:  # noqa: ARG002 - the port's
        while (event := await self._events.get()) is not None:
            yield event

    async def trace(self, key: str) -> AsyncGenerator[StepsTraced | TraceEnded, None]:  # noqa: ARG002 - the port's
        while True:
            event = await self._rows.get()
            yield event
            if isinstance(event, TraceEnded):
                return

    async def read_counters(self) -> CounterReading | None:
        return None

    async def learn_pieces(
        self,
        ids: Sequence[int],
        runs: Sequence[tuple[int, ...]],  # noqa: ARG002 - the port's; no token is a part of a character
    ) -> tuple[Mapping[int, str], Mapping[tuple[int, ...], str]] | None:
        return {token_id: self._vocabulary.texts[token_id] for token_id in ids}, {}

    async def close(self) -> None:
        pass


class SpecchatShown:
    """specchat, with the session's work and the figures.

    Its rejected proposals are shown in a way that is given, where the server traces them.
    """

    def __init__(self, vocabulary: Vocabulary, proposals: Proposals | None = None) -> None:
        self._proposals = proposals
        self.server = Reply(vocabulary, traced=proposals is not None)
        self.session = ChatSession(self.server, self.server.info, time.monotonic)
        self.application: App[None] = ChatApp(
            self.session, theme="dark", export_directory=Path("exports"), opening_prompt="Explain it."
        )

    @property
    def transcript(self) -> Transcript:
        """The widget that is measured."""
        return self.application.screen.query_one("#transcript", Transcript)

    async def fill(self, tokens: int) -> None:
        if self._proposals is not None:
            self.transcript.set_view(None, proposals=self._proposals)
        for step in range(tokens // TOKENS_A_STEP):
            self.server.send_step()
            if step % _STEPS_A_TURN == 0:
                await asyncio.sleep(0.001)
        while not (  # noqa: ASYNC110 - nothing tells
            self.session.current and len(self.session.current.reply.tokens) >= tokens - 2 * TOKENS_A_STEP
        ):
            await asyncio.sleep(0.05)

    async def grow(self) -> None:
        self.server.send_step()

    async def end(self) -> None:
        """End the reply and wait until its figures are there."""
        self.server.end()
        while self.session.current is not None:  # noqa: ASYNC110 - nothing tells
            await asyncio.sleep(0.01)


class MarkdownShown(App[None]):
    """Textual's way to stream Markdown."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._steps = vocabulary.steps()
        self._stream: MarkdownStream | None = None

    @property
    def application(self) -> App[None]:
        return self

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.anchor()
            yield Markdown()

    async def fill(self, tokens: int) -> None:
        text = _text_of(self._vocabulary, self._steps, tokens)
        await self.query_one(Markdown).update(text)
        self._stream = Markdown.get_stream(self.query_one(Markdown))

    async def grow(self) -> None:
        assert self._stream is not None
        await self._stream.write(self._vocabulary.text(next(self._steps)))


class StaticShown(App[None]):
    """A text that is replaced by a longer one."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        super().__init__()
        self._vocabulary = vocabulary
        self._steps = vocabulary.steps()
        self._text = ""

    @property
    def application(self) -> App[None]:
        return self

    def compose(self) -> ComposeResult:
        with VerticalScroll() as scroll:
            scroll.anchor()
            yield Static(markup=False)

    async def fill(self, tokens: int) -> None:
        self._text = _text_of(self._vocabulary, self._steps, tokens)
        self.query_one(Static).update(self._text)

    async def grow(self) -> None:
        self._text += self._vocabulary.text(next(self._steps))
        self.query_one(Static).update(self._text)


class BareShown(App[None]):
    """A Textual app that shows one line, and nothing that grows."""

    @property
    def application(self) -> App[None]:
        return self

    def compose(self) -> ComposeResult:
        yield Static("ready", markup=False)

    async def fill(self, tokens: int) -> None:
        pass

    async def grow(self) -> None:
        pass


def _text_of(vocabulary: Vocabulary, steps: Iterator[tuple[int, ...]], tokens: int) -> str:
    return "".join(vocabulary.text(next(steps)) for _ in range(tokens // TOKENS_A_STEP))
