"""What `serve` refuses, and what it stands."""

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from launched import PROFILE, FakePlace, fake_place, left_of, pids_of
from specchat_launcher.registry import servers, servers_folder


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FakePlace]:
    with fake_place(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--attach",), f"No server of {PROFILE} runs."),
        (("--attach", "--port", "8000"), f"No server of {PROFILE} runs on port 8000."),
        (("--detach", "--owned"), "--detach leaves a server running, and --owned ends it"),
        (("--host", "0.0.0.0"), "VLLM_API_KEY"),  # noqa: S104 - it is refused
        (("--set", "prot=8000"), "port"),
    ],
)
def test_what_cannot_be_served_is_one_sentence_and_nothing_is_started(
    place: FakePlace, options: tuple[str, ...], sentence: str
) -> None:
    refused = place.run("serve", PROFILE, *options)
    assert refused.returncode == 1
    assert sentence in refused.stderr
    assert "Traceback" not in refused.stderr
    assert not servers(place.root)
    assert not (place.root / "logs").exists()


def test_a_pair_shares_no_port(place: FakePlace) -> None:
    pair = ['title = "Two"', 'summary = "For tests."', f'members = ["{PROFILE}"]']
    (place.profiles / "both.toml").write_text("\n".join(pair) + "\n", encoding="utf-8")
    refused = place.run("both", "--port", "8000")
    assert refused.returncode == 1
    assert PROFILE in refused.stderr


def test_a_reader_that_goes_away_does_not_end_the_server(place: FakePlace) -> None:
    command = place.start("serve", PROFILE)
    assert command.stdout is not None
    command.stdout.close()
    record = place.record(state="ready")
    pids = pids_of(record)
    assert command.poll() is None
    command.send_signal(signal.SIGINT)
    command.wait(timeout=30)
    assert not left_of(pids, 0.5)


def test_how_a_server_ended_stands_at_the_end_of_its_log(place: FakePlace) -> None:
    place.run("serve", PROFILE, "--detach")
    log = place.record().log
    place.run("stop", "--all")
    assert log.read_text(encoding="utf-8").endswith("specchat: the server was stopped, exit code 130\n")


def test_a_server_that_is_stopped_from_elsewhere_is_no_failure_of_its_command(place: FakePlace) -> None:
    command = place.start("serve", PROFILE)
    record = place.record(state="ready")
    place.run("stop", record.id)
    said, _ = command.communicate(timeout=30)
    assert f"{record.id} was stopped." in said
    assert command.returncode == 0


def test_the_half_of_a_state_file_that_a_killed_writer_left_is_removed(place: FakePlace) -> None:
    half = servers_folder(place.root) / ".fake-1.json.999999999"
    half.touch()
    assert not servers(place.root)
    assert not half.exists()


def test_a_wish_for_json_is_kept_to_stdout(place: FakePlace) -> None:
    served = place.run("serve", PROFILE, "--detach", "--json")
    assert served.returncode == 0
    assert not served.stderr
