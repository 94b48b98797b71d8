"""A server in a container ends whole, whoever dies first: client, supervisor or launcher. A stand-in plays Docker."""

import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from fake_docker_place import DockerPlace
from launched import PROFILE, kill, left_of, living, wait_until
from specchat_launcher.launching import attach, launch_profile
from specchat_launcher.profiles import load_profile
from specchat_launcher.registry import Owner, servers, state_file
from specchat_launcher.running import RunningServer
from specchat_launcher.stopping import StopError, stop
from specchat_launcher.waiting import StartFailed


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[DockerPlace]:
    made = DockerPlace(tmp_path)
    # What is cleared by the test itself asks the same daemon.
    monkeypatch.setenv("FAKE_DOCKER", str(made.docker))
    try:
        yield made
    finally:
        made.fall_silent(silent=False)
        made.stop_all()


def silent(_: object) -> None:
    pass


def launch(place: DockerPlace, owner: Owner = Owner.ITSELF) -> RunningServer:
    """The fake server in its container, ready."""
    profile = load_profile(PROFILE, user_folder=place.profiles)
    return launch_profile(profile, place.root, owner=owner, report=silent, preparing=silent, environ=place.environ())


@pytest.mark.parametrize("tool", ["docker", "podman"])
def test_a_container_starts_answers_and_is_gone_after_stopping(place: DockerPlace, tool: str) -> None:
    place.install(tool)
    server = launch(place)
    assert server.record.container == f"specchat-{PROFILE}-{server.port}"
    assert Path(str(server.record.container_tool)).name == tool
    inside = place.container_pid()
    began = time.monotonic()
    stop(server.record, place.root)
    assert time.monotonic() - began < 15
    assert not living({inside})
    assert not place.containers()
    assert not servers(place.root)
    assert place.calls()[0][:2] == ["run", "--rm"]


def test_a_container_that_was_killed_off_its_client_is_stopped_and_removed(place: DockerPlace) -> None:
    server = launch(place)
    inside = place.container_pid()
    kill(server.pid)
    assert not left_of({inside})
    wait_until(lambda: not place.containers() and not servers(place.root), 15)
    assert [call[0] for call in place.calls() if call[0] != "inspect"][-2:] == ["stop", "rm"]


def test_a_container_without_client_and_supervisor_is_cleared_by_the_next_look(place: DockerPlace) -> None:
    server = launch(place)
    inside = place.container_pid()
    kill(server.record.supervisor.pid, server.pid)
    assert living({inside})
    assert not servers(place.root)
    assert not living({inside})
    assert not place.containers()


@pytest.mark.parametrize("stay", ["arguments", "weights"])
def test_a_container_that_is_starting_can_be_stopped(place: DockerPlace, stay: str) -> None:
    place.write_profile(environment={"FAKE_STAY": stay})
    command = place.start("serve", PROFILE)
    record = place.in_log("non-default args")
    inside = wait_until(place.container_pid, 10)
    stop(record, place.root)
    command.communicate(timeout=20)
    assert not living({inside})
    assert not place.containers()


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_container_survives_its_launcher_and_an_owned_one_does_not(
    place: DockerPlace, number: signal.Signals
) -> None:
    command = place.start("serve", PROFILE)
    record = place.record(state="ready")
    command.send_signal(number)
    command.communicate(timeout=20)
    assert attach(record, place.root, silent).is_running()
    stop(record, place.root)
    owned = place.start("serve", PROFILE, "--owned")
    inside = [place.container_pid() for _ in (place.record(state="ready"),)]
    owned.send_signal(number)
    owned.communicate(timeout=30)
    assert not left_of(set(inside))
    wait_until(lambda: not place.containers(), 15)


def test_a_container_that_crashes_says_why(place: DockerPlace) -> None:
    place.write_profile(environment={"FAKE_MODE": "dies"})
    with pytest.raises(StartFailed) as caught:
        launch(place)
    assert "No memory for the KV cache" in str(caught.value) + " ".join(caught.value.diagnosis.lines)
    assert not place.containers()


def test_a_daemon_that_does_not_answer_is_named_and_asked_again_later(place: DockerPlace) -> None:
    server = launch(place)
    inside = place.container_pid()
    kill(server.record.supervisor.pid, server.pid)
    place.fall_silent()
    with pytest.raises(StopError, match=f"container {server.record.container} may still run"):
        stop(server.record, place.root)
    assert [record.state for record in servers(place.root)] == ["orphaned"]
    assert state_file(place.root, server.id).exists()
    place.fall_silent(silent=False)
    assert not servers(place.root)
    assert not living({inside})
