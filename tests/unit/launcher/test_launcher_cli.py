"""The launcher's own commands."""

import io
from pathlib import Path

import pytest

from specchat_launcher import cli
from specchat_launcher.errors import LauncherError
from specchat_launcher.install import EngineStatus
from specchat_launcher.printing import ProgressPrinter
from specchat_launcher.progress import Phase, Progress
from specchat_launcher.registry import Owner, ProcessId, ServerRecord
from specchat_launcher.serving import Wish

PROFILE = "cpu-smollm2"


def test_engines_are_listed_one_a_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    statuses = [
        EngineStatus("0.32.0", "installed", tmp_path, 1_708_518_133, "3.11.7", ""),
        EngineStatus("0.27.1", "broken", tmp_path, None, None, "its Python is gone"),
    ]
    monkeypatch.setattr(cli, "list_engines", lambda _root: statuses)
    out = io.StringIO()
    assert cli.print_engines(tmp_path, out) == 0
    first, second = out.getvalue().splitlines()
    assert first.split() == ["0.32.0", "installed", "1.7", "GB", "Python", "3.11.7", str(tmp_path)]
    assert second.endswith("its Python is gone")


def test_a_failure_is_one_line_and_an_exit_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_args: object) -> None:
        raise LauncherError("The disk is full.", "Free some space.")

    monkeypatch.setattr(cli, "install_engine", fail)
    assert cli.main(["--data-dir", str(tmp_path), "engine", "install", "0.32.0"]) == 1
    assert capsys.readouterr().err == "The disk is full. Free some space.\n"


def test_removing_what_is_not_there_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["--data-dir", str(tmp_path), "engine", "remove", "0.32.0"]) == 1
    assert "engine list" in capsys.readouterr().err


def test_printed_progress_is_thinned_out_but_keeps_every_phase() -> None:
    out = io.StringIO()
    printer = ProgressPrinter(out)
    for done in range(100):
        printer(Progress(Phase.INSTALLING, f"{done} of 100", done / 100))
    printer(Progress(Phase.CONVERTING, "the model", None))
    assert out.getvalue() == "installing   0%  0 of 100\nconverting  the model\n"


class Told:
    """Plays what `serve` does, and keeps what was wished for."""

    def __init__(self) -> None:
        self.wishes: list[Wish] = []

    def __call__(self, wish: Wish, _root: Path, _view: object) -> int:
        self.wishes.append(wish)
        return 0


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ((), Wish(PROFILE)),
        (("--no-hook",), Wish(PROFILE, hook=False)),
        (("--port", "8001", "--host", "::1"), Wish(PROFILE, port=8001, host="::1")),
        (("--set", "port=1", "--set", "a.b=c"), Wish(PROFILE, changes=("port=1", "a.b=c"))),
        (("--detach", "--engine", "0.27.1"), Wish(PROFILE, detach=True, engine="0.27.1")),
        (("--owned", "--attach"), Wish(PROFILE, owned=True, attach=True)),
    ],
)
@pytest.mark.parametrize("word", [("serve",), ()])
def test_options_say_what_is_wished_for_and_the_word_serve_may_be_left_away(
    word: tuple[str, ...], options: tuple[str, ...], wanted: Wish, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = Told()
    monkeypatch.setattr(cli, "serve", told)
    assert cli.main(["--data-dir", str(tmp_path), *word, PROFILE, *options]) == 0
    assert told.wishes == [wanted]


@pytest.mark.parametrize("name", ["cpu-smollm", "nonsense"])
def test_a_profile_that_does_not_exist_is_a_sentence(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.main(["--data-dir", str(tmp_path), name]) == 1
    said = capsys.readouterr().err
    assert name in said
    assert "cpu-smollm2" in said
    assert not list(tmp_path.iterdir())


def record(identifier: str, profile: str, port: int) -> ServerRecord:
    return ServerRecord(
        identifier, profile, f"http://127.0.0.1:{port}", "127.0.0.1", port, "m", "", "vllm", Owner.ITSELF,
        ProcessId(1, 1), None, Path("log"), 0.0, None, None, "ready", key_needed=False,
    )  # fmt: skip


ONE, TWO, OTHER = record("a-1", "a", 1), record("a-2", "a", 2), record("b-3", "b", 3)


@pytest.mark.parametrize(
    ("asked", "running", "meant"),
    [
        (None, [ONE], [ONE]),
        ("a-2", [ONE, TWO], [TWO]),
        ("b", [ONE, TWO, OTHER], [OTHER]),
        ("2", [ONE, TWO, OTHER], [TWO]),
    ],
)
def test_a_server_is_meant_by_its_name_its_profile_or_its_port(
    asked: str | None, running: list[ServerRecord], meant: list[ServerRecord]
) -> None:
    assert list(cli.servers_to_stop(asked, running, every=False)) == meant


@pytest.mark.parametrize(
    ("asked", "running", "said"),
    [
        (None, [], "No server of specchat runs"),
        (None, [ONE, OTHER], "a-1, b-3"),
        ("a", [ONE, TWO], "a-1, a-2"),
        ("c", [ONE], "a-1"),
    ],
)
def test_where_it_is_not_plain_which_server_is_meant_none_is_stopped(
    asked: str | None, running: list[ServerRecord], said: str
) -> None:
    with pytest.raises(LauncherError, match=said):
        cli.servers_to_stop(asked, running, every=False)


def test_all_servers_may_be_meant_also_when_there_is_none() -> None:
    assert list(cli.servers_to_stop(None, [ONE, TWO], every=True)) == [ONE, TWO]
    assert list(cli.servers_to_stop(None, [], every=True)) == []
