"""A reply on stdout while it grows."""

import io

from replies import chunk
from specchat.cli.live_reply import LiveReply, PlainReply, coloured, origin_styles
from specchat.core.events import ChunkArrived, PiecesLearned
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel
from specchat.theming import load_theme
from traces import PREFILL, row, traced


def shown(*texts: str, encoding: str = "utf-8") -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="")
    reply = Reply(0.0, draft_length=3)
    with PlainReply(out) as plain:
        for number, text in enumerate(texts):
            reply.add(chunk(float(number), text, number))
            plain.update(reply)
    out.flush()
    buffer = out.detach()
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode(encoding)


def test_a_pipe_gets_the_answer_and_one_newline() -> None:
    assert shown("Hel", "lo", " you") == "Hello you\n"
    assert shown("Hello\n") == "Hello\n"
    assert shown() == ""


def test_control_characters_are_harmless_in_a_pipe_too() -> None:
    assert shown("a\x1b[2J\u202eb") == "a␛[2J⟨RLO⟩b\n"


def test_a_terminal_that_knows_only_ascii_gets_question_marks_and_no_crash() -> None:
    assert shown("né", encoding="ascii") == "n?\n"


def test_thinking_is_dim_and_comes_apart_from_the_answer() -> None:
    reply = Reply(0.0, draft_length=3)
    reply.add(ChunkArrived(1.0, ((Channel.REASONING, "Hm."), (Channel.CONTENT, "[b]Yes")), token_ids=()))
    text = coloured(reply, origin_styles(load_theme("dark")))
    assert text.plain == "Hm.\n\n[b]Yes"
    assert "dim" in str(text.spans[0].style)


def test_the_final_colours_are_printed_once_the_reply_has_ended() -> None:
    out = io.StringIO()
    reply = Reply(0.0, draft_length=3)
    with LiveReply(out, load_theme("dark")) as live:
        reply.add(chunk(1.0, "One two", 1))
        live.update(reply)
        reply.end(Outcome.FINISHED)
        live.update(reply)
    assert out.getvalue().rstrip().endswith("One two")


def test_rejected_proposals_stand_struck_through_before_the_target_s_word_where_they_are_asked_for() -> None:
    reply = Reply(0.0, draft_length=3, pieces_expected=True)
    reply.add(PiecesLearned({1000: "One", 2: " two", 4: " four"}))
    reply.add(traced(PREFILL, row(1, (2, 8, 9, 77), (2, 4)), texts={8: " th\n", 9: "\x1b[2J"}))
    reply.add(chunk(1.0, "One", 1000))
    reply.add(chunk(2.0, " two four", 2, 4))
    styles = origin_styles(load_theme("dark"))
    text = coloured(reply, styles, proposals=True)
    assert text.plain == "One two th⏎␛[2J<77> four"
    struck = [text.plain[span.start : span.end] for span in text.spans if "strike" in str(span.style)]
    assert struck == [" th⏎␛[2J<77>"]
    assert coloured(reply, styles).plain == "One two four"
