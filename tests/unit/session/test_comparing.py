"""A run of a comparison: what is asked, in which order, and what a failure means for the rest."""

import asyncio
from collections.abc import Sequence

import pytest

from fakes import FixedClock, Hang, Pause, Scripted, ScriptedBackend, server_info
from replies import chunk, report
from samples_of import both, failed, plan_for
from specchat.core.comparison.plan import Plan, Prompt
from specchat.core.comparison.samples import Sample, Side
from specchat.core.errors import ConfigurationError, PromptTooLong, ServerUnreachable, StreamBroken
from specchat.core.events import NoteAdded, StreamEnded, SwitchRefused, TraceEnded, UsageReported
from specchat.core.server import Hook, ServerInfo
from specchat.core.switching import Speculation, Way
from specchat.session.comparing import Comparing, Ending, Progress, SampleTaken, WarmingUp
from specchat.session.measuring import Party
from specchat.session.ports import Message
from traces import PREFILL, row, traced

DONE = StreamEnded(9.0, done=True)
ON: list[Scripted] = [
    chunk(1.0, "A", 1000), chunk(1.5, "bcd", 2, 3, 4), chunk(2.0, "e", 5, finish_reason="stop"),
    UsageReported(7, 5), report([2, 0], [3, 3]), DONE,
]  # fmt: skip
OFF: list[Scripted] = [
    chunk(1.0, "A", 1000), chunk(2.0, "b", 2), chunk(3.0, "x", 9), chunk(5.0, "yz", 10, 11, finish_reason="stop"), DONE,
]  # fmt: skip
TOO_LONG = PromptTooLong("The prompt is too long.", status=400)
BROKEN = StreamBroken("The connection broke.")


class Bench:
    """Two scripted servers, or one that switches, and what a run said and kept."""

    def __init__(
        self,
        *,
        on: Sequence[Sequence[Scripted]] = (ON,),
        off: Sequence[Sequence[Scripted]] | None = (OFF,),
        hook: Hook | None = None,
        traces: Sequence[Sequence[Scripted]] = (),
    ) -> None:
        server = server_info(hook=hook)
        self.on = ScriptedBackend(*on, server=server, traces=traces)
        self.off = self.on if off is None else ScriptedBackend(*off)
        switched = Speculation(0, Way.HOOK if off is None else Way.SERVER)
        plain = ServerInfo("http://h:2", model="tiny/chat", draft_length=0)
        self.parties = {
            Side.ON: Party(self.on, server),
            Side.OFF: Party(self.off, server if off is None else plain, switched),
        }
        self.kept: list[Sample] = []
        self.told: list[Progress] = []
        self.slept: list[tuple[float, int, int]] = []
        """Seconds of each rest, and what the servers had been asked before it."""

    async def rest(self, seconds: float) -> None:
        self.slept.append((seconds, len(self.on.requests), len(self.off.requests)))

    def run_of(self, plan: Plan, earlier: Sequence[Sample] = (), idle_limit: float | None = None) -> Comparing:
        keys = iter(f"key-{number}" for number in range(99))
        return Comparing(
            plan,
            self.parties,
            clock=FixedClock(),
            wall_clock=FixedClock(1000.0),
            new_key=lambda: next(keys),
            earlier=earlier,
            keep=self.kept.append,
            tell=self.told.append,
            idle_limit_seconds=idle_limit,
            sleep=self.rest,
        )

    async def asked(self, count: int) -> None:
        """Wait until the speculating server was asked so often."""
        while len(self.on.requests) < count:  # noqa: ASYNC110 - the fake has no event for it
            await asyncio.sleep(0)


async def test_every_reply_is_kept_with_its_figures() -> None:
    bench = Bench()
    run = bench.run_of(plan_for(2, repeats=2, warm_up=1))
    assert await run.run() is Ending.COMPLETE
    assert bench.kept == run.samples
    assert len(bench.kept) == 8
    one = next(sample for sample in bench.kept if sample.side is Side.ON).replies[0]
    assert (one.first_token_s, one.decode_s, one.tokens, one.prompt_tokens) == (1.0, 1.0, 5, 7)
    assert (one.steps, one.drafted, one.accepted, one.per_position) == (2, 6, 2, (1, 1, 0))
    assert (one.evidence, one.ids, one.text, one.finish_reason) == ("reported", (1000, 2, 3, 4, 5), "Abcde", "stop")
    pair = {sample.side: sample.decode_rate for sample in bench.kept[:2]}
    assert pair == {Side.ON: 4.0, Side.OFF: 1.0}


async def test_warm_up_replies_do_not_count_and_both_sides_have_them() -> None:
    bench = Bench()
    await bench.run_of(plan_for(1, repeats=1, warm_up=3)).run()
    assert (len(bench.on.requests), len(bench.off.requests)) == (4, 4)
    assert [event for event in bench.told if isinstance(event, WarmingUp)][-1] == WarmingUp(6, 6)
    assert [event.done for event in bench.told if isinstance(event, SampleTaken)] == [1, 2]


async def test_a_server_comes_to_rest_before_the_other_one_is_asked() -> None:
    bench = Bench()
    await bench.run_of(plan_for(2, repeats=1, warm_up=1, settle_s=1.5)).run()
    # Between the sides of the warm-up, and of each pair; where a side is asked twice in a row there is no rest.
    assert [seconds for seconds, *_ in bench.slept] == [1.5] * len(bench.slept)
    assert bench.slept[0][1:] == (1, 0)
    assert all(on != off or (on, off) == (2, 2) for _, on, off in bench.slept)
    assert len(bench.slept) in {3, 4}


async def test_one_server_that_switches_needs_no_rest() -> None:
    bench = Bench(off=None, hook=Hook(trace=False, switch=True, draft_length=3))
    await bench.run_of(plan_for(2, repeats=1, settle_s=1.5)).run()
    assert not bench.slept


async def test_both_sides_are_asked_for_the_same() -> None:
    bench = Bench()
    plan = plan_for(2, repeats=2, max_tokens=9, fixed_length=True, temperature=0.7, seed=5, system="Be brief.")
    await bench.run_of(plan).run()
    on, off = ([(one.messages, one.sampling) for one in backend.requests] for backend in (bench.on, bench.off))
    assert on == off
    messages, sampling = on[-1]
    assert messages[0] == Message("system", "Be brief.")
    assert (sampling.max_tokens, sampling.ignore_eos, sampling.seed) == (9, True, 6)
    assert all(one.trace_key is None and one.limit is None for one in bench.on.requests)


async def test_later_turns_are_asked_with_each_side_s_own_replies() -> None:
    bench = Bench()
    plan = Plan((Prompt(("one", "two"), before=(("system", "s"),)),), repeats=1, warm_up=0, system="other")
    await bench.run_of(plan).run()
    assert [one.content for one in bench.on.requests[-1].messages] == ["s", "one", "Abcde", "two"]
    assert [one.content for one in bench.off.requests[-1].messages] == ["s", "one", "Abxyz", "two"]
    assert [len(sample.replies) for sample in bench.kept] == [2, 2]
    assert bench.kept[0].tokens == 10


async def test_a_refused_prompt_is_kept_as_refused_and_the_rest_is_measured() -> None:
    bench = Bench(on=[[TOO_LONG], ON], off=[[TOO_LONG], OFF])
    run = bench.run_of(plan_for(3, repeats=1, warm_up=0))
    assert await run.run() is Ending.COMPLETE
    refused = [sample for sample in run.samples if sample.failure is not None]
    assert [sample.failure.kind for sample in refused if sample.failure] == ["PromptTooLong"] * 2
    assert len({sample.prompt for sample in refused}) == 1
    assert run.done == 6


async def test_a_server_that_dies_ends_the_run_and_nothing_measured_is_lost() -> None:
    bench = Bench(off=[OFF, [*OFF[:2], BROKEN]])

    async def gone() -> ServerInfo:
        raise ServerUnreachable("Nothing answers at http://h:2.")

    bench.off.connect = gone  # type: ignore[method-assign]
    run = bench.run_of(plan_for(4, repeats=2, warm_up=0))
    assert await run.run() is Ending.LOST
    assert run.lost_side is Side.OFF
    assert str(run.lost).startswith("The server at http://h:2 was lost: Nothing answers at http://h:2. What was")
    whole = [sample for sample in bench.kept if sample.failure is None]
    assert len(whole) >= 2
    assert len(bench.off.requests) == 2


async def test_a_server_that_breaks_off_three_replies_in_a_row_is_given_up_though_it_answers() -> None:
    bench = Bench(on=[ON, [BROKEN]])
    run = bench.run_of(plan_for(8, repeats=1, warm_up=0))
    assert await run.run() is Ending.LOST
    assert "broke off 3 replies in a row, the last one with: The connection broke" in str(run.lost)
    assert len(bench.on.requests) == 4


async def test_a_broken_reply_is_asked_for_once_more() -> None:
    bench = Bench(on=[[BROKEN], ON])
    run = bench.run_of(plan_for(2, repeats=1, warm_up=0))
    assert await run.run() is Ending.COMPLETE
    assert (run.done, len(bench.kept)) == (4, 5)


async def test_a_reply_that_breaks_twice_is_asked_for_again_when_the_run_goes_on() -> None:
    plan = plan_for(2, repeats=1, warm_up=0)
    first = Bench(on=[[BROKEN], [BROKEN], ON])
    run = first.run_of(plan)
    assert await run.run() is Ending.COMPLETE
    assert run.done == 3
    second = Bench()
    again = second.run_of(plan, earlier=first.kept)
    assert await again.run() is Ending.COMPLETE
    assert again.done == 4
    assert len(second.kept) == 1


async def test_what_was_measured_or_refused_before_is_not_asked_again() -> None:
    bench = Bench()
    earlier = [*both(2, 1), failed(Side.ON, prompt=1), failed(Side.OFF, prompt=1)]
    run = bench.run_of(plan_for(2, repeats=1), earlier=earlier)
    assert await run.run() is Ending.COMPLETE
    assert (bench.on.requests, run.samples) == ([], earlier)


async def test_stopping_keeps_what_was_measured() -> None:
    bench = Bench(on=[ON, ON, [*ON[:2], Hang()]])
    run = bench.run_of(plan_for(4, repeats=1, warm_up=0))
    running = asyncio.create_task(run.run())
    async with asyncio.timeout(5):
        await bench.asked(3)
        run.stop()
        assert await running is Ending.INTERRUPTED
    assert len(run.samples) >= 4
    assert all(sample.failure is None for sample in run.samples)
    assert bench.on.closed_streams == 3


async def test_a_cancelled_run_is_cancelled_and_no_request_stays() -> None:
    bench = Bench(on=[[*ON[:2], Hang()]])
    running = asyncio.create_task(bench.run_of(plan_for(1, warm_up=0)).run())
    async with asyncio.timeout(5):
        await bench.asked(1)
        await asyncio.sleep(0.01)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
    assert bench.on.closed_streams == 1


async def test_silence_is_a_broken_reply() -> None:
    bench = Bench(on=[[*ON[:1], Hang()]])
    run = bench.run_of(plan_for(1, repeats=3, warm_up=0), idle_limit=0.02)
    assert await run.run() is Ending.LOST
    assert "Nothing came from the server" in str(run.lost)


async def test_a_sample_that_cannot_be_kept_ends_the_run_and_is_not_lost() -> None:
    bench = Bench()
    run = bench.run_of(plan_for(2, warm_up=0))

    def full(_: Sample) -> None:
        raise ConfigurationError("The disk is full.")

    run._keep = full
    with pytest.raises(ConfigurationError):
        await run.run()
    assert len(run.samples) == 1


async def test_so_many_requests_run_beside_each_other_and_only_on_one_side() -> None:
    running = {"on": 0, "off": 0}
    most = {"on": 0, "off": 0, "both": 0}
    bench = Bench(on=[[Pause(0.002), *ON]], off=[[Pause(0.002), *OFF]])
    for name, backend in (("on", bench.on), ("off", bench.off)):
        stream = backend.stream

        async def counted(request: object, stream: object = stream, name: str = name):  # type: ignore[no-untyped-def]  # noqa: ANN202
            running[name] += 1
            most[name] = max(most[name], running[name])
            most["both"] = max(most["both"], min(running.values()))
            async for event in stream(request):  # type: ignore[operator]
                yield event
            running[name] -= 1

        backend.stream = counted  # type: ignore[method-assign]
    plan = plan_for(9, repeats=1, concurrency=3, warm_up=3)
    assert await bench.run_of(plan).run() is Ending.COMPLETE
    assert most == {"on": 3, "off": 3, "both": 0}
    assert len(bench.kept) == 18


async def test_what_replies_say_besides_is_told_once_even_where_only_the_warm_up_said_it() -> None:
    refusal = NoteAdded("this server refuses seed: the reply cannot be repeated")
    bench = Bench(on=[[refusal, *ON], ON], off=[[NoteAdded(f"note {number}"), *OFF] for number in range(9)])
    run = bench.run_of(plan_for(4, repeats=1, warm_up=1))
    await run.run()
    assert run.said[Side.ON] == [refusal.text]
    assert run.said[Side.OFF] == [f"note {number}" for number in range(5)]


# -- one server, switched by its hook ---------------------------------------------------------------------------------

HOOK = Hook(trace=True, switch=True, draft_length=3, off_draft_forwards=1)
PLAIN: list[Scripted] = [chunk(1.0, "A", 1000), chunk(2.0, "b", 2), chunk(3.0, "c", 3, finish_reason="stop"), DONE]
OFF_TRACE: list[Scripted] = [
    traced(PREFILL, row(1, (), (2,))._replace(width=0), row(2, (), (3,))._replace(width=0)),
    TraceEnded("stop"),
]


async def test_the_hook_switches_off_and_a_trace_of_the_warm_up_says_what_that_meant() -> None:
    bench = Bench(on=[PLAIN], off=None, hook=HOOK, traces=[OFF_TRACE])
    run = bench.run_of(plan_for(1, repeats=2, warm_up=1))
    assert await run.run() is Ending.COMPLETE
    assert sorted(one.limit is None for one in bench.on.requests) == [False] * 3 + [True] * 3
    assert "one draft forward remained" in run.off_meant
    # What counts is not traced: a trace is work for the server.
    assert [one.trace_key for one in bench.on.requests if one.trace_key is not None] == ["key-0"]


async def test_a_switch_that_the_server_does_not_take_is_no_measurement_of_off() -> None:
    refused: list[Scripted] = [SwitchRefused("not switched"), *PLAIN]
    bench = Bench(on=[refused], off=None, hook=Hook(trace=False, switch=True, draft_length=3))
    run = bench.run_of(plan_for(1, repeats=1, warm_up=0))
    assert await run.run() is Ending.COMPLETE
    off = next(sample for sample in run.samples if sample.side is Side.OFF)
    assert off.failure is not None
    assert off.failure.is_refusal
    assert "took no wish to switch speculation off" in off.failure.message
