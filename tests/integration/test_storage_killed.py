"""A program that is killed while it records loses at most its last second, and the file is whole."""

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from specchat.core.reply import Outcome
from specchat.storage.errors import SessionNotFound
from specchat.storage.store import Store

TESTS = Path(__file__).parents[1]
MOST_LOST_SECONDS = 1.0


@dataclass
class Killed:
    """What a program had told its recorder when it was killed."""

    session: str
    at: float
    """Seconds since 1970."""
    told: list[tuple[int, int, float]]
    """Turn, event and time of each event."""
    errors: str


def record_and_kill(path: Path, programs: int, dice: random.Random) -> list[Killed]:
    """Start programs that record into one file at once, and kill each at some moment."""
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent}"}
    running = [
        subprocess.Popen(
            [sys.executable, str(TESTS / "recording_program.py"), str(path)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            bufsize=0,  # what a buffer had read ahead of the first line would be lost to `communicate`
            env=environment,
        )
        for _ in range(programs)
    ]
    firsts = [program.stdout.readline() for program in running if program.stdout]
    assert all(firsts), [program.communicate()[1] for program in running]
    moments = sorted((time.time() + dice.uniform(0.05, 2.5), place) for place in range(programs))
    killed = []
    for moment, place in moments:
        time.sleep(max(0.0, moment - time.time()))
        running[place].send_signal(signal.SIGKILL)
        at = time.time()
        out, errors = running[place].communicate()
        lines = (firsts[place] + out).decode().splitlines()
        told = [(int(turn), int(event), float(moment)) for _, turn, event, moment in map(str.split, lines)]
        killed.append(Killed(lines[0].split()[0], at, told, errors.decode()))
    return killed


def lost_seconds(store: Store, one: Killed) -> float:
    """How much of what a program told is not in the store; what is there has to be what was told, without a gap."""
    try:
        stored = store.load(one.session)
    except SessionNotFound:
        return one.at - one.told[0][2]
    assert stored.line.live_in is None
    assert stored.notices == ()
    turns = stored.conversation.turns
    assert all(turn.reply.outcome is Outcome.FINISHED for turn in turns[:-1] if turn.reply.finish_reason)
    assert not any(turn.reply.is_running for turn in turns)
    kept = [(place, int(word)) for place, turn in enumerate(turns) for word in turn.reply.text.split()]
    told = [(turn, event) for turn, event, _ in one.told]
    # The last event may have been told and killed before it was printed.
    assert kept[: len(told)] == told[: len(kept)]
    assert len(kept) <= len(told) + 1
    missing = [moment for _, _, moment in one.told[len(kept) :]]
    return one.at - missing[0] if missing else 0.0


def check(folder: Path, rounds: int, programs: int) -> None:
    dice = random.Random(folder.name)
    path = folder / "sessions.db"
    losses: list[float] = []
    killed: list[Killed] = []
    for _ in range(rounds):
        killed += record_and_kill(path, programs, dice)
        opened = Store.open(path)
        assert opened.notices == ()
        losses += [lost_seconds(opened.store, one) for one in killed[-programs:]]
        opened.store.close()
    assert [one.errors for one in killed if one.errors] == []
    opened = Store.open(path)
    assert {line.id for line in opened.store.sessions()} >= {one.session for one in killed if len(one.told) > 100}
    # And everything is as it was at the first look.
    assert [lost_seconds(opened.store, one) for one in killed] == losses
    found = {hit.session for hit in opened.store.search("prompt 0", limit=9999)}
    assert found == {line.id for line in opened.store.sessions()}
    opened.store.close()
    print(f"{len(losses)} killed, at most {max(losses):.3f} s lost, {sum(losses) / len(losses):.3f} s on average")
    assert max(losses) <= MOST_LOST_SECONDS


def test_six_killed_programs_lose_at_most_their_last_second(tmp_path: Path) -> None:
    check(tmp_path, rounds=2, programs=3)


@pytest.mark.long
def test_fifty_killed_programs_lose_at_most_their_last_second(tmp_path: Path) -> None:
    check(tmp_path, rounds=10, programs=5)
