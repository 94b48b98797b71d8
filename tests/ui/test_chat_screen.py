"""The chat as its user meets it: every key and every command."""

import asyncio
from pathlib import Path

import pytest
from textual import events

from chat_pilot import HELLO, backend_for, make_app, open_chat, reply_of, without_speculation
from fakes import FixedClock, Hang, Script, ScriptedBackend, server_info
from specchat.core.counters import CounterReading
from specchat.core.errors import ConfigurationError, StreamBroken
from specchat.core.events import NoteAdded, SpeculationReported
from specchat.core.reply import Outcome
from specchat.core.speculation import Channel
from specchat.theming import theme_directory
from specchat.ui.screens.help import HelpScreen
from specchat.ui.widgets.panels import PanelColumn


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


@pytest.mark.parametrize("key", ["ctrl+j", "shift+enter", "alt+enter", "shift+\r"])
async def test_newline_keys_make_a_line_and_send_nothing(key: str) -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.type("one")
        await chat.pilot.press(key)
        await chat.type("two")

        assert chat.screen.prompt.text == "one\ntwo"
        assert not backend.requests


async def test_the_prompt_grows_with_its_lines_up_to_six() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        heights = [chat.screen.prompt.size.height]
        for _ in range(9):
            await chat.pilot.press("ctrl+j")
            heights.append(chat.screen.prompt.size.height)

        assert heights[:6] == [1, 2, 3, 4, 5, 6]
        assert heights[-1] == 6


async def test_a_prompt_of_spaces_asks_nothing_and_leaves_none_behind() -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.type("  ")
        await chat.pilot.press("enter")
        await chat.pilot.pause()

        assert not backend.requests
        assert not chat.screen.prompt.text


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


async def test_enter_while_a_reply_runs_keeps_the_prompt_and_says_why() -> None:
    backend = backend_for(Script().step("Wait").then(Hang()))
    async with open_chat(backend) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Wait" in chat.whole)
        await chat.type("me too")
        await chat.pilot.press("enter")

        assert chat.screen.prompt.text == "me too"
        assert len(backend.requests) == 1
        assert any("A reply is running" in notice for notice in chat.notices)
        await chat.pilot.press("escape")
        await chat.ended()


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


def long_reply(hang: Hang | None = None) -> Script:
    script = Script()
    for number in range(120):
        script.step(f"line {number}\n")
    return script.then(hang) if hang else script.end()


async def test_the_transcript_follows_its_end() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")

        assert "line 119" in chat.shown
        assert "more below" not in chat.line("status")


async def test_who_scrolls_up_stays_there_while_the_reply_grows() -> None:
    hang = Hang()
    script = long_reply(hang)
    for number in range(120, 160):
        script.step(f"line {number}\n")
    async with open_chat(backend_for(script.end())) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "line 119" in chat.whole)
        await chat.pilot.press("pageup")
        await chat.pilot.press("pageup")
        before = chat.shown
        assert "more below · End" in chat.line("status")
        hang.released.set()
        await chat.ended()

        assert chat.shown == before
        await chat.pilot.press("end")
        assert "line 159" in chat.shown
        assert "more below" not in chat.line("status")


@pytest.mark.parametrize(
    ("keys", "row"),
    [
        (["ctrl+home"], "You"),
        (["pageup", "pagedown"], "line 119"),
        (["ctrl+home", "ctrl+end"], "line 119"),
        (["ctrl+home", "end"], "line 119"),
    ],
)
async def test_the_keyboard_scrolls_from_within_the_prompt(keys: list[str], row: str) -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")
        await chat.pilot.press(*keys)
        await chat.pilot.pause()

        assert row in chat.shown
        assert chat.screen.prompt.has_focus


async def test_end_first_goes_to_the_end_of_the_line_that_is_typed() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")
        await chat.type("abc")
        await chat.pilot.press("ctrl+home", "left", "left", "end")

        assert "You" in chat.shown
        await chat.pilot.press("end")
        assert "line 119" in chat.shown


async def test_the_wheel_scrolls() -> None:
    async with open_chat(backend_for(long_reply())) as chat:
        await chat.ask("Go")
        transcript = chat.screen.transcript
        before = transcript.scroll_offset.y
        await chat.pilot._post_mouse_events([events.MouseScrollUp], "#transcript", (5, 5))
        await chat.pilot.pause()

        assert transcript.scroll_offset.y == before - 3
        assert not transcript.following


@pytest.mark.parametrize("width", [60, 80, 120])
async def test_every_width_shows_reply_and_figures(width: int) -> None:
    async with open_chat(backend_for(HELLO), size=(width, 24)) as chat:
        await chat.ask("Hi")
        figures = chat.line("panel-acceptance") if width >= 100 else chat.line("status")

        assert "Hello there, how are you?" in chat.shown
        assert "3.00" in figures
        assert chat.screen.panels.display is (width >= 100)
        assert all(len(row) <= width for row in chat.shown.splitlines())


@pytest.mark.parametrize("size", [(120, 40), (120, 30), (100, 24)])
@pytest.mark.parametrize("lines", [1, 9])
async def test_no_panel_is_cut_and_the_comparison_stays(size: tuple[int, int], lines: int) -> None:
    async with open_chat(backend_for(HELLO), baseline=without_speculation(), size=size) as chat:
        await chat.ask("Hi")
        await chat.pilot.press(*["ctrl+j"] * (lines - 1))
        await chat.pilot.pause()
        column = chat.screen.query_one(PanelColumn)
        shown = [panel for panel in column.children if panel.display]

        assert "panel-comparison" in {panel.id for panel in shown}
        assert all(column.region.contains_region(panel.region) for panel in shown)


@pytest.mark.parametrize("width", [40, 60, 80, 120])
async def test_no_key_is_cut_at_the_foot(width: int) -> None:
    async with open_chat(backend_for(HELLO), size=(width, 24)) as chat:
        await chat.pilot.pause()
        keys = list(chat.screen.query("FooterKey"))

        assert keys
        assert all(key.region.right - 1 <= width for key in keys)
        await chat.pilot.resize_terminal(120, 24)
        await chat.pilot.pause()
        assert len(chat.screen.query("FooterKey")) == 7


async def test_a_resize_in_mid_stream_loses_nothing() -> None:
    hang = Hang()
    words = [f"word{n} " for n in range(400)]
    script = Script()
    for word in words[:200]:
        script.step(word)
    script.then(hang)
    for word in words[200:]:
        script.step(word)
    async with open_chat(backend_for(script.end())) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "word199" in chat.whole)
        await chat.pilot.resize_terminal(70, 24)
        hang.released.set()
        await chat.pilot.pause()
        await chat.pilot.resize_terminal(100, 30)
        await chat.ended()

        assert chat.whole.partition("Assistant")[2].split() == "".join(words).split()
        assert "word399" in chat.shown


async def test_a_resize_keeps_the_place_of_the_reader() -> None:
    script = Script()
    for number in range(200):
        script.step(f"paragraph {number} " + "with words " * 20 + "\n")
    async with open_chat(backend_for(script.end())) as chat:
        await chat.ask("Go")
        for _ in range(4):
            await chat.pilot.press("pageup")
        transcript = chat.screen.transcript
        place = transcript.document.place_of(transcript.scroll_offset.y)
        await chat.pilot.resize_terminal(64, 24)
        await chat.pilot.pause()
        top = transcript.document.row(transcript.scroll_offset.y)

        assert top.spans[0].offset <= place[1] <= top.end
        assert not transcript.following


def files_in(folder: Path) -> list[Path]:
    return sorted(folder.iterdir())


# -- keys and commands ---------------------------------------------------------------------------------------------


async def test_speculation_is_switched_off_for_the_next_prompt() -> None:
    on, off = backend_for(HELLO), without_speculation()
    async with open_chat(on, baseline=off) as chat:
        await chat.ask("One")
        await chat.pilot.press("f2")
        assert "○ off" in chat.line("head")
        await chat.ask("Two")
        await chat.pilot.press("ctrl+t")

        assert (len(on.requests), len(off.requests)) == (1, 1)
        assert "● on" in chat.line("head")
        facts = [turn.heading.facts for turn in chat.screen.transcript.document.turns]
        assert facts[0].startswith("● on")
        assert facts[1].startswith("○ off")


async def test_switching_while_a_reply_runs_is_for_the_next_prompt() -> None:
    hang = Hang()
    report = SpeculationReported(1, 1, 3, 3, (1,), (3,), None, None)
    on, off = backend_for(Script().step("a").step("b", "c").then(hang, report).end()), without_speculation()
    async with open_chat(on, baseline=off) as chat:
        await chat.type("One")
        await chat.pilot.press("enter")
        await chat.until(lambda: "abc" in chat.whole)
        await chat.pilot.press("f2")
        hang.released.set()
        await chat.ended()
        await chat.ask("Two")

        assert (len(on.requests), len(off.requests)) == (1, 1)


async def test_without_a_second_server_the_switch_says_how_to_get_one() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.pilot.press("f2")

        assert any("--baseline-url" in notice for notice in chat.notices)


async def test_the_theme_key_goes_to_light_and_back() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        await chat.pilot.press("f3")
        assert chat.app.theme == "light"
        await chat.pilot.press("f3")

        assert chat.app.theme == "dark"


def themes_with(folder: Path, **texts: str) -> tuple[Path, ...]:
    for name, text in texts.items():
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return (folder, folder / "missing")


async def test_a_users_own_theme_is_used_and_the_key_comes_back_to_it(tmp_path: Path) -> None:
    dark = (theme_directory() / "dark.toml").read_text(encoding="utf-8")
    own = themes_with(tmp_path, mine=dark.replace("#0e131a", "#000000"), broken="no theme at all")
    async with open_chat(backend_for(HELLO), theme="mine", theme_directories=own) as chat:
        themes = [chat.app.theme]
        for _ in range(2):
            await chat.pilot.press("f3")
            themes.append(chat.app.theme)

        assert themes == ["mine", "light", "mine"]
        assert chat.screen.transcript.background_colors[1].hex == "#000000"


def test_an_unknown_theme_is_refused_with_the_names_of_those_there_are(tmp_path: Path) -> None:
    own = themes_with(tmp_path, mine=(theme_directory() / "dark.toml").read_text(encoding="utf-8"))

    with pytest.raises(ConfigurationError, match=r"There is no theme 'pink'.* dark, light, mine"):
        make_app(backend_for(HELLO), theme="pink", theme_directories=own)


async def test_help_shows_every_key_and_closes() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.pilot.press("f1")
        assert isinstance(chat.app.screen, HelpScreen)
        await chat.pilot.press("escape")

        assert not isinstance(chat.app.screen, HelpScreen)


@pytest.mark.parametrize("how", ["/export", "ctrl+s"])
async def test_an_export_says_where_it_went(how: str, tmp_path: Path) -> None:
    async with open_chat(backend_for(HELLO), exports=tmp_path) as chat:
        await chat.ask("Hi")
        if how.startswith("/"):
            await chat.type(how)
            how = "enter"
        await chat.pilot.press(how)
    written = files_in(tmp_path)

    assert [path.suffix for path in written] == [".csv", ".json"]
    assert any(str(written[1]) in notice for notice in chat.notices)


async def test_an_export_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    async with open_chat(backend_for(HELLO), exports=tmp_path / "file") as chat:
        await chat.ask("Hi")
        await chat.pilot.press("ctrl+s")

        assert any("Cannot write" in notice for notice in chat.notices)


@pytest.mark.parametrize("how", ["/clear", "ctrl+l"])
async def test_clear_begins_anew(how: str) -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.ask("Hi")
        if how.startswith("/"):
            await chat.type(how)
            how = "enter"
        await chat.pilot.press(how)
        assert "Hi" not in chat.whole
        await chat.ask("Again")

        assert [message.content for message in backend.requests[-1].messages] == ["Again"]


async def test_clear_waits_for_a_running_reply() -> None:
    async with open_chat(backend_for(Script().step("Wait").then(Hang()))) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Wait" in chat.whole)
        await chat.pilot.press("ctrl+l")

        assert "Wait" in chat.whole
        await chat.pilot.press("escape")
        await chat.ended()


async def test_settings_commands_change_the_next_request() -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        for command in ("/max 64", "/temp 0.5", "/system Be brief"):
            await chat.type(command)
            await chat.pilot.press("enter")
        await chat.ask("Hi")
        request = backend.requests[0]

        assert (request.sampling.max_tokens, request.sampling.temperature) == (64, 0.5)
        assert (request.messages[0].role, request.messages[0].content) == ("system", "Be brief")


async def test_an_unknown_command_is_explained_and_kept() -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.type("/exprot")
        await chat.pilot.press("enter")

        assert chat.screen.prompt.text == "/exprot"
        assert any("Did you mean /export?" in notice for notice in chat.notices)
        assert not backend.requests


async def test_two_slashes_ask_with_one() -> None:
    backend = backend_for(HELLO)
    async with open_chat(backend) as chat:
        await chat.ask("//clear is a command")

        assert backend.requests[0].messages[-1].content == "/clear is a command"


@pytest.mark.parametrize("how", ["/quit", "ctrl+q"])
async def test_leaving(how: str) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        if how.startswith("/"):
            await chat.type(how)
            how = "enter"
        await chat.pilot.press(how)
        await chat.pilot.pause()

        assert chat.app._exit


async def test_leaving_in_mid_stream_keeps_what_came() -> None:
    backend = backend_for(Script().step("Kept").then(Hang()))
    async with open_chat(backend) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Kept" in chat.whole)
        await chat.pilot.press("ctrl+q")
    await asyncio.sleep(0)

    assert chat.session.conversation.turns[0].reply.outcome is Outcome.STOPPED
    assert backend.closed_streams == 1


async def test_control_c_stops_first_and_quits_the_second_time() -> None:
    async with open_chat(backend_for(Script().step("Wait").then(Hang()))) as chat:
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "Wait" in chat.whole)
        await chat.pilot.press("ctrl+c")
        await chat.ended()
        assert chat.session.conversation.turns[0].reply.outcome is Outcome.STOPPED
        assert not chat.app._exit
        await chat.pilot.press("ctrl+c")
        await chat.pilot.pause()

        assert chat.app._exit


async def test_control_c_copies_what_is_selected_in_the_prompt() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.type("copy me")
        await chat.pilot.press("f7", "ctrl+c")

        assert chat.app.clipboard == "copy me"
        assert not chat.app._exit


async def test_arrows_walk_through_earlier_prompts_and_back_to_the_draft() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("first")
        await chat.ask("second")
        await chat.type("draft")
        walked = []
        for key in ("up", "up", "up", "down", "down"):
            await chat.pilot.press(key)
            walked.append(chat.screen.prompt.text)

        assert walked == ["second", "first", "first", "second", "draft"]


async def test_a_large_paste_arrives_whole() -> None:
    backend = backend_for(HELLO)
    text = "a line of text to paste\n" * 4200
    async with open_chat(backend) as chat:
        chat.app.post_message(events.Paste(text))
        await chat.pilot.pause()
        await chat.pilot.press("enter")
        await chat.ended()

        assert backend.requests[0].messages[-1].content == text


async def test_dragging_selects_text_and_control_c_copies_it_without_wrapping() -> None:
    words = " ".join(f"word{n}" for n in range(60))
    async with open_chat(backend_for(reply_of((words,)))) as chat:
        await chat.ask("Go")
        row = next(y for y in range(30) if "word0" in chat.screen.transcript.render_line(y).text)
        await chat.pilot.mouse_down("#transcript", offset=(3, row))
        await chat.pilot.hover("#transcript", offset=(9, row + 1))
        await chat.pilot.mouse_up("#transcript", offset=(9, row + 1))
        await chat.pilot.press("ctrl+c")

        assert chat.app.clipboard.startswith("word0 word1")
        assert "\n" not in chat.app.clipboard
        assert len(chat.app.clipboard) > 60
        await chat.pilot.press("escape")
        assert not chat.screen.selections


async def test_the_scroll_bar_is_there_whenever_somebody_may_read_it() -> None:
    hang = Hang()
    async with open_chat(backend_for(long_reply(hang).end())) as chat:
        transcript = chat.screen.transcript
        await chat.type("Go")
        await chat.pilot.press("enter")
        await chat.until(lambda: "line 119" in chat.whole)
        width = transcript.document.width
        hurried = transcript.scrollbar_size_vertical
        await chat.pilot.press("pageup")
        reading = transcript.scrollbar_size_vertical
        await chat.pilot.press("ctrl+end")
        hang.released.set()
        await chat.ended()

        assert (hurried, reading, transcript.scrollbar_size_vertical) == (0, 1, 1)
        assert transcript.document.width == width


async def test_before_its_size_is_known_the_transcript_draws_no_column_of_letters() -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        transcript = chat.screen.transcript
        assert transcript.render_line(0).text.strip()

        transcript.document.resize(1)

        assert not transcript.render_line(0).text.strip()
