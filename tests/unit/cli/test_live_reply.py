"""A reply on stdout while it grows."""

import io

from replies import chunk
from specchat.cli.live_reply import LiveReply, PlainReply, coloured, origin_styles
from specchat.core.events import ChunkArrived
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel
from specchat.theming import load_theme


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
