"""A launched server goes on without whoever launched it, an owned one does not, and neither leaves anything behind."""

import json
import signal
import stat
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from launched import PROFILE, FakePlace, Terminal, engine_of, fake_place, kill, left_of, living, pids_of, wait_until
from specchat_launcher.launching import AlreadyRunning, attach, launch_profile
from specchat_launcher.profiles import load_profile
from specchat_launcher.registry import Owner, ProcessId, members, record_from, servers, state_file
from specchat_launcher.running import RunningServer
from specchat_launcher.startup import StartPhase, StartState
from specchat_launcher.stopping import clear, stop
from specchat_launcher.supervisor import process_table
from specchat_launcher.waiting import StartFailed, StartStopped

STARTING_WORDS, WEIGHT_WORDS = "non-default args", "Starting to load model"
PHASES = {"arguments": STARTING_WORDS, "weights": WEIGHT_WORDS, "": "Application startup complete"}


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FakePlace]:
    with fake_place(tmp_path) as made:
        yield made


def silent(_: object) -> None:
    pass


def launch(place: FakePlace, owner: Owner = Owner.ITSELF, **more: object) -> RunningServer:
    """The fake server, ready."""
    profile = load_profile(PROFILE, user_folder=place.profiles)
    options = {"report": silent, "preparing": silent, "environ": place.environ()} | more
    return launch_profile(profile, place.root, owner=owner, **options)  # type: ignore[arg-type]


def is_whole(place: FakePlace, url: str) -> bool:
    """Does the server answer still?"""
    with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:  # noqa: S310 - our own server
        return bool(answer.status == 200 and servers(place.root))


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_a_launched_server_survives_its_command_and_is_attached_to_again(
    place: FakePlace, number: signal.Signals
) -> None:
    command = place.start("serve", PROFILE)
    record = place.record(state="ready")
    command.send_signal(number)
    said, _ = command.communicate(timeout=20)
    assert is_whole(place, record.url)
    if number is not signal.SIGKILL:
        assert f"specchat stop {record.id}" in said
    seen: list[StartState] = []
    again = attach(servers(place.root)[0], place.root, seen.append)
    assert again.pid == record.leader.pid  # type: ignore[union-attr]
    assert seen[-1].phase is StartPhase.READY
    assert any("non-default args" in line for line in seen[-1].last_lines)
    pids = pids_of(record)
    again.stop()
    assert not left_of(pids, 0.5)
    assert not servers(place.root)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("stay", ["weights", ""])
def test_a_launched_server_goes_on_when_its_command_ends_in_the_middle_of_the_start(
    place: FakePlace, number: signal.Signals, stay: str
) -> None:
    place.write_profile(environment={"FAKE_STAY": stay})
    command = place.start(PROFILE)
    record = place.in_log(WEIGHT_WORDS)
    command.send_signal(number)
    command.communicate(timeout=20)
    assert record.leader is not None
    assert living({record.leader.pid, record.supervisor.pid, engine_of(record)})
    if not stay:
        place.record(state="ready")


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
@pytest.mark.parametrize("stay", PHASES)
def test_an_owned_server_ends_with_its_command_in_every_phase(
    place: FakePlace, number: signal.Signals, stay: str
) -> None:
    place.write_profile(environment={"FAKE_STAY": stay})
    command = place.start("serve", PROFILE, "--owned")
    pids = pids_of(place.in_log(PHASES[stay]))
    command.send_signal(number)
    command.communicate(timeout=30)
    assert not left_of(pids)
    assert not list((place.root / "servers").iterdir())


@pytest.mark.parametrize("stay", PHASES)
def test_ctrl_c_stops_a_launched_server_in_every_phase(place: FakePlace, stay: str) -> None:
    place.write_profile(environment={"FAKE_STAY": stay})
    command = place.start("serve", PROFILE)
    pids = pids_of(place.in_log(PHASES[stay]))
    command.send_signal(signal.SIGINT)
    said, _ = command.communicate(timeout=30)
    assert said.endswith("Stopped.\n")
    assert command.returncode == 0
    assert not left_of(pids, 0.5)


def test_a_terminal_that_hangs_up_takes_the_command_and_leaves_the_server(place: FakePlace) -> None:
    terminal = Terminal(place.argv("serve", PROFILE), place.environ())
    record = place.in_log(WEIGHT_WORDS)
    terminal.hang_up()
    assert is_whole(place, place.record(state="ready").url)
    assert pids_of(record)


@pytest.mark.parametrize("stay", PHASES)
def test_stopping_ends_everything_in_every_phase(place: FakePlace, stay: str) -> None:
    place.write_profile(environment={"FAKE_STAY": stay})
    command = place.start("serve", PROFILE, "--json")
    record = place.in_log(PHASES[stay])
    pids = pids_of(record)
    began = time.monotonic()
    stop(record, place.root)
    assert time.monotonic() - began < 15
    assert not living(pids)
    said, _ = command.communicate(timeout=20)
    last = [json.loads(line)["event"] for line in said.splitlines() if line.startswith("{")][-1]
    # It may be stopped in the moment before its command has seen it ready.
    assert (last, command.returncode) in {("stopped", 0), ("failed", 1)}
    assert last == "stopped" or "The start was stopped." in said


def test_stopping_does_not_wait_for_a_reply_to_end(place: FakePlace) -> None:
    server = launch(place)
    asked = urllib.request.Request(f"{server.url}/v1/chat/completions", b"{}")  # noqa: S310 - our own server
    with urllib.request.urlopen(asked, timeout=10) as reply:  # noqa: S310 - our own server
        assert reply.readline().startswith(b"data")
        pids = pids_of(server.record)
        place.run("stop", server.id)
        assert not living(pids)


def test_a_killed_supervisor_leaves_nothing(place: FakePlace) -> None:
    server = launch(place)
    pids = pids_of(server.record)
    kill(server.record.supervisor.pid)
    assert not left_of(pids)
    assert not server.is_running()
    assert not servers(place.root)


def test_what_a_killed_supervisor_and_front_end_left_is_cleared_by_the_next_look(place: FakePlace) -> None:
    record = launch(place).record
    engine = engine_of(record)
    assert record.leader is not None
    kill(record.supervisor.pid, record.leader.pid)
    assert not left_of({record.leader.pid, record.supervisor.pid}, 5)
    assert living({engine})
    assert not servers(place.root)
    assert not living({engine})
    assert not state_file(place.root, record.id).exists()
    assert not Path(record.scratch).exists()


def test_the_temporary_files_of_a_server_end_with_it(place: FakePlace) -> None:
    server = launch(place)
    scratch = Path(server.record.scratch)
    environment = Path(f"/proc/{server.pid}/environ").read_bytes().split(b"\0")
    assert f"TMPDIR={scratch}".encode() in environment
    (scratch / "left-behind").touch()
    server.stop()
    assert not scratch.exists()


def test_no_other_folder_is_taken_for_one_of_temporary_files(place: FakePlace, tmp_path: Path) -> None:
    record = launch(place).record
    kill(record.supervisor.pid)
    assert not left_of(pids_of(record))
    clear(replace(record, scratch=str(tmp_path)), place.root)
    assert tmp_path.is_dir()


def test_what_was_left_is_cleared_before_the_profile_is_launched_again(place: FakePlace) -> None:
    record = launch(place).record
    engine = engine_of(record)
    kill(record.supervisor.pid, record.leader.pid)  # type: ignore[union-attr]
    again = launch(place)
    assert not living({engine})
    assert again.is_running()


def test_a_killed_front_end_takes_the_engine_along(place: FakePlace) -> None:
    server = launch(place)
    pids = pids_of(server.record)
    kill(server.pid)
    assert not left_of(pids)
    assert not list((place.root / "servers").iterdir())
    ending = server.ending()
    assert ending is not None
    assert ending.title


def test_processes_that_left_the_session_are_found_by_their_mark(place: FakePlace) -> None:
    record = launch(place).record
    mark = {"SPECCHAT_SERVER_MARK": record.mark}
    stray = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env=mark, start_new_session=True)
    kill(record.supervisor.pid, record.leader.pid)  # type: ignore[union-attr]
    assert not servers(place.root)
    assert stray.wait(timeout=5) == -signal.SIGTERM


def test_a_process_that_merely_has_the_number_is_never_touched(place: FakePlace) -> None:
    record = launch(place).record
    stop(record, place.root)
    other = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
    later = ProcessId(other.pid, process_table()[other.pid].started - 1)
    stop(replace(record, supervisor=later, leader=later, mark=""), place.root)
    assert other.poll() is None
    other.kill()
    other.wait()


def test_a_state_file_of_another_boot_is_removed_and_its_numbers_mean_nothing(place: FakePlace) -> None:
    record = launch(place).record
    path = state_file(place.root, record.id)
    kept = path.read_text(encoding="utf-8")
    path.write_text(json.dumps(json.loads(kept) | {"boot": "another"}), encoding="utf-8")
    assert not servers(place.root)
    assert not path.exists()
    assert living({record.supervisor.pid})
    path.write_text(kept, encoding="utf-8")


def test_a_state_file_of_another_machine_with_the_same_home_is_left_alone(place: FakePlace) -> None:
    path = state_file(place.root, "far-1")
    path.parent.mkdir()
    path.write_text(json.dumps({"boot": "another", "machine": "another"}), encoding="utf-8")
    assert not servers(place.root)
    assert path.exists()


def test_a_state_file_is_for_its_user_alone_and_holds_no_key(place: FakePlace) -> None:
    environ = place.environ() | {"VLLM_API_KEY": "hunter2"}
    record = launch(place, environ=environ, host="0.0.0.0").record  # noqa: S104 - that is what needs a key
    path = state_file(place.root, record.id)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert record.key_needed
    texts = [path.read_text(encoding="utf-8"), record.log.read_text(encoding="utf-8")]
    texts += [Path(f"/proc/{pid}/cmdline").read_text(encoding="utf-8") for pid in pids_of(record)]
    assert not any("hunter2" in text for text in texts)


def test_two_launches_at_once_start_one_server(place: FakePlace) -> None:
    outcomes: list[object] = []

    def start() -> None:
        try:
            outcomes.append(launch(place))
        except AlreadyRunning as refusal:
            outcomes.append(refusal)

    threads = [threading.Thread(target=start) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    started = [outcome for outcome in outcomes if isinstance(outcome, RunningServer)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, AlreadyRunning)]
    assert (len(started), len(refused)) == (1, 2)
    assert {refusal.record.id for refusal in refused} == {started[0].id}
    assert len(servers(place.root)) == 1


def test_a_second_server_of_a_profile_has_a_port_of_its_own(place: FakePlace) -> None:
    first = launch(place)
    port = first.port + 1 if first.port < 31_000 else first.port - 1
    second = launch(place, port=port)
    assert {record.port for record in servers(place.root)} == {first.port, second.port}
    with pytest.raises(AlreadyRunning, match=second.id):
        launch(place, port=port)


def test_giving_a_launch_up_stops_it(place: FakePlace) -> None:
    place.write_profile(environment={"FAKE_STAY": "weights"})
    seen: list[StartState] = []
    with pytest.raises(StartStopped):
        launch(place, report=seen.append, stop_asked=lambda: any(s.phase is StartPhase.LOADING for s in seen))
    assert not servers(place.root)


def test_giving_up_to_follow_a_start_leaves_it(place: FakePlace) -> None:
    place.write_profile(environment={"FAKE_STAY": "weights"})
    command = place.start(PROFILE)
    record = place.in_log(WEIGHT_WORDS)
    seen: list[StartState] = []
    with pytest.raises(StartStopped):
        attach(record, place.root, seen.append, stop_asked=lambda: len(seen) > 1)
    assert seen[-1].phase is StartPhase.LOADING
    assert record.leader is not None
    assert living({record.leader.pid})
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=30)


def test_a_start_that_fails_gives_the_cause_and_leaves_nothing(place: FakePlace) -> None:
    place.write_profile(environment={"FAKE_MODE": "dies"})
    with pytest.raises(StartFailed) as caught:
        launch(place)
    assert "No memory for the KV cache" in str(caught.value) + " ".join(caught.value.diagnosis.lines)
    assert str(caught.value.log) in caught.value.hint
    assert not servers(place.root)


def test_a_server_that_asks_for_a_key_is_ready_with_it_and_without(place: FakePlace) -> None:
    server = launch(place, environ=place.environ() | {"VLLM_API_KEY": "k"})
    assert attach(server.record, place.root, silent, environ={}).url == server.url
    assert attach(server.record, place.root, silent, environ={"VLLM_API_KEY": "k"}).url == server.url


@pytest.mark.parametrize("owner", list(Owner))
def test_leaving_a_server_s_context_stops_what_belongs_to_the_app_and_only_that(place: FakePlace, owner: Owner) -> None:
    with launch(place, owner) as server:
        assert servers(place.root)[0].owner is owner
        pids = pids_of(server.record)
    assert bool(living(pids)) is (owner is Owner.ITSELF)


def test_ten_starts_and_stops_leave_nothing(place: FakePlace) -> None:
    for _ in range(10):
        server = launch(place)
        pids = pids_of(server.record)
        server.stop()
        assert not living(pids)
    assert not list((place.root / "servers").iterdir())
    assert len(list((place.root / "logs").iterdir())) == 10


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)
FIELDS = ["id", "profile", "url", "host", "port", "model", "version", "server", "owner", "supervisor", "leader", "log",
          "started_at", "container", "container_tool", "state", "key_needed", "mark", "scratch",
          "container_stop"]  # fmt: skip


@given(st.dictionaries(st.sampled_from(FIELDS), JSON))
def test_no_content_of_a_state_file_is_more_than_no_record(content: dict[str, object]) -> None:
    record_from(content)


def test_a_session_number_that_was_given_away_counts_for_nothing(place: FakePlace) -> None:
    record = launch(place).record
    assert record.leader is not None
    stranger = replace(
        record,
        supervisor=ProcessId(record.supervisor.pid, 1),
        leader=ProcessId(record.leader.pid, record.leader.start_ticks - 1),
        mark="",
    )
    assert not members(stranger)
    clear(stranger, place.root)
    assert living({record.leader.pid})
    assert state_file(place.root, record.id).exists()


def test_a_server_is_listed_as_starting_until_it_answers(place: FakePlace) -> None:
    place.write_profile(environment={"FAKE_STAY": "weights"})
    command = place.start(PROFILE)
    place.in_log(WEIGHT_WORDS)
    assert [record.state for record in servers(place.root)] == ["starting"]
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=30)
    wait_until(lambda: not servers(place.root), 15)


def write_pair(place: FakePlace, **second: str) -> None:
    """A profile of two servers, the second with variables of its own."""
    place.write_profile("first")
    place.write_profile("second", environment=second)
    pair = ['title = "Two"', 'summary = "For tests."', 'members = ["first", "second"]']
    (place.profiles / "both.toml").write_text("\n".join(pair) + "\n", encoding="utf-8")


def test_a_pair_is_started_side_by_side_and_stopped_together(place: FakePlace) -> None:
    write_pair(place)
    command = place.start("both", "--json")
    assert command.stdout is not None
    ready = 0
    while ready < 2:
        ready += json.loads(command.stdout.readline())["event"] == "ready"
    pids = {pid for record in servers(place.root) for pid in pids_of(record)}
    command.send_signal(signal.SIGINT)
    said, _ = command.communicate(timeout=30)
    assert [json.loads(line)["event"] for line in said.splitlines()] == ["stopping", "stopped"]
    assert not left_of(pids, 0.5)


def test_of_a_pair_none_stays_where_one_fails(place: FakePlace) -> None:
    write_pair(place, FAKE_MODE="dies")
    failed = place.run("both")
    assert failed.returncode == 1
    assert "No memory for the KV cache" in failed.stderr
    assert not servers(place.root)
