"""What the wheel holds: everything that the program reads, and nothing of the tests."""

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from specchat import __version__

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    folder = tmp_path_factory.mktemp("wheel")
    return zipfile.ZipFile(build("wheel", folder))


def build(target: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return next(folder.iterdir())


@pytest.fixture(scope="module")
def installed(wheel: zipfile.ZipFile, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder into which pip installed the wheel, without what it depends on."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", str(target)]
    done = subprocess.run([*command, str(wheel.filename)], capture_output=True, text=True, check=True)
    assert "specchat" not in done.stderr.lower().replace(str(target), "")
    return target


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
    assert themes | data | styles | draft | hook_files() | {"specchat/py.typed"} <= names


def hook_files() -> set[str]:
    """Every file of the hook, its metadata included, as the wheel names it."""
    folder = ROOT / "launcher/specchat_vllm"
    files = {path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    assert {path.name for path in files} >= {"__init__.py", "METADATA", "entry_points.txt"}
    return {f"specchat_launcher/_bundled_hook/{path.relative_to(folder)}" for path in files}


def test_it_holds_nothing_else(wheel: zipfile.ZipFile) -> None:
    tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert tops == {"specchat", "specchat_launcher", f"specchat-{__version__}.dist-info"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name or name.endswith(".pyc")]


def test_it_brings_the_command_and_the_licence(wheel: zipfile.ZipFile) -> None:
    info = f"specchat-{__version__}.dist-info"
    assert "specchat = specchat.cli:main" in wheel.read(f"{info}/entry_points.txt").decode()
    assert "Apache License" in wheel.read(f"{info}/licenses/LICENSE").decode()


def test_a_server_that_gets_the_folder_of_the_hook_finds_its_plugins(installed: Path) -> None:
    where = "from specchat_launcher.hook import hook_folder; print(hook_folder())"
    folder = _python(where, installed).strip()
    assert folder == str(installed / "specchat_launcher/_bundled_hook")
    found = _python(
        "import importlib.metadata as metadata, json\n"
        "groups = ('vllm.general_plugins', 'vllm.endpoint_plugins')\n"
        "print(json.dumps({p.name: p.load().__module__ for g in groups for p in metadata.entry_points(group=g)}))",
        Path(folder),
    )
    assert json.loads(found) == {"specchat": "specchat_vllm", "specchat_http": "specchat_vllm.routes"}


def test_the_hook_is_no_package_of_the_environment_that_specchat_is_in(installed: Path) -> None:
    listed = subprocess.run(
        [sys.executable, "-m", "pip", "list", "--format", "json", "--path", str(installed)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [package["name"] for package in json.loads(listed.stdout)] == ["specchat"]
    code = "import importlib.metadata as metadata; print(len(metadata.entry_points(group='vllm.general_plugins')))"
    assert _python(code, installed).strip() == "0"


def test_the_source_distribution_holds_the_hook_too(tmp_path: Path) -> None:
    with tarfile.open(build("sdist", tmp_path)) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    hook = {f"launcher/specchat_vllm/{name.partition('_bundled_hook/')[2]}" for name in hook_files()}
    assert hook <= names
    assert not [name for name in names if "__pycache__" in name]


def _python(code: str, path: Path) -> str:
    """What a Python prints that sees this folder and the standard library alone."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code],
        env=environment | {"PYTHONPATH": str(path)},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout
