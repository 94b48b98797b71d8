"""A store in a folder of its own, with a clock that is told the time."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from fakes import FixedClock
from storing import Kept, opened


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "conversations" / "sessions.db"


@pytest.fixture
def kept(path: Path) -> Iterator[Kept]:
    kept = opened(path, FixedClock(1_000_000.0))
    yield kept
    kept.close()
