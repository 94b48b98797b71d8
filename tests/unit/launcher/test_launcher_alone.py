"""The launcher's one folder, copied to a machine that has nothing but Python, works there."""

import json
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from launched import LAUNCHER, PROFILE, FakePlace, left_of, pids_of


class CopiedPlace(FakePlace):
    """A machine with a copy of the launcher, as the wheel has it, and no other package."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.copy = self.folder / "copied"
        package = self.copy / "specchat_launcher"
        shutil.copytree(LAUNCHER / "specchat_launcher", package, ignore=shutil.ignore_patterns("__pycache__"))
        (package / "_bundled_hook").symlink_to(LAUNCHER / "specchat_vllm")
        (package / "_bundled_draft_model").symlink_to(LAUNCHER / "draft_model" / "weights")

    def environ(self) -> dict[str, str]:
        return {**super().environ(), "PYTHONPATH": str(self.copy)}

    def argv(self, *arguments: str) -> list[str]:
        # Without the packages of this interpreter, the tests' own among them.
        return [sys.executable, "-S", "-s", "-m", "specchat_launcher", "--data-dir", str(self.root), *arguments]


@pytest.fixture
def place(tmp_path: Path) -> Iterator[CopiedPlace]:
    made = CopiedPlace(tmp_path)
    try:
        yield made
    finally:
        made.stop_all()


@pytest.mark.parametrize("profile", ["mi355x-minimax-m3", "mi355x-minimax-m3-container", "cpu-smollm2"])
def test_a_copy_shows_the_command_of_a_profile(place: CopiedPlace, profile: str) -> None:
    shown = place.run(profile, "--dry-run")
    assert shown.returncode == 0, shown.stderr
    assert "--port" in shown.stdout
    assert not list(place.root.iterdir())


def test_a_copy_lists_servers_and_examines_the_machine(place: CopiedPlace) -> None:
    listed = place.run("servers", "--json")
    assert listed.returncode == 0, listed.stderr
    assert all(line["id"] is None for line in json.loads(listed.stdout))
    examined = place.run("doctor", PROFILE, "--json")
    assert json.loads(examined.stdout)["checks"]
    assert not examined.stderr


def test_a_copy_starts_a_server_and_stops_it(place: CopiedPlace) -> None:
    started = place.run(PROFILE, "--detach", "--json")
    assert started.returncode == 0, started.stderr
    events = [json.loads(line) for line in started.stdout.splitlines()]
    assert events[-1]["event"] == "ready"
    record = place.record(state="ready")
    assert events[-1]["url"] == record.url
    assert "tiny" in place.run("servers").stdout
    pids = pids_of(record)
    stopped = place.run("stop")
    assert stopped.stderr.endswith(f"{record.id} is stopped.\n")
    assert not left_of(pids, 0.5)


def test_a_copy_serves_in_the_foreground_until_ctrl_c(place: CopiedPlace) -> None:
    command = place.start("serve", PROFILE)
    pids = pids_of(place.record(state="ready"))
    command.send_signal(signal.SIGINT)
    said, _ = command.communicate(timeout=20)
    assert "Traceback" not in said
    assert not left_of(pids, 0.5)


def test_a_failure_is_one_sentence_and_its_log(place: CopiedPlace) -> None:
    place.write_profile(environment={"FAKE_MODE": "dies"})
    failed = place.run(PROFILE)
    assert failed.returncode == 1
    assert "No memory for the KV cache" in failed.stderr
    assert "Traceback" not in failed.stderr
    assert not list((place.root / "servers").iterdir())
    assert list((place.root / "logs").iterdir())
