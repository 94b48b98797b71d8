"""What the inspector says of a token, for every origin, every way in which times are known, and odd characters."""

import pytest
from rich.cells import cell_len

from proposing import SHORT, Proposed
from replies import chunk, replied, report
from specchat.core.events import ChunkArrived, PiecesLearned
from specchat.core.reply import Outcome, Reply
from specchat.core.speculation import Channel
from specchat.ui.panels.characters import names_of, spelled
from specchat.ui.panels.drawing import TIMES
from specchat.ui.panels.inspection import FEWEST, MOST, inspect
from specchat.ui.proposals import bracketed
from told_replies import Steps, tell, told

STEPS: Steps = [("One",), (" two", " three"), (" four", " five", " six", " seven"), (" eight",)]


def said(reply: Reply, index: int, *, width: int = 120, rows: int = MOST) -> str:
    return "\n".join(line.text.rstrip() for line in inspect(reply, index, width, rows).lines)


def test_a_kept_proposal_is_told_with_its_step_and_its_neighbours() -> None:
    shown = said(told(STEPS), 4).splitlines()

    assert shown[:4] == [
        "  ␣five   id 104",
        " ■ draft position 2 of 3, kept by the target · inferred from the size of its chunk",
        " step 2 · drafted 3, kept 3, emitted 4 · 20 ms after the step before",
        "   1 ␣four  2 ␣five  3 ␣six  target ␣seven",
    ]
    assert inspect(told(STEPS), 4, 120, MOST).title == "Token 5 of 8"


def test_a_correction_shows_how_many_proposals_fell() -> None:
    shown = said(told(STEPS), 2)

    assert "the target's own word: it rejected draft position 2" in shown
    assert "1 ␣two  ✗ 2 rejected  target ␣three" in shown


def test_a_traced_correction_shows_what_the_draft_wanted() -> None:
    shown = said(Proposed(*SHORT).reply(), 8)

    wanted = bracketed("␣dog")
    assert (
        f"the target's own word: the draft wanted {wanted} at position 1 · exact, traced: the server hook saw it"
        in shown
    )
    assert f"1 {wanted}  2 {bracketed('.')}  3 {bracketed('⏎')}  target ␣cat" in shown


def test_a_kept_proposal_shows_what_was_proposed_behind_it() -> None:
    shown = said(Proposed(*SHORT).reply(), 10)

    assert f"1 ␣42  2 {bracketed('␣miles')}  3 {bracketed('␣away')}  target ␣times" in shown


@pytest.mark.parametrize(
    ("reply", "index", "words"),
    [
        (told(STEPS), 0, "the target's first word, from reading the prompt"),
        (told(STEPS), 0, "prefill · 1.00 s after the prompt was sent"),
        (told(STEPS), 6, "the target's extra word: all 3 proposals held"),
        (told([("a",), (" b", " c")], k=1), 2, "the target's extra word: the proposal held"),
        (told([("a",), (" b",)], k=0), 1, "the target's word: nothing was drafted in this step"),
        (told(STEPS, k=None), 2, "origin unknown: how many tokens were drafted is not known"),
        (told(STEPS, k=None), 3, "draft position 1, kept by the target"),
        (told(STEPS, k=None), 3, "drafted —, kept 3, emitted 4"),
        (told([("a",), (" b", " c", " d")], k=1), 2, "origin unknown: its chunk held more than one step"),
        (told([("a",), (" b", " c", " d")], k=1), 2, "step unknown · 20 ms after the chunk before, in a chunk of 3"),
        (told([("a",), (" b", " c")], k=0), 2, "20 ms after the chunk before, in one chunk with 1 other step"),
    ],
)
def test_what_each_origin_and_time_means_is_said_in_words(reply: Reply, index: int, words: str) -> None:
    assert words in said(reply, index)


def test_text_without_ids_says_so_and_claims_nothing() -> None:
    reply = Reply(0.0, draft_length=3)
    reply.add(ChunkArrived(1.0, ((Channel.CONTENT, "Hello"),)))
    shown = said(reply, 0)

    assert "the server sends no token ids" in shown
    assert "origin unknown: text without a token id" in shown
    assert "after" not in shown
    assert inspect(reply, 0, 80, MOST).title == "Text 1 of 1, without a token id"


def test_a_report_replaces_the_guess_and_its_evidence() -> None:
    reply = replied(
        chunk(1.0, "a", 1), chunk(1.1, "bcd", 2, 3, 4), chunk(1.2, "e", 5), report([2, 0], [3, 3]), k=3
    )  # fmt: skip

    assert "exact, reported by the server" in said(reply, 3)


def test_proposals_kept_past_the_end_are_counted() -> None:
    reply = replied(chunk(1.0, "a", 1), chunk(1.1, "bc", 2, 3), report([3], [3]), k=3)

    assert "2 ⟨no text⟩  1 more kept past the end" in said(reply, 1)


def test_a_character_of_several_tokens_lists_them_all() -> None:
    reply = Reply(0.0, draft_length=3, pieces_expected=True)
    pieces = {1: "a", 2: " \ufffd", 3: "\ufffd", 4: "\ufffd", 5: "b"}
    reply.add(PiecesLearned(pieces, {(2, 3): " \ufffd", (2, 3, 4): " 漢"}))
    reply.add(ChunkArrived(1.0, ((Channel.CONTENT, "a"),), token_ids=(1,)))
    reply.add(ChunkArrived(1.1, ((Channel.CONTENT, " 漢b"),), token_ids=(2, 3, 4, 5)))
    shown = said(reply, 1)

    assert "bytes 20 E6 BC A2 in 3 tokens: 2  3  4" in shown
    assert "漢 U+6F22 CJK UNIFIED IDEOGRAPH-6F22" in shown
    assert "⟨part of the character before⟩" in shown
    assert "in 3 tokens" not in said(reply, 4)


@pytest.mark.parametrize(
    ("text", "shown", "names"),
    [
        (" word", "␣word", []),
        ("  ", "␣␣", [f"␣ {TIMES}2 U+0020 SPACE"]),
        (".\n\n", ".⏎⏎", [f"⏎ {TIMES}2 U+000A LINE FEED"]),
        ("\t", "⇥", ["⇥ U+0009 TAB"]),
        ("e\u0301", "e◌\u0301", ["◌\u0301 U+0301 COMBINING ACUTE ACCENT"]),
        ("👩\u200d👧", "👩⟨ZWJ⟩👧", ["👩 U+1F469 WOMAN", "⟨ZWJ⟩ U+200D ZERO WIDTH JOINER", "👧 U+1F467 GIRL"]),
        ("❤\ufe0f", "❤⟨VS16⟩", ["❤ U+2764 HEAVY BLACK HEART", "⟨VS16⟩ U+FE0F VARIATION SELECTOR-16"]),
        ("\u202e", "⟨RLO⟩", ["⟨RLO⟩ U+202E RIGHT-TO-LEFT OVERRIDE"]),
        ("\x1b[", "␛[", ["␛ U+001B ESCAPE"]),
        ("\u00a0", "⍽", ["⍽ U+00A0 NO-BREAK SPACE"]),
        ("\ud800", "\ufffd", ["\ufffd U+D800 no name"]),
        ("\u2028", "⟨2028⟩", ["⟨2028⟩ U+2028 LINE SEPARATOR"]),
        ("\U0001f3fd", "⟨1F3FD⟩", ["⟨1F3FD⟩ U+1F3FD EMOJI MODIFIER FITZPATRICK TYPE-4"]),
        ("\ue000", "⟨E000⟩", ["⟨E000⟩ U+E000 no name"]),
    ],
)
def test_characters_nobody_sees_get_a_sign_and_a_name(text: str, shown: str, names: list[str]) -> None:
    assert spelled(text) == shown
    assert list(names_of(text)) == names


@pytest.mark.parametrize("width", [20, 58, 88, 168])
@pytest.mark.parametrize("rows", range(FEWEST, MOST + 1))
def test_it_fits_and_is_as_high_for_every_token(width: int, rows: int) -> None:
    reply = told([("One",), (" a" * 40, "\n", "👩\u200d👧", "\u202e"), (" eight",)])
    for index in range(len(reply.tokens)):
        lines = inspect(reply, index, width, rows).lines

        assert len(lines) == rows
        assert all(cell_len(line.text) <= width for line in lines)
        assert all("\n" not in line.text and "\u202e" not in line.text for line in lines)


def test_the_keys_are_in_the_last_line() -> None:
    for width in (58, 120):
        last = inspect(told(STEPS), 0, width, FEWEST).lines[-1]
        assert last.text.startswith(" Esc back  ← → token  s S step  r R rejection")
    for width in range(20, 120):
        shown = inspect(told(STEPS), 0, width, FEWEST).lines[-1].text.rstrip()
        assert shown.endswith(("back", "token", "step", "rejection", "reply", "selects", "copies"))


def test_where_there_is_little_room_the_least_gives_way() -> None:
    shown = said(told(STEPS), 4, width=58, rows=FEWEST).splitlines()

    assert shown[:3] == [
        "  ␣five   id 104 · 5 plain characters",
        " ■ draft position 2 of 3, kept by the target · inferred",
        " step 2 · drafted 3, kept 3, emitted 4 · 20 ms",
    ]


def test_how_many_tokens_there_are_is_said_when_all_have_come() -> None:
    reply = told(STEPS[:1], ended=False)
    assert inspect(reply, 0, 80, MOST).title == "Token 1"
    tell(reply, " more")
    reply.end(Outcome.STOPPED)
    assert inspect(reply, 0, 80, MOST).title == "Token 1 of 2"
