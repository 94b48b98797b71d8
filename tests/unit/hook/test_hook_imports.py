# ruff: noqa: ANN401 - stand-ins for objects of vLLM, which is not here
"""Patches run when the module they change has been imported, and never break the import."""

import importlib
import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from specchat_vllm import imports
from specchat_vllm.fuse import Fuse, Unsupported


@pytest.fixture(autouse=True)
def _own_finder(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(imports, "_finder", imports._AfterImport())
    monkeypatch.setattr(imports, "_seen", set())
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        del sys.modules[name]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A package of two modules; importing the first imports the second."""
    folder = tmp_path / "patched_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("")
    (folder / "outer.py").write_text("from patched_package import inner\nvalue = inner.value\n")
    (folder / "inner.py").write_text("value = 1\n")
    (folder / "broken.py").write_text("raise RuntimeError('this module cannot be imported')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    return "patched_package"


class Patches:
    """Patches that remember the modules they were given."""

    def __init__(self) -> None:
        self.modules: list[str] = []

    def __call__(self, module: Any) -> None:
        self.modules.append(module.__name__)
        module.value = 2


def test_a_module_is_patched_once_when_it_is_imported(package: str, fresh_fuse: Fuse) -> None:
    patch = Patches()
    imports.after_import(f"{package}.inner", "inner", patch)
    imports.after_import(f"{package}.inner", "inner", patch)
    assert not patch.modules
    module = importlib.import_module(f"{package}.inner")
    importlib.import_module(f"{package}.inner")
    assert module.value == 2
    assert patch.modules == [f"{package}.inner"]
    assert fresh_fuse.patched == {"inner"}


def test_a_module_that_is_imported_already_is_patched_at_once(package: str) -> None:
    module, patch = importlib.import_module(f"{package}.inner"), Patches()
    imports.after_import(f"{package}.inner", "inner", patch)
    imports.after_import(f"{package}.inner", "inner", patch)
    assert module.value == 2
    assert len(patch.modules) == 1


def test_modules_that_import_each_other_are_all_patched(package: str) -> None:
    patch = Patches()
    for name in ("outer", "inner"):
        imports.after_import(f"{package}.{name}", name, patch)
    importlib.import_module(f"{package}.outer")
    assert patch.modules == [f"{package}.inner", f"{package}.outer"]


def test_a_failing_patch_leaves_the_module_usable(package: str, fresh_fuse: Fuse) -> None:
    def patch(_: Any) -> None:
        raise Unsupported("this vLLM has no such thing")

    imports.after_import(f"{package}.inner", "inner", patch)
    assert importlib.import_module(f"{package}.inner").value == 1
    assert fresh_fuse.problems == ["inner: this vLLM has no such thing"]


def test_a_module_that_fails_to_import_fails_as_before_and_is_not_patched(package: str, fresh_fuse: Fuse) -> None:
    patch = Patches()
    imports.after_import(f"{package}.broken", "broken", patch)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="cannot be imported"):
            importlib.import_module(f"{package}.broken")
    assert not patch.modules
    assert not fresh_fuse.problems


def test_a_module_that_is_not_there_is_still_not_there(package: str) -> None:
    imports.after_import(f"{package}.missing", "missing", Patches())
    with pytest.raises(ModuleNotFoundError, match="missing"):
        importlib.import_module(f"{package}.missing")


def test_looking_for_a_module_does_not_use_up_its_patch(package: str) -> None:
    patch = Patches()
    imports.after_import(f"{package}.inner", "inner", patch)
    assert importlib.util.find_spec(f"{package}.inner") is not None
    assert importlib.import_module(f"{package}.inner").value == 2


def test_running_a_module_a_second_time_from_the_same_spec_does_no_harm(package: str) -> None:
    patch = Patches()
    imports.after_import(f"{package}.inner", "inner", patch)
    spec = importlib.util.find_spec(f"{package}.inner")
    assert spec is not None
    assert spec.loader is not None
    for _ in range(2):
        spec.loader.exec_module(ModuleType(f"{package}.inner"))
    assert len(patch.modules) == 1


def test_registering_any_number_of_times_waits_for_each_part_once() -> None:
    import specchat_vllm

    for _ in range(3):
        specchat_vllm.register()
    assert len(imports._finder.waiting) == 8
    assert sys.meta_path.count(imports._finder) == 1
