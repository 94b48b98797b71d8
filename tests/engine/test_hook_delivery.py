"""The hook gets into real servers, and stays out of them when it is not wanted."""

import json
import shlex
from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from specchat.cli.doctor import run_doctor
from specchat_launcher import RunningServer, start_profile

pytestmark = pytest.mark.engine


def examined(server: RunningServer) -> dict[str, dict[str, Any]]:
    out = StringIO()
    assert run_doctor({"url": server.url}, openai_key_confirmed=False, as_json=True, out=out) == 0
    return {check["name"]: check for check in json.loads(out.getvalue())["checks"]}


@pytest.fixture
def started(engine_root: Path, engine_version: str, request: pytest.FixtureRequest) -> Iterator[RunningServer]:
    hook: bool = request.param
    with start_profile(
        "cpu-smollm2", root=engine_root, engine=engine_version, hook=hook, report=lambda _progress: None
    ) as server:
        yield server


@pytest.mark.parametrize("started", [True], indirect=True)
def test_a_server_of_the_speculating_profile_has_the_whole_hook(started: RunningServer) -> None:
    checks = examined(started)
    assert started.notices == ()
    assert checks["hook"]["state"] == "ok"
    assert "trace works, switch works" in checks["hook"]["evidence"]
    assert "eagle3, k = 3, from the hook" in checks["speculation"]["evidence"]


@pytest.mark.parametrize("started", [False], indirect=True)
def test_a_server_without_the_hook_has_none_of_its_routes(started: RunningServer) -> None:
    checks = examined(started)
    assert checks["hook"]["state"] == "missing"
    assert "404" in checks["hook"]["evidence"]
    lines = checks["hook"]["advice"][0]["lines"]
    assert [shlex.split(line)[0] for line in lines] == ["export", "export"]
    assert "k = 3, from its counters" in checks["speculation"]["evidence"]
