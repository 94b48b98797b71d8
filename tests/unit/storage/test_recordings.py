"""A reply that is folded again from what was recorded is the reply that was shown."""

import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recorded import Listing, Talk, all_shown, said, shown
from replies import chunk
from specchat.core.counters import CounterCheck, CounterReading, Verdict
from specchat.core.errors import FieldRefused, ModelChoiceNeeded, RelaunchNeeded, SpecchatError, StreamBroken
from specchat.core.events import (
    ChunkArrived,
    Event,
    NoteAdded,
    PiecesLearned,
    PiecesUnavailable,
    ReplyIdentified,
    ServerTimingReported,
    SpeculationReported,
    StepsTraced,
    StreamEnded,
    SwitchRefused,
    ToolCallPart,
    TraceEnded,
    UsageReported,
)
from specchat.core.recording import CUT_SHORT, EventCame, NoteKept, Record, SystemSet, TurnBegan, rebuild
from specchat.core.reply import Outcome
from specchat.core.server import Hook, ServedModel, ServerInfo
from specchat.core.speculation import Channel
from specchat.core.switching import Speculation, Way
from specchat.storage.codec import MAJOR, joined, line_of, records_of
from specchat.storage.errors import RecordingRefused
from traces import PREFILL, Generation, generations

TEXTS = st.text(st.characters(), max_size=12)
"""Lone surrogates, NUL and every script included."""
TIMES = st.floats(0, 1e6)
COUNTS = st.one_of(st.integers(0, 9), st.integers(0, 10**30))
SPANS = st.lists(st.tuples(st.sampled_from(Channel), TEXTS), max_size=3).map(tuple)
IDS = st.lists(st.one_of(st.integers(0, 5), st.integers(2**40, 2**80)), max_size=5).map(tuple)
PARTS = st.builds(ToolCallPart, st.integers(0, 3), TEXTS, TEXTS, TEXTS)
CHUNKS = st.builds(
    ChunkArrived, TIMES, SPANS, st.lists(PARTS, max_size=2).map(tuple), st.none() | IDS, st.none() | TEXTS,
    st.none() | TEXTS | st.integers(),
)  # fmt: skip
MAYBE = st.none() | st.floats()
ARRAY = st.none() | st.lists(st.integers(0, 4), max_size=6).map(tuple)
EVENTS: st.SearchStrategy[Event] = st.one_of(
    CHUNKS,
    CHUNKS,
    st.builds(UsageReported, st.none() | COUNTS, st.none() | COUNTS),
    st.builds(SpeculationReported, COUNTS, COUNTS, COUNTS, st.none() | st.integers(0, 5), ARRAY, ARRAY, ARRAY, MAYBE),
    st.builds(ServerTimingReported, MAYBE, MAYBE, MAYBE, MAYBE, MAYBE),
    st.builds(ReplyIdentified, st.none() | TEXTS, st.none() | TEXTS),
    st.builds(NoteAdded, TEXTS),
    st.builds(SwitchRefused, TEXTS),
    st.builds(
        PiecesLearned, st.dictionaries(st.integers(0, 5), TEXTS, max_size=4), st.dictionaries(IDS, TEXTS, max_size=2)
    ),
    st.just(PiecesUnavailable()),
    st.builds(StreamEnded, TIMES, st.booleans()),
    st.builds(TraceEnded, st.none() | st.sampled_from(["stop", "length"]), TEXTS),
)
CHECKS = st.builds(CounterCheck, st.sampled_from(Verdict), COUNTS, COUNTS, COUNTS, st.none() | st.integers(0, 3), TEXTS)
ENDS = st.sampled_from([Outcome.FINISHED, Outcome.STOPPED, Outcome.FAILED])
ERRORS: list[SpecchatError] = [
    StreamBroken("It broke.", "Ask again."),
    FieldRefused("No such field.", status=400, fields=("a", "b")),
    ModelChoiceNeeded("Which?", models=["x", "y"]),
    RelaunchNeeded(2),
]
SERVER = ServerInfo(
    "http://gpu01:8000",
    "0.32.0",
    (ServedModel("m", 4096), ServedModel("n")),
    "m",
    CounterReading(10, 30, 20, (8, 7, 5), 1, 0, 3, 99, 0.5, None),
    3,
    Hook(True, True, "1", "V2", 3, 0, "why", ("p",), "eagle3", True, 8),
    ("a gap",),
)


def through(records: list[Record]) -> list[Record]:
    return list(records_of(joined(records)))


@settings(deadline=None)
@given(st.lists(EVENTS, max_size=12), ENDS, st.none() | CHECKS, TEXTS, st.none() | st.integers(0, 4), st.booleans())
def test_any_reply_is_the_same_after_it_was_written_and_read(
    events: list[Event],
    outcome: Outcome,
    check: CounterCheck | None,
    text: str,
    k: int | None,
    pieces: bool,
) -> None:
    listing = Listing()
    talk = Talk(listing, server=SERVER)
    talk.conversation.system = text
    talk.begin(text, request={"stop": [text], "seed": 3}, draft_length=k, pieces_expected=pieces, speculating=pieces)
    talk.come(*events)
    talk.end(outcome, check=check)
    talk.note(text)
    again = rebuild(through(listing.records))
    assert all_shown(again.turns) == all_shown(talk.conversation.turns)
    assert again.system == text


@settings(deadline=None)
@given(generations(), st.lists(st.integers(0, 50), max_size=8), st.lists(st.integers(0, 50), max_size=8), st.integers())
def test_a_traced_reply_is_the_same_after_it_was_written_and_read(
    made: Generation, cuts: list[int], others: list[int], seed: int
) -> None:
    stream: list[Event] = list(made.chunks(cuts))
    trace: list[Event] = [*made.events(others), TraceEnded("stop")]
    mixed: list[Event] = []
    picks = random.Random(seed)
    while stream or trace:
        mixed.append((stream if stream and (not trace or picks.random() < 0.5) else trace).pop(0))
    listing = Listing()
    talk = Talk(listing)
    talk.ask("?", *mixed, pieces_expected=False, speculation=Speculation(2, Way.HOOK))
    again = rebuild(through(listing.records))
    assert all_shown(again.turns) == all_shown(talk.conversation.turns)
    assert again.turns[0].reply.is_traced == talk.turn.reply.is_traced


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_a_failure_is_kept_with_all_that_it_says(error: SpecchatError) -> None:
    listing = Listing()
    talk = Talk(listing)
    talk.begin("?")
    talk.end(Outcome.FAILED, error)
    again = rebuild(through(listing.records)).turns[0].reply.error
    assert type(again) is type(error)
    assert vars(again) == vars(error)


PLAIN = st.text(st.characters(exclude_characters="<"), min_size=1, max_size=6)


@settings(deadline=None)
@given(st.lists(PLAIN, min_size=1, max_size=8), st.data())
def test_a_recording_that_stops_anywhere_is_a_reply_that_begins_alike(words: list[str], data: st.DataObject) -> None:
    listing = Listing()
    talk = Talk(listing)
    talk.ask("?", *(chunk(float(i), word, i) for i, word in enumerate(words)), pieces_expected=False)
    stop = data.draw(st.integers(2, len(listing.records)))
    reply = rebuild(through(listing.records[:stop])).turns[0].reply
    assert talk.turn.reply.text.startswith(reply.text)
    assert list(reply.ids) == list(talk.turn.reply.ids)[: len(reply.ids)]
    assert not reply.is_running


def test_a_reply_without_an_end_says_that_the_program_ended() -> None:
    listing = Listing()
    talk = Talk(listing)
    talk.begin("?")
    talk.come(chunk(1.0, "Hel", 1))
    reply = rebuild(listing.records).turns[0].reply
    assert (reply.text, reply.outcome, reply.notes) == ("Hel", Outcome.FAILED, [CUT_SHORT])
    assert isinstance(reply.error, StreamBroken)


def test_a_reply_whose_stream_had_ended_is_whole_though_nobody_closed_it() -> None:
    listing = Listing()
    talk = Talk(listing)
    talk.begin("?")
    talk.come(*said("all of it"))
    reply = rebuild(listing.records).turns[0].reply
    assert (reply.text, reply.outcome, reply.notes) == ("all of it", Outcome.FINISHED, [])


def test_records_that_belong_to_no_turn_are_refused() -> None:
    with pytest.raises(ValueError, match="belongs to no turn"):
        rebuild([SystemSet("s"), NoteKept("n")])


def test_what_a_later_minor_version_adds_is_passed_over() -> None:
    lines = line_of(TurnBegan("?", SERVER, 0.0)) + line_of(EventCame(chunk(1.0, "a", 1)))
    newer = lines.replace(b'"r":"turn"', b'"r":"turn","mood":[1]').replace(b'"t":1.0', b'"t":1.0,"z":{"a":1}')
    newer = newer.replace(b'"version":[1,0]', b'"version":[1,7]')
    assert newer != lines
    assert list(records_of(newer)) == list(records_of(lines))


def test_a_later_major_version_is_refused_with_both_versions() -> None:
    line = line_of(TurnBegan("?", SERVER, 0.0)).replace(b'"version":[1,0]', b'"version":[2,4]')
    with pytest.raises(RecordingRefused, match=rf"version 2\.4.*reads {MAJOR}\.0"):
        list(records_of(line))


@pytest.mark.parametrize("line", ['{"r":"hologram"}', '{"r":"chunk","t":1.0,"s":[["song","la"]]}'])
def test_what_made_a_reply_and_is_not_known_is_refused_with_a_sentence(line: str) -> None:
    with pytest.raises(RecordingRefused, match=r"does not know: '(hologram|song)'"):
        list(records_of(line.encode()))


@pytest.mark.parametrize("line", ["[1]", "{}", "{", '{"r":"chunk"}', '{"r":"end","outcome":"odd"}', "3", '{"r":[]}'])
def test_a_damaged_line_is_told_from_an_unknown_one(line: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        list(records_of(line.encode()))


def test_the_lines_are_those_that_earlier_versions_wrote() -> None:
    """A changed name would make every kept conversation unreadable: write a new major version and a reader of both."""
    kept = (Path(__file__).parent / "records-1.0.jsonl").read_bytes()
    assert joined(every_kind()) == kept
    assert all_shown(rebuild(records_of(kept)).turns) == all_shown(rebuild(every_kind()).turns)


def every_kind() -> list[Record]:
    listing = Listing()
    talk = Talk(listing, server=SERVER)
    talk.conversation.system = "Be brief.\ud800"
    talk.begin("Why\0?", request={"temperature": 0.0, "stop": ["x"]}, speculation=Speculation(2, Way.HOOK))
    call = ToolCallPart(0, "f", "{}", "c1")
    talk.come(
        ReplyIdentified("r1", "m"),
        ChunkArrived(1.5, ((Channel.REASONING, "Hm"), (Channel.CONTENT, "日")), (), (7, 8)),
        PiecesLearned({7: "Hm", 8: "日"}, {(7, 8): "Hm日"}),
        StepsTraced((PREFILL,), {9: "no"}),
        PiecesUnavailable(),
        UsageReported(3, 2),
        ServerTimingReported(1.0, float("nan")),
        NoteAdded("n"),
        SwitchRefused("w"),
        ChunkArrived(2.5, (), (call,), None, "stop", 11),
        SpeculationReported(1, 1, 3, 3, (1,), (3,), (0, 1, 0, 0), 2.0),
        TraceEnded("stop"),
        StreamEnded(3.0, done=True),
    )
    talk.end(
        Outcome.FAILED, FieldRefused("m", "h", status=400, fields=("f",)), CounterCheck(Verdict.AGREES, 1, 3, 1, 0)
    )
    talk.note("kept")
    return listing.records


def test_the_same_reply_is_shown_for_each_of_two_readings() -> None:
    lines = joined(every_kind())
    first, second = rebuild(records_of(lines)).turns[0], rebuild(records_of(lines)).turns[0]
    assert shown(first) == shown(second)
