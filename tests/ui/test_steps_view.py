"""The steps view: what a row says, which rows are listed, and the ways in and out."""

import time

import pytest

from chat_pilot import HELLO, Chat, backend_for, open_chat
from fakes import Hang, ScriptedBackend
from proposing import SHORT, Drafted, Proposed, proposing
from specchat.core.reply import Reply
from specchat.core.speculation import Evidence, Step
from specchat.ui.cursor import Spot
from specchat.ui.panels.step_rows import Filter, StepRows, row_of, token_of
from specchat.ui.proposals import LEFT, RIGHT
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.screens.steps import StepsScreen
from specchat.ui.widgets.lines import LinesWidget
from told_replies import told

MANY = (Drafted((), "Go"), *(Drafted((" a", " b"), " c", (" x",)) for _ in range(60)))


def rows(reply: Reply, width: int = 80) -> list[str]:
    return [row_of(reply, number, width).text for number in range(len(reply.steps))]


def drawn(text: str) -> str:
    return text.replace("<", LEFT).replace(">", RIGHT)


async def opened(chat: Chat, *keys: str) -> StepsScreen:
    await chat.pilot.press(*keys)
    await chat.until(lambda: isinstance(chat.app.screen, StepsScreen))
    screen = chat.app.screen
    assert isinstance(screen, StepsScreen)
    return screen


def head(chat: Chat) -> str:
    return chat.app.screen.query_one("#steps-head", LinesWidget).lines[0].text


# -- rows -------------------------------------------------------------------------------------------------------------


def test_a_row_sets_the_refused_proposal_beside_the_word_that_was_said() -> None:
    assert rows(Proposed(*SHORT).reply()) == [
        drawn(" 1   0.020 s  2/3  ␣quick ␣brown <␣dog> → ␣fox"),
        " 2   0.040 s  3/3  ␣jumps ␣over ␣the + ␣lazy",
        drawn(" 3   0.060 s  0/3  <␣dog> → ␣cat  <. ⏎>"),
        " 4   0.080 s  0/0  ␣and  nothing drafted",
        drawn(" 5   0.100 s  1/3  ␣42 <␣miles> → ␣times  <␣away>"),
        drawn(" 6   0.120 s  0/3  <␣in> → .  <␣London ⏎>"),
    ]


def test_looks_tell_kept_refused_and_dropped_apart() -> None:
    runs = dict(row_of(Proposed(*SHORT).reply(), 4, 80).runs)

    assert runs["␣42"] == "accepted-1"
    assert runs["␣miles"] == "proposal-rejected"
    assert runs["␣times"] == "target"
    assert runs["␣away"] == "proposal-abandoned"


def test_without_a_trace_rows_tell_how_many_fell() -> None:
    assert rows(told([("One",), (" two", " three"), (" four", " five", " six", " seven")])) == [
        " 1   0.020 s  1/3  ␣two ✗ 2 rejected → ␣three",
        " 2   0.040 s  3/3  ␣four ␣five ␣six + ␣seven",
    ]


def test_a_step_that_the_end_cut_says_so() -> None:
    made = Proposed(Drafted((), "One"), Drafted((" two",), None, (" x",)))
    made.rows[-1] = made.rows[-1]._replace(accepted=2, drafted=3, proposed=(101, 90_000, 90_001))

    assert rows(made.reply())[0].endswith("2/3  ␣two the reply ends here; 1 more kept past its end")


@pytest.mark.parametrize("width", [20, 30, 49, 50, 60])
def test_a_long_row_is_cut_and_says_that_there_was_more(width: int) -> None:
    reply = Proposed(Drafted((), "a"), Drafted((" interminable",) * 3, " word")).reply()
    row = row_of(reply, 0, width)

    assert len(row.text) <= width
    assert row.text.endswith("…")
    assert (" s " in row.text) is (width >= 50)


# -- which rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "numbers"),
    [
        (Filter.ALL, [0, 1, 2, 3, 4, 5]),
        (Filter.FIRST, [2, 5]),
        (Filter.ANY, [0, 2, 4, 5]),
        (Filter.KEPT, [1]),
        (Filter.PLAIN, [3]),
    ],
)
def test_a_filter_lists_some_steps(wanted: Filter, numbers: list[int]) -> None:
    assert StepRows(Proposed(*SHORT).reply(), wanted).numbers == numbers


def test_a_step_of_unknown_length_is_listed_among_all_alone() -> None:
    step = Step(None, 1, 2, Evidence.INFERRED)

    assert [wanted for wanted in Filter if wanted.takes(step)] == [Filter.ALL]


def test_another_source_of_steps_takes_the_place_of_the_chunks() -> None:
    made = Proposed(*SHORT)
    reply = made.reply(ended=False, traced=False)
    listed = StepRows(reply, Filter.FIRST)
    reply.add(made.traced)

    assert listed.grow()
    assert listed.numbers == [2, 5]


def test_thirty_thousand_steps_are_filtered_and_drawn_at_once() -> None:
    reply = Proposed(Drafted((), "Go"), *(Drafted((" a",), " c", (" x", " y")) for _ in range(3000))).reply()
    assert reply.trace is not None
    reply.trace.steps.extend(reply.trace.steps * 9)
    began = time.perf_counter()
    listed = StepRows(reply)
    for wanted in Filter:
        listed.use(wanted)
    for number in range(2900, 2950):
        row_of(reply, number, 120)

    assert listed.total == 30_000
    assert time.perf_counter() - began < 1.0


def test_a_step_is_known_by_the_targets_own_word() -> None:
    reply = Proposed(*SHORT).reply()

    assert [token_of(reply, number) for number in range(6)] == [3, 7, 8, 9, 11, 12]
    assert token_of(reply, 99) is None


# -- in the chat ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(120, 40), (80, 24), (60, 20)])
async def test_f12_shows_the_steps_and_enter_goes_to_the_token(size: tuple[int, int]) -> None:
    async with open_chat(proposing(), size=size) as chat:
        await chat.ask("Go")
        screen = await opened(chat, "f12")
        assert "6 steps" in head(chat)
        assert "traced" in head(chat)
        assert screen.steps.step == 5
        await chat.pilot.press("home", "enter")
        await chat.until(lambda: isinstance(chat.app.screen, ChatScreen))
        await chat.until(lambda: chat.screen.transcript.spot is not None)

        assert chat.screen.transcript.spot == Spot(0, 3)


async def test_keys_list_other_steps_and_the_head_counts_them() -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await chat.type("/steps")
        screen = await opened(chat, "enter")
        await chat.pilot.press("f")
        await chat.pilot.pause()
        assert "2 of 6 steps · rejected at position 1" in head(chat)
        await chat.pilot.press("F", "F")
        await chat.pilot.pause()
        assert "1 of 6 steps · nothing drafted" in head(chat)
        assert screen.steps.step == 3
        await chat.pilot.press("escape")
        await chat.until(lambda: isinstance(chat.app.screen, ChatScreen))

        assert chat.screen.prompt.has_focus


async def test_v_at_the_token_cursor_opens_the_view_at_its_step() -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await chat.pilot.press("f7", "home", "s", "s")
        screen = await opened(chat, "v")

        assert screen.steps.step == 1


async def test_the_bar_moves_by_rows_and_pages_and_stays_in_sight() -> None:
    async with open_chat(proposing(MANY), size=(80, 24)) as chat:
        await chat.ask("Go")
        steps = (await opened(chat, "f12")).steps
        for keys, step in ((("home",), 0), (("down", "down", "up"), 1), (("pagedown",), 22), (("end",), 59)):
            await chat.pilot.press(*keys)
            await chat.pilot.pause()
            assert steps.step == step
            assert steps.scroll_offset.y <= step < steps.scroll_offset.y + steps.size.height
        await chat.pilot.click("#steps", offset=(5, 0))
        await chat.pilot.pause()

        assert steps.step == steps.scroll_offset.y


async def test_a_row_that_is_cut_says_so_beside_the_scroll_bar() -> None:
    long = (
        Drafted((), "Go"),
        *(Drafted((" interminable", " words"), " here", (" longer", " still")) for _ in range(40)),
    )
    async with open_chat(proposing(long), size=(60, 20)) as chat:
        await chat.ask("Go")
        await opened(chat, "f12")
        await chat.pilot.pause()

        assert [row[58] for row in chat.overlay.splitlines()[1:19]] == ["…"] * 18


async def test_the_view_follows_a_reply_that_grows_while_the_bar_is_at_the_end() -> None:
    made = Proposed(*MANY)
    first, second = Hang(), Hang()
    events = made.stream
    script = [*events[:20], first, *events[20:40], second, *events[40:]]
    backend = ScriptedBackend(script, pieces=made.pieces)
    async with open_chat(backend, size=(80, 24)) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: any(turn.reply.steps for turn in chat.session.conversation.turns))
        steps = (await opened(chat, "f12")).steps
        await chat.until(lambda: steps.step == 18)
        first.released.set()
        await chat.until(lambda: steps.step == 38)
        await chat.pilot.press("home")
        second.released.set()
        await chat.until(lambda: "60 steps" in head(chat))

        assert steps.step == 0


async def test_without_a_hook_the_head_says_that_proposals_are_unknown() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        await opened(chat, "f12")

        assert "proposals unknown: inferred" in head(chat)


async def test_without_any_step_a_sentence_says_what_has_them() -> None:
    async with open_chat(proposing()) as chat:
        await chat.type("/steps")
        await chat.pilot.press("enter")
        await chat.pilot.pause()

        assert "No step of this reply is known." in chat.notices[-1]


async def test_a_step_in_markdown_says_where_tokens_are() -> None:
    async with open_chat(proposing()) as chat:
        await chat.ask("Go")
        await chat.pilot.press("f5")
        await chat.until(lambda: not chat.screen.transcript.document.shown_tokens(0))
        await opened(chat, "f12")
        await chat.pilot.press("enter")
        await chat.until(lambda: any("F5 shows tokens." in notice for notice in chat.notices))

        assert chat.notices[-1] == "Step 6 shows no token here. F6 opens folded thinking; F5 shows tokens."
