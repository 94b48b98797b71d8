import time

from hypothesis import given
from hypothesis import strategies as st

from specchat.backends.sse import SseDecoder, SseEvent, StrayLine

LINES = st.lists(
    st.one_of(
        st.sampled_from(
            [
                "data: {}",
                "data:x",
                "data: [DONE]",
                'data: {"a": 1}',
                "data",
                "data:",
                ": comment",
                ":",
                "",
                "event: error",
                "event:ping",
                "id: 7",
                "retry: 3000",
                "garbage",
                "<html>",
                "data: ä😀\u2028…",
            ]
        ),
        st.text(alphabet=st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]), max_size=12),
    ),
    max_size=12,
)


def decoded(*pieces: bytes) -> list[SseEvent | StrayLine]:
    decoder = SseDecoder()
    found = [item for piece in pieces for item in decoder.feed(piece)]
    return found + decoder.finish()


@given(LINES, st.sampled_from(["\n", "\r", "\r\n"]), st.booleans(), st.booleans(), st.data())
def test_every_split_of_a_stream_yields_the_same_events(
    lines: list[str], end: str, ended: bool, bom: bool, data: st.DataObject
) -> None:
    stream = (b"\xef\xbb\xbf" if bom else b"") + end.join(lines).encode() + (end.encode() if ended else b"")
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=8)))
    pieces = [stream[a:b] for a, b in zip([0, *cuts], [*cuts, len(stream)], strict=True)]
    assert decoded(*pieces) == decoded(stream)
    assert decoded(*(bytes([byte]) for byte in stream)) == decoded(stream)


@given(LINES)
def test_the_kind_of_line_end_makes_no_difference(lines: list[str]) -> None:
    texts = [end.join(lines).encode() for end in ("\n", "\r", "\r\n")]
    assert decoded(texts[0]) == decoded(texts[1]) == decoded(texts[2])


def test_an_event_is_delivered_at_its_blank_line_and_not_later() -> None:
    decoder = SseDecoder()
    assert decoder.feed(b"data: a\r\n") == []
    assert decoder.feed(b"\r") == [SseEvent("", "a")]
    assert decoder.feed(b"\ndata: b\n\n") == [SseEvent("", "b")]


def test_the_type_belongs_to_its_own_event_alone() -> None:
    assert decoded(b"event: error\ndata: a\n\ndata: b\n\n") == [SseEvent("error", "a"), SseEvent("", "b")]


def test_several_data_lines_are_one_event() -> None:
    assert decoded(b'data: {\ndata: "a": 1\ndata: }\n\n') == [SseEvent("", '{\n"a": 1\n}')]


def test_whole_objects_need_no_blank_line_between_them() -> None:
    assert decoded(b'data: {"a":1}\ndata: {"b":2}\ndata: [DONE]\n') == [
        SseEvent("", '{"a":1}'),
        SseEvent("", '{"b":2}'),
        SseEvent("", "[DONE]"),
    ]


def test_a_separator_of_unicode_ends_no_line() -> None:
    assert decoded("data: a\u2028b\u0085c\n\n".encode()) == [SseEvent("", "a\u2028b\u0085c")]


def test_a_line_that_is_no_field_comes_out_as_it_is() -> None:
    assert decoded(b'{"error": 1}\ndatabase: x\n') == [StrayLine('{"error": 1}'), StrayLine("database: x")]


def test_five_megabytes_in_small_reads_take_linear_time() -> None:
    decoder = SseDecoder()
    line = b"data: " + b"x" * 5_000_000 + b"\n\n"
    started = time.process_time()
    found = [item for at in range(0, len(line), 256) for item in decoder.feed(line[at : at + 256])]
    # A reader that joins what it has at each read would copy 50 GB here.
    assert time.process_time() - started < 3
    assert len(found) == 1
    assert isinstance(found[0], SseEvent)
    assert len(found[0].data) == 5_000_000
