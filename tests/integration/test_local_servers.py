"""What the screens see of the launcher: real starts, logs and ends, of a fake server in processes of its own."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from launched import PROFILE, FakePlace, fake_place, left_of, pids_of
from specchat.backends.local_servers import LauncherGpus, LauncherServers
from specchat.backends.log_reading import read_log
from specchat.core.errors import ConfigurationError, SpecchatError
from specchat.session.local_servers import READY, STARTING, AlreadyRuns, LaunchFailed, LaunchView
from specchat_launcher.registry import servers


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FakePlace]:
    with fake_place(tmp_path) as made:
        yield made


def local_of(place: FakePlace) -> LauncherServers:
    return LauncherServers(place.root, place.profiles, ports=())


async def last_of(views: AsyncGenerator[LaunchView, None]) -> LaunchView:
    async with aclosing(views):
        seen = [view async for view in views]
    return seen[-1]


async def until_id(views: AsyncGenerator[LaunchView, None]) -> LaunchView:
    """The first view of a server that has been put into the world."""
    async for view in views:
        if view.id:
            return view
    raise AssertionError("it ended without one")


async def test_profiles_are_told_with_the_demo_and_those_of_the_user(place: FakePlace) -> None:
    (place.profiles / "wrong.toml").write_text('title = "x"\nmodle = "y"\n', encoding="utf-8")
    lines = {line.name: line for line in await local_of(place).profiles()}

    assert [line.name for line in lines.values() if line.is_demo] == ["cpu-smollm2"]
    assert lines[PROFILE].can_launch
    assert lines["mi355x-minimax-m3"].needs == "8 \N{MULTIPLICATION SIGN} gfx950"
    assert lines["mi355x-minimax-m3-pair"].needs == lines["mi355x-minimax-m3"].needs
    assert not lines["docker-model-runner"].can_launch
    assert lines["docker-model-runner"].why_not
    assert not lines["wrong"].can_launch
    assert "modle" in lines["wrong"].why_not


async def test_what_makes_no_sense_is_the_users_to_know_about(place: FakePlace) -> None:
    local = local_of(place)

    with pytest.raises(ConfigurationError, match="no-such"):
        await local.check("no-such", ())
    with pytest.raises(ConfigurationError, match="prot"):
        await local.command(PROFILE, ("prot=1",))
    with pytest.raises(SpecchatError, match="ended"):
        await local.stop("nobody-1")


async def test_the_command_of_a_pair_is_both_commands(place: FakePlace) -> None:
    text = await local_of(place).command("mi355x-minimax-m3-pair", ())

    assert text.count("--tensor-parallel-size 4") == 2
    assert text.count("--speculative-config") == 1


async def test_a_launched_server_outlives_the_program_and_is_stopped_by_its_id(place: FakePlace) -> None:
    local = local_of(place)
    view = await last_of(local.launch(PROFILE, ("port=18411",), owned=False))
    await local.close()
    (line,) = await local.servers()
    part = await local.log(line.id, 0)

    assert view.url == line.url == "http://127.0.0.1:18411"
    assert all(phase.done for phase in view.phases)
    assert (line.state, line.started_here, line.profile) == (READY, True, PROFILE)
    assert part.lines
    assert (await local.log(line.id, part.next)).lines == ()
    with pytest.raises(AlreadyRuns) as runs:
        await last_of(local.launch(PROFILE, ("port=18411",), owned=False))
    assert runs.value.server.id == line.id

    pids = pids_of(servers(place.root)[0])
    await local.stop(line.id)
    assert not left_of(pids)
    assert await local.servers() == []


async def test_a_server_of_the_program_ends_with_it(place: FakePlace) -> None:
    local = local_of(place)
    await last_of(local.launch(PROFILE, (), owned=True))
    (line,) = await local.servers()
    pids = pids_of(servers(place.root)[0])
    assert line.owner == "this chat"
    await local.close()

    assert not left_of(pids)


@pytest.mark.parametrize("owned", [True, False])
async def test_a_start_that_is_watched_no_longer_ends_only_where_it_is_the_programs_own(
    place: FakePlace, owned: bool
) -> None:
    place.write_profile(environment={"FAKE_STAY": "weights"})
    local = local_of(place)
    async with aclosing(local.launch(PROFILE, (), owned=owned)) as views:
        await until_id(views)
    await asyncio.sleep(0)

    assert bool(await local.servers()) is not owned
    if not owned:
        (line,) = await local.servers()
        assert line.state == STARTING
        async with aclosing(local.follow(line.id)) as views:
            assert (await until_id(views)).id == line.id
        await local.stop(line.id)
        assert await local.servers() == []


async def test_a_start_that_fails_says_why_and_its_log_can_still_be_read(place: FakePlace) -> None:
    place.write_profile(environment={"FAKE_MODE": "dies"})
    local = local_of(place)
    with pytest.raises(LaunchFailed) as failed:
        await last_of(local.launch(PROFILE, (), owned=True))

    assert failed.value.finding.title
    assert failed.value.log is not None
    assert failed.value.last_lines
    assert await local.servers() == []


async def test_acceptance_says_nothing_of_servers_that_are_not_known(place: FakePlace) -> None:
    assert await local_of(place).acceptance_finding("http://127.0.0.1:1", 1.0, 1000) is None


async def test_a_machine_without_gpus_tells_none() -> None:
    assert await LauncherGpus(lambda: None).read() is None


def test_a_log_is_read_by_whole_lines_and_anew_after_it_was_rotated(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_bytes(b"one\n 10%\r 90%\r100%\r\ntwo\xff\nhal")
    first = read_log(log, 0)
    assert first.lines == ("one", "100%", "two\N{REPLACEMENT CHARACTER}")

    with log.open("ab") as file:
        file.write(b"f\n")
    second = read_log(log, first.next)
    assert (second.lines, second.restarted) == (("half",), False)

    log.write_bytes(b"anew\n")
    third = read_log(log, second.next)
    assert (third.lines, third.restarted) == (("anew",), True)
    log.unlink()
    with pytest.raises(ConfigurationError, match="cannot be read"):
        read_log(log, 0)


def test_of_a_long_log_the_end_is_read(tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text("".join(f"line {number}\n" for number in range(600_000)))
    part = read_log(log, 0)

    assert part.lines[-1] == "line 599999"
    assert part.next == log.stat().st_size
    assert len(part.lines) < 600_000
