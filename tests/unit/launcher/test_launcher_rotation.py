"""A log begins anew while a server writes it, and its readers lose nothing."""

import os
import stat
import sys
import tempfile
import time
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from specchat_launcher.log_rotation import KEPT, rotate
from specchat_launcher.logs import LogFollower, earlier_parts, new_log
from specchat_launcher.process import Command, Life, SupervisedProcess

WRITER = """
import sys, time
for number in range(1200):
    print(f"line {number}", flush=True)
    time.sleep(0.005)
"""


FILLER = "x" * 5_000


def append(log: Path, text: str) -> None:
    with log.open("a", encoding="utf-8", newline="") as file:
        file.write(text)


STEPS = st.one_of(st.text(st.characters(codec="utf-8"), max_size=20), st.just(None), st.booleans())


@given(st.lists(STEPS, max_size=30))
def test_a_follower_reads_everything_however_writing_reading_and_new_beginnings_alternate(
    steps: list[str | bool | None],
) -> None:
    looked = True
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log"
        log.touch()
        follower = LogFollower(log)
        written = read = ""
        for step in steps:
            if isinstance(step, str):
                append(log, step)
                written += step
            elif step is None and looked:
                # Longer than all that is written between two looks, as a log is that begins anew.
                append(log, FILLER)
                written += FILLER
                rotate(log, 0)
                looked = False
            elif step is not None:
                read += follower.read()
                looked = True
        assert read + follower.read() == written


def test_one_who_comes_late_reads_what_is_kept_from_its_beginning(tmp_path: Path) -> None:
    log = tmp_path / "log"
    for number in range(KEPT + 2):
        append(log, f"part {number}\n")
        if number < KEPT + 1:
            rotate(log, 0)
    assert LogFollower(log).read() == "part 2\npart 3\npart 4\n"
    assert len(earlier_parts(log)) == KEPT - 1


def test_a_character_that_a_read_cuts_in_two_is_whole(tmp_path: Path) -> None:
    log = tmp_path / "log"
    follower = LogFollower(log)
    log.write_bytes("é".encode()[:1])
    assert not follower.read()
    with log.open("ab") as file:
        file.write("é".encode()[1:])
    assert follower.read() == "é"


def test_a_log_below_its_size_stays_as_it_is(tmp_path: Path) -> None:
    log = tmp_path / "log"
    append(log, "text")
    assert not rotate(log, 4)
    assert log.read_text(encoding="utf-8") == "text"


def test_the_supervisor_begins_the_log_of_a_running_server_anew(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.touch()
    command = Command((sys.executable, "-c", WRITER), {}, tmp_path, log)
    life = Life(tmp_path / "state.json", {}, log_bytes=5_000)
    follower, read = LogFollower(log), ""
    with SupervisedProcess(command, life=life) as process:
        while process.poll() is None:
            read += follower.read()
            time.sleep(0.1)
    read += follower.read()
    lines = [line for line in read.splitlines() if line.startswith("line ")]
    assert lines == [f"line {number}" for number in range(1200)]
    assert earlier_parts(log)
    assert all(stat.S_IMODE(part.stat().st_mode) == 0o600 for part in earlier_parts(log))


def test_an_old_log_is_removed_with_its_parts(tmp_path: Path) -> None:
    first = new_log(tmp_path, "server", 0)
    append(first, "text")
    rotate(first, 0)
    os.utime(first, (0, 0))
    for number in range(10):
        new_log(tmp_path, "server", 100.0 + number)
    assert not first.exists()
    assert not earlier_parts(first)
    assert not list(tmp_path.glob("*.log.*"))
