"""The servers screen and the start of a server, driven by keys, on servers that follow a script."""

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot

from chat_pilot import HELLO, backend_for, make_app
from fake_local_servers import (
    BIG,
    CHECKS,
    DONE,
    FOUND,
    LAUNCHED,
    LEFT,
    LOADING,
    LOADING_VIEW,
    MI355X,
    NO_KV_ROOM,
    READY_VIEW,
    RUNS_ALREADY,
    Doors,
    FakeGpus,
    FakeLocalServers,
    Wait,
    surroundings,
    view,
)
from fakes import FixedClock, server_info
from specchat.core.errors import ConfigurationError, ModelChoiceNeeded, ServerUnreachable, SpecchatError
from specchat.session.chat import ChatSession
from specchat.session.local_servers import Finding, GpuLine, ServerLine
from specchat.ui.app import ChatApp
from specchat.ui.choosing import Chooser
from specchat.ui.panels.server_rows import SavedServer, key_of
from specchat.ui.screens.asks import AskScreen, PickScreen
from specchat.ui.screens.chat import ChatScreen
from specchat.ui.screens.launch import LaunchScreen
from specchat.ui.screens.log import LogScreen
from specchat.ui.screens.servers import ServersScreen

SAVED = SavedServer("http://gpu01:8000", "amd/MiniMax-M3-MXFP4")


class Seen:
    """An app whose screens are looked at."""

    def __init__(self, app: ChatApp, pilot: Pilot[None], local: FakeLocalServers, doors: Doors) -> None:
        self.app, self.pilot, self.local, self.doors = app, pilot, local, doors

    @property
    def text(self) -> str:
        """What the screen shows."""
        return "\n".join(strip.text.rstrip() for strip in self.app.screen._compositor.render_strips())

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.pilot.pause()

    async def until(self, condition: Callable[[], bool]) -> None:
        for _ in range(500):
            if condition():
                break
            await self.pilot.pause(0.01)
        assert condition(), self.text
        await self.pilot.pause()

    async def shows(self, *words: str) -> None:
        await self.until(lambda: all(word in self.text for word in words))

    async def is_on(self, screen: type[object]) -> None:
        await self.until(lambda: isinstance(self.app.screen, screen))

    async def choose(self, key: str) -> None:
        """Put the bar at a row."""
        screen = self.app.screen
        assert isinstance(screen, ServersScreen)
        await self.press("home")
        for _ in range(30):
            if key_of(screen.choices.choice) == key:
                return
            await self.press("down")
        raise AssertionError(f"{key} is not listed:\n{self.text}")


@asynccontextmanager
async def first_run(
    local: FakeLocalServers | None = None,
    doors: Doors | None = None,
    gpus: FakeGpus | None = None,
    saved: SavedServer | None = None,
    size: tuple[int, int] = (120, 40),
) -> AsyncGenerator[Seen]:
    """An app that was started without a server."""
    local, doors = local or FakeLocalServers(), doors or Doors()
    app = ChatApp(None, theme="dark", export_directory=Path("exports"), clock=FixedClock())
    app.chooser = Chooser(app, surroundings(local, doors, gpus, saved))
    async with app.run_test(size=size) as pilot:
        seen = Seen(app, pilot, local, doors)
        await seen.is_on(ServersScreen)
        await seen.until(lambda: "looking for servers" not in seen.text)
        yield seen


@asynccontextmanager
async def from_a_chat(
    local: FakeLocalServers | None = None, doors: Doors | None = None, gpus: FakeGpus | None = None, url: str = ""
) -> AsyncGenerator[Seen]:
    """An app with a chat that knows other servers."""
    local, doors = local or FakeLocalServers(servers=(LAUNCHED,)), doors or Doors()
    backend = backend_for(HELLO, server=server_info(url=url) if url else None)
    app, _, _ = make_app(backend)
    app.chooser = Chooser(app, surroundings(local, doors, gpus))
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        yield Seen(app, pilot, local, doors)


# -- what is listed ---------------------------------------------------------------------------------------------------


async def test_a_first_run_lands_at_the_demo_and_says_what_it_is() -> None:
    async with first_run() as seen:
        await seen.shows(
            "Begin here", "CPU demo", "A real vLLM server on this machine's processor", "mi355x-minimax-m3"
        )

        choice = seen.app.screen.choices.choice  # type: ignore[attr-defined]
        assert choice.name == "cpu-smollm2"


async def test_a_server_that_answers_comes_before_everything_else() -> None:
    async with first_run(FakeLocalServers(servers=(LAUNCHED, FOUND)), saved=SAVED) as seen:
        await seen.shows("Last server", "gpu01:8000", "Started by specchat", "Answering on this machine", "llama3.2:3b")
        await seen.shows("eagle3 k=3", "vLLM 0.27.1", "1 h 15 min", "nothing: it runs until stopped")

        assert seen.app.screen.choices.choice == LAUNCHED  # type: ignore[attr-defined]


async def test_the_last_server_is_listed_once_where_it_runs_here() -> None:
    async with first_run(FakeLocalServers(servers=(LAUNCHED,)), saved=SavedServer("http://localhost:8000")) as seen:
        await seen.shows("last used")

        assert "Last server" not in seen.text


async def test_the_bar_stays_with_its_row_while_others_come_and_go() -> None:
    local = FakeLocalServers(servers=(LAUNCHED,))
    async with first_run(local) as seen:
        await seen.choose("profile mi355x-minimax-m3")
        local.lines = (LAUNCHED, FOUND, LEFT)
        await seen.press("r")
        await seen.shows("llama3.2:3b")

        assert seen.app.screen.choices.choice == BIG  # type: ignore[attr-defined]


async def test_trouble_with_looking_is_a_sentence_and_profiles_can_still_be_chosen() -> None:
    async with first_run(
        FakeLocalServers(servers=SpecchatError("The data folder is unreadable.", "Give access."))
    ) as seen:
        await seen.shows("The data folder is unreadable. Give access.", "CPU demo")


async def test_text_from_elsewhere_cannot_draw_on_the_screen() -> None:
    nasty = ServerLine("http://127.0.0.1:8001", "http://127.0.0.1:8001", model="[red]a\x1b[31mb\n")
    async with first_run(FakeLocalServers(servers=(nasty,))) as seen:
        await seen.shows("[red]a␛[31mb")


# -- connecting -------------------------------------------------------------------------------------------------------


async def test_enter_connects_to_the_server_under_the_bar() -> None:
    async with first_run(FakeLocalServers(servers=(LAUNCHED,))) as seen:
        await seen.press("enter")
        await seen.is_on(ChatScreen)

        assert seen.doors.opened == [("http://127.0.0.1:8000", None, False)]
        assert seen.doors.kept == [seen.app.session]


async def test_the_last_server_is_asked_for_its_model_again() -> None:
    async with first_run(saved=SAVED) as seen:
        await seen.choose("saved http://gpu01:8000")
        await seen.press("enter")
        await seen.is_on(ChatScreen)

        assert seen.doors.opened == [("http://gpu01:8000", "amd/MiniMax-M3-MXFP4", False)]


async def test_a_server_that_does_not_answer_is_a_sentence_on_the_screen() -> None:
    doors = Doors(ServerUnreachable("Nothing answers at gpu01:8000.", "Is it running?"))
    async with first_run(doors=doors, saved=SAVED) as seen:
        await seen.choose("saved http://gpu01:8000")
        await seen.press("enter")
        await seen.shows("Nothing answers at gpu01:8000. Is it running?")

        assert isinstance(seen.app.screen, ServersScreen)


async def test_an_address_can_be_typed() -> None:
    async with first_run() as seen:
        await seen.press("u", *"gpu07:8000", "enter")
        await seen.is_on(ChatScreen)

        assert seen.doors.opened[0][0] == "http://gpu07:8000"


async def test_of_several_models_one_is_picked() -> None:
    doors = Doors(ModelChoiceNeeded("It serves several models.", models=("llama3.2:3b", "qwen3:8b")))
    async with first_run(FakeLocalServers(servers=(FOUND,)), doors) as seen:
        await seen.press("enter")
        await seen.is_on(PickScreen)
        await seen.press("down", "enter")
        await seen.is_on(ChatScreen)

        assert seen.doors.opened[-1] == (FOUND.url, "qwen3:8b", False)


async def test_a_profile_that_cannot_be_started_says_why_and_enter_connects_where_it_answers() -> None:
    async with first_run() as seen:
        await seen.choose("profile docker-model-runner")
        await seen.shows("Docker starts it: switch it on in Docker Desktop.")
        await seen.press("enter")
        await seen.is_on(ChatScreen)

        assert seen.doors.opened[0][0] == "http://127.0.0.1:12434/engines"


async def test_a_remembered_server_that_does_not_answer_opens_the_servers_with_the_reason() -> None:
    async def connect() -> ChatSession:
        raise ServerUnreachable("Nothing answers at gpu01:8000.", "Is it running?")

    app = ChatApp(connect, destination="gpu01:8000", theme="dark", export_directory=Path("exports"), clock=FixedClock())
    local = FakeLocalServers()
    app.chooser = Chooser(app, surroundings(local, saved=SAVED), stays=True)
    async with app.run_test(size=(120, 40)) as pilot:
        seen = Seen(app, pilot, local, Doors())
        await seen.shows("Nothing answers at gpu01:8000. Is it running?", "CPU demo")

        assert app.refusal is None


# -- from the chat ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", ["key", "command"])
async def test_the_chat_opens_the_servers_and_esc_goes_back(way: str) -> None:
    async with from_a_chat() as seen:
        if way == "key":
            await seen.press("f10")
        else:
            chat = seen.app.screen
            assert isinstance(chat, ChatScreen)
            chat.prompt.insert("/servers")
            await seen.press("escape", "enter")
        await seen.is_on(ServersScreen)
        await seen.press("escape")
        await seen.is_on(ChatScreen)


async def test_another_server_begins_a_new_conversation_where_nothing_was_said() -> None:
    async with from_a_chat() as seen:
        before = seen.app.session
        await seen.press("f10")
        await seen.shows("Started by specchat")
        await seen.press("enter")
        await seen.until(lambda: isinstance(seen.app.screen, ChatScreen) and seen.app.session is not before)

        assert seen.app.session is not None
        assert seen.app.session.server.url == "http://127.0.0.1:8000"


async def test_a_conversation_is_left_only_after_a_question() -> None:
    async with from_a_chat() as seen:
        chat = seen.app.screen
        assert isinstance(chat, ChatScreen)
        chat.prompt.insert("hi")
        await seen.press("enter")
        await seen.until(lambda: bool(chat.session.conversation.turns) and not chat.asker.running)
        await seen.press("f10")
        await seen.shows("Started by specchat")
        await seen.press("enter")
        await seen.is_on(AskScreen)
        await seen.press("escape")
        await seen.is_on(ServersScreen)
        assert not seen.doors.opened

        await seen.press("enter")
        await seen.is_on(AskScreen)
        await seen.press("enter")
        await seen.until(lambda: seen.app.session is not chat.session)


# -- before a start ---------------------------------------------------------------------------------------------------


async def to_the_start_of(seen: Seen, key: str) -> LaunchScreen:
    await seen.choose(key)
    await seen.press("enter")
    await seen.is_on(LaunchScreen)
    screen = seen.app.screen
    assert isinstance(screen, LaunchScreen)
    return screen


async def test_what_is_in_the_way_of_a_launch_is_said_with_what_to_do() -> None:
    async with first_run(FakeLocalServers(checks=CHECKS)) as seen:
        assert not seen.local.count("check")
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.shows("VLLM::Worker_TP3", "kill -9 41872", "1 thing in the way of a launch", "vllm serve")

        assert seen.local.count("check") == 1


@pytest.mark.parametrize("size", [(120, 40), (80, 24)], ids=["wide", "folded"])
async def test_options_change_the_command_and_the_launch(size: tuple[int, int]) -> None:
    async with first_run(FakeLocalServers(start=[READY_VIEW]), size=size) as seen:
        changes = ("port=8001", "arguments.max-model-len=12288")
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("tab", *"8001", "tab", "tab", *"arguments.max-model-len=12288")
        await seen.until(lambda: ("command", "mi355x-minimax-m3", *changes) in seen.local.asked)
        await seen.press("escape", "enter")
        await seen.is_on(ChatScreen)

        assert ("launch", "mi355x-minimax-m3", False, *changes) in seen.local.asked


async def test_an_option_that_makes_no_sense_is_a_sentence_in_place_of_the_command() -> None:
    local = FakeLocalServers()
    local.refused_commands = {"port=no": ConfigurationError("port needs a whole number.", "For example: port=8001")}
    async with first_run(local) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("tab", *"no")
        await seen.shows("port needs a whole number. For example: port=8001")


async def test_the_command_can_be_copied() -> None:
    async with first_run() as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.shows("vllm serve")
        await seen.press("y")

        assert seen.app.clipboard.startswith("# mi355x-minimax-m3")


async def test_trouble_with_checking_is_a_sentence() -> None:
    async with first_run(FakeLocalServers(checks=SpecchatError("Nothing could be looked at.", "Try r."))) as seen:
        await to_the_start_of(seen, "profile cpu-smollm2")
        await seen.shows("Nothing could be looked at. Try r.")


# -- the start --------------------------------------------------------------------------------------------------------


async def test_the_demo_belongs_to_the_chat_and_ends_in_its_prompt() -> None:
    async with first_run(FakeLocalServers(start=[view("starting"), READY_VIEW])) as seen:
        await to_the_start_of(seen, "profile cpu-smollm2")
        await seen.press("enter")
        await seen.is_on(ChatScreen)

        assert ("launch", "cpu-smollm2", True) in seen.local.asked
        assert seen.doors.opened == [(READY_VIEW.url, None, True)]
        chat = seen.app.screen
        assert isinstance(chat, ChatScreen)
        await seen.until(lambda: chat.prompt.text == "Explain a compiler.")


async def test_a_start_shows_its_phases_its_bar_its_warnings_and_the_end_of_the_log() -> None:
    async with first_run(FakeLocalServers(start=[view("starting"), LOADING_VIEW, Wait()])) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("enter")
        await seen.shows("compiling kernels", "9 min 11 s", "loading weights", "42 %", "shard 21 of 50, 1.4 GB/s")
        await seen.shows("AITER_MXFP4_MXFP4 was expected", "load model", "11 min 43 s")


async def test_a_failed_start_says_why_and_what_to_do_and_can_be_tried_again() -> None:
    async with first_run(FakeLocalServers(start=[view("reserving memory", *DONE), NO_KV_ROOM])) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("enter")
        await seen.shows("The KV cache has no room for one request", "--set arguments.max-model-len=262144")
        await seen.shows("To serve at least one request", "EngineCore failed to start", "server-1.log", "did not start")
        await seen.press("y")
        assert "61.4 GiB KV cache" in seen.app.clipboard
        await seen.press("enter")
        await seen.shows("Can it work here?")


async def test_an_error_before_anything_started_is_shown_like_any_other_failure() -> None:
    refusal = ConfigurationError("Port 8000 is taken.", "Choose another one.")
    async with first_run(FakeLocalServers(start=[refusal])) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("enter")
        await seen.shows("Port 8000 is taken.", "Choose another one.")


async def test_a_server_that_runs_already_is_offered() -> None:
    async with first_run(FakeLocalServers(start=[RUNS_ALREADY])) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("enter")
        await seen.shows("runs already at http://127.0.0.1:8000", "Enter connects")
        await seen.press("enter")
        await seen.is_on(ChatScreen)


async def test_a_start_with_a_warning_waits_for_the_reader() -> None:
    odd = replace(READY_VIEW, warnings=(Finding("warning", "The draft's attention runs on ROCM_ATTN.", "Set it."),))
    async with first_run(FakeLocalServers(start=[odd])) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("enter")
        await seen.shows("The draft's attention runs on ROCM_ATTN.", "Enter connects")

        assert not seen.doors.opened


async def test_esc_asks_before_it_stops_a_start() -> None:
    local = FakeLocalServers(start=[LOADING_VIEW, Wait()])
    async with first_run(local) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("enter")
        await seen.shows("loading weights")
        await seen.press("escape")
        await seen.is_on(AskScreen)
        await seen.press("escape")
        await seen.is_on(LaunchScreen)
        assert not local.count("stop")
        assert not local.ended

        await seen.press("escape")
        await seen.is_on(AskScreen)
        await seen.press("enter")
        await seen.shows("The start was stopped.")
        assert ("stop", LOADING.id) in local.asked
        assert local.ended == ["launch"]


async def test_a_start_that_outlives_the_chat_can_be_left_to_itself() -> None:
    local = FakeLocalServers(start=[LOADING_VIEW, Wait()])
    async with first_run(local) as seen:
        await to_the_start_of(seen, "profile mi355x-minimax-m3")
        await seen.press("enter")
        await seen.shows("loading weights", "Leave it to itself")
        await seen.press("b")
        await seen.is_on(ServersScreen)

        assert not local.count("stop")
        await seen.until(lambda: local.ended == ["launch"])


async def test_the_start_of_the_demo_cannot_be_left_to_itself() -> None:
    async with first_run(FakeLocalServers(start=[LOADING_VIEW, Wait()])) as seen:
        await to_the_start_of(seen, "profile cpu-smollm2")
        await seen.press("enter")
        await seen.shows("loading weights")

        assert "Leave it to itself" not in seen.text


async def test_a_start_that_somebody_else_began_is_watched() -> None:
    local = FakeLocalServers(servers=(LOADING,), start=[LOADING_VIEW, READY_VIEW])
    async with first_run(local) as seen:
        await seen.choose(key_of(LOADING))
        await seen.press("enter")
        await seen.is_on(ChatScreen)

        assert ("follow", LOADING.id) in local.asked


# -- stopping, and the log --------------------------------------------------------------------------------------------


async def test_a_server_is_stopped_after_a_question() -> None:
    local = FakeLocalServers(servers=[LAUNCHED])
    async with first_run(local) as seen:
        await seen.press("s")
        await seen.is_on(AskScreen)
        await seen.press("enter")
        await seen.shows("mi355x-minimax-m3 is stopped.")
        await seen.until(lambda: "Started by specchat" not in seen.text)

        assert local.count("stop", LAUNCHED.id) == 1


async def test_a_server_that_specchat_did_not_start_is_not_stopped() -> None:
    local = FakeLocalServers(servers=(FOUND,))
    async with first_run(local) as seen:
        await seen.shows("specchat did not start it, and never stops it.")
        await seen.press("s")

        assert isinstance(seen.app.screen, ServersScreen)
        assert not local.count("stop")


async def test_what_a_killed_server_left_is_said_and_cleared() -> None:
    local = FakeLocalServers(servers=[LEFT])
    async with first_run(local) as seen:
        await seen.choose(key_of(LEFT))
        await seen.shows("its front end has gone and left processes")
        await seen.press("enter")
        await seen.shows("Press s to clear them.")
        await seen.press("s", "enter")
        await seen.until(lambda: local.count("stop", LEFT.id) == 1)


LOG = [f"INFO line {number}" for number in range(100)] + ["ERROR the engine core died", "INFO the end"]


async def test_the_log_is_followed_until_the_reader_scrolls_up() -> None:
    local = FakeLocalServers(servers=(LAUNCHED,), log=LOG)
    async with first_run(local) as seen:
        await seen.press("l")
        await seen.is_on(LogScreen)
        await seen.shows("INFO the end", "following", "102 lines")
        local.log_text.append("INFO one more")
        await seen.shows("INFO one more")
        await seen.press("home")
        local.log_text.append("INFO unseen")
        await seen.shows("104 lines", "INFO line 0", "End follows")
        assert "INFO unseen" not in seen.text

        await seen.press("end")
        await seen.shows("INFO unseen")


async def test_a_word_is_found_in_the_log_and_n_goes_on() -> None:
    async with first_run(FakeLocalServers(servers=(LAUNCHED,), log=LOG)) as seen:
        await seen.press("l")
        await seen.shows("INFO the end")
        await seen.press("slash", *"line 1", "enter")
        await seen.shows("11 of 11", "INFO line 19")
        await seen.press("n")
        await seen.shows("1 of 11", "INFO line 1")
        await seen.press("N")
        await seen.shows("11 of 11")
        await seen.press("escape")
        await seen.until(lambda: "of 11" not in seen.text)
        await seen.press("escape")
        await seen.is_on(ServersScreen)


async def test_long_lines_of_the_log_can_be_wrapped() -> None:
    long = "word " * 60 + "lastword"
    async with first_run(FakeLocalServers(servers=(LAUNCHED,), log=[long]), size=(80, 24)) as seen:
        await seen.press("l")
        await seen.shows("1 lines")
        assert "lastword" not in seen.text
        await seen.press("w")
        await seen.shows("lastword")


# -- GPUs -------------------------------------------------------------------------------------------------------------


async def test_each_gpu_has_a_row_with_memory_and_power_against_their_limits() -> None:
    async with first_run(gpus=FakeGpus(MI355X)) as seen:
        await seen.shows("GPUs", "251 / 288 GiB", "1180 / 1400 W", "101 °C")


async def test_a_low_screen_has_all_gpus_in_one_line() -> None:
    async with first_run(gpus=FakeGpus(MI355X), size=(80, 24)) as seen:
        await seen.shows("8 GPUs")


async def test_a_machine_without_gpus_shows_no_panel_and_is_hardly_asked() -> None:
    gpus = FakeGpus(None)
    async with first_run(gpus=gpus) as seen:
        await seen.pilot.pause(0.1)

        assert gpus.reads == 1
        assert "GPUs" not in seen.text


async def test_the_chat_with_a_local_server_has_the_gpus_in_its_panels() -> None:
    async with from_a_chat(gpus=FakeGpus(MI355X), url="http://127.0.0.1:8000") as seen:
        await seen.until(lambda: "101" in seen.text)
        await seen.shows("GPUs")


async def test_the_chat_with_a_server_elsewhere_asks_no_gpu() -> None:
    gpus = FakeGpus((GpuLine(0, use=0.5),))
    async with from_a_chat(gpus=gpus) as seen:
        await seen.pilot.pause(0.1)

        assert gpus.reads == 0
        assert "GPUs" not in seen.text
