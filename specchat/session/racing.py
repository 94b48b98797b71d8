"""Races of one prompt: both sides answer it, again and again, while somebody looks on. Owns the runs of one prompt.

What is measured, and how, is `comparing`'s; this adds up its runs.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from specchat.core.comparison.pairs import Pair, latest, pairs_of
from specchat.core.comparison.plan import Plan, Prompt
from specchat.core.comparison.record import Record
from specchat.core.comparison.samples import Sample, Side
from specchat.core.errors import SpecchatError
from specchat.core.reply import Reply
from specchat.core.switching import Way
from specchat.session.comparing import Comparing, Ending, Progress, WarmingUp
from specchat.session.known_texts import KnownTexts
from specchat.session.opponents import Opponents
from specchat.session.ports import Clock, Sampling
from specchat.session.power import PowerMeter

DEFAULT_MAX_TOKENS = 256


@dataclass(slots=True)
class Race:
    """One prompt, and all runs of it.

    Attributes:
        samples: What was measured, in its order.
        replies: Of each side the reply that runs, or ran last.
        warming: How much of the warm-up is done, while it runs.
        wanted: Runs that were asked for.
        runs: Is it running now?
        lost: Why a server was given up.
        off_meant: What switching off turned out to mean, where a trace told.
        is_trial: Was this made on servers that nobody had warmed up? It is shown, and dropped once there is more.
    """

    prompt: str
    opponents: Opponents
    sampling: Sampling
    clock: Clock
    wall_clock: Clock
    new_key: Callable[[], str]
    system: str = ""
    together: bool = False
    meter: PowerMeter | None = None
    """Reads the power of the GPUs that both sides run on; None where nothing can."""
    keep: Callable[[Sample], None] = lambda _: None
    samples: list[Sample] = field(default_factory=list)
    replies: dict[Side, Reply] = field(default_factory=dict)
    warming: WarmingUp | None = None
    wanted: int = 0
    runs: bool = False
    lost: SpecchatError | None = None
    off_meant: str = ""
    is_trial: bool = False
    _is_warm: bool = False
    _texts: Mapping[Side, KnownTexts] = field(init=False)
    _began: tuple[float, int] | None = None
    """When these runs began, and how many there were then."""
    _comparing: Comparing | None = None

    def __post_init__(self) -> None:
        """Know no texts yet: those of one server are known to both sides."""
        on = KnownTexts()
        self._texts = {Side.ON: on, Side.OFF: on if self.opponents.way is Way.HOOK else KnownTexts()}

    @property
    def plan(self) -> Plan:
        """All that was asked for until now. The trial was the warm-up of what comes after it.

        Raises:
            ConfigurationError: If so few tokens are wanted that nothing can be measured.
        """
        sampling = self.sampling
        return Plan(
            (Prompt((self.prompt,)),),
            repeats=max(1, self.wanted),
            max_tokens=sampling.max_tokens or DEFAULT_MAX_TOKENS,
            warm_up=int(self._is_warm and not self.is_trial),
            seed=sampling.seed or 0,
            temperature=sampling.temperature or 0.0,
            top_p=sampling.top_p,
            stop=sampling.stop,
            system=self.system,
            settle_s=0.0 if self.together else self.opponents.settle_s,
            together=self.together,
        )

    @property
    def pairs(self) -> list[Pair]:
        """The runs that are whole on both sides."""
        return [pair for pair in pairs_of(self.samples) if not pair.failed]

    @property
    def done(self) -> int:
        """Runs that need not be made again."""
        final = {(one.repeat, one.side) for one in self.samples if one.is_final}
        return sum((number, Side.ON) in final and (number, Side.OFF) in final for number in range(self.wanted))

    async def run(self, count: int) -> Ending:
        """Race some more times.

        A first single run is shown at once, as a trial: it warms both sides up, and the next runs begin anew. Where
        several come first, a warm-up of each side goes before them.

        Raises:
            ConfigurationError: If `keep` cannot keep a sample; it is in `samples` all the same.
        """
        if self.is_trial:
            self.samples, self.is_trial = [], False
        warm_up = 1 if count > 1 and not self._is_warm else 0
        self.is_trial = not self._is_warm and not warm_up
        self.wanted = self.done + count
        comparing = self._comparing = Comparing(
            replace(self.plan, warm_up=warm_up),
            self.opponents.parties,
            clock=self.clock,
            wall_clock=self.wall_clock,
            new_key=self.new_key,
            earlier=tuple(latest(self.samples)),
            keep=self._take,
            tell=self._tell,
            watch=self._show,
            texts=self._texts,
            sampling=self.sampling,
        )
        self.runs, self.lost = True, None
        self._began = None
        self.warming = WarmingUp(0, 2 * warm_up) if warm_up else None
        # Of two sides that run at once nobody can say which of them drew what.
        metered = nullcontext() if self.meter is None or self.together else self.meter.running()
        try:
            async with metered:
                return await comparing.run()
        finally:
            self.runs, self.warming, self._comparing = False, None, None
            self.lost, self.off_meant = comparing.lost, self.off_meant or comparing.off_meant
            final = {sample.side for sample in self.samples if sample.is_final}
            self._is_warm = self._is_warm or len(final) == len(Side)

    def stop(self) -> None:
        """End the runs; what was measured stays."""
        if self._comparing is not None:
            self._comparing.stop()

    def forget(self) -> None:
        """Drop what was measured: what comes now is another comparison."""
        self.samples, self.wanted, self.lost, self.is_trial = [], 0, None, False
        self.replies.clear()

    @property
    def fingerprint(self) -> str:
        """What makes this comparison this one, however many runs it has."""
        plan = replace(self.plan, repeats=1, warm_up=0)
        return plan.fingerprint({**self.opponents.identity(), "sampling": self.sampling.given()})

    def record(self, *, started: str, finished: str) -> Record:
        """The comparison, for exports."""
        plan = self.plan
        ending = Ending.LOST if self.lost else Ending.COMPLETE if self.done >= self.wanted else Ending.INTERRUPTED
        return Record(
            plan,
            self.opponents.servers,
            self.opponents.way,
            tuple(self.samples),
            self.fingerprint,
            off_meant=self.off_meant,
            notes=self.notes(plan),
            ending=str(ending),
            error=self.lost,
            started=started,
            finished=finished,
        )

    def notes(self, plan: Plan) -> Sequence[str]:
        """What a reader should know of the two sides."""
        planned = {"max_tokens", "temperature", "top_p", "seed", "stop"}
        more = {name: value for name, value in self.sampling.given().items() if name not in planned}
        asked = ", ".join(f"{name} {value}" for name, value in more.items())
        also = [f"Both sides were also asked for {asked}."] if more else []
        return [*self.opponents.notes(plan, self.off_meant), *also]

    def _take(self, sample: Sample) -> None:
        reply = self.replies.get(sample.side)
        if self.meter is not None and not self.together and reply is not None and reply.clock.last_at is not None:
            energy = self.meter.joules(reply.clock.sent_at, reply.clock.last_at)
            sample = replace(sample, replies=tuple(replace(one, energy_j=energy) for one in sample.replies))
        self.samples.append(sample)
        self.keep(sample)

    @property
    def seconds_left(self) -> float | None:
        """Until the runs that were asked for are made, going by those that are; None before one is."""
        if not self.runs or self._began is None:
            return None
        began, had = self._began
        made = self.done - had
        return (self.clock() - began) / made * (self.wanted - self.done) if made > 0 else None

    def _tell(self, progress: Progress) -> None:
        self.warming = progress if isinstance(progress, WarmingUp) and progress.done < progress.of else None

    def _show(self, side: Side, reply: Reply) -> None:
        self.warming = None
        if self._began is None:
            self._began = self.clock(), self.done
        self.replies[side] = reply
