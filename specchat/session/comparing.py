"""Runs a comparison: warm-up, then block by block both sides, and hands over every sample as soon as it is there.

Owns the order of requests and what a failure means for the rest of the run. What was measured is never taken back.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial

from specchat.core.comparison.plan import Asked, Block, Plan, Prompt
from specchat.core.comparison.samples import Failure, Measured, Sample, Side
from specchat.core.errors import SpecchatError
from specchat.core.reply import Reply
from specchat.core.switch_meaning import meaning_of
from specchat.core.switching import Way
from specchat.session.known_texts import KnownTexts
from specchat.session.measuring import Party, Wish, ask_once, measured
from specchat.session.ports import Clock, Message, Sampling

_ATTEMPTS = 2
"""A connection that was kept may have been closed by the server just when it is used again."""
_MOST_NOTES = 5
"""Of one side: some notes hold a number that is another for every reply."""
_IN_A_ROW = 3
"""So many broken replies of one side, one after the other, and it is given up although it still answers."""


class Ending(StrEnum):
    """How a run ended."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"
    """The user stopped it."""
    LOST = "lost"
    """A server went away or breaks off every reply."""


@dataclass(frozen=True, slots=True)
class WarmingUp:
    """A reply that does not count was made."""

    done: int
    of: int


@dataclass(frozen=True, slots=True)
class SampleTaken:
    """A sample was measured, or failed."""

    sample: Sample
    done: int
    """Samples that there are now, those of an earlier run included."""
    of: int


Progress = WarmingUp | SampleTaken


class Comparing:
    """One run of a plan.

    Attributes:
        samples: All that there are, those of an earlier run first.
        lost: Why a server was given up; None while both answer.
        lost_side: Which one.
        off_meant: What switching off meant, as a trace showed it in the warm-up; "" where nothing was traced.
        said: What the replies of each side had to say besides, each sentence once: fields that a server refused, and
            the like.
    """

    def __init__(
        self,
        plan: Plan,
        parties: Mapping[Side, Party],
        *,
        clock: Clock,
        wall_clock: Clock,
        new_key: Callable[[], str],
        earlier: Sequence[Sample] = (),
        keep: Callable[[Sample], None] = lambda _: None,
        tell: Callable[[Progress], None] = lambda _: None,
        idle_limit_seconds: float | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        watch: Callable[[Side, Reply], None] = lambda *_: None,
        texts: Mapping[Side, KnownTexts] | None = None,
        sampling: Sampling | None = None,
    ) -> None:
        """Ask nobody yet.

        Args:
            plan: What is to be done.
            parties: Who answers on each side.
            clock: Monotonic seconds, the one that the backends stamp their events with.
            wall_clock: Seconds since the epoch.
            new_key: Makes an unguessable key for a trace.
            earlier: What was measured before and is not measured again.
            keep: Called with each sample, so that it outlives the program.
            tell: Called with each event.
            idle_limit_seconds: A reply fails after so long a silence.
            sleep: Waits for seconds.
            watch: Called with each reply that counts before it is asked for; it grows from then on.
            texts: Of each side the texts of tokens that are known, for somebody who looks on; others are asked for when
                a reply has ended, and go in there. None where nobody needs them.
            sampling: What else is asked of the sampler, beside what the plan says.
        """
        self._plan = plan
        self._parties = parties
        self._clock, self._wall_clock, self._new_key = clock, wall_clock, new_key
        self._keep, self._tell = keep, tell
        self._idle_limit, self._sleep = idle_limit_seconds, sleep
        self._watch, self._texts, self._sampling = watch, texts or {}, sampling or Sampling()
        self._asked_last: str | None = None
        """Address of the server that was asked last."""
        self.samples = list(earlier)
        self._done = {_key(sample) for sample in earlier if sample.is_final}
        self._broken_in_a_row = dict.fromkeys(Side, 0)
        self.lost: SpecchatError | None = None
        self.lost_side: Side | None = None
        self.off_meant = ""
        self.said: dict[Side, list[str]] = {side: [] for side in Side}
        for sample in earlier:
            self._note(sample.side, *(note for reply in sample.replies for note in reply.notes))
        self._running: asyncio.Task[object] | None = None
        self._stopping = False

    @property
    def done(self) -> int:
        """Samples that need not be asked for again."""
        return len(self._done)

    def stop(self) -> None:
        """End the run: the replies that are on their way are given up, and `run` returns INTERRUPTED."""
        self._stopping = True
        if self._running is not None:
            self._running.cancel()

    async def run(self) -> Ending:
        """Measure what is still to be measured.

        Raises:
            ConfigurationError: If `keep` cannot keep a sample; it is in `samples` all the same.
        """
        self._running = task = asyncio.current_task()
        try:
            await self._run()
        except asyncio.CancelledError:
            if task is None or not self._stopping:
                raise
            task.uncancel()
        finally:
            self._running = None
        if self._stopping and self.done < self._plan.total:
            return Ending.INTERRUPTED
        return Ending.COMPLETE if self.lost is None else Ending.LOST

    @property
    def _goes_on(self) -> bool:
        return self.lost is None and not self._stopping

    async def _run(self) -> None:
        blocks = [block for block in self._plan.blocks() if self._missing(block)]
        if blocks:
            await self._warm_up()
        for block in blocks:
            if self._plan.together and self._goes_on:
                await _all_of(self._side_of(block, side) for side in block.order)
                continue
            for side in block.order:
                if self._goes_on and self._missing(block, side):
                    await self._settle(side)
                    await self._side_of(block, side)

    def _missing(self, block: Block, *sides: Side) -> list[tuple[Asked, Side]]:
        keys = [(asked, side) for side in sides or tuple(Side) for asked in block.asked]
        return [(asked, side) for asked, side in keys if (asked.prompt, asked.repeat, side) not in self._done]

    async def _warm_up(self) -> None:
        """Replies that load caches and kernels, as many beside each other as later."""
        count, prompts = self._plan.warm_up, self._plan.prompts
        done = 0
        for side in Side:
            await self._settle(side)
            for start in range(0, count, self._plan.concurrency):
                numbers = range(start, min(count, start + self._plan.concurrency))
                if self._goes_on:
                    await asyncio.gather(*(self._warm(prompts[number % len(prompts)], side) for number in numbers))
                done += len(numbers)
                self._tell(WarmingUp(done, count * len(Side)))

    async def _settle(self, side: Side) -> None:
        """Let the other server come to rest, if this side's is another one than was asked last."""
        url, last = self._parties[side].server.url, self._asked_last
        if self._plan.settle_s and last not in {None, url}:
            await self._sleep(self._plan.settle_s)
        self._asked_last = url

    async def _warm(self, prompt: Prompt, side: Side) -> None:
        """One reply to its first turn. A failure is no matter here: the reply that counts will meet it too."""
        party = self._parties[side]
        switched = party.speculation.way is Way.HOOK
        hook = party.server.hook
        traces = switched and hook is not None and hook.trace
        wish = replace(self._wish(0), trace_key=self._new_key() if traces else None)
        reply = (await ask_once(party, self._messages(prompt)[0], wish, self._clock)).reply
        meaning = meaning_of(reply, party.server)
        if switched and reply.is_traced and meaning is not None:
            self.off_meant = self.off_meant or meaning.sentence
        if not traces:
            # A server is told once which fields it refuses, and that may be here.
            self._note(side, *reply.notes)

    async def _side_of(self, block: Block, side: Side) -> None:
        gate = asyncio.Semaphore(self._plan.concurrency)

        async def one(asked: Asked) -> None:
            async with gate:
                if self._goes_on:
                    await self._measure(asked, block.number, side)

        await _all_of(one(asked) for asked, _ in self._missing(block, side))

    async def _measure(self, asked: Asked, block: int, side: Side) -> None:
        """One sample; one that breaks off on a server that still answers is asked for once more."""
        for _ in range(_ATTEMPTS):
            started = self._wall_clock()
            replies = await self._converse(self._plan.prompts[asked.prompt], asked.repeat, side)
            sample = Sample(asked.prompt, asked.repeat, side, tuple(replies), started, block)
            self.samples.append(sample)
            self._note(side, *(note for reply in replies for note in reply.notes))
            self._keep(sample)
            if sample.is_final:
                self._done.add(_key(sample))
            self._tell(SampleTaken(sample, self.done, self._plan.total))
            await self._judge(side, sample.failure)
            if sample.is_final or not self._goes_on:
                return

    async def _converse(self, prompt: Prompt, repeat: int, side: Side) -> list[Measured]:
        """Turn by turn: each reply stays in the conversation, so the two sides may come to talk of other things."""
        party, wish = self._parties[side], replace(self._wish(repeat), texts=self._texts.get(side))
        messages, turns = self._messages(prompt)
        found: list[Measured] = []
        for turn in (None, *turns):
            if turn is not None:
                messages = (*messages, Message("user", turn))
            answer = await ask_once(party, messages, wish, self._clock, partial(self._watch, side))
            found.append(measured(answer, party))
            if found[-1].failure is not None:
                break
            messages = (*messages, Message("assistant", answer.reply.text))
        return found

    def _messages(self, prompt: Prompt) -> tuple[tuple[Message, ...], tuple[str, ...]]:
        """The messages up to the first turn, and the turns after it."""
        before = [Message(role, content) for role, content in prompt.before]
        if self._plan.system and not any(message.role == "system" for message in before):
            before.insert(0, Message("system", self._plan.system))
        return (*before, Message("user", prompt.turns[0])), prompt.turns[1:]

    def _wish(self, repeat: int) -> Wish:
        plan = self._plan
        sampling = replace(
            self._sampling,
            max_tokens=plan.max_tokens,
            temperature=plan.temperature,
            top_p=plan.top_p,
            seed=plan.seed_of(repeat),
            stop=plan.stop,
            ignore_eos=True if plan.fixed_length else None,
        )
        return Wish(sampling, self._idle_limit, alone=plan.concurrency == 1)

    async def _judge(self, side: Side, failure: Failure | None) -> None:
        """Is the server of this side still worth asking? One that refuses a prompt is; one that is gone is not."""
        if failure is None or failure.is_refusal:
            self._broken_in_a_row[side] = 0
            return
        self._broken_in_a_row[side] += 1
        url = self._parties[side].server.url
        kept = "What was measured is kept: with both servers running, the same command goes on where this ended."
        reason = failure.message.rstrip(". ")
        try:
            await self._parties[side].backend.connect()
        except SpecchatError as error:
            self._lose(side, SpecchatError(f"The server at {url} was lost: {error.message.rstrip('. ')}.", kept))
            return
        if self._broken_in_a_row[side] >= _IN_A_ROW:
            text = f"The server at {url} broke off {_IN_A_ROW} replies in a row, the last one with: {reason}."
            self._lose(side, SpecchatError(text, kept))

    def _note(self, side: Side, *notes: str) -> None:
        said = self.said[side]
        said += [note for note in dict.fromkeys(notes) if note not in said][: max(0, _MOST_NOTES - len(said))]

    def _lose(self, side: Side, error: SpecchatError) -> None:
        if self.lost is None:
            self.lost, self.lost_side = error, side


async def _all_of(parts: Iterable[Coroutine[object, object, None]]) -> None:
    """Run them beside each other; where one fails or this is cancelled, none of the others stays behind."""
    tasks = [asyncio.ensure_future(part) for part in parts]
    try:
        await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _key(sample: Sample) -> tuple[int, int, Side]:
    return sample.prompt, sample.repeat, sample.side
