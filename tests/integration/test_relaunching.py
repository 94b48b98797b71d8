"""A fake server launched anew with other speculation, in processes of its own; and what forms a pair."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import aclosing
from pathlib import Path

import pytest

from launched import PROFILE, FakePlace, fake_place, left_of, pids_of
from specchat.backends.local_servers import LauncherServers
from specchat.core.errors import ConfigurationError
from specchat.session.local_servers import LaunchFailed, LaunchView
from specchat_launcher.registry import Owner, ServerRecord, servers

PORT = 18431


@pytest.fixture
def place(tmp_path: Path) -> Iterator[FakePlace]:
    with fake_place(tmp_path) as made:
        made.write_profile(speculates=True)
        yield made


def local_of(place: FakePlace) -> LauncherServers:
    return LauncherServers(place.root, place.profiles, ports=())


async def last_of(views: AsyncGenerator[LaunchView, None]) -> LaunchView:
    return [view async for view in views][-1]


def record_of(place: FakePlace) -> ServerRecord:
    (record,) = servers(place.root)
    return record


def command_of(record: ServerRecord) -> list[str]:
    assert record.leader is not None
    return Path(f"/proc/{record.leader.pid}/cmdline").read_text(encoding="utf-8").split("\0")


@pytest.mark.parametrize("owned", [True, False])
async def test_a_server_is_launched_anew_at_its_address_and_brought_back(place: FakePlace, owned: bool) -> None:
    local = local_of(place)
    try:
        changes = (f"port={PORT}", "arguments.max-model-len=77")
        first = await last_of(local.launch(PROFILE, changes, owned=owned))
        before = record_of(place)
        known = await local.launched(first.url.replace("127.0.0.1", "localhost") + "/")
        assert known is not None
        assert (known.id, known.tokens, known.why_not, known.owned, known.runs) == (before.id, None, "", owned, True)
        assert known.start_seconds is not None
        command = command_of(before)
        assert "--speculative-config" in command
        gone = pids_of(before)

        views = [view async for view in local.relaunch(known.id, 0)]
        after = record_of(place)
        assert not left_of(gone)
        assert views[0].phase == "stopping"
        assert views[-1].url == first.url
        assert (after.id, after.port, after.owner, after.speculation) == (before.id, PORT, before.owner, "")
        assert "--speculative-config" not in command_of(after)
        assert "77" in command_of(after)
        again = await local.launched(first.url)
        assert again is not None
        assert again.tokens == 0

        await last_of(local.relaunch(known.id, None))
        back = record_of(place)
        assert command_of(back) == command
        assert back.origin == before.origin
        await last_of(local.relaunch(known.id, 1))
        assert record_of(place).speculation == "eagle3 k=1"
    finally:
        await local.close()
    assert bool(servers(place.root)) is not owned


async def test_after_a_launch_anew_that_failed_the_server_can_be_started_as_it_was(place: FakePlace) -> None:
    local = local_of(place)
    view = await last_of(local.launch(PROFILE, (f"port={PORT}",), owned=False))
    place.write_profile(speculates=True, environment={"FAKE_MODE": "dies"})
    with pytest.raises(LaunchFailed):
        await last_of(local.relaunch(view.id, 0))
    assert servers(place.root) == ()
    known = await local.launched(view.url)
    assert known is not None
    assert (known.id, known.runs, known.tokens, known.why_not) == (view.id, False, None, "")

    place.write_profile(speculates=True)
    again = await last_of(local.relaunch(known.id, known.tokens))
    assert again.url == view.url
    known = await local.launched(view.url)
    assert known is not None
    assert known.runs


async def test_a_profile_that_makes_no_sense_any_more_leaves_the_server_alone(place: FakePlace) -> None:
    local = local_of(place)
    view = await last_of(local.launch(PROFILE, (f"port={PORT}",), owned=False))
    (place.profiles / f"{PROFILE}.toml").write_text("model = 3\n", encoding="utf-8")
    known = await local.launched(view.url)
    assert known is not None
    assert '"model"' in known.why_not
    with pytest.raises(ConfigurationError):
        await last_of(local.relaunch(view.id, 0))
    assert record_of(place).id == view.id


@pytest.mark.parametrize("owned", [True, False])
async def test_a_launch_anew_that_is_given_up_while_it_stops_leaves_nothing(place: FakePlace, owned: bool) -> None:
    local = local_of(place)
    view = await last_of(local.launch(PROFILE, (f"port={PORT}",), owned=owned))
    gone = pids_of(record_of(place))
    async with aclosing(local.relaunch(view.id, 0)) as views:
        assert (await anext(views)).phase == "stopping"
    await asyncio.sleep(0)
    assert not left_of(gone)
    assert servers(place.root) == ()
    known = await local.launched(view.url)
    assert known is not None
    assert not known.runs


async def test_a_server_of_another_program_or_of_nobody_here_is_not_launched_anew(place: FakePlace) -> None:
    local = local_of(place)
    assert await local.launched("http://gpu01:8000") is None
    command = place.start("serve", PROFILE, "--owned", "--port", str(PORT))
    try:
        record = await asyncio.to_thread(place.record, state="ready")
        assert record.owner is Owner.APP
        known = await local.launched(record.url)
        assert known is not None
        assert "belongs to another specchat" in known.why_not
        with pytest.raises(ConfigurationError, match="another specchat"):
            await last_of(local.relaunch(record.id, 0))
    finally:
        command.terminate()
        command.communicate(timeout=30)


async def test_the_other_member_of_a_pair_is_known_where_both_are_alike_and_ready(place: FakePlace) -> None:
    place.write_profile("plain")
    (place.profiles / "both.toml").write_text(f'members = ["{PROFILE}", "plain"]\n', encoding="utf-8")
    local = local_of(place)
    first = await last_of(local.launch("both", (), owned=False))
    known = await local.launched(first.url)
    assert known is not None
    (other,) = (record for record in servers(place.root) if record.profile == "plain")
    assert known.baseline_url == other.url
    half = await local.launched(other.url)
    assert half is not None
    assert half.baseline_url == ""
    assert "no speculation" in half.why_not

    await local.stop(other.id)
    await last_of(local.launch("plain", (f"port={PORT}", "arguments.max-model-len=9"), owned=False))
    unlike = await local.launched(first.url)
    assert unlike is not None
    assert unlike.baseline_url == ""
