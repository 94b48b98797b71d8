"""Races of one prompt: who races, what a run adds, and what several come to."""

import asyncio

import pytest

from fake_local_servers import FakeGpus
from fakes import FixedClock, Hang, Pause, Scripted, ScriptedBackend, server_info
from replies import chunk
from specchat.core.comparison.racing import parting_of, seconds_of, spread_of, tokens_after
from specchat.core.comparison.samples import Sample, Side
from specchat.core.errors import CannotSwitch, ConfigurationError, StreamBroken
from specchat.core.events import Event, StreamEnded
from specchat.core.reply import Outcome, Reply
from specchat.core.server import Hook
from specchat.core.switching import Way
from specchat.session.chat import ChatSession
from specchat.session.comparing import Ending
from specchat.session.local_servers import GpuLine
from specchat.session.opponents import Opponents, opponents_of
from specchat.session.ports import Sampling
from specchat.session.power import PowerMeter
from specchat.session.racing import Race

DONE = StreamEnded(9.0, done=True)
ON: list[Event] = [chunk(1.0, "A", 1000), chunk(1.5, "bcd", 2, 3, 4), chunk(2.0, "e", 5, finish_reason="stop"), DONE]
OFF: list[Event] = [
    chunk(1.0, "A", 1000),
    chunk(2.0, "b", 2),
    chunk(3.0, "x", 9),
    chunk(5.0, "yz", 10, 11, finish_reason="stop"),
    DONE,
]
HOOK = Hook(trace=False, switch=True, draft_length=3)


def session_of(*, second: ScriptedBackend | None = None, hook: Hook | None = None) -> ChatSession:
    server = server_info(hook=hook, url="http://gpu01:8000")
    backend = ScriptedBackend(ON, server=server)
    return ChatSession(backend, server, FixedClock(), baseline=None if second is None else (second, second.server))


def second_server(**changes: object) -> ScriptedBackend:
    return ScriptedBackend(OFF, server=server_info(**({"url": "http://gpu02:8000", "draft_length": 0} | changes)))


def race_of(session: ChatSession, **changes: object) -> Race:
    keys = iter(f"key-{number}" for number in range(99))
    given: dict[str, object] = {"clock": FixedClock(), "wall_clock": FixedClock(1000.0), "new_key": lambda: next(keys)}
    return Race("Why?", opponents_of(session), Sampling(max_tokens=12), **(given | changes))  # type: ignore[arg-type]


def test_a_second_server_races_where_there_is_one_and_the_hook_does_not() -> None:
    opponents = opponents_of(session_of(second=second_server(), hook=HOOK))
    assert opponents.way is Way.SERVER
    assert opponents.can_run_together
    assert not opponents.share_a_machine
    assert opponents.servers[Side.OFF].url == "http://gpu02:8000"


def test_without_a_second_server_the_hook_switches_in_the_same_one() -> None:
    opponents = opponents_of(session_of(hook=HOOK))
    assert (opponents.way, opponents.can_run_together) == (Way.HOOK, False)
    assert opponents.parties[Side.OFF].speculation.limit == 0
    assert opponents.parties[Side.ON].speculation.limit is None


def test_without_either_a_sentence_says_what_is_possible() -> None:
    with pytest.raises(CannotSwitch, match="cannot be switched here"):
        opponents_of(session_of())


def test_servers_of_different_models_do_not_race() -> None:
    with pytest.raises(ConfigurationError, match="different models"):
        opponents_of(session_of(second=second_server(model="other/model")))


async def test_a_run_is_both_sides_once_and_is_kept() -> None:
    kept: list[Sample] = []
    race = race_of(session_of(second=second_server()), keep=kept.append)
    assert await race.run(1) is Ending.COMPLETE
    assert [sample.side for sample in kept] == [sample.side for sample in race.samples]
    assert {sample.side for sample in kept} == set(Side)
    (pair,) = race.pairs
    assert pair.speed_ratio == pytest.approx(4.0)
    assert pair.divergence is not None
    assert pair.divergence.token == 2
    assert {side: reply.outcome for side, reply in race.replies.items()} == dict.fromkeys(Side, Outcome.FINISHED)
    assert (race.done, race.runs, race.lost) == (1, False, None)


async def test_a_first_run_alone_is_a_trial_that_does_not_count_once_there_are_more() -> None:
    kept: list[Sample] = []
    second = second_server()
    race = race_of(session_of(second=second), keep=kept.append)
    await race.run(1)
    assert (race.is_trial, race.plan.warm_up) == (True, 0)
    await race.run(3)
    assert (race.is_trial, race.plan.warm_up) == (False, 1)
    assert (race.done, len(race.pairs), len(race.samples)) == (3, 3, 6)
    assert [one.repeat for one in race.samples] == [0, 0, 1, 1, 2, 2]
    # One reply for each run: the trial was the warm-up. And it is kept all the same.
    assert len(second.requests) == 4
    assert len(kept) == 8


async def test_more_runs_are_added_and_the_order_alternates() -> None:
    race = race_of(session_of(second=second_server()))
    for count in (1, 2, 2):
        await race.run(count)
    assert (race.done, len(race.samples)) == (4, 8)
    firsts = [race.samples[number].side for number in (0, 2, 4, 6)]
    assert firsts[0] != firsts[1] == firsts[3] != firsts[2]


async def test_a_trial_that_was_stopped_leaves_the_next_run_a_trial() -> None:
    hang = Hang()
    second = ScriptedBackend([hang], OFF, server=second_server().server)
    race = race_of(session_of(second=second))
    running = asyncio.ensure_future(race.run(1))
    while not second.requests:  # noqa: ASYNC110 - the fake has no event for it
        await asyncio.sleep(0)
    race.stop()
    assert await running is Ending.INTERRUPTED
    await race.run(1)
    assert (race.done, race.is_trial) == (1, True)


async def test_no_text_of_a_token_is_asked_for_while_a_reply_is_measured() -> None:
    class Asked(ScriptedBackend):
        calls = 0

        async def learn_pieces(self, ids, runs):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
            assert self.closed_streams == len(self.requests)
            type(self).calls += 1
            return await super().learn_pieces(ids, runs)

    pieces = {1000: "A", 2: "b", 3: "c", 4: "d", 5: "e", 9: "x", 10: "y", 11: "z"}
    server = server_info(hook=HOOK, url="http://gpu01:8000")
    backend = Asked(ON, OFF, server=server, pieces=pieces)
    race = race_of(ChatSession(backend, server, FixedClock()))
    texts: list[list[str]] = []
    await race.run(1)
    first_calls = backend.calls
    assert first_calls
    # Whichever side came first: each token has its own text in the end.
    assert sorted(text for reply in race.replies.values() for _, text in reply.rows) == sorted("Abcde" + "Abxyz")
    race.keep = lambda sample: texts.append([text for _, text in race.replies[sample.side].rows])
    backend.scripts = [ON]
    await race.run(1)
    assert backend.calls == first_calls
    assert texts == [list("Abcde")] * 2


async def test_where_a_sample_cannot_be_kept_no_reply_runs_on() -> None:
    def full(_: Sample) -> None:
        raise ConfigurationError("The disk is full.")

    hang = Hang()
    second = ScriptedBackend([OFF[0], hang], server=second_server().server)
    race = race_of(session_of(second=second), together=True, keep=full)
    with pytest.raises(ConfigurationError, match="disk is full"):
        await race.run(1)
    assert second.closed_streams == len(second.requests) == 1
    assert race.replies[Side.OFF].outcome is Outcome.STOPPED


async def test_all_settings_of_the_chat_hold_for_both_sides() -> None:
    second = second_server()
    session = session_of(second=second)
    sampling = Sampling(max_tokens=12, temperature=0.5, seed=7, top_k=20, thinking=False)
    race = Race(
        "Why?", opponents_of(session), sampling, clock=FixedClock(), wall_clock=FixedClock(), new_key=lambda: "key"
    )
    before = race.fingerprint
    await race.run(1)
    assert second.requests[0].sampling == sampling
    assert "top_k 20, thinking False" in " ".join(race.notes(race.plan))
    race.sampling = Sampling(max_tokens=12, temperature=0.5, seed=7)
    assert race.fingerprint != before


async def test_a_run_with_a_broken_side_is_no_pair() -> None:
    second = ScriptedBackend([OFF[0], StreamBroken("The connection broke.")], server=second_server().server)
    race = race_of(session_of(second=second))
    await race.run(1)
    assert race.pairs == []


async def test_several_runs_at_once_begin_with_a_warm_up() -> None:
    second = second_server()
    race = race_of(session_of(second=second))
    await race.run(2)
    assert len(second.requests) == 3
    assert len(race.samples) == 4


async def test_both_sides_are_asked_at_once_where_that_is_wanted() -> None:
    hang = Hang()
    second = ScriptedBackend([OFF[0], hang, *OFF[1:]], server=second_server().server)
    race = race_of(session_of(second=second), together=True)
    running = asyncio.ensure_future(race.run(1))
    while not (Side.ON in race.replies and not race.replies[Side.ON].is_running):  # noqa: ASYNC110 - the fake has no event
        await asyncio.sleep(0)
    assert race.replies[Side.OFF].is_running
    hang.released.set()
    assert await running is Ending.COMPLETE
    assert race.plan.together


async def test_stopping_keeps_the_runs_that_are_whole() -> None:
    hang = Hang()
    second = ScriptedBackend(OFF, OFF, [hang], server=second_server().server)
    race = race_of(session_of(second=second))
    await race.run(1)
    await race.run(1)
    running = asyncio.ensure_future(race.run(1))
    while len(second.requests) < 3:  # noqa: ASYNC110 - the fake has no event for it
        await asyncio.sleep(0)
    race.stop()
    assert await running is Ending.INTERRUPTED
    assert len(race.pairs) == 1
    record = race.record(started="then", finished="now")
    assert (record.ending, record.result.total.pairs) == ("interrupted", 1)


async def test_a_server_that_dies_is_told_and_the_other_side_is_kept() -> None:
    class Gone(ScriptedBackend):
        async def connect(self) -> object:  # type: ignore[override]
            raise StreamBroken("Nothing answers.")

    gone = Gone([OFF[0], StreamBroken("The connection broke.")], server=second_server().server)
    race = race_of(session_of(second=gone), together=True)
    assert await race.run(1) is Ending.LOST
    assert race.lost is not None
    assert "was lost" in race.lost.message
    on = next(sample for sample in race.samples if sample.side is Side.ON)
    assert on.failure is None
    assert race.replies[Side.OFF].text == "A"


async def test_another_way_of_asking_is_another_comparison() -> None:
    race = race_of(session_of(second=second_server()))
    before = race.fingerprint
    await race.run(1)
    assert race.fingerprint == before
    race.forget()
    race.together = True
    assert race.fingerprint != before
    assert not race.samples


async def test_energy_is_that_of_all_gpus_while_a_side_ran() -> None:
    clock = FixedClock()
    gpus = FakeGpus([GpuLine(0, power=300.0), GpuLine(1, power=100.0)])
    meter = PowerMeter(gpus, clock)
    meter._readings += [(0.5 * number, 400.0) for number in range(12)]
    assert meter.joules(1.0, 3.0) == pytest.approx(800.0)
    async with meter.running():
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    assert gpus.reads == 1
    assert meter.joules(0.0, 0.0) is None  # one reading says nothing


async def test_a_gpu_that_does_not_tell_its_power_leaves_the_sum_unknown() -> None:
    meter = PowerMeter(FakeGpus([GpuLine(0, power=300.0), GpuLine(1)]), FixedClock())
    async with meter.running():
        await asyncio.sleep(0)
    assert meter.joules(0.0, 1.0) is None


async def test_a_sample_has_its_energy_and_sides_at_once_have_none() -> None:
    class Steady(PowerMeter):
        def joules(self, start: float, end: float) -> float | None:
            return 10.0 * (end - start)

    for together, expected in ((False, {Side.ON: 20.0, Side.OFF: 50.0}), (True, {Side.ON: None, Side.OFF: None})):
        race = race_of(session_of(second=second_server()), together=together, meter=Steady(FakeGpus(), FixedClock()))
        await race.run(1)
        assert {sample.side: sample.energy_j for sample in race.samples} == expected


def test_tokens_after_some_seconds_are_those_whose_chunks_had_come() -> None:
    reply = Reply(0.0, draft_length=3)
    for event in ON:
        reply.add(event)
    assert [tokens_after(reply, seconds) for seconds in (0.9, 1.0, 1.49, 1.5, 2.0, 99.0)] == [0, 1, 1, 4, 5, 5]
    assert seconds_of(reply, 3.5) == 3.5
    reply.end(Outcome.FINISHED)
    assert seconds_of(reply, 3.5) == 2.0


def replied(*ids: int, outcome: Outcome = Outcome.FINISHED) -> Reply:
    reply = Reply(0.0)
    for number, token in enumerate(ids):
        reply.add(chunk(1.0 + number, "w", token))
    if outcome is not Outcome.RUNNING:
        reply.end(outcome)
    return reply


def test_two_replies_part_in_the_first_token_that_differs_as_far_as_they_came() -> None:
    whole = replied(1, 2, 3, 4)
    assert parting_of(whole, replied(1, 2, 9, 4)) == 2
    assert parting_of(whole, replied(1, 2, 3, 4)) is None
    assert parting_of(whole, replied(1, 2)) == 2
    # What was stopped may have gone on like the other.
    assert parting_of(whole, replied(1, 2, outcome=Outcome.STOPPED)) is None
    assert parting_of(replied(1, 9, outcome=Outcome.STOPPED), whole) == 1
    assert parting_of(whole, replied()) is None


def test_a_spread_is_of_what_is_known() -> None:
    spread = spread_of([None, 3.0, 1.0, 2.0])
    assert spread is not None
    assert (spread.median, spread.low, spread.high, spread.count) == (2.0, 1.0, 3.0, 3)
    assert spread_of([None]) is None


def test_two_servers_of_one_machine_say_so() -> None:
    opponents = opponents_of(session_of(second=second_server(url="http://gpu01:9000")))
    assert isinstance(opponents, Opponents)
    assert opponents.share_a_machine


async def test_time_that_is_left_goes_by_the_runs_that_were_made() -> None:
    clock = FixedClock()
    slow: list[Scripted] = [ON[0], Pause(4.0), *ON[1:]]
    server = server_info(url="http://gpu01:8000")
    session = ChatSession(
        ScriptedBackend(slow, server=server, clock=clock), server, clock,
        baseline=(second_server(), second_server().server),
    )  # fmt: skip
    left: list[float | None] = []
    race = race_of(session, clock=clock)
    race.keep = lambda _: left.append(race.seconds_left)
    await race.run(3)
    known = [one for one in left if one is not None]
    assert known
    assert known[0] == pytest.approx(8.0, abs=4.1)
    assert race.seconds_left is None
