"""What the body of an answer means, whatever shape a server gave it."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specchat.backends.http_errors import Asked
from specchat.backends.reply_reader import ReplyReader
from specchat.core.errors import PromptTooLong, ServerRefused, SpecchatError, StreamBroken
from specchat.core.events import ChunkArrived, NoteAdded, ToolCallPart, UsageReported
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel

ASKED = Asked("http://h:1", "m", ("m",), "sk-secret-key-1")


def chunk(delta: object, **choice: object) -> str:
    return json.dumps({"choices": [{"index": 0, "delta": delta, "finish_reason": None, **choice}]})


def framed(*data: str, end: str = "\n\n") -> str:
    return "".join(f"data: {item}{end}" for item in data)


FIELDS = ["choices", "delta", "message", "content", "usage", "metrics", "error", "index", "token_ids", "tool_calls"]
FIELDS += ["finish_reason", "speculative_decoding", "detail", "prompt_tokens", "function", "reasoning", "text"]
STOP = chunk({}, finish_reason="stop")
HI = chunk({"content": "Hi"})
ENDING = framed(STOP, "[DONE]")


def read(body: str | bytes, *, broken: bool = False) -> tuple[Reply, SpecchatError | None]:
    reader = ReplyReader(ASKED)
    data = body if isinstance(body, bytes) else body.encode()
    events = reader.feed(data, 1.0) + reader.finish(2.0, broken=broken)
    reply = Reply(0.0)
    for event in events:
        reply.add(event)
    failure = reader.failure(StreamBroken("broke") if broken else None)
    reply.end(Outcome.FINISHED if failure is None else Outcome.FAILED)
    return reply, failure


@pytest.mark.parametrize(
    ("body", "text"),
    [
        (framed(HI, STOP, "[DONE]", end="\r\r"), "Hi"),
        ("retry: 3000\nid: 7\nevent: message\n" + framed(HI) + ENDING, "Hi"),
        (framed(chunk({"content": None}), HI) + ENDING, "Hi"),
        (framed(chunk(None), HI) + ENDING, "Hi"),
        (framed(chunk("Hi")) + ENDING, "Hi"),
        (framed(chunk({"content": [{"type": "text", "text": "H"}, {"type": "text", "text": "i"}]})) + ENDING, "Hi"),
        (framed('{"choices":[{"index":0,"text":"Hi"}]}') + ENDING, "Hi"),
        (framed('{"choices":{"index":0,"delta":{"content":"Hi"}}}') + ENDING, "Hi"),
        (framed(f"[{HI}]") + ENDING, "Hi"),
        (framed(json.dumps(HI)) + ENDING, "Hi"),
        (framed('{"choices":"x"}', '{"choices":[null,5]}', '{"choices":[]}', "5", "null", '"ping"', HI) + ENDING, "Hi"),
        (framed('{"choices":[{"delta":{"content":"Hi"}}],"x":NaN,"usage":{"prompt_tokens":NaN}}') + ENDING, "Hi"),
        (framed(HI, STOP, "  [DONE]  ", "[DONE]"), "Hi"),
        (framed(HI) + ENDING + framed(HI), "Hi"),
        (framed(HI, STOP, end="\n") + "data: [DONE]", "Hi"),
        (f"{HI}\n{STOP}\n", "Hi"),
        (framed(chunk({"content": "Hi"}, finish_reason="")) + ENDING, "Hi"),
        (framed(chunk({"content": "Hi"}, finish_reason="stop"), STOP), "Hi"),
        ("event: ping\ndata: {}\n\n" + framed(HI) + ENDING, "Hi"),
        (framed(HI, '{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}'), "Hi"),
        (framed(chunk({"content": "a\u2028b"})) + ENDING, "a\u2028b"),
        (framed(HI, STOP).rstrip(), "Hi"),
    ],
)
def test_a_bent_stream_is_read(body: str, text: str) -> None:
    reply, failure = read(body)
    assert failure is None
    assert reply.text == text
    assert reply.finish_reason == "stop"
    assert reply.notes == []


@pytest.mark.parametrize("indent", [None, 2])
def test_an_answer_that_is_one_json_object_is_a_reply(indent: int | None) -> None:
    message = {"role": "assistant", "content": "Whole", "reasoning_content": "Hm"}
    body = {
        "choices": [{"index": 0, "message": message, "finish_reason": "stop", "token_ids": [1, 2]}],
        "usage": {"prompt_tokens": 3, "completion_tokens": 2},
    }
    reply, failure = read(json.dumps(body, indent=indent))
    assert failure is None
    assert (reply.text, reply.reasoning, reply.output_tokens) == ("Whole", "Hm", 2)


def test_thinking_under_two_names_counts_once_and_stands_before_the_answer() -> None:
    reader = ReplyReader(ASKED)
    both = chunk({"content": "A", "reasoning": "T", "reasoning_content": "T"}, token_ids=[5, 6])
    arrived = [event for event in reader.feed(framed(both).encode(), 1.0) if isinstance(event, ChunkArrived)]
    assert arrived == [ChunkArrived(1.0, ((Channel.REASONING, "T"), (Channel.CONTENT, "A")), (), (5, 6))]


def test_halves_of_a_character_in_two_chunks_become_that_character() -> None:
    reply, _ = read(framed(chunk({"content": "x\ud83d"}), chunk({"content": "\ude00y"})) + ENDING)
    assert reply.text == "x😀y"


def test_half_a_character_without_its_other_half_is_not_lost_and_not_sent_on_raw() -> None:
    reply, _ = read(framed(chunk({"content": "x\ud83d"})) + ENDING)
    assert reply.text == "x\ufffd"


def test_a_second_choice_is_left_out_and_said_once() -> None:
    other = '{"choices":[{"index":1,"delta":{"content":"other"}}]}'
    reply, _ = read(framed(HI, other, other) + ENDING)
    assert reply.text == "Hi"
    assert reply.notes == ["the server sent more than one reply; only the first is shown"]


def test_unreadable_lines_are_skipped_counted_and_said() -> None:
    reply, failure = read(framed(HI) + "garbage\n\n" + framed("{broken", HI) + ENDING)
    assert failure is None
    assert reply.text == "HiHi"
    assert reply.notes == ["2 lines of the stream could not be read: “garbage”"]


def test_a_line_that_the_end_cut_off_is_no_unreadable_line() -> None:
    reply, failure = read(framed(HI) + 'data: {"choices":[{"ind', broken=True)
    assert isinstance(failure, StreamBroken)
    assert (reply.text, reply.notes) == ("Hi", [])


def test_a_break_after_the_end_is_no_failure() -> None:
    assert read(framed(HI, STOP), broken=True)[1] is None
    assert read(framed(HI, "[DONE]"), broken=True)[1] is None


def test_usage_and_ids_that_are_null_are_unknown() -> None:
    body = {"choices": [{"delta": {"content": "a"}, "token_ids": None}], "usage": None, "metrics": None}
    reply, _ = read(framed(json.dumps(body)) + ENDING)
    assert (reply.text, reply.output_tokens, reply.usage) == ("a", None, None)


def test_the_last_usage_counts() -> None:
    usages = [json.dumps({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": n}}) for n in (1, 4)]
    assert read(framed(HI, *usages) + ENDING)[0].usage == UsageReported(9, 4)


def test_an_empty_reply_is_pointed_out_with_the_size_of_its_prompt() -> None:
    usage = json.dumps({"choices": [], "usage": {"prompt_tokens": 36012, "completion_tokens": 0}})
    reply, failure = read(framed(STOP, usage, "[DONE]"))
    assert failure is None
    assert len(reply.notes) == 1
    assert "empty" in reply.notes[0]
    assert "36012" in reply.notes[0]


def test_tool_calls_without_numbers_are_told_apart_by_their_ids() -> None:
    calls = [
        {"id": "a", "function": {"name": "f", "arguments": {"q": 1}}},
        {"id": "b", "function": {"name": "g", "arguments": '{"r"'}},
        {"function": {"arguments": ":2}"}},
    ]
    reader = ReplyReader(ASKED)
    events = [event for call in calls for event in reader.feed(framed(chunk({"tool_calls": [call]})).encode(), 1.0)]
    parts = [part for event in events if isinstance(event, ChunkArrived) for part in event.tool_calls]
    assert parts == [
        ToolCallPart(0, "f", '{"q": 1}', "a"),
        ToolCallPart(1, "g", '{"r"', "b"),
        ToolCallPart(1, "", ":2}", ""),
    ]


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (framed('{"error":"boom"}'), "boom"),
        (framed('{"error":{"error":{"message":"deep"}}}'), "deep"),
        (framed('{"object":"error","message":"flat","code":400}'), "flat"),
        (framed('{"detail":"as FastAPI"}'), "as FastAPI"),
        (framed('{"detail":[{"loc":["body","n"],"msg":"bad"}]}'), "body.n: bad"),
        (framed('[{"error":{"message":"in an array"}}]'), "in an array"),
        ('event: error\ndata: {"message":"by type"}\n\n', "by type"),
        ("event: error\ndata: plain words\n\n", "plain words"),
        ('error: {"code":500,"message":"own field"}\n\n', "own field"),
        ('{"error":{"message":"unframed"}}', "unframed"),
        (framed(chunk({}, finish_reason="error")), "“error”"),
        (framed(chunk({}, finish_reason="abort"), "[DONE]"), "“abort”"),
        (framed(chunk({}, finish_reason={"type": "abort", "message": "waited too long"})), "waited too long"),
    ],
)
def test_an_error_inside_a_good_answer_keeps_the_text_before_it(body: str, words: str) -> None:
    reply, failure = read(framed(HI) + body)
    assert reply.text == "Hi"
    assert isinstance(failure, ServerRefused)
    assert words in failure.message


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("<!DOCTYPE html>\n<html><head><title>Welcome &amp; hello</title></head></html>", "Welcome & hello"),
        ("upstream connect error", "upstream connect error"),
        ('{"hello":"world"}', '{"hello":"world"}'),
        ('{\n "error": {\n  "message": "over lines"\n }\n}', "over lines"),
        ("<?xml version='1.0'?><Error>Access Denied</Error>", "Access Denied"),
    ],
)
def test_an_answer_that_is_no_stream_is_shown_on_one_line(body: str, words: str) -> None:
    _, failure = read(body)
    assert isinstance(failure, ServerRefused)
    assert words in failure.message
    assert "\n" not in failure.message


def test_an_error_in_the_stream_is_judged_like_an_answer() -> None:
    _, failure = read('{"error":{"message":"exceeds the available context size","n_ctx":8192,"n_prompt_tokens":9000}}')
    assert isinstance(failure, PromptTooLong)
    assert "8192" in failure.message
    assert "9000" in failure.message


def test_a_key_that_the_server_repeats_is_not_shown() -> None:
    _, failure = read(framed('{"error":{"message":"bad key sk-secret-key-1 given"}}'))
    assert failure is not None
    assert "bad key *** given" in failure.message


def test_an_empty_answer_is_called_empty() -> None:
    _, failure = read(b"")
    assert isinstance(failure, StreamBroken)
    assert "empty" in failure.message


def test_a_stream_that_just_stops_is_left_to_the_session() -> None:
    assert read(framed(HI))[1] is None
    assert read(": only a comment\n\n")[1] is None


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=4))
def test_no_bytes_whatever_raise(noise: bytes, cuts: list[int]) -> None:
    body = framed(HI).encode() + noise + ENDING.encode()
    reader = ReplyReader(ASKED)
    places = sorted({0, *cuts, len(body)})
    for start, end in pairwise(places):
        reader.feed(body[start:end], 1.0)
    reader.finish(2.0)
    reader.failure()


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(FIELDS),
                inner,
                max_size=5,
            )
        ),
        max_leaves=25,
    )
)
def test_no_json_whatever_raises(value: object) -> None:
    reader = ReplyReader(ASKED)
    reader.feed(framed(json.dumps(value), json.dumps({"choices": [value]}), HI).encode(), 1.0)
    events = reader.finish(2.0)
    reader.failure()
    assert all(not isinstance(event, NoteAdded) or "\n" not in event.text for event in events)
