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
    version: str = request.param
    states = {status.version: status.state for status in list_engines(engine_root)}
    if states[version] != "installed":
        pytest.skip(f"engine {version} is not installed: specchat engine install {version}")
    return version


@pytest.fixture(params=["sync", "async"], scope="session")
def hooked(
    request: pytest.FixtureRequest, engine_version: str, engine_root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Watched]:
    """An engine with the hook and the witness, under both ways of scheduling."""
    folder = tmp_path_factory.mktemp("witness")
    with watched(engine_version, engine_root, folder, asynchronous=request.param == "async") as running:
        yield running


@pytest.fixture
async def server(hooked: Watched) -> AsyncIterator[Server]:
    """A client of that engine."""
    client = hooked.server()
    yield client
    await client.close()
