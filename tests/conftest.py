"""What all tests share: isolation from the user's own files, `--long`, and engine tests that CI may not skip."""

import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import settings

# Textual reads these when it is imported: what tests see must not depend on the terminal that runs them.
os.environ["COLORTERM"] = "truecolor"
os.environ.pop("NO_COLOR", None)
# A shell that runs the tests in the background has them ignore Ctrl-C, and `nohup` a terminal that hangs up; so would
# everything that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

REQUIRED = "SPECCHAT_REQUIRE_ENGINES"
"""Set in CI: a skipped engine test is then a failure, and a run without any engine test fails."""

# How long an example takes is the machine's matter: benchmarks measure time, tests do not.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run the long tier: hundreds of replies, many starts")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.getoption("--long"):
        return
    # Left out, not skipped: a skip in CI means that something could not run.
    left_out = [item for item in items if "long" in item.keywords]
    items[:] = [item for item in items if "long" not in item.keywords]
    config.hook.pytest_deselected(items=left_out)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if os.environ.get(REQUIRED) and report.skipped and "engine" in item.keywords:
        report.outcome = "failed"
        report.longrepr = f"engine tests may not be skipped here: {report.longrepr}"
    return report


def pytest_sessionfinish(session: pytest.Session) -> None:
    if not os.environ.get(REQUIRED) or session.config.option.collectonly:
        return
    if not any("engine" in item.keywords for item in session.items) and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(autouse=True)
def own_files_untouched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test reads the user's settings or keys, or writes where the user's own files are."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in list(os.environ):
        if name.startswith(("OPENAI_", "SPECCHAT_")) and name not in {REQUIRED, "SPECCHAT_DATA_DIR"}:
            monkeypatch.delenv(name)
