"""When each token came, for the inspector and the exports."""

from hypothesis import given
from hypothesis import strategies as st

from replies import chunk
from specchat.core.events import ChunkArrived
from specchat.core.reply import Reply
from specchat.core.speculation import Channel


@given(st.lists(st.integers(1, 5), min_size=1, max_size=20))
def test_every_id_is_found_in_its_chunk_and_every_chunk_has_its_time(sizes: list[int]) -> None:
    reply = Reply(0.0, draft_length=3)
    ids = 0
    for number, size in enumerate(sizes):
        reply.add(chunk(1.0 + number, "x", *range(ids, ids + size)))
        ids += size
    chunk_of_each = [number for number, size in enumerate(sizes) for _ in range(size)]

    assert [reply.live.chunk_of(ordinal) for ordinal in range(ids)] == chunk_of_each
    assert list(reply.clock.chunk_times) == [1.0 + number for number in range(len(sizes))]
    assert [reply.ordinal_of(index) for index in range(ids)] == list(range(ids))


def test_chunks_without_ids_have_no_time_and_their_text_no_ordinal() -> None:
    reply = Reply(0.0)
    reply.add(ChunkArrived(1.0, ((Channel.CONTENT, "text"),)))

    assert list(reply.clock.chunk_times) == []
    assert reply.ordinal_of(0) is None
    assert reply.ordinal_of(9) is None
