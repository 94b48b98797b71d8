"""Rejected proposals in the transcript: three ways to show them, and that they are drawn and no text."""

import pytest

from chat_pilot import HELLO, Chat, backend_for, open_chat
from fakes import server_info
from proposing import SHORT, Drafted, Proposed, proposing, turn_of
from replies import chunk
from specchat.core.reply import Reply
from specchat.core.server import Hook
from specchat.ui.cursor import Spot
from specchat.ui.layout.asides import Asides, place_of
from specchat.ui.layout.document import Document
from specchat.ui.layout.flow import TextFlow
from specchat.ui.proposals import LEFT, RIGHT, Proposals, asides_of, bracketed, corrected, in_line

PLAIN = "The quick brown fox jumps over the lazy cat and 42 times."


async def command(chat: Chat, text: str) -> None:
    await chat.type(text)
    await chat.pilot.press("enter")
    await chat.pilot.pause()


def drawn(text: str) -> str:
    return text.replace("<", LEFT).replace(">", RIGHT)


@pytest.mark.parametrize("keys", [("ctrl+n",), ("f7", "p")])
async def test_a_key_goes_from_hidden_to_counted_to_struck_through(keys: tuple[str, ...]) -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        assert PLAIN in chat.whole
        await chat.pilot.press(*keys)
        await chat.pilot.pause()
        assert drawn("The quick brown<1> fox jumps over the lazy<3> cat and 42<2> times<3>.") in chat.whole
        await chat.pilot.press(keys[-1])
        await chat.pilot.pause()
        assert drawn("brown <dog> fox jumps over the lazy <dog.⏎> cat and 42 <miles away>") in chat.whole
        await chat.pilot.press(keys[-1])
        await chat.pilot.pause()

        assert PLAIN in chat.whole


@pytest.mark.parametrize(
    ("typed", "words"),
    [("/proposals count", "<1> fox"), ("/proposals shown", " <dog> fox"), ("/proposals hidden", "brown fox")],
)
async def test_a_way_is_chosen_by_its_name(typed: str, words: str) -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await command(chat, typed)

        assert drawn(words) in chat.whole


async def test_a_way_that_there_is_not_is_explained() -> None:
    async with open_chat(proposing()) as chat:
        await command(chat, "/proposals loud")

        assert "/proposals takes hidden, count or shown." in chat.notices[-1]


async def test_replies_to_come_are_shown_in_the_same_way() -> None:
    async with open_chat(proposing()) as chat:
        await command(chat, "/proposals shown")
        await chat.ask("Go")

        assert drawn("brown <dog> fox") in chat.whole


@pytest.mark.parametrize(
    ("hook", "why"), [(None, "it has no hook"), (Hook(trace=False, switch=True), "its hook cannot trace")]
)
async def test_without_a_trace_nothing_is_shown_and_why_is_said(hook: Hook | None, why: str) -> None:
    async with open_chat(backend_for(HELLO, server=server_info(hook=hook))) as chat:
        await chat.ask("Hi")
        before = chat.whole
        await chat.pilot.press("ctrl+n")
        await chat.pilot.pause()

        assert chat.whole == before
        assert chat.notices == [f"This server tells no proposals: {why}."]


async def test_markdown_shows_none_and_says_so() -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await chat.pilot.press("f5", "ctrl+n")
        await chat.until(lambda: "F5 shows tokens" in chat.notices[-1])

        assert LEFT not in chat.whole


async def test_copying_and_finding_know_nothing_of_them() -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await command(chat, "/proposals shown")
        await command(chat, "/find brown fox")
        assert chat.screen.find_bar._finder.count == 1
        await chat.pilot.press("escape", "f7", "ctrl+a", "ctrl+c")
        await chat.pilot.pause()

        assert chat.app.clipboard == PLAIN


async def test_a_click_on_a_proposal_finds_the_word_that_was_said_instead() -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await command(chat, "/proposals shown")
        await chat.pilot.press("f7")
        await chat.pilot.pause()
        for inside, token in (("dog", 3), ("g" + RIGHT, 3), (".⏎", 8)):
            row = next(y for y, text in enumerate(chat.shown.splitlines()) if inside in text)
            await chat.pilot.click("#transcript", offset=(chat.shown.splitlines()[row].index(inside) + 1, row))
            await chat.pilot.pause()

            assert chat.screen.transcript.spot == Spot(0, token)


async def test_the_cursor_goes_by_tokens_and_rows_as_without_them() -> None:
    async with open_chat(proposing(), size=(60, 20)) as chat:
        await chat.ask("Go")
        await command(chat, "/proposals shown")
        await chat.pilot.press("f7", "home", "right", "right", "right")
        await chat.pilot.pause()
        assert chat.screen.transcript.spot == Spot(0, 3)
        await chat.pilot.press("down", "up")
        await chat.pilot.pause()

        assert chat.screen.transcript.spot == Spot(0, 3)


# -- what is drawn ----------------------------------------------------------------------------------------------------


def shown(reply_steps: tuple[Drafted, ...], width: int = 60) -> str:
    reply = Proposed(*reply_steps).reply()
    document = Document(width)
    document.update([turn_of(reply)], 0)
    document.set_view(None, proposals=Proposals.SHOWN)
    return "\n".join("".join(span.text for span in document.row(row).spans) for row in range(document.height))


def test_what_cannot_be_seen_is_spelled() -> None:
    assert drawn("a<⏎\u21e5␛[1m>b") in shown((Drafted((), "a"), Drafted((), "b", ("\n", "\t", "\x1b[1m"))))
    assert drawn("a<␣␣>b") in shown((Drafted((), "a"), Drafted((), "b", ("  ",))))
    assert drawn("a<◌\u0301>b") in shown((Drafted((), "a"), Drafted((), "b", ("\u0301",))))


def test_wide_proposals_wrap_as_text_does() -> None:
    steps = (Drafted((), "見る"), Drafted((), "本", ("漢字", "😀😀", "漢字")), Drafted((), "です"))
    for width in range(6, 24):
        rows = shown(steps, width).splitlines()
        assert drawn("見る<漢字😀😀漢字>本です") in "".join(row.strip() for row in rows)


def test_a_proposal_before_the_silent_end_of_a_reply_stands_behind_its_text() -> None:
    assert drawn("Yes <and>") in shown((Drafted((), "Yes"), Drafted((), "", (" and",))))


def test_a_proposal_of_which_nobody_told_the_text_is_named_by_its_id() -> None:
    made = Proposed(Drafted((), "a"), Drafted((), "b", ("x",)))
    made.texts.clear()

    assert asides_of(made.reply(), Proposals.SHOWN) == [(1, bracketed("⟨id 90000⟩"))]


def test_nothing_is_drawn_where_the_worker_did_not_tell_what_was_proposed() -> None:
    made = Proposed(*SHORT)
    made.rows = [row._replace(proposed=None) for row in made.rows]
    reply = made.reply()

    assert asides_of(reply, Proposals.SHOWN)[0] == (3, bracketed(in_line(reply, ())))
    assert asides_of(reply, Proposals.COUNT)[0] == (3, bracketed("1"))


@pytest.mark.parametrize("first", range(13))
def test_only_what_stands_from_a_token_on_is_looked_for(first: int) -> None:
    reply = Proposed(*SHORT).reply()
    every = [(3, 0), (8, 2), (11, 4), (12, 5)]

    assert list(corrected(reply)) == every
    assert list(corrected(reply, first)) == [place for place in every if place[0] >= first]


def test_text_without_ids_moves_no_proposal() -> None:
    reply = Reply(0.0, draft_length=3, pieces_expected=True)
    for event in (chunk(0.5, "Well, "), chunk(0.6, "hm. "), *Proposed(*SHORT).stream, Proposed(*SHORT).traced):
        reply.add(event)

    assert list(corrected(reply)) == [(5, 0), (10, 2), (13, 4), (14, 5)]
    assert list(corrected(reply, 11)) == [(13, 4), (14, 5)]


# -- places -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "offset", "place"),
    [
        ("ab", 1, 1),
        ("a\u0301b", 1, 0),
        ("👩\u200d👧", 1, 0),
        ("👩\u200d👧", 2, 0),
        ("❤\ufe0f", 1, 0),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 1, 0),
        ("\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7", 2, 2),
        ("\u0301b", 0, 1),
        ("a\n", 1, 1),
        ("", 0, 0),
    ],
)
def test_nothing_is_drawn_inside_a_grapheme(text: str, offset: int, place: int) -> None:
    assert place_of(text, offset) == place


def test_places_of_the_text_and_of_what_is_drawn_are_translated() -> None:
    asides = Asides()
    changed = asides.replace(0, [(1, "<x>"), (3, "<yy>")], "abcdef", [0, 2, 3, 4], 0)

    assert asides.drawn("abcdef", "", changed) == "ab<x>cd<yy>ef"
    assert [asides.drawn_at(offset) for offset in range(7)] == [0, 1, 5, 6, 11, 12, 13]
    assert [asides.offset_at(at) for at in range(13)] == [0, 1, 2, 2, 2, 2, 3, 4, 4, 4, 4, 4, 5]
    assert list(asides.stretches(1, 8)) == [(1, 2, False), (2, 5, True), (5, 7, False), (7, 8, True)]


def test_asides_that_did_not_change_leave_the_lines_as_they_are() -> None:
    flow = TextFlow(10)
    flow.replace(0, ["one ", "two ", "three ", "four"], [(2, "<x>")])

    assert flow.replace(0, ["one ", "two ", "three ", "four"], [(2, "<x>")]) == flow.height
    assert flow.set_asides([(2, "<x>")]) == flow.height
    assert flow.set_asides([]) == 0
    assert "".join(atom.drawn for atom in flow.line(0).atoms).rstrip() == "one two"
