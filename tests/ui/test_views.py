"""Views of a reply: folded thinking, Markdown, replaced and continued replies; and that the reader keeps his place."""

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from chat_pilot import Chat, backend_for, open_chat
from fakes import Hang, Script, server_info
from specchat.core.conversation import Turn
from specchat.core.reply import Outcome
from specchat.core.speculation import Channel, Label, Origin, Token
from specchat.ui.layout.document import Document
from told_replies import Written, written

_LABEL = Label(Origin.ACCEPTED, 1)
_TOKENS = st.lists(
    st.builds(
        Token,
        st.sampled_from([None, 7]),
        st.sampled_from(["", "a", " word", "\n", "漢", "\n\n", "# ", "- ", "**", "```\n"]),
        st.sampled_from(list(Channel)),
        st.just(_LABEL),
    ),
    max_size=25,
)
_CHANGE = st.one_of(
    st.tuples(st.just("tokens"), st.integers(0, 25), _TOKENS),
    st.tuples(st.just("view"), st.booleans(), st.booleans()),
    st.tuples(st.just("width"), st.integers(4, 30), st.none()),
    st.tuples(st.just("end"), st.none(), st.none()),
)
MARKDOWN = "# Head\n\nSome **bold** words.\n\n- one\n- two\n"


def said(*parts: tuple[Channel, str], ended: bool = True, prompt: str = "What?") -> Turn:
    tokens = [Token(1, text, channel, _LABEL) for channel, text in parts]
    return Turn(prompt, written(tokens, ended=ended), server_info())


def thought_and_said(answer: str = "four", *, ended: bool = True) -> Turn:
    thought = (Channel.REASONING, "two and"), (Channel.REASONING, " two")
    return said(*thought, (Channel.CONTENT, answer), ended=ended)


def document_of(*turns: Turn, width: int = 40) -> Document:
    document = Document(width)
    document.update(turns, 0)
    return document


def settle(document: Document) -> None:
    for wanted in document.wanted_markdown():
        wanted.lay_out()
        assert document.take_markdown(wanted)


def lines(document: Document) -> list[str]:
    rows = (document.row(index) for index in range(document.height))
    return ["".join(span.text for span in row.spans).rstrip() for row in rows]


def looks(document: Document) -> list[tuple[int, str, list[tuple[str, str, int]]]]:
    rows = (document.row(index) for index in range(document.height))
    return [(row.indent, row.right, [(span.text, span.style, span.offset) for span in row.spans]) for row in rows]


# -- folded thinking -----------------------------------------------------------------------------------------------


def test_folded_thinking_is_a_heading_that_counts_its_tokens() -> None:
    document = document_of(thought_and_said())
    assert lines(document)[4:9] == ["▾ Thinking", "two and two", "", "four", ""]
    document.set_view(0, folded=True)
    assert lines(document)[4:8] == ["▸ Thinking · 2 tokens · F6 opens", "", "four", ""]


def test_tokens_that_the_server_does_not_count_are_not_counted_for_it() -> None:
    turn = Turn("?", written([Token(None, "hm", Channel.REASONING, _LABEL)]), server_info())
    document = document_of(turn)
    document.set_view(None, folded=True)

    assert lines(document)[4] == "▸ Thinking · F6 opens"


def test_a_view_of_all_is_that_of_turns_to_come() -> None:
    turns = [thought_and_said()]
    document = document_of(*turns)
    document.set_view(None, folded=True)
    turns.append(thought_and_said())
    document.update(turns, 0)

    assert lines(document).count("▸ Thinking · 2 tokens · F6 opens") == 2
    assert document.view_of(1).folded


def test_what_is_folded_can_be_searched_and_names_the_heading_as_its_row() -> None:
    document = document_of(thought_and_said())
    document.set_view(0, folded=True)
    hidden = list(document.hidden_parts())

    assert [part.text for part in hidden] == ["two and two"]
    assert document.row_of(hidden[0].block, 5) == 4
    assert document.place_of_token(0, 0) is None
    assert document.place_of_token(0, 2) is not None


# -- Markdown ------------------------------------------------------------------------------------------------------


def test_a_complete_answer_is_shown_as_markdown() -> None:
    document = document_of(thought_and_said(MARKDOWN))
    before = lines(document)
    document.set_view(None, markdown=True)
    assert lines(document) == before  # until it is laid out
    settle(document)
    assert lines(document)[6:] == ["", "Head", "", "Some bold words.", "", "• one", "• two", ""]
    document.set_view(None, markdown=False)
    assert lines(document) == before


def test_an_answer_that_grows_shows_its_tokens_until_it_ends() -> None:
    turn = thought_and_said(MARKDOWN, ended=False)
    document = document_of(turn)
    document.set_view(None, markdown=True)
    assert not document.wanted_markdown()
    assert "# Head" in lines(document)
    turn.reply.outcome = Outcome.FINISHED
    document.update([turn], 3)
    settle(document)
    assert "Head" in lines(document)


def test_another_width_keeps_the_rows_until_they_are_laid_out_anew() -> None:
    document = document_of(thought_and_said("Some **bold** words in a row"))
    document.set_view(None, markdown=True)
    settle(document)
    document.resize(14)
    assert "Some bold words in a row" in lines(document)
    settle(document)
    assert "Some bold" in lines(document)


def test_a_layout_of_another_text_is_not_taken() -> None:
    turn = thought_and_said("one")
    document = document_of(turn)
    document.set_view(None, markdown=True)
    (wanted,) = document.wanted_markdown()
    wanted.lay_out()
    assert isinstance(turn.reply, Written)
    turn.reply.written = [*turn.reply.written[:2], Token(1, "other", Channel.CONTENT, _LABEL)]
    document.update([turn], 2)

    assert not document.take_markdown(wanted)
    assert "other" in lines(document)


def test_an_answer_that_is_nothing_in_markdown_shows_its_text() -> None:
    document = document_of(thought_and_said("[a]: http://b"))
    document.set_view(None, markdown=True)
    settle(document)

    assert "[a]: http://b" in lines(document)


def test_a_place_is_found_in_the_other_view() -> None:
    answer = "".join(f"Paragraph **{number}** of many.\n\n" for number in range(50))
    document = document_of(said((Channel.CONTENT, answer)))
    in_tokens = document.place_of(lines(document).index("Paragraph **30** of many."))
    document.set_view(None, markdown=True)
    settle(document)
    row = document.row_of(*in_tokens)
    assert lines(document)[row] == "Paragraph 30 of many."
    in_markdown = document.place_of(row)
    document.set_view(None, markdown=False)
    assert lines(document)[document.row_of(*in_markdown)] == "Paragraph **30** of many."


# -- replaced and continued ----------------------------------------------------------------------------------------


def test_a_replaced_reply_says_so_and_is_dimmed() -> None:
    turns = [thought_and_said(), thought_and_said()]
    document = document_of(*turns)
    turns[0].replaced = True
    assert document.update(turns, 3) == 0
    shown = looks(document)

    assert lines(document)[3] == "Assistant · replaced"
    assert {style for row in shown[:8] for _, style, _ in row[2]} == {"replaced"}
    assert lines(document)[12] == "Assistant"


def test_a_continuation_has_no_question() -> None:
    turns = [said((Channel.CONTENT, "one")), said((Channel.CONTENT, "two"), prompt="")]
    turns[1].continues = True

    assert lines(document_of(*turns))[3:] == ["Assistant", "one", "", "Assistant · continued", "two", ""]


# -- whatever happens ----------------------------------------------------------------------------------------------


@example(  # a token without text joins the section before, whatever stood at its place
    tokens=[
        Token(None, "a", Channel.REASONING, Label(Origin.ACCEPTED, 1)),
        Token(None, "a", Channel.CONTENT, Label(Origin.ACCEPTED, 1)),
    ],
    changes=[
        ("view", True, False),
        (
            "tokens",
            1,
            [
                Token(7, "", Channel.REASONING, Label(Origin.ACCEPTED, 1)),
                Token(None, "a", Channel.CONTENT, Label(Origin.ACCEPTED, 1)),
            ],
        ),
    ],
    width=4,
)
@example(
    tokens=[Token(7, "", Channel.REASONING, Label(Origin.ACCEPTED, 1))],
    changes=[
        (
            "tokens",
            1,
            [
                Token(None, "a", Channel.CONTENT, Label(Origin.ACCEPTED, 1)),
                Token(None, "a", Channel.REASONING, Label(Origin.ACCEPTED, 1)),
            ],
        ),
        ("view", True, False),
    ],
    width=4,
)
@given(_TOKENS, st.lists(_CHANGE, max_size=6), st.integers(4, 30))
@settings(max_examples=300, deadline=None)
def test_any_changes_end_as_a_fresh_layout_and_say_from_which_row_on(
    tokens: list[Token], changes: list[tuple[str, object, object]], width: int
) -> None:
    reply = written(tokens, ended=False)
    turns = [Turn("What?", reply, server_info())]
    document = document_of(*turns, width=width)
    for kind, first, second in changes:
        before = looks(document)
        if kind == "view":
            document.set_view(None, folded=bool(first), markdown=bool(second))
        elif kind == "width" and isinstance(first, int):
            width = first
            document.resize(width)
        elif kind == "end":
            reply.outcome = Outcome.FINISHED
            changed = document.update(turns, len(reply.written))
            assert looks(document)[:changed] == before[:changed]
        elif isinstance(first, int) and isinstance(second, list):
            at = min(first, len(reply.written))
            reply.written = reply.written[:at] + second
            changed = document.update(turns, at)
            assert looks(document)[:changed] == before[:changed]
        settle(document)
        fresh = Document(width)
        fresh.set_view(None, folded=document.view_of(None).folded, markdown=document.view_of(None).markdown)
        fresh.update(turns, 0)
        settle(fresh)
        assert looks(document) == looks(fresh)
        blocks = [part.block for part in document.parts()]
        assert blocks == sorted(set(blocks))
        rows = [document.row(index) for index in range(document.height)]
        assert all(0 <= document.row_of(row.block, row.end) < document.height for row in rows)


# -- on the screen -------------------------------------------------------------------------------------------------


def long_answer() -> Script:
    script = Script().step("# Long\n\n")
    for number in range(60):
        script.step(f"Paragraph **{number}**", " of many.", "\n\n")
    return script.end()


async def markdown_is_shown(chat: Chat) -> None:
    document = chat.screen.transcript.document
    await chat.until(lambda: not document.wanted_markdown())
    await chat.pilot.pause()


async def test_f5_shows_markdown_with_the_readers_place_kept() -> None:
    async with open_chat(backend_for(long_answer())) as chat:
        await chat.ask("Go on")
        chat.screen.transcript.action_home()
        chat.screen.transcript.action_move(60)
        top = chat.shown.splitlines()[0].strip()
        await chat.pilot.press("f5")
        await markdown_is_shown(chat)
        assert chat.shown.splitlines()[0].strip() == top.replace("**", "")
        await chat.pilot.press("f5")
        await chat.pilot.pause()
        assert chat.shown.splitlines()[0].strip() == top
        assert not chat.screen.transcript.following


async def test_a_reply_that_ends_in_the_markdown_view_becomes_markdown_and_its_end_is_followed() -> None:
    hang = Hang()
    script = long_answer()
    script.events.insert(-1, hang)
    async with open_chat(backend_for(script)) as chat:
        await chat.pilot.press("f5")
        await chat.type("Go on")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Paragraph **59**" in chat.shown)
        hang.released.set()
        await chat.ended()
        await markdown_is_shown(chat)
        assert "Paragraph 59 of many." in chat.shown
        assert chat.screen.transcript.following


async def press_or_type(chat: Chat, how: str) -> None:
    if how.startswith("/"):
        await chat.type(how)
        how = "enter"
    await chat.pilot.press(how)
    await chat.pilot.pause()


@pytest.mark.parametrize("how", ["f6", "/fold"])
async def test_thinking_is_folded_and_opened(how: str) -> None:
    script = Script().step("Hm", " well", channel=Channel.REASONING).step("Yes").end()
    async with open_chat(backend_for(script)) as chat:
        await chat.ask("Is it?")
        await press_or_type(chat, how)
        assert "▸ Thinking · 2 tokens · F6 opens" in chat.shown
        assert "Hm" not in chat.shown
        await press_or_type(chat, how)
        assert "Hm well" in chat.shown


@pytest.mark.parametrize("how", ["f5", "/markdown"])
async def test_answers_become_markdown_and_tokens_again(how: str) -> None:
    async with open_chat(backend_for(Script().step("**bo", "ld**").end())) as chat:
        await chat.ask("Say it")
        await press_or_type(chat, how)
        await markdown_is_shown(chat)
        assert "**" not in chat.shown
        await press_or_type(chat, how)
        assert "**bold**" in chat.shown
