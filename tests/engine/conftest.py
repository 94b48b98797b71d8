"""Which real engines the tests may use: those that are installed in the user's data directory."""

from pathlib import Path

import pytest

from specchat_launcher import ENGINE_VERSIONS, data_directory, list_engines


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
