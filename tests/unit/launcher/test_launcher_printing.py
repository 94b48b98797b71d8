"""What the launcher's commands say while a server is served: to people in lines, to programs in JSON."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from served import WARNING, record, running, state
from specchat_launcher.errors import LauncherError
from specchat_launcher.launching import AlreadyRunning
from specchat_launcher.listing import ListedServer, duration, table
from specchat_launcher.printing import JsonView, LineView
from specchat_launcher.progress import Phase, Progress
from specchat_launcher.registry import Owner
from specchat_launcher.serving import ServeView, Wish
from specchat_launcher.startup import Diagnosis, StartPhase
from specchat_launcher.waiting import StartFailed

WISH = Wish("cpu-smollm2")
WHY = Diagnosis("kv-cache-too-small", "fatal", "There is too little memory.", "Ask for less.", ("ValueError: no",))
FAILURE = StartFailed(WHY, Path("/logs/server.log"), ("the last line",))


def events(out: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in out.getvalue().splitlines()]


def a_whole_life(view: ServeView) -> None:
    view.preparing(Progress(Phase.INSTALLING, "1 of 2", 0.5))
    view.starting("cpu-smollm2", state(StartPhase.LOADING, "shard 1 of 2", warnings=(WARNING,)))
    view.starting("cpu-smollm2", state(StartPhase.LOADING, "shard 2 of 2", warnings=(WARNING,)))
    view.ready(running(), WISH)
    view.ended(running(), WHY)
    view.stopping()
    view.stopped()


def test_a_program_gets_one_object_a_line_and_each_warning_once() -> None:
    out = io.StringIO()
    a_whole_life(JsonView(out))
    kinds = [event["event"] for event in events(out)]
    assert kinds == ["preparing", "warning", "phase", "note", "ready", "ended", "stopping", "stopped"]
    ready = next(event for event in events(out) if event["event"] == "ready")
    assert (ready["url"], ready["id"], ready["version"]) == ("http://127.0.0.1:8032", "cpu-smollm2-8032", "0.32.0")


def test_people_get_each_phase_and_warning_once_and_are_told_how_to_end_it() -> None:
    out = io.StringIO()
    a_whole_life(LineView(out))
    lines = out.getvalue().splitlines()
    assert lines[0] == "installing  50%  1 of 2"
    assert sum("another" in line for line in lines) == 1
    assert any("http://127.0.0.1:8032" in line and "Ctrl-C stops it" in line for line in lines)
    assert lines[-1] == "Stopped."


@pytest.mark.parametrize(
    ("wish", "owner", "words"),
    [
        (Wish("p", detach=True), Owner.ITSELF, "specchat stop cpu-smollm2-8032"),
        (Wish("p", attach=True), Owner.ITSELF, "Ctrl-C leaves it running"),
        (Wish("p", owned=True), Owner.APP, "ends with this command"),
    ],
)
def test_how_a_server_ends_is_said_as_it_is(wish: Wish, owner: Owner, words: str) -> None:
    out = io.StringIO()
    LineView(out).ready(running(owner), wish)
    assert words in out.getvalue()


def test_a_failure_shows_the_lines_that_say_so_and_else_the_end_of_the_log() -> None:
    out = io.StringIO()
    LineView(out).failed(FAILURE)
    unknown = StartFailed(Diagnosis("unknown", "fatal", "It ended.", ""), FAILURE.log, FAILURE.last_lines)
    LineView(out).failed(unknown)
    LineView(out).failed(LauncherError("No.", "Do it."))
    assert out.getvalue().splitlines() == ["  | ValueError: no", "  | the last line"]


def test_a_program_is_told_the_cause_of_a_failure() -> None:
    out = io.StringIO()
    JsonView(out).failed(FAILURE)
    JsonView(out).failed(AlreadyRunning(record()))
    JsonView(out).failed(LauncherError("No.", "Do it."))
    first, second, third = events(out)
    assert (first["cause"], first["log"], first["lines"]) == (WHY.cause, "/logs/server.log", ["ValueError: no"])
    assert (second["cause"], second["id"]) == ("already-running", "cpu-smollm2-8032")
    assert (third["cause"], third["title"], third["remedy"]) == (None, "No.", "Do it.")


def test_a_server_that_goes_on_is_named() -> None:
    lines, objects = io.StringIO(), io.StringIO()
    LineView(lines).left(record())
    JsonView(objects).left(record())
    assert "specchat stop cpu-smollm2-8032" in lines.getvalue()
    assert events(objects)[0]["event"] == "left-running"


def listed(**more: object) -> ListedServer:
    usual: dict[str, Any] = {
        "id": None, "url": "http://127.0.0.1:8000", "profile": None, "models": ("m",), "version": "0.32.0",
        "speculation": "yes", "state": "answers", "owner": None, "uptime_seconds": None, "key_needed": False,
        "log": None,
    }  # fmt: skip
    return ListedServer(**(usual | more))


def test_the_list_tells_what_specchat_started_from_what_merely_answers() -> None:
    head, first, second = table(
        [
            listed(id="a-1", state="ready", owner="itself", uptime_seconds=3725.0, profile="a"),
            listed(models=(), key_needed=True),
        ]
    )
    assert head.split() == ["SERVER", "STATE", "URL", "MODEL", "VERSION", "SPECULATION", "UP", "OWNER"]
    assert "1 h 2 min" in first
    assert first.endswith("itself")
    assert "(wants a key)" in second
    assert second.endswith("not specchat")


@pytest.mark.parametrize(
    ("seconds", "words"), [(0, "0 s"), (59.9, "59 s"), (61, "1 min 1 s"), (7260, "2 h 1 min"), (90_000, "1 d 1 h")]
)
def test_a_time_span_has_its_two_largest_units(seconds: float, words: str) -> None:
    assert duration(seconds) == words
