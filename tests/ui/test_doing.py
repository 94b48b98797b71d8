"""Keys and commands that do something to the session or the program."""

import asyncio
from pathlib import Path

import pytest

from chat_pilot import HELLO, Chat, backend_for, make_app, open_chat, without_speculation
from fakes import Hang, Script
from specchat.core.errors import ConfigurationError
from specchat.core.events import SpeculationReported
from specchat.core.reply import Outcome
from specchat.theming import theme_directory
from specchat.ui.commands.table import COMMANDS
from specchat.ui.screens.help import HelpScreen


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


async def run(chat: Chat, how: str) -> None:
    """Type a command, or press its key."""
    if how.startswith("/"):
        await chat.type(how)
        how = "enter"
    await chat.pilot.press(how)
    await chat.pilot.pause()


@pytest.mark.parametrize("how", ["/panels", "f4"])
async def test_panels_can_be_hidden_and_their_figures_move_into_the_status(how: str) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await chat.ask("Hi")
        seen = []
        for _ in range(3):
            screen = chat.screen
            seen.append((screen.panels.display, "AL" in chat.line("status"), screen.transcript.size.width))
            await run(chat, how)

        assert [(panels, figures) for panels, figures, _ in seen] == [(True, False), (False, True), (True, False)]
        assert seen[1][2] > seen[0][2] == seen[2][2]


@pytest.mark.parametrize("how", ["/theme", "f3"])
async def test_the_theme_command_changes_between_dark_and_light(how: str) -> None:
    async with open_chat(backend_for(HELLO)) as chat:
        await run(chat, how)

        assert chat.app.theme == "light"


@pytest.mark.parametrize("how", ["/help", "f1"])
async def test_help_lists_every_command_and_key(how: str) -> None:
    async with open_chat(backend_for(HELLO), size=(120, 200)) as chat:
        await run(chat, how)
        shown = chat.overlay
        assert isinstance(chat.app.screen, HelpScreen)

        for command in COMMANDS:
            assert command.keys in shown
            assert command.what[:24] in shown
            assert not command.slash or f"/{command.name}" in shown


@pytest.mark.parametrize("how", ["/switch", "f2", "ctrl+t"])
async def test_every_way_to_switch_speculation(how: str) -> None:
    async with open_chat(backend_for(HELLO), baseline=without_speculation()) as chat:
        await run(chat, how)

        assert "○ off" in chat.line("head")


async def test_the_end_command_goes_to_the_end_and_follows() -> None:
    script = Script().step("start")
    for number in range(80):
        script.step(f"\nline {number}")
    async with open_chat(backend_for(script.end())) as chat:
        await chat.ask("Go")
        await chat.pilot.press("pageup")
        away = chat.screen.transcript.following
        await run(chat, "/end")

        assert [away, chat.screen.transcript.following] == [False, True]
        assert "line 79" in chat.shown
