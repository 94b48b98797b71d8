"""What `specchat doctor PROFILE` prints, and its exit code."""

import io
import json
from pathlib import Path

import pytest

from gpu_machines import Box, eight, held_by_an_orphan, without_permission
from specchat.cli.doctor_launch import run_launch_doctor
from specchat.core.errors import ConfigurationError


@pytest.fixture(autouse=True)
def _own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPECCHAT_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def printed(box: Box, *changes: str, profile: str = "mi355x-minimax-m3", as_json: bool = False) -> tuple[int, str]:
    out = io.StringIO()
    code = run_launch_doctor(profile, changes=changes, as_json=as_json, out=out, machine=box.machine())
    return code, out.getvalue()


def test_a_problem_makes_the_exit_code_and_stands_with_what_mends_it(tmp_path: Path) -> None:
    code, text = printed(without_permission(tmp_path))
    lines = text.splitlines()
    assert code == 1
    assert any(
        line.startswith("problem  permission   ada may not read and write /dev/kfd and the render nodes")
        for line in lines
    )
    assert "  sudo usermod -aG render,video $USER" in lines
    assert lines[-1].startswith("mi355x-minimax-m3 cannot be launched like this: ")
    assert "permission" in lines[-1]
    assert max(len(line) for line in lines if not line.startswith("  ")) <= 100


def test_what_can_be_launched_ends_with_the_command_that_does_it(tmp_path: Path) -> None:
    code, text = printed(eight(tmp_path), profile="cpu-smollm2")
    assert code == 0
    assert text.splitlines()[-1] == "cpu-smollm2 can be launched: specchat serve cpu-smollm2"


def test_for_programs_it_is_one_object(tmp_path: Path) -> None:
    code, text = printed(held_by_an_orphan(tmp_path), as_json=True)
    told = json.loads(text)
    assert code == 1
    assert (told["schema"], told["profile"], told["can_launch"]) == ("specchat.preflight/1", "mi355x-minimax-m3", False)
    held = next(check for check in told["checks"] if check["name"] == "held by")
    assert held["state"] == "problem"
    assert held["command"] == "kill 4242 4100"


def test_changes_are_looked_at_in_place_of_what_the_profile_says(tmp_path: Path) -> None:
    _, text = printed(eight(tmp_path), "port=8123")
    assert "8123 on 127.0.0.1 is free" in text


def test_what_the_guide_shows_is_what_is_printed(tmp_path: Path) -> None:
    guide = (Path(__file__).parents[3] / "docs/guide/gpus.md").read_text(encoding="utf-8")
    shown = guide.split("```\n$ specchat doctor mi355x-minimax-m3\n")[1].split("\n…\n")[0]
    assert shown.strip().splitlines()[-1] == "  kill 4242 4100"
    _, text = printed(held_by_an_orphan(tmp_path))
    assert text.startswith(shown)


def test_an_unknown_profile_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no server profile"):
        printed(eight(tmp_path), profile="mi355x")


def test_what_a_file_holds_cannot_control_the_terminal(tmp_path: Path) -> None:
    box = held_by_an_orphan(tmp_path)
    box.write("proc/4242/comm", "VLLM::Worker\x1b]0;x\x07")
    _, text = printed(box)
    assert "\x1b" not in text
