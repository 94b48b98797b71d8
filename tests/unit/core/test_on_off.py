"""Which replies of a chat say how much faster it is with speculation, and what is missing where none do."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fakes import server_info
from replies import chunk
from specchat.core.conversation import Turn
from specchat.core.events import StreamEnded
from specchat.core.on_off import COMPARABLE_DECODE_TOKENS, on_off
from specchat.core.reply import Outcome, Reply
from specchat.core.switching import Speculation, Way

LONG = COMPARABLE_DECODE_TOKENS


@dataclass(frozen=True)
class Told:
    """A reply as a test tells it."""

    way: Way | None = None
    """By which it was off; None for one with speculation."""
    decoded: int = LONG
    seconds: float = 1.0
    temperature: float = 0.0
    model: str = "tiny/chat"
    outcome: Outcome = Outcome.FINISHED
    continues: bool = False

    def turn(self) -> Turn:
        asked = Speculation() if self.way is None else Speculation(0, self.way)
        reply = Reply(0.0, speculating=self.way is None, speculation=asked, draft_length=0 if self.way else 3)
        reply.add(chunk(1.0, "a", 1))
        for index in range(self.decoded):
            reply.add(chunk(1.0 + self.seconds * (index + 1) / self.decoded, "b", 2 + index))
        reply.add(StreamEnded(9.0, done=True))
        reply.end(self.outcome)
        server = server_info(model=self.model)
        return Turn("?", reply, server, {"temperature": self.temperature}, continues=self.continues)


def turns(*told: Told) -> list[Turn]:
    return [one.turn() for one in told]


ON = Told(seconds=0.5)
OFF = Told(Way.HOOK)


def test_like_replies_give_both_speeds_and_how_many_times_faster() -> None:
    found = on_off(turns(ON, OFF, ON))
    assert [found.on, found.off, found.ratio] == pytest.approx([2 * LONG, LONG, 2.0])
    assert (found.on_replies, found.off_replies, found.way, found.missing) == (2, 1, Way.HOOK, "")


@pytest.mark.parametrize(
    ("told", "missing"),
    [
        ((), "needs a reply of each"),
        ((ON,), "needs a reply off"),
        ((OFF,), "needs a reply on"),
        ((Told(decoded=LONG - 1), Told(Way.HOOK, decoded=3)), "needs 33 tokens a reply"),
        ((ON, Told(Way.HOOK, decoded=LONG - 1)), "needs a longer reply off"),
        ((ON, Told(Way.HOOK, outcome=Outcome.FAILED)), "needs a longer reply off"),
        ((ON, Told(Way.HOOK, continues=True)), "needs a reply off"),
        ((Told(temperature=1.0), OFF), "needs on, sampled alike"),
        ((OFF, Told(temperature=1.0)), "needs off, sampled alike"),
        ((ON, Told(Way.SERVER, model="other")), "the models differ"),
    ],
)
def test_what_is_missing_is_said_and_no_ratio(told: tuple[Told, ...], missing: str) -> None:
    found = on_off(turns(*told))
    assert (found.ratio, found.missing) == (None, missing)


@pytest.mark.parametrize("last", list(Way))
def test_where_several_ways_were_used_the_last_one_counts(last: Way) -> None:
    first = [Told(way, seconds=4.0) for way in Way if way is not last]
    found = on_off(turns(ON, *first, Told(last, seconds=2.0), ON))
    assert (found.way, found.off_replies) == (last, 1)
    assert found.ratio == pytest.approx(4.0)


def test_after_a_change_of_the_parameters_the_comparison_begins_anew() -> None:
    warm = Told(temperature=1.0, seconds=0.25)
    found = on_off(turns(ON, OFF, warm, Told(Way.HOOK, temperature=1.0)))
    assert (found.on_replies, found.off_replies) == (1, 1)
    assert found.ratio == pytest.approx(4.0)


def test_a_limit_between_on_and_off_is_on_neither_side() -> None:
    between = OFF.turn()
    between.reply.speculation, between.reply.speculating = Speculation(1, Way.HOOK), None
    assert on_off([ON.turn(), between]).off_replies == 0


TOLD = st.builds(
    Told,
    way=st.sampled_from([None, *Way]),
    decoded=st.sampled_from([1, LONG - 1, LONG, LONG + 7]),
    seconds=st.sampled_from([0.25, 1.0, 3.0]),
    temperature=st.sampled_from([0.0, 1.0]),
    model=st.sampled_from(["tiny/chat", "other"]),
    outcome=st.sampled_from([Outcome.FINISHED, Outcome.STOPPED, Outcome.FAILED]),
    continues=st.booleans(),
)


@given(st.lists(TOLD, max_size=8))
def test_a_ratio_and_what_is_missing_exclude_each_other_and_only_like_replies_count(told: list[Told]) -> None:
    found = on_off(turns(*told))
    assert (found.ratio is None) == bool(found.missing)
    usable = [one for one in told if one.decoded >= LONG and one.outcome is not Outcome.FAILED and not one.continues]
    if not usable:
        assert (found.on_replies, found.off_replies) == (0, 0)
        return
    like = [one for one in usable if (one.model, one.temperature) == (usable[-1].model, usable[-1].temperature)]
    offs = [one for one in like if one.way is not None]
    assert found.on_replies == len(like) - len(offs)
    assert found.off_replies == sum(one.way is offs[-1].way for one in offs)
    assert found.way is (offs[-1].way if offs else None)
    rates = [one.decoded / one.seconds for one in like if one.way is None]
    if found.on is not None:
        assert min(rates) * 0.999 <= found.on <= max(rates) * 1.001


@given(st.lists(TOLD, max_size=6))
def test_replies_that_do_not_count_change_nothing(told: list[Told]) -> None:
    noise = [Told(decoded=1, seconds=9.0), Told(Way.SERVER, outcome=Outcome.FAILED), Told(continues=True)]
    plain, mixed = on_off(turns(*told)), on_off(turns(*noise, *told, *noise))
    assert (mixed.on, mixed.off, mixed.way) == (plain.on, plain.off, plain.way)
