"""Which real engines the tests may use: those that are installed in the user's data directory."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from specchat_launcher import ENGINE_VERSIONS, data_directory, list_engines
from traced_asking import Server
from watched_engine import Watched, watched


@pytest.fixture(scope="session")
def engine_root() -> Path:
    """The data directory that holds the engines."""
    return data_directory()


@pytest.fixture(params=ENGINE_VERSIONS, scope="session")
def engine_version(request: pytest.FixtureRequest, engine_root: Path) -> str:
    """Every known version; a test is skipped for those that are not installed."""
    return installed(request.param, engine_root)


@pytest.fixture(params=["0.32.0", pytest.param("0.27.1", marks=pytest.mark.long)], scope="session")
def newest_first(request: pytest.FixtureRequest, engine_root: Path) -> str:
    """The newest version in the short tier, every one in the long tier: for what hardly depends on it."""
    return installed(request.param, engine_root)


def installed(version: str, root: Path) -> str:
    """The version, if its engine is there; else the test is skipped."""
    states = {status.version: status.state for status in list_engines(root)}
    if states[version] != "installed":
        pytest.skip(f"engine {version} is not installed: specchat engine install {version}")
    return version


CELLS = [
    pytest.param((version, scheduling), id=f"{version}-{scheduling}", marks=() if short else pytest.mark.long)
    for version, scheduling, short in (
        ("0.32.0", "async", True),
        ("0.27.1", "sync", True),
        ("0.32.0", "sync", False),
        ("0.27.1", "async", False),
    )
]
"""Each version and each way of scheduling is in the short tier once, all four pairs are in the long one."""


@pytest.fixture(params=CELLS, scope="session")
def hooked(
    request: pytest.FixtureRequest, engine_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    """An engine with the hook and the witness, under both ways of scheduling."""
    version, scheduling = request.param
    folder = tmp_path_factory.mktemp("witness")
    with watched(installed(version, engine_root), engine_root, folder, asynchronous=scheduling == "async") as running:
        yield running


@pytest.fixture
async def server(hooked: Watched) -> AsyncIterator[Server]:
    """A client of that engine."""
    client = hooked.server()
    yield client
    await client.close()
