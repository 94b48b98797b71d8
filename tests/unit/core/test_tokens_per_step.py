"""How many tokens the steps of a reply yielded."""

from specchat.core.events import ChunkArrived, SpeculationReported
from specchat.core.reply import Outcome, Reply
from specchat.core.reply_figures import figures_of, tokens_per_step
from specchat.core.speculation import Channel


def reply_in_chunks(*sizes: int, k: int | None = 3) -> Reply:
    reply = Reply(0.0, draft_length=k)
    for number, size in enumerate(sizes):
        reply.add(ChunkArrived(1.0 + number, ((Channel.CONTENT, "x" * size),), token_ids=tuple(range(size))))
    return reply


def yields(reply: Reply) -> tuple[int, ...] | None:
    return tokens_per_step(reply, figures_of(reply))


def test_each_number_of_tokens_up_to_k_and_the_targets_own_has_its_count() -> None:
    assert yields(reply_in_chunks(1, 4, 1, 2, 2)) == (1, 2, 0, 1)


def test_without_a_known_k_the_longest_step_is_the_last() -> None:
    assert yields(reply_in_chunks(1, 5, 1, k=None)) == (1, 0, 0, 0, 1)


def test_nothing_is_told_where_nothing_backs_it() -> None:
    assert yields(reply_in_chunks(1)) is None
    assert yields(reply_in_chunks(1, 9)) is None  # a merged chunk
    assert yields(reply_in_chunks(1, 1, 1, k=0)) is None


def test_the_last_step_counts_what_the_reply_holds_of_it() -> None:
    reply = reply_in_chunks(1, 4, 2)
    reply.add(SpeculationReported(2, 6, 6, 3, (3, 3), (3, 3), None, None))
    reply.end(Outcome.FINISHED)

    assert yields(reply) == (0, 1, 0, 1)


def test_the_servers_histogram_stands_in_for_its_steps() -> None:
    reply = reply_in_chunks(1, 4, 2)
    reply.add(SpeculationReported(2, 4, 6, 3, None, None, (0, 1, 0, 1), None))
    reply.end(Outcome.FINISHED)

    assert yields(reply) == (0, 1, 0, 1)
