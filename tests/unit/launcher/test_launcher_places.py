"""Directories, ports, locks, logs and machines."""

import os
import random
import socket
import stat
import threading
from pathlib import Path

import pytest

from specchat_launcher.errors import LauncherError, PortError, UnsupportedPlatformError
from specchat_launcher.lock import holder, is_locked, locked
from specchat_launcher.logs import KEPT_LOGS, last_lines, new_log
from specchat_launcher.paths import data_directory, ensure
from specchat_launcher.platform_check import Machine, find_engine_python, require_supported
from specchat_launcher.ports import FREE_RANGE, free_port, is_free, listener_inodes, require_free, socket_inodes
from specchat_launcher.shared_memory import sweep_openmp

GOOD = Machine("Linux", "x86_64", frozenset({"avx2"}), (2, 36))


def never(_pid: int | None) -> None:
    raise AssertionError("the lock was taken")


def test_the_data_directory_is_the_user_s_choice_before_the_system_s() -> None:
    home = Path("/home/u")
    assert data_directory({"SPECCHAT_DATA_DIR": "/big", "XDG_DATA_HOME": "/x"}, home) == Path("/big")
    assert data_directory({"XDG_DATA_HOME": "/x"}, home) == Path("/x/specchat")
    assert data_directory({"XDG_DATA_HOME": "relative"}, home) == Path("/home/u/.local/share/specchat")
    assert data_directory({}, home) == Path("/home/u/.local/share/specchat")


def test_a_directory_that_cannot_be_made_is_an_error_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(LauncherError, match="SPECCHAT_DATA_DIR"):
        ensure(tmp_path / "file" / "below")


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (Machine("Darwin", "arm64", frozenset(), None), "runs on Linux only, and this is Darwin"),
        (Machine("Windows", "AMD64", frozenset(), None), "runs on Linux only, and this is Windows"),
        (Machine("Linux", "aarch64", frozenset(), (2, 36)), "needs an x86_64 processor"),
        (Machine("Linux", "x86_64", frozenset({"sse4_2"}), (2, 36)), "AVX2"),
        (Machine("Linux", "x86_64", frozenset({"avx2"}), None), "GNU C library"),
        (Machine("Linux", "x86_64", frozenset({"avx2"}), (2, 17)), "GNU C library"),
    ],
)
def test_a_machine_that_cannot_run_the_engine_is_told_why_and_what_else(machine: Machine, said: str) -> None:
    with pytest.raises(UnsupportedPlatformError, match=said) as caught:
        require_supported(machine)
    assert "specchat --url URL" in caught.value.hint


def test_a_machine_that_can_is_not_stopped() -> None:
    require_supported(GOOD)
    require_supported(Machine("Linux", "x86_64", frozenset(), (2, 28)))


def test_another_python_is_used_only_when_it_really_is_one(tmp_path: Path) -> None:
    shim = tmp_path / "python3.11"
    shim.write_text("#!/bin/sh\nexit 127\n", encoding="utf-8")
    right = tmp_path / "real"
    right.write_text("#!/bin/sh\necho cpython 3 11\n", encoding="utf-8")
    for file in (shim, right):
        file.chmod(file.stat().st_mode | stat.S_IXUSR)
    assert find_engine_python((3, 13), "cpython", [shim, tmp_path / "missing", right]) == right
    with pytest.raises(UnsupportedPlatformError, match=r"needs CPython 3\.11, and specchat runs on 3\.13"):
        find_engine_python((3, 13), "cpython", [shim])


def test_a_port_in_use_is_refused_and_its_socket_is_ours() -> None:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        port = server.getsockname()[1]
        assert not is_free(port)
        with pytest.raises(PortError, match=f"Port {port} on 127.0.0.1 is taken"):
            require_free(port)
        assert listener_inodes(port) <= socket_inodes([os.getpid()])
    assert not listener_inodes(port)


def test_a_port_taken_on_every_address_counts_as_taken() -> None:
    with socket.socket() as server:
        server.bind(("0.0.0.0", 0))  # noqa: S104 - the point of the test
        server.listen()
        assert not is_free(server.getsockname()[1])


def test_a_free_port_lies_below_those_of_outgoing_connections() -> None:
    assert free_port(random.Random(1)) in FREE_RANGE


@pytest.mark.parametrize("port", [0, -1, 65_536])
def test_a_number_that_is_no_port_is_refused(port: int) -> None:
    with pytest.raises(PortError, match="no port number"):
        require_free(port)


def test_a_second_holder_waits_and_learns_of_the_first(tmp_path: Path) -> None:
    path = tmp_path / "locks" / "one.lock"
    waited = threading.Event()
    told: list[int | None] = []

    def wait(pid: int | None) -> None:
        told.append(pid)
        waited.set()

    def second() -> None:
        with locked(path, shared=False, on_wait=wait):
            pass

    thread = threading.Thread(target=second)
    with locked(path, shared=False, on_wait=never):
        assert is_locked(path)
        thread.start()
        assert waited.wait(5)
    thread.join()
    assert set(told) == {os.getpid()}
    assert holder(path) == os.getpid()
    assert not is_locked(path)


def test_giving_up_the_wait_passes_the_exception_on(tmp_path: Path) -> None:
    def give_up(_pid: int | None) -> None:
        raise KeyboardInterrupt

    with locked(tmp_path / "lock", shared=True, on_wait=never):
        with locked(tmp_path / "lock", shared=True, on_wait=never):
            pass
        with pytest.raises(KeyboardInterrupt), locked(tmp_path / "lock", shared=False, on_wait=give_up):
            pass


def test_only_the_newest_logs_of_a_kind_stay(tmp_path: Path) -> None:
    other = new_log(tmp_path, "install-0.32.0", 0.0)
    logs = []
    for index in range(KEPT_LOGS + 5):
        log = new_log(tmp_path, "server-0.32.0", 1e9 + index)
        os.utime(log, (index, index))
        logs.append(log)
    assert [log.exists() for log in logs] == [False] * 5 + [True] * KEPT_LOGS
    assert other.exists()


def test_the_last_lines_leave_out_what_a_progress_bar_drew_over(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("one\n10%\r50%\r100%\n\ntwo\n", encoding="utf-8")
    assert last_lines(log, 2) == ["100%", "two"]
    assert last_lines(tmp_path / "missing", 2) == []


def test_marks_of_dead_processes_leave_shared_memory_and_others_stay(tmp_path: Path) -> None:
    names = ["__KMP_REGISTERED_LIB_7_1000", "__KMP_REGISTERED_LIB_8_1000", "__KMP_REGISTERED_LIB_7_2", "psm_7"]
    for name in names:
        (tmp_path / name).touch()
    (tmp_path / "proc" / "8").mkdir(parents=True)
    sweep_openmp(tmp_path, 1000, tmp_path / "proc")
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == sorted(names[1:])
