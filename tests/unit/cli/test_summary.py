"""The lines after a reply."""

from replies import chunk, replied, report
from specchat.cli.summary import failure_line, note_lines, summary_line
from specchat.core.conversation import Turn
from specchat.core.counters import CounterCheck, Verdict
from specchat.core.errors import StreamBroken
from specchat.core.events import ChunkArrived, ToolCallPart
from specchat.core.reply import Outcome, Reply
from specchat.core.server import ServerInfo
from specchat.core.speculation import Channel
from specchat.core.switching import Speculation, Way
from traces import PREFILL, row, traced

SERVER = ServerInfo("http://h:1", model="m", draft_length=3)


def line(reply: Reply, server: ServerInfo = SERVER) -> str:
    return summary_line(Turn("p", reply, server))


def test_an_exact_reply_says_what_it_is_and_where_that_comes_from() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bcde", 2, 3, 4, 5, finish_reason="length"), report([3], [3]))
    assert line(reply) == (
        "5 tokens, cut by max tokens · 4.0 tokens/s · first token 1000 ms · "
        "acceptance length 4.00 in 1 step, 100% accepted (reported by the server) · 100% of live colours right"
    )


def test_what_is_not_known_is_said_and_never_zero() -> None:
    unknown = line(replied(ChunkArrived(1.0, ((Channel.CONTENT, "Hi"),), finish_reason="stop")))
    assert unknown == "token count unknown · first token 1000 ms · acceptance length unknown"
    plain = replied(chunk(1.0, "A", 1), chunk(2.0, "b", 2, finish_reason="stop"), k=0)
    assert "no speculation" in line(plain, ServerInfo("u", draft_length=0))


def test_merged_chunks_and_a_dead_draft_are_pointed_out() -> None:
    merged = replied(chunk(1.0, "A", 1), chunk(2.0, "b", 2, 3, 4, 5, 6, 7, finish_reason="stop"))
    assert "unknown: chunks were merged" in line(merged)
    dead = replied(chunk(1.0, "A", 1), chunk(2.0, "b", 2, finish_reason="stop"), report([0], [3]))
    assert "acceptance length 1.00 in 1 step, 0% accepted" in line(dead)
    assert "is it the right draft?" in line(dead)


def test_the_counters_verdict_is_told_only_where_there_was_a_step() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bc", 2, 3, finish_reason="stop"))
    reply.apply_check(CounterCheck(Verdict.AGREES, 1, 3, 1, 0, "the counters agree"))
    assert "the counters agree" in line(reply)
    alone = replied(chunk(1.0, "A", 1, finish_reason="length"))
    alone.apply_check(CounterCheck(Verdict.AGREES, 0, 0, 0, 0, "the counters agree"))
    assert "counters" not in line(alone)


def test_notes_tool_calls_and_thinking_are_a_harmless_line_each() -> None:
    reply = replied(
        ChunkArrived(1.0, ((Channel.REASONING, "Hm."),), (ToolCallPart(0, "f", '{"\x1b[1m'),), (1,)),
    )
    reply.note("odd\nthing")
    lines = note_lines(Turn("p", reply, SERVER))
    assert "note: odd thing" in lines
    assert 'tool call: f({"␛[1m)' in lines
    assert any("3 characters of thinking" in text for text in lines)


def test_a_failure_is_one_line_with_its_next_step() -> None:
    assert failure_line(StreamBroken("It\nbroke.", "Ask again.")) == "specchat: It broke. Ask again."


def test_a_reply_that_a_filter_cut_is_said_to_be_cut() -> None:
    assert "cut by a content filter" in line(replied(chunk(1.0, "abc", finish_reason="content_filter")))


def test_a_traced_reply_says_so_and_one_with_a_limit_names_it() -> None:
    reply = Reply(0.0, draft_length=1, speculation=Speculation(1, Way.HOOK))
    reply.add(traced(PREFILL, row(1, (2,), (2, 3), width=1)))
    reply.add(chunk(1.0, "A", 1000))
    reply.add(chunk(2.0, "bc", 2, 3, finish_reason="length"))
    reply.end(Outcome.FINISHED)
    assert "in 1 step of at most 1 proposal, 100% accepted (traced by the server hook)" in line(reply)
    assert "note: speculation at most 1 proposal a step, by the hook: no step had more" in note_lines(
        Turn("p", reply, SERVER)
    )


def test_speculation_that_was_off_is_no_unknown_figure() -> None:
    reply = Reply(0.0, draft_length=0, speculation=Speculation(0, Way.HOOK))
    reply.add(chunk(1.0, "A", 1, finish_reason="stop"))
    reply.end(Outcome.FINISHED)
    assert "speculation off" in line(reply)
    assert "unknown" not in line(reply)


def test_proposals_that_were_asked_for_in_vain_are_explained() -> None:
    reply = replied(chunk(1.0, "A", 1), chunk(2.0, "bc", 2, 3, finish_reason="stop"))
    assert any("has no specchat hook" in text for text in note_lines(Turn("p", reply, SERVER), proposals=True))
    assert note_lines(Turn("p", reply, SERVER)) == []
