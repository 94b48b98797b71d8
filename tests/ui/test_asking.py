"""The chat as its user meets it: asking, and everything that a reply shows."""

import asyncio

from chat_pilot import HELLO, backend_for, open_chat, reply_of, without_speculation
from fakes import FixedClock, Hang, Script, ScriptedBackend, server_info
from specchat.core.counters import CounterReading
from specchat.core.errors import StreamBroken
from specchat.core.events import NoteAdded, SpeculationReported
from specchat.core.reply import Outcome
from specchat.core.speculation import Channel


async def test_enter_asks_and_shows_the_reply() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi!")

        assert "You\nHi!" in chat.whole
        assert "Hello there, how are you?" in chat.whole
        assert chat.screen.prompt.text == ""


async def test_the_opening_prompt_is_asked() -> None:
    async with open_chat(backend_for(HELLO), opening_prompt="Say hello") as chat:
        await chat.until(lambda: "Hello there" in chat.whole)

        assert "Say hello" in chat.whole


async def test_each_token_has_the_style_of_its_origin() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        document = chat.screen.transcript.document
        rows = [document.row(index) for index in range(document.height)]
        spans = next(row.spans for row in rows if row.spans and row.spans[0].text == "Hello")

        assert [(span.text, span.style) for span in spans] == [
            ("Hello", "target"),
            (" there", "accepted-1"),
            (",", "target"),
            (" how", "accepted-1"),
            (" are", "accepted-2"),
            (" you", "accepted-3"),
            ("?", "target"),
        ]


async def test_escape_keeps_the_text_that_came_and_the_prompt_that_was_typed() -> None:
    script = Script().step("Kept").step(" text", " too").then(Hang())
    backend = backend_for(script)
    async with open_chat(backend) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Kept text too" in chat.whole)
        await chat.type("next question")
        await chat.pilot.press("escape")
        await chat.ended()

        assert chat.session.conversation.turns[0].reply.outcome is Outcome.STOPPED
        assert "Kept text too" in chat.whole
        assert "stopped; what came is kept" in chat.whole
        assert chat.screen.prompt.text == "next question"
        assert backend.closed_streams == 1


async def test_a_reply_that_fails_keeps_its_text_and_says_why() -> None:
    script = Script().step("Half").step(" a", " reply").then(StreamBroken("The connection broke.", "Ask again."))
    async with open_chat(backend_for(script)) as chat:
        await chat.ask("Go")

        assert "Half a reply" in chat.whole
        assert "✗ The connection broke. Ask again." in chat.whole
        await chat.ask("Still there?")
        assert len(chat.session.conversation.turns) == 2


async def test_a_stall_is_counted_and_escape_ends_it() -> None:
    clock = FixedClock()
    async with open_chat(backend_for(Script().then(Hang()), clock=clock)) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: chat.session.current is not None)
        clock.advance(12)
        await chat.until(lambda: "waiting 12 s" in chat.line("status"))
        await chat.pilot.press("escape")
        await chat.ended()

        assert "ready" in chat.line("status")


async def test_markup_and_terminal_codes_in_a_reply_are_shown_as_text() -> None:
    script = reply_of(("[bold]",), ("x[/bold]",), (" \x1b[31mred\x1b[0m",), (" \u202eevil",), (" [@click=app.quit]y",))
    async with open_chat(backend_for(script)) as chat:
        await chat.ask("[red]Go[/red] \x1b[2J")

        assert "[red]Go[/red] ␛[2J" in chat.whole
        assert "[bold]x[/bold] ␛[31mred␛[0m ⟨RLO⟩evil [@click=app.quit]y" in chat.whole
        assert "\x1b" not in chat.shown


async def test_thinking_stands_apart_under_its_own_heading() -> None:
    script = Script().step("Let", channel=Channel.REASONING).step(" me", " see", channel=Channel.REASONING)
    async with open_chat(backend_for(script.step("Yes", ".").end())) as chat:
        await chat.ask("Go")

        assert "Thinking\nLet me see\n\nYes." in chat.whole


async def test_notes_of_a_reply_are_shown_beneath_it() -> None:
    script = Script().step("Yes").then(NoteAdded("the server does not know return_token_ids")).end()
    async with open_chat(backend_for(script)) as chat:
        await chat.ask("Go")

        assert "· the server does not know return_token_ids" in chat.whole


async def test_what_cannot_be_known_is_said_above_an_empty_transcript() -> None:
    server = server_info(gaps=("steps are inferred; start the server with --flag",))
    async with open_chat(ScriptedBackend(server=server)) as chat:
        assert "· steps are inferred; start the server with --flag" in chat.shown


async def test_the_welcome_makes_room_for_the_first_question_and_comes_back() -> None:
    server = server_info(gaps=("steps are inferred",))
    async with open_chat(backend_for(HELLO, server=server)) as chat:
        assert "Each token is drawn" in chat.shown
        await chat.ask("Hi")
        assert "Each token is drawn" not in chat.whole
        assert "· steps are inferred" in chat.whole
        await chat.pilot.press("ctrl+l")

        assert "Each token is drawn" in chat.shown


async def test_what_the_other_server_cannot_tell_is_said_after_a_switch() -> None:
    off = without_speculation()
    off.server = server_info(draft_length=0, gaps=("no counters here",))
    async with open_chat(backend_for(HELLO), baseline=off) as chat:
        assert "no counters here" not in chat.whole
        await chat.pilot.press("f2")

        assert "· no counters here" in chat.whole
        assert chat.line("legend").split() == ["■", "target", "■", "plain"]


async def test_a_new_notice_takes_the_place_of_the_one_before() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        for command in ("/max 64", "/temp 0.5"):
            await chat.type(command)
            await chat.pilot.press("enter")

        assert chat.notices == ["Temperature 0.5."]


async def test_the_legend_grows_with_what_occurs() -> None:
    script = Script().step("One").step(*(f" word{n}" for n in range(9))).end()
    async with open_chat(backend_for(HELLO, script)) as chat:
        assert chat.line("legend").strip() == "■ draft 1  ■ 2  ■ 3  ■ target"
        await chat.ask("Hi")
        assert "unknown" not in chat.line("legend")
        await chat.ask("Merge")  # nine tokens in a chunk are no single step with k = 3

        assert "unknown" in chat.line("legend")
        await chat.pilot.press("ctrl+l")
        assert "unknown" not in chat.line("legend")


async def test_until_the_counters_are_read_the_status_says_so() -> None:
    read = asyncio.Event()
    backend = backend_for(HELLO)

    async def counters() -> CounterReading | None:
        if backend.requests:
            await read.wait()
        return CounterReading(1, 3, 3, (1, 1, 1))

    backend.read_counters = counters  # type: ignore[method-assign]
    async with open_chat(backend) as chat:
        await chat.type("Hi")
        await chat.pilot.press("enter")
        await chat.until(lambda: "checking the figures" in chat.line("status"))
        read.set()
        await chat.ended()

        assert "ready" in chat.line("status")


async def test_the_reported_steps_replace_the_inferred_ones() -> None:
    script = Script().step("a").step("b", "c", "d")
    report = SpeculationReported(2, 1, 6, 3, (1, 0), (3, 3), None, None)
    script.then(report).end()
    async with open_chat(backend_for(script)) as chat:
        await chat.ask("Go")
        document = chat.screen.transcript.document
        rows = [document.row(index) for index in range(document.height)]
        spans = next(row.spans for row in rows if row.spans and row.spans[0].text == "a")

        assert [(span.text, span.style) for span in spans] == [("a", "target"), ("b", "accepted-1"), ("cd", "target")]
        assert "exact · reported by server" in chat.line("panel-acceptance")


# -- scrolling -----------------------------------------------------------------------------------------------------


async def test_a_prompt_sent_while_a_reply_runs_is_asked_after_it() -> None:
    hang = Hang()
    backend = backend_for(Script().step("Wait").then(hang).end(), HELLO)
    async with open_chat(backend) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Wait" in chat.whole)
        await chat.type("me too")
        await chat.pilot.press("enter")
        assert chat.screen.prompt.text == ""
        assert chat.screen.asker.queue == ["me too"]
        assert len(backend.requests) == 1
        hang.released.set()
        await chat.until(lambda: "Hello there" in chat.whole)
        await chat.ended()

        assert [turn.prompt for turn in chat.session.conversation.turns] == ["Go", "me too"]


async def test_stopping_a_reply_gives_the_queue_back_before_what_is_being_typed() -> None:
    backend = backend_for(Script().step("Wait").then(Hang()))
    async with open_chat(backend) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Wait" in chat.whole)
        for prompt in ("second", "third"):
            await chat.type(prompt)
            await chat.pilot.press("enter")
        await chat.type("draft")
        await chat.pilot.press("escape")
        await chat.ended()

        assert chat.screen.prompt.text == "second\nthird\ndraft"
        assert len(backend.requests) == 1


async def test_a_reply_that_fails_gives_the_queue_back() -> None:
    hang = Hang()
    backend = backend_for(Script().step("Half").then(hang, StreamBroken("The line broke.", "Ask again.")))
    async with open_chat(backend) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Half" in chat.whole)
        await chat.type("next")
        await chat.pilot.press("enter")
        hang.released.set()
        await chat.ended()

        assert chat.screen.prompt.text == "next"
        assert len(backend.requests) == 1
