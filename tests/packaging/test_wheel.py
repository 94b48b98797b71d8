"""What the wheel holds: everything that the program reads, and nothing of the tests."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from specchat import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_it_holds_all_data_that_the_program_reads(wheel: zipfile.ZipFile) -> None:
    names = set(wheel.namelist())
    themes = {f"specchat/_bundled_themes/{path.name}" for path in (ROOT / "themes").glob("*.toml")}
    launcher = ROOT / "launcher/specchat_launcher"
    data = {
        f"specchat_launcher/{path.relative_to(launcher)}"
        for path in launcher.rglob("*")
        if path.suffix in {".toml", ".txt", ".py"}
    }
    styles = {str(path.relative_to(ROOT)) for path in (ROOT / "specchat").rglob("*.tcss")}
    draft = {f"specchat_launcher/_bundled_draft_model/{name}" for name in ("config.json", "model.safetensors")}
    assert len(themes) >= 2
    assert styles
    assert themes | data | styles | draft | {"specchat/py.typed"} <= names


def test_it_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert tops == {"specchat", "specchat_launcher", f"specchat-{__version__}.dist-info"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.endswith(".pyc")]


def test_it_brings_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    info = f"specchat-{__version__}.dist-info"
    assert "specchat = specchat.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert "Apache License" in wheel.read(f"{info}/licenses/LICENSE").decode()
