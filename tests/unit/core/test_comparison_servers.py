"""Which servers are compared, and what is said of those that are."""

from dataclasses import replace

import pytest

from fakes import server_info
from samples_of import plan_for
from specchat.core.comparison.servers import notes_of_pair, notes_of_switch, refuse_pair
from specchat.core.counters import CounterReading
from specchat.core.errors import ConfigurationError
from specchat.core.server import Hook, ServedModel, ServerInfo

ON = server_info()
OFF = server_info(url="http://gpu02:8000", draft_length=0)


def notes(on: ServerInfo = ON, off: ServerInfo = OFF) -> str:
    return " ".join(notes_of_pair(on, off, plan_for()))


def test_two_like_servers_that_differ_in_speculation_need_no_words() -> None:
    refuse_pair(ON, OFF, model_was_named=False, allow_speculating=False)
    assert notes() == ""


@pytest.mark.parametrize(
    ("off", "why"),
    [
        (replace(OFF, draft_length=1), "speculates too .* k = 1"),
        (replace(OFF, draft_length=None, counters=CounterReading(3, 9, 4, ())), "counts drafts\\), so"),
        (replace(OFF, model="another"), "different models: tiny/chat at http://gpu01:8000, another at"),
        (replace(OFF, model=None), "an unnamed one"),
        (replace(OFF, url=ON.url), "same server"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_reason(off: ServerInfo, why: str) -> None:
    with pytest.raises(ConfigurationError, match=why):
        refuse_pair(ON, off, model_was_named=False, allow_speculating=False)


def test_what_the_user_answers_for_is_compared() -> None:
    refuse_pair(ON, replace(OFF, model="another"), model_was_named=True, allow_speculating=False)
    refuse_pair(ON, replace(OFF, model="/srv/models/Chat"), model_was_named=False, allow_speculating=False)
    refuse_pair(ON, ON, model_was_named=False, allow_speculating=True)


@pytest.mark.parametrize(
    ("on", "off", "said"),
    [
        (replace(ON, draft_length=0), OFF, "http://gpu01:8000 does not speculate, so neither side does"),
        (replace(ON, draft_length=None), OFF, "Whether the server at http://gpu01:8000 speculates cannot be seen"),
        (ON, replace(OFF, draft_length=None), "Whether the baseline at http://gpu02:8000 speculates cannot be seen"),
        (ON, replace(OFF, draft_length=1), "speculates too, as was allowed"),
        (ON, replace(OFF, version="0.27.1"), "different versions, 0.32.0 and 0.27.1"),
        (ON, replace(OFF, models=(ServedModel("tiny/chat", 2048),)), "maximum lengths, 8192 and 2048 tokens"),
        (ON, replace(OFF, url="http://gpu01:8001"), "Both servers are on one machine"),
    ],
)
def test_what_else_differs_is_said(on: ServerInfo, off: ServerInfo, said: str) -> None:
    assert said in notes(on, off)


def test_sides_that_are_asked_at_once_are_said_to_be() -> None:
    beside = replace(OFF, url=ON.url.replace(":8000", ":9000"))
    apart = " ".join(notes_of_pair(ON, OFF, plan_for(1, together=True)))
    assert apart == "Both sides of a pair were asked at the same time."
    shared = " ".join(notes_of_pair(ON, beside, plan_for(1, together=True)))
    assert "each slows the other" in shared
    assert "never" not in shared


def test_off_by_the_hook_is_never_sold_as_a_true_baseline() -> None:
    hook = Hook(trace=True, switch=True, off_draft_forwards=1, off_why="The cache is kept.")
    server = replace(ON, hook=hook)
    said = " ".join(notes_of_switch(server, plan_for(concurrency=2), ""))
    assert "that is no server without a draft" in said
    assert "in a step that is off one draft forward remains (The cache is kept)." in said
    assert "2 requests ran beside each other" in said
    traced = " ".join(notes_of_switch(server, plan_for(), "off by the hook: nothing was proposed"))
    assert "In the warm-up, off by the hook: nothing was proposed." in traced
    more = replace(ON, hook=replace(hook, off_draft_forwards=3, off_why=""))
    assert "3 remain." in " ".join(notes_of_switch(more, plan_for(), ""))
