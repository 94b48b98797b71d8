"""The server logs in `cases/launch`, with what each of them means."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parent / "cases" / "launch"
LOGS: list[dict[str, Any]] = tomllib.loads((FOLDER / "index.toml").read_text("utf-8"))["log"]


def text_of(log: dict[str, Any]) -> str:
    """The log as it was written, carriage returns and colours included."""
    return (FOLDER / f"{log['file']}.log").read_bytes().decode("utf-8", errors="replace")


def each(logs: list[dict[str, Any]]) -> pytest.MarkDecorator:
    """Parametrize over logs, as `log`."""
    return pytest.mark.parametrize("log", logs, ids=[log["file"] for log in logs])
