"""What people see while `specchat serve` runs."""

import io

import pytest
from rich.console import Console

from served import WARNING, running, state
from specchat.cli.serve_display import ServeDisplay
from specchat_launcher.serving import Wish
from specchat_launcher.startup import Diagnosis, StartPhase


def shown(terminal: bool = False) -> tuple[ServeDisplay, io.StringIO]:
    out = io.StringIO()
    return ServeDisplay(Console(file=out, force_terminal=terminal, width=160)), out


def test_notes_and_warnings_are_written_as_they_are_and_once(capsys: pytest.CaptureFixture[str]) -> None:
    display, out = shown()
    with display:
        display.starting("p", state(StartPhase.LOADING, warnings=(WARNING,)))
        display.ready(running(), Wish("p"))
    lines = out.getvalue().splitlines()
    assert "note: The server runs without the hook [for a reason]." in lines
    assert sum("[another] backend" in line for line in lines) == 1
    assert "m is served at http://127.0.0.1:8032 (vLLM 0.32.0); Ctrl-C stops it" in capsys.readouterr().out


def test_each_phase_is_a_line_where_there_is_no_terminal() -> None:
    display, out = shown()
    with display:
        for phase in (StartPhase.STARTING, StartPhase.LOADING, StartPhase.LOADING):
            display.starting("p", state(phase, "50 [of] 100"))
    assert out.getvalue().splitlines() == ["starting: 50 [of] 100", "loading weights: 50 [of] 100"]


def test_two_servers_at_once_are_told_apart() -> None:
    display, out = shown()
    with display:
        for profile in ("a", "b", "a"):
            display.starting(profile, state(StartPhase.LOADING))
    assert out.getvalue().splitlines()[1] == "b: loading weights: detail"


@pytest.mark.parametrize("terminal", [True, False])
def test_square_brackets_in_a_detail_are_no_markup(terminal: bool) -> None:
    display, out = shown(terminal)
    with display:
        display.starting("p", state(StartPhase.LOADING, "[/red] half"))
    assert "[/red] half" in out.getvalue()


def test_a_server_that_ended_says_why_with_its_lines() -> None:
    display, out = shown()
    with display:
        display.ended(running(), Diagnosis("x", "fatal", "It fell.", "Lift it.", ("a [line]",)))
    assert "cpu-smollm2-8032 ended. It fell. Lift it." in out.getvalue()
    assert "  | a [line]" in out.getvalue()
