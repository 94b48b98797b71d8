"""Where the token cursor goes: by token, row, step, rejection and reply; and where it stays while things change."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specchat.core.conversation import Turn
from specchat.core.events import ChunkArrived, PiecesLearned
from specchat.core.reply import Reply
from specchat.core.speculation import Channel, Origin
from specchat.ui.cursor import Spot, TokenCursor
from specchat.ui.layout.document import Document
from told_replies import Steps, tell, told, turns_of

# prefill, a kept proposal and a correction, three kept and a bonus, a correction at once
STEPS: Steps = [("One",), (" two", " three"), (" four", " five", " six", " seven"), (" eight",)]


def cursor_over(turns: list[Turn], *, width: int = 40) -> TokenCursor:
    document = Document(width)
    document.update(turns, 0)
    cursor = TokenCursor(document)
    cursor.take(turns)
    cursor.enter(0, document.height)
    return cursor


def text_at(turns: list[Turn], cursor: TokenCursor) -> str:
    assert cursor.spot is not None
    return turns[cursor.spot.turn].reply.tokens[cursor.spot.token].text.strip()


def walk(turns: list[Turn], start: Spot, *moves: str) -> list[str]:
    cursor = cursor_over(turns)
    assert cursor.go_to(start)
    words = []
    for move in moves:
        cursor.move(move)
        words.append(text_at(turns, cursor))
    return words


def test_it_starts_at_the_last_token_in_sight() -> None:
    turns = turns_of(told(STEPS))
    assert text_at(turns, cursor_over(turns)) == "eight"

    narrow = cursor_over(turns, width=14)
    rows = {text: narrow.row_of(Spot(0, index)) for index, text in enumerate(["One", "two", "three", "four"])}
    narrow.spot = None
    narrow.enter(0, rows["four"])
    assert text_at(turns, narrow) == "three" if rows["three"] < rows["four"] else "two"


def test_entering_again_stays_where_it_stood_if_that_is_in_sight() -> None:
    turns = turns_of(told(STEPS))
    cursor = cursor_over(turns)
    cursor.go_to(Spot(0, 1))
    cursor.enter(0, 99)

    assert cursor.spot == Spot(0, 1)


def test_where_there_is_no_token_it_stands_nowhere() -> None:
    for turns in ([], turns_of(Reply(0.0))):
        cursor = cursor_over(turns)

        assert cursor.spot is None
        assert not cursor.move("next-token")
        assert not cursor.move_rows(1)
        assert cursor.step() == []
        assert not cursor.go_to(Spot(0, 0))


def test_tokens_follow_each_other_from_one_reply_into_the_next() -> None:
    turns = turns_of(told(STEPS[:2]), told(STEPS[:1]))

    assert walk(turns, Spot(0, 0), *["next-token"] * 4) == ["two", "three", "One", "One"]
    assert walk(turns, Spot(1, 0), *["previous-token"] * 4) == ["three", "two", "One", "One"]


def test_a_step_forward_goes_to_the_next_step_and_back_to_the_beginning_of_each() -> None:
    turns = turns_of(told(STEPS), told(STEPS))

    assert walk(turns, Spot(0, 0), *["next-step"] * 5) == ["two", "four", "eight", "One", "two"]
    assert walk(turns, Spot(0, 5), *["previous-step"] * 3) == ["four", "two", "One"]
    assert walk(turns, Spot(1, 0), "previous-step") == ["eight"]


def test_rejections_are_where_the_target_put_its_own_word() -> None:
    turns = turns_of(told(STEPS), told(STEPS))

    assert walk(turns, Spot(0, 0), *["next-rejection"] * 5) == ["three", "eight", "three", "eight", "eight"]
    assert walk(turns, Spot(1, 0), *["previous-rejection"] * 3) == ["eight", "three", "three"]


def test_without_a_known_draft_length_a_rejection_is_a_correction_that_is_certain() -> None:
    turns = turns_of(told(STEPS, k=None))

    assert walk(turns, Spot(0, 0), "next-rejection") == ["eight"]


def test_replies_and_their_ends() -> None:
    turns = turns_of(told(STEPS), Reply(0.0), told(STEPS[:2]))

    assert walk(turns, Spot(0, 2), "next-reply", "last-token", "previous-reply", "last-token", "first-token") == [
        "One", "three", "One", "eight", "One",
    ]  # fmt: skip
    assert walk(turns, Spot(0, 2), "end", "beginning") == ["three", "One"]
    assert [spot for spot in [cursor_over(turns).spot] if spot and spot.turn == 2]


def test_rows_go_to_the_token_nearest_in_the_column_of_the_start() -> None:
    turns = turns_of(told([("alpha",), (" beta", " gamma", "\n"), ("x", "\n"), ("delta", " epsilon", " zeta")]))
    cursor = cursor_over(turns)
    cursor.go_to(Spot(0, 2))
    words = []
    for rows in (1, 1, -1, -1):
        cursor.move_rows(rows)
        words.append(text_at(turns, cursor))

    assert words == ["", "epsilon", "", "gamma"]


def test_an_empty_line_is_a_row_of_its_newline() -> None:
    turns = turns_of(told([("above",), ("\n", "\n"), ("below",)]))
    cursor = cursor_over(turns)
    cursor.go_to(Spot(0, 0))
    visited = []
    while cursor.move_rows(1):
        visited.append(cursor.spot)

    assert visited == [Spot(0, 2), Spot(0, 3)]


def test_a_word_whose_space_ends_the_row_above_stands_in_its_own_row() -> None:
    turns = turns_of(told([("abcdefgh",), (" ijklmnop", " qrstuvwx")]))
    cursor = cursor_over(turns, width=12)
    cursor.go_to(Spot(0, 0))

    assert [cursor.move_rows(1) and text_at(turns, cursor) for _ in range(2)] == ["ijklmnop", "qrstuvwx"]
    assert [cursor.move_rows(-1) and text_at(turns, cursor) for _ in range(2)] == ["ijklmnop", "abcdefgh"]


def test_rows_lead_over_the_prompt_into_the_next_reply() -> None:
    turns = turns_of(told(STEPS), told(STEPS[:2]), prompt="a long prompt " * 400)
    cursor = cursor_over(turns)
    cursor.go_to(Spot(0, 0))
    while cursor.spot and cursor.spot.turn == 0:
        assert cursor.move_rows(1)

    assert cursor.spot == Spot(1, 0)
    assert cursor.move_rows(-1)
    assert cursor.spot
    assert cursor.spot.turn == 0


def test_the_later_tokens_of_one_character_are_skipped() -> None:
    reply = Reply(0.0, draft_length=3, pieces_expected=True)
    reply.add(PiecesLearned({1: "a", 2: "\ufffd", 3: "\ufffd", 4: "b"}, {(2, 3): "漢"}))
    reply.add(ChunkArrived(1.0, ((Channel.CONTENT, "a"),), token_ids=(1,)))
    reply.add(ChunkArrived(1.1, ((Channel.CONTENT, "漢b"),), token_ids=(2, 3, 4)))
    turns = turns_of(reply)

    assert walk(turns, Spot(0, 0), "next-token", "next-token", "previous-token") == ["漢", "b", "漢"]
    cursor = cursor_over(turns)
    cursor.go_to(Spot(0, 2))
    assert cursor.spot == Spot(0, 1)
    assert cursor.step() == [Spot(0, 1), Spot(0, 2), Spot(0, 3)]


def test_folded_thinking_is_skipped_and_left_when_it_is_folded() -> None:
    turns = turns_of(told(STEPS, thinking=[("Hm",), (" well", " yes")]))
    cursor = cursor_over(turns)
    cursor.go_to(Spot(0, 1))
    assert text_at(turns, cursor) == "well"
    cursor._document.set_view(None, folded=True)
    cursor.take(turns)

    assert text_at(turns, cursor) == "One"
    cursor._document.set_view(None, folded=False)
    cursor.take(turns)
    assert text_at(turns, cursor) == "well"
    cursor._document.set_view(None, folded=True)
    cursor.take(turns)
    assert not cursor.move("previous-token")


def test_it_stays_at_its_token_while_the_reply_grows() -> None:
    reply = told(STEPS[:2], ended=False)
    turns = turns_of(reply)
    cursor = cursor_over(turns)
    assert cursor.is_last
    for _ in range(5):
        first = tell(reply, " more", " words")
        assert first is not None
        cursor._document.update(turns, first)
        cursor.take(turns)

    assert text_at(turns, cursor) == "three"
    assert not cursor.is_last


def test_a_token_whose_text_turns_out_to_belong_to_another_is_left_for_that_one() -> None:
    reply = Reply(0.0, draft_length=3, pieces_expected=True)
    reply.add(ChunkArrived(1.0, ((Channel.CONTENT, "a"),), token_ids=(1,)))
    reply.add(ChunkArrived(1.1, (), token_ids=(2,)))
    reply.add(ChunkArrived(1.2, ((Channel.CONTENT, "漢"),), token_ids=(3,)))
    turns = turns_of(reply)
    cursor = cursor_over(turns)
    assert cursor.spot == Spot(0, 2)
    first = reply.add(PiecesLearned({1: "a", 2: "\ufffd", 3: "\ufffd"}, {(2, 3): "漢"}))
    assert first is not None
    cursor._document.update(turns, first)
    cursor.take(turns)

    assert cursor.spot == Spot(0, 1)


def test_after_clearing_it_stands_nowhere_and_after_another_reply_where_it_stood() -> None:
    turns = turns_of(told(STEPS))
    cursor = cursor_over(turns)
    turns += turns_of(told(STEPS))
    cursor.take(turns)  # the document does not know the new turn yet
    assert cursor.spot == Spot(0, 7)
    cursor._document.update(turns, 0)
    cursor.take(turns)
    assert cursor.spot == Spot(0, 7)
    cursor._document.clear()
    cursor.take([])
    assert cursor.spot is None


def test_a_step_is_found_by_its_number() -> None:
    turns = turns_of(told(STEPS))
    cursor = cursor_over(turns)

    assert cursor.go_to_step(1)
    assert text_at(turns, cursor) == "four"
    assert not cursor.go_to_step(3)


@given(st.lists(st.lists(st.sampled_from(["a", " word", "\n", "漢", "\n\n", " longer-than-a-line", " "]), min_size=1,
                         max_size=4).map(tuple), min_size=1, max_size=12), st.integers(6, 30))  # fmt: skip
@settings(max_examples=150, deadline=None)
def test_rows_reach_every_row_with_a_token_and_come_to_an_end(steps: Steps, width: int) -> None:
    turns = turns_of(told(steps), told(steps))
    cursor = cursor_over(turns, width=width)
    document = cursor._document
    wanted = [row for row in range(document.height) if cursor.tokens_in(row)]
    if not wanted:
        return
    cursor.move("beginning")
    seen = [cursor.row or 0]
    while cursor.move_rows(1) and len(seen) < 500:
        seen.append(cursor.row or 0)

    assert seen == sorted(seen)
    assert set(wanted) <= set(seen)


@given(st.lists(st.sampled_from([1, 2, 3, 4]), min_size=1, max_size=30), st.data())
@settings(deadline=None)
def test_every_move_back_undoes_a_move_of_tokens(sizes: list[int], data: st.DataObject) -> None:
    turns = turns_of(told([("w",) * size for size in sizes]))
    cursor = cursor_over(turns)
    start = Spot(0, data.draw(st.integers(0, sum(sizes) - 1)))
    cursor.go_to(start)
    if cursor.move("next-token"):
        cursor.move("previous-token")
        assert cursor.spot == start


@pytest.fixture(scope="module")
def hundred_thousand() -> tuple[list[Turn], TokenCursor]:
    steps: Steps = [("word",), *([(" one", " two", " three", " more\n")] * 25_000)]
    turns = turns_of(told(steps), prompt="line\n" * 5_000)
    assert not any(token.label.origin is Origin.CORRECTION for token in turns[0].reply.tokens)
    return turns, cursor_over(turns, width=100)


@pytest.mark.parametrize(
    "move",
    ["next-token", "next-step", "previous-step", "next-rejection", "first-token", "last-token", "next-reply", "end"],
)
def test_a_move_over_100_000_tokens_takes_a_few_milliseconds(
    hundred_thousand: tuple[list[Turn], TokenCursor], move: str
) -> None:
    _, cursor = hundred_thousand
    cursor.move("beginning")
    times = []
    for _ in range(5):
        started = time.process_time()
        cursor.move(move)
        cursor.move_rows(40)
        assert cursor.step()
        times.append(time.process_time() - started)

    assert min(times) < 0.05  # 10 ms where nothing else runs; the machines of CI are slower
    print(f"{move}: {min(times) * 1000:.2f} ms")
